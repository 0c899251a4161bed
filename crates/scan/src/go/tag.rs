//! Reading a tag's name: which directory, which version.

use super::{Semver, is_pseudo_version};

/// A tag whose name has the form `[directory/]version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionTag<'a> {
    /// The directory the module's files are under, without `/` at the ends;
    /// empty for the root.
    pub prefix: &'a str,
    /// The canonical version, `v1.2.3`.
    pub version: &'a str,
}

/// Why a tag's name alone already says that it is no version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TagFault {
    #[error("{0:?} is not a semantic version")]
    NotAVersion(String),
    #[error("{text:?} is not canonical, a version would be written {canonical}")]
    NotCanonical { text: String, canonical: String },
    #[error("{0:?} has the form of a pseudo-version")]
    PseudoVersion(String),
    #[error("{0:?} is not a directory a module can be in")]
    Directory(String),
    #[error("the tag's name is longer than {MAX_TAG} bytes")]
    TooLong,
}

const MAX_TAG: usize = 1024;

impl<'a> VersionTag<'a> {
    /// Reads a tag's name, without `refs/tags/`.
    pub fn parse(tag: &'a str) -> Result<Self, TagFault> {
        if tag.len() > MAX_TAG {
            return Err(TagFault::TooLong);
        }
        let (prefix, version) = tag.rsplit_once('/').unwrap_or(("", tag));
        let Some(parsed) = Semver::parse(version) else {
            return Err(TagFault::NotAVersion(version.to_owned()));
        };
        if !parsed.is_canonical() {
            return Err(TagFault::NotCanonical {
                text: version.to_owned(),
                canonical: parsed.canonical(),
            });
        }
        if is_pseudo_version(version) {
            return Err(TagFault::PseudoVersion(version.to_owned()));
        }
        let clean = |element: &str| !matches!(element, "" | "." | "..");
        if tag.contains('/') && !prefix.split('/').all(clean) {
            return Err(TagFault::Directory(prefix.to_owned()));
        }
        Ok(VersionTag { prefix, version })
    }

    /// The go.mod files that decide what the tag names: the one in the tag's
    /// directory and, from v2 on, the one in the major version's own directory.
    pub fn go_mod_paths(&self) -> Vec<String> {
        let mut paths = vec![join(self.prefix, "go.mod")];
        if let Some(dir) = self.major_directory() {
            paths.push(join(&dir, "go.mod"));
        }
        paths
    }

    /// `sub/v2` for the tag `sub/v2.1.0`; none below v2.
    pub fn major_directory(&self) -> Option<String> {
        let version = Semver::parse(self.version)?;
        version
            .needs_suffix()
            .then(|| join(self.prefix, version.major_word()))
    }
}

fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() {
        name.to_owned()
    } else {
        format!("{dir}/{name}")
    }
}
