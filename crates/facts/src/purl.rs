//! Package URLs: `pkg:pypi/requests@2.32.0`.
//!
//! The spelling, escaping and the rules of each type are the `packageurl` crate's; this module
//! knows which type an ecosystem word of this product has, and where its names are cut.

use packageurl::PackageUrl;

/// The purl type of an ecosystem word (`rubygems` is `gem`), where there is an agreed one.
pub fn purl_type(ecosystem: &str) -> Option<&'static str> {
    TYPES
        .iter()
        .find(|(word, _)| *word == ecosystem)
        .map(|(_, kind)| *kind)
}

/// The package URL of a package, or none where the ecosystem has no agreed type or its URL needs
/// more than the name (Swift packages are named by their repository, Julia's by a uuid).
pub fn purl(ecosystem: &str, name: &str, version: Option<&str>) -> Option<String> {
    let kind = purl_type(ecosystem)?;
    let (namespace, name) = match ecosystem {
        "swiftpm" | "julia" => return None,
        // `group:artifact`; an artifact alone could be anybody's.
        "maven" | "clojars" => name
            .split_once(':')
            .map(|(group, name)| (Some(group), name))?,
        "npm" | "composer" | "go" | "actions" | "bazel" => match name.rsplit_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, name),
        },
        "debian" => (Some("debian"), name),
        "arch" => (Some("arch"), name),
        _ => (None, name),
    };
    let mut url = PackageUrl::new(kind, name).ok()?;
    if let Some(namespace) = namespace {
        url.with_namespace(namespace).ok()?;
    }
    if let Some(version) = version {
        url.with_version(version).ok()?;
    }
    Some(url.to_string())
}

/// Words without an entry (`helm`, `vcpkg`, `zig`, …) have no registered type.
const TYPES: &[(&str, &str)] = &[
    ("actions", "githubactions"),
    ("arch", "alpm"),
    ("bazel", "bazel"),
    ("cargo", "cargo"),
    ("clojars", "maven"),
    ("cocoapods", "cocoapods"),
    ("composer", "composer"),
    ("conan", "conan"),
    ("conda", "conda"),
    ("cran", "cran"),
    ("debian", "deb"),
    ("gleam", "hex"),
    ("go", "golang"),
    ("hackage", "hackage"),
    ("hex", "hex"),
    ("julia", "julia"),
    ("luarocks", "luarocks"),
    ("maven", "maven"),
    ("npm", "npm"),
    ("nuget", "nuget"),
    ("opam", "opam"),
    ("pub", "pub"),
    ("pypi", "pypi"),
    ("rpm", "rpm"),
    ("rubygems", "gem"),
    ("swiftpm", "swift"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ecosystem_has_its_own_shape() {
        let cases = [
            (
                "npm",
                "@babel/core",
                Some("7.0.0"),
                "pkg:npm/%40babel/core@7.0.0",
            ),
            ("npm", "left-pad", None, "pkg:npm/left-pad"),
            ("pypi", "Foo_Bar", None, "pkg:pypi/foo-bar"),
            (
                "maven",
                "org.apache:commons",
                Some("1"),
                "pkg:maven/org.apache/commons@1",
            ),
            (
                "go",
                "golang.org/x/text",
                None,
                "pkg:golang/golang.org/x/text",
            ),
            ("rubygems", "rails", None, "pkg:gem/rails"),
            ("debian", "bash", None, "pkg:deb/debian/bash"),
        ];
        for (ecosystem, name, version, expected) in cases {
            assert_eq!(purl(ecosystem, name, version).as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_a_name_alone_cannot_tell_has_none() {
        for (ecosystem, name) in [
            ("swiftpm", "Foo"),
            ("julia", "Foo"),
            ("maven", "artifact"),
            ("helm", "chart"),
            ("pypi", ""),
        ] {
            assert_eq!(purl(ecosystem, name, None), None, "{ecosystem} {name}");
        }
    }
}
