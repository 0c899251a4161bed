//! Who could know about a package of an ecosystem.

use super::{family, source};

/// Whether a source would tell of a package of this ecosystem, on a forge of this word.
pub fn covers(source: &str, forge: &str, ecosystem: &str) -> bool {
    let family = family(ecosystem);
    match source {
        source::DEPSDEV => DEPSDEV.contains(&family),
        source::ECOSYSTEMS => ECOSYSTEMS.contains(&family),
        source::PACKAGES => packages_of(forge).contains(&family),
        _ => false,
    }
}

/// Whether the registry view can be asked for a name of this ecosystem: of a Maven artifact it must
/// know the group.
pub(super) fn can_be_checked(ecosystem: &str, name: &str) -> bool {
    DEPSDEV.contains(&ecosystem) && (ecosystem != "maven" || name.contains(':'))
}

/// Whether absence from registries means nothing: the repository is itself the publication, or
/// recipes live in a collection that somebody else keeps.
pub(super) fn never_an_orphan(ecosystem: &str) -> bool {
    matches!(
        family(ecosystem),
        "swiftpm" | "actions" | "conan" | "vcpkg" | "bazel" | "debian" | "rpm" | "arch"
    )
}

/// Whether a manifest of this ecosystem could be there at all; images and formulas have none.
pub(super) fn can_be_declared(ecosystem: &str) -> bool {
    DECLARABLE.contains(&family(ecosystem))
}

const DEPSDEV: &[&str] = &["npm", "cargo", "pypi", "maven", "go", "rubygems", "nuget"];

const ECOSYSTEMS: &[&str] = &[
    "actions",
    "bazel",
    "cargo",
    "cocoapods",
    "composer",
    "conan",
    "container",
    "cran",
    "elm",
    "go",
    "hackage",
    "helm",
    "hex",
    "julia",
    "maven",
    "npm",
    "nuget",
    "pub",
    "pypi",
    "rubygems",
    "swiftpm",
    "vcpkg",
];

const DECLARABLE: &[&str] = &[
    "actions",
    "ansible",
    "bazel",
    "cargo",
    "cocoapods",
    "composer",
    "conan",
    "cran",
    "dub",
    "elm",
    "go",
    "hackage",
    "helm",
    "hex",
    "jsr",
    "julia",
    "luarocks",
    "maven",
    "nimble",
    "npm",
    "nuget",
    "opam",
    "pub",
    "pypi",
    "rubygems",
    "swiftpm",
    "vcpkg",
    "zig",
];

/// What the package registry of a forge can hold.
fn packages_of(forge: &str) -> &'static [&'static str] {
    match forge {
        "github" => &["npm", "maven", "nuget", "rubygems", "container"],
        "gitlab" => &[
            "npm",
            "maven",
            "nuget",
            "rubygems",
            "container",
            "pypi",
            "composer",
            "conan",
            "go",
            "helm",
            "debian",
        ],
        "gitea" => &[
            "npm",
            "maven",
            "nuget",
            "rubygems",
            "container",
            "pypi",
            "composer",
            "conan",
            "go",
            "helm",
            "debian",
            "cargo",
            "pub",
            "cran",
            "rpm",
            "arch",
            "swiftpm",
        ],
        _ => &[],
    }
}
