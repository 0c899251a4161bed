//! Manifests: the files in which a repository declares what it publishes.
//!
//! Every format is a pure function from bytes to a [`Manifest`]: the name as it is declared, the
//! name the ecosystem would use, a static version, whether the project wants to be published, and
//! the repository link. [`recognise`] chooses the format by path alone, so a tree listing is
//! enough to know which blobs to fetch.
//!
//! ```
//! use scan::manifest::{Intent, recognise};
//!
//! let path = "crates/foo/Cargo.toml";
//! let format = recognise(path).expect("a known file name");
//! let manifest = format.parse(path, b"[package]\nname = \"foo\"\nversion = \"1.2.0\"\n")?;
//! assert_eq!(manifest.name.as_deref(), Some("foo"));
//! assert_eq!(manifest.intent, Intent::Yes);
//! # Ok::<(), scan::manifest::ManifestError>(())
//! ```
//!
//! The first rule is *empty before wrong*. A name that is computed, templated or inherited from
//! somewhere a file cannot show is `None`; what another file of the same tree can show is filled in
//! by [`resolve`]. What a broken file might have meant is not guessed: data formats (TOML, JSON,
//! XML, YAML) must be well formed, since their own tools would refuse them too.
//!
//! Files that are programs (`setup.py`, `*.gemspec`, `mix.exs`, …) are read through one tolerant
//! syntax tree, `syntax`, and only constants are followed. Full grammars were weighed and left
//! out: they recurse on hostile input or recover in more than linear time, and they refuse the old
//! dialects (Python 2 above all) that the oldest packages are written in.
//!
//! To add a format, write one file with a `FORMAT` constant and name it in `FORMATS`.

mod actions;
mod ansible;
mod bazel;
mod cabal;
mod cargo;
mod clojars;
mod composer;
mod conan;
mod conda_meta;
mod conda_recipe;
mod data;
mod debian;
mod deno;
mod description;
mod dub;
mod elm;
mod fields;
mod gemfile;
mod gemspec;
mod gleam;
mod go_mod;
mod gradle;
mod gradle_settings;
mod helm;
mod hpack;
mod ini;
mod jinja;
mod jsr;
mod julia;
mod maven;
mod mix;
mod nimble;
mod npm;
mod nuget;
mod nuspec;
mod opam;
mod pkgbuild;
mod place;
mod podspec;
mod pubspec;
mod pyproject;
mod resolve;
mod rockspec;
mod rpm;
mod ruby_spec;
mod sbt;
mod setup_cfg;
mod setup_py;
mod swift;
mod syntax;
mod text;
mod vcpkg;
mod xml;
mod yaml;
mod zig;

use std::borrow::Cow;

pub use place::{Place, place};
pub use resolve::resolve;

/// Larger files are refused. Real manifests above it are generated lists; forges also stop
/// inlining file contents at this size.
pub const MAX_BYTES: usize = 1 << 20;

/// Bumped whenever any parser's output changes, so that stored answers are read again.
pub const VERSION: u32 = 1;

/// Every format, in the order in which paths are tried.
static FORMATS: &[Format] = &[
    actions::FORMAT,
    ansible::FORMAT,
    bazel::FORMAT,
    cabal::FORMAT,
    cargo::FORMAT,
    clojars::FORMAT,
    composer::FORMAT,
    conan::FORMAT,
    conda_meta::FORMAT,
    conda_recipe::FORMAT,
    debian::FORMAT,
    deno::FORMAT,
    description::FORMAT,
    dub::FORMAT,
    elm::FORMAT,
    gemfile::FORMAT,
    gemspec::FORMAT,
    gleam::FORMAT,
    go_mod::FORMAT,
    gradle::FORMAT,
    gradle_settings::FORMAT,
    helm::FORMAT,
    hpack::FORMAT,
    jsr::FORMAT,
    julia::FORMAT,
    maven::FORMAT,
    mix::FORMAT,
    nimble::FORMAT,
    npm::FORMAT,
    nuget::FORMAT,
    nuspec::FORMAT,
    opam::FORMAT,
    pkgbuild::FORMAT,
    podspec::FORMAT,
    pubspec::FORMAT,
    pyproject::FORMAT,
    rockspec::FORMAT,
    rpm::FORMAT,
    sbt::FORMAT,
    setup_cfg::FORMAT,
    setup_py::FORMAT,
    swift::FORMAT,
    vcpkg::FORMAT,
    zig::FORMAT,
];

/// What one manifest says.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Manifest {
    /// The ecosystem word, for example `npm` or `maven`.
    pub manifest_type: &'static str,
    /// The name as it is statically declared.
    pub name: Option<String>,
    /// The name the ecosystem would publish under: [`Manifest::name`], or its default rule.
    pub effective_name: Option<String>,
    /// The version, if it is static.
    pub version: Option<String>,
    /// Whether the project means to be published.
    pub intent: Intent,
    /// Why the intent is what it is, in the words of the format (`private`, `publish = false`).
    pub reason: Option<String>,
    /// The link to the source repository, as it is written.
    pub repository: Option<String>,
    /// The directory inside that repository, where the format can say so.
    pub directory: Option<String>,
    /// The package's UUID (Julia).
    pub uuid: Option<String>,
    /// Further package names that the same file publishes (Conda outputs, Debian binaries).
    pub outputs: Vec<String>,
    /// The index within the ecosystem, where the file tells (`bioconductor`).
    pub registry: Option<&'static str>,
    /// What only [`resolve`] needs: what is inherited, and what others may inherit.
    #[serde(skip)]
    hints: resolve::Hints,
}

impl Manifest {
    /// A manifest that says nothing yet.
    pub fn new(manifest_type: &'static str) -> Self {
        Self {
            manifest_type,
            name: None,
            effective_name: None,
            version: None,
            intent: Intent::Unknown,
            reason: None,
            repository: None,
            directory: None,
            uuid: None,
            outputs: Vec::new(),
            registry: None,
            hints: resolve::Hints::default(),
        }
    }

    fn named(manifest_type: &'static str, name: Option<String>) -> Self {
        Self {
            name,
            ..Self::new(manifest_type)
        }
    }

    fn intend(&mut self, intent: Intent, reason: impl Into<String>) {
        self.intent = intent;
        self.reason = Some(reason.into());
    }

    fn deny(&mut self, reason: impl Into<String>) {
        self.intend(Intent::Denied, reason);
    }

    fn doubt(&mut self, reason: impl Into<String>) {
        self.intend(Intent::Unknown, reason);
    }

    /// Drops every text that cannot be what it claims to be, and fills the effective name.
    fn settle(mut self) -> Self {
        self.name = self.name.and_then(text::sound_name);
        self.effective_name = self
            .effective_name
            .and_then(text::sound_name)
            .or_else(|| self.name.clone());
        self.version = self.version.and_then(text::sound_name);
        self.repository = self.repository.and_then(text::sound_link);
        self.directory = self.directory.and_then(text::sound_link);
        self.outputs = self
            .outputs
            .into_iter()
            .filter_map(text::sound_name)
            .collect();
        self
    }
}

/// Whether a project means to be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Intent {
    /// Nothing stands in the way and the format publishes by default, or says so.
    Yes,
    /// The file forbids publication or cannot be published as it stands.
    Denied,
    /// The file does not tell.
    Unknown,
}

impl Intent {
    /// The word used in output and storage.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Denied => "denied",
            Self::Unknown => "unknown",
        }
    }
}

/// Why a file gave no manifest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// Over [`MAX_BYTES`]; nothing was read.
    #[error("{bytes} bytes is over the limit of {MAX_BYTES}")]
    TooLarge {
        /// The size of what was offered.
        bytes: usize,
    },
    /// The file breaks the rules of its own format; its own tools would refuse it too.
    #[error("not well-formed {format}: {detail}")]
    Malformed {
        /// The format whose rules were broken, for example `JSON`.
        format: &'static str,
        /// The first complaint.
        detail: String,
    },
    /// The file is sound but only shares its name with a manifest.
    #[error("not a manifest: {0}")]
    NotAManifest(&'static str),
}

/// One manifest format.
#[derive(Debug)]
pub struct Format {
    manifest_type: &'static str,
    files: &'static [Files],
    parse: fn(&Source<'_>) -> Result<Manifest, ManifestError>,
}

impl Format {
    /// The ecosystem word, for example `npm` or `maven`.
    pub fn manifest_type(&self) -> &'static str {
        self.manifest_type
    }

    /// Reads a manifest. `path` gives file-name defaults; it is never opened.
    pub fn parse(&self, path: &str, bytes: &[u8]) -> Result<Manifest, ManifestError> {
        if bytes.len() > MAX_BYTES {
            return Err(ManifestError::TooLarge { bytes: bytes.len() });
        }
        let source = Source {
            path,
            text: text::decode(bytes),
            manifest_type: self.manifest_type,
        };
        (self.parse)(&source).map(Manifest::settle)
    }
}

/// The format a path belongs to, by its name alone.
pub fn recognise(path: &str) -> Option<&'static Format> {
    let name = file_name(path);
    FORMATS
        .iter()
        .find(|format| format.files.iter().any(|files| files.matches(path, name)))
}

/// How many forms of file names are known. While it is the same, a tree that was listed before has
/// no more manifests than were found in it.
pub fn patterns() -> usize {
    FORMATS.iter().map(|format| format.files.len()).sum()
}

/// How a format's files are named.
#[derive(Debug)]
enum Files {
    /// Exactly this file name.
    Named(&'static str),
    /// A stem, then this ending.
    Ending(&'static str),
    /// This file name in this directory.
    In(&'static str, &'static str),
}

impl Files {
    fn matches(&self, path: &str, name: &str) -> bool {
        match self {
            Self::Named(expected) => name == *expected,
            Self::Ending(ending) => name.len() > ending.len() && name.ends_with(ending),
            Self::In(directory, expected) => {
                name == *expected
                    && parent(path).is_some_and(|parent| file_name(parent) == *directory)
            }
        }
    }
}

/// One file as its parser sees it.
#[derive(Debug)]
struct Source<'a> {
    path: &'a str,
    text: Cow<'a, str>,
    manifest_type: &'static str,
}

impl Source<'_> {
    fn file_name(&self) -> &str {
        file_name(self.path)
    }

    fn extension(&self) -> &str {
        self.file_name()
            .rsplit_once('.')
            .map_or("", |(_, extension)| extension)
    }

    fn empty(&self) -> Manifest {
        Manifest::new(self.manifest_type)
    }

    fn named(&self, name: Option<String>) -> Manifest {
        Manifest::named(self.manifest_type, name)
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The directory a path is in: empty at the root, `None` for the root itself.
fn parent(path: &str) -> Option<&str> {
    if path.is_empty() {
        return None;
    }
    Some(path.rsplit_once('/').map_or("", |(directory, _)| directory))
}
