//! The decision: which module versions does a tag name, or why none.

use super::module_path::{InvalidPath, PathMajor, check_path, split_major};
use super::{GoMod, Semver, TagFault, VersionTag};

/// An import path under which a repository is known to be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRoot {
    /// The path that stands for the top of the repository, or for `subdir` in it.
    pub path: String,
    /// The fourth field of a `go-import` answer; empty for the top.
    pub subdir: String,
}

/// The go.mod files at the paths [`VersionTag::go_mod_paths`] names. `None`
/// means the file is known not to exist; a file that could not be read must not
/// be passed as one that is absent.
#[derive(Debug, Clone, Copy, Default)]
pub struct TaggedFiles<'a> {
    pub at_prefix: Option<&'a GoMod>,
    pub at_major: Option<&'a GoMod>,
}

/// One version of one module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleVersion {
    pub path: String,
    /// With `+incompatible` where Go demands it.
    pub version: String,
    /// Where the module's files are; empty for the top.
    pub directory: String,
    pub has_go_mod: bool,
    pub origin: PathOrigin,
}

/// How a module path leads to the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathOrigin {
    /// Through a root that was given.
    Known { root: String },
    /// The path is on another host or owner, which must answer for `root`.
    Vanity { root: String },
    /// As above, and the answer must name a subdirectory, which go understands
    /// from 1.25 on.
    VanitySubdirectory { root: String, subdir: String },
}

/// Why a tag is not a version of anything.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error(transparent)]
    Tag(#[from] TagFault),
    #[error("there is no go.mod in {directory:?} at this tag")]
    NoGoMod { directory: String },
    #[error("go.mod declares no module path")]
    NoModulePath,
    #[error("go.mod declares {path:?}: {reason}")]
    InvalidPath { path: String, reason: InvalidPath },
    #[error("{path} cannot have the version {version}, the path must end in its major version")]
    MajorMismatch { path: String, version: String },
    #[error("{path} is declared both in {upper:?} and in {lower:?}")]
    TwoGoMods {
        path: String,
        upper: String,
        lower: String,
    },
    #[error("{path} belongs into {expected:?}, not into {found:?}")]
    WrongDirectory {
        path: String,
        expected: String,
        found: String,
    },
}

impl Rejection {
    /// A stable word for storage and listings.
    pub fn code(&self) -> &'static str {
        match self {
            Rejection::Tag(TagFault::NotAVersion(_)) => "not-a-version",
            Rejection::Tag(TagFault::NotCanonical { .. }) => "not-canonical",
            Rejection::Tag(TagFault::PseudoVersion(_)) => "pseudo-version",
            Rejection::Tag(TagFault::Directory(_)) => "bad-directory",
            Rejection::Tag(TagFault::TooLong) => "too-long",
            Rejection::NoGoMod { .. } => "no-go-mod",
            Rejection::NoModulePath => "no-module-path",
            Rejection::InvalidPath { .. } => "invalid-path",
            Rejection::MajorMismatch { .. } => "major-mismatch",
            Rejection::TwoGoMods { .. } => "two-go-mods",
            Rejection::WrongDirectory { .. } => "wrong-directory",
        }
    }
}

/// Says what a tag names.
///
/// `roots` are the import paths known to lead to the repository, its own path on
/// its forge among them. Without go.mod they are the module's paths.
///
/// The answer mostly holds one version. It holds more when a repository without
/// go.mod has several roots, and for a tag `v2.0.0` whose only go.mod is
/// `v2/go.mod`: that is `v2.0.0` of the module there and, since the top has no
/// go.mod, `v2.0.0+incompatible` of the repository's own path as well.
pub fn resolve(
    roots: &[ImportRoot],
    tag: &VersionTag<'_>,
    files: TaggedFiles<'_>,
) -> Result<Vec<ModuleVersion>, Rejection> {
    let Some(version) = Semver::parse(tag.version) else {
        return Err(TagFault::NotAVersion(tag.version.to_owned()).into());
    };
    let declared = Declared::read(roots, tag, &version, files);
    let mut named = Vec::new();
    if files.at_prefix.is_none() && tag.prefix.is_empty() {
        named.extend(
            roots
                .iter()
                .filter_map(|root| implicit(root, tag, &version)),
        );
    }
    match declared {
        Ok(module) => named.insert(0, module),
        Err(rejection) if named.is_empty() => return Err(rejection),
        Err(_) => {}
    }
    Ok(named)
}

/// The module of a repository that has no go.mod at its top.
fn implicit(
    root: &ImportRoot,
    tag: &VersionTag<'_>,
    version: &Semver<'_>,
) -> Option<ModuleVersion> {
    if !root.subdir.is_empty() || check_path(&root.path).is_err() {
        return None;
    }
    let version = match split_major(&root.path)?.1 {
        PathMajor::None if version.needs_suffix() => format!("{}+incompatible", tag.version),
        major @ (PathMajor::None | PathMajor::Dot(_)) if major.allows(version) => {
            tag.version.to_owned()
        }
        _ => return None,
    };
    Some(ModuleVersion {
        path: root.path.clone(),
        version,
        directory: String::new(),
        has_go_mod: false,
        origin: PathOrigin::Known {
            root: root.path.clone(),
        },
    })
}

/// A module path read from a go.mod, with the directory the file is in.
struct Declared<'a> {
    path: &'a str,
    major: PathMajor<'a>,
    directory: String,
}

impl<'a> Declared<'a> {
    fn read(
        roots: &[ImportRoot],
        tag: &VersionTag<'_>,
        version: &Semver<'_>,
        files: TaggedFiles<'a>,
    ) -> Result<ModuleVersion, Rejection> {
        let major_directory = tag.major_directory();
        let upper = files.at_prefix.map(|file| Declared::of(file, tag.prefix));
        let lower = match (&major_directory, files.at_major) {
            (Some(directory), Some(file)) => Some(Declared::of(file, directory)),
            _ => None,
        };
        let chosen = choose(roots, version, upper, lower, tag)?;
        let origin = chosen.origin(roots, tag)?;
        Ok(ModuleVersion {
            path: chosen.path.to_owned(),
            version: tag.version.to_owned(),
            directory: chosen.directory,
            has_go_mod: true,
            origin,
        })
    }

    fn of(file: &'a GoMod, directory: &str) -> Result<Self, Rejection> {
        let path = file.module.as_deref().ok_or(Rejection::NoModulePath)?;
        let invalid = |reason| Rejection::InvalidPath {
            path: path.to_owned(),
            reason,
        };
        check_path(path).map_err(invalid)?;
        let (_, major) = split_major(path).ok_or_else(|| invalid(InvalidPath::Version))?;
        Ok(Declared {
            path,
            major,
            directory: directory.to_owned(),
        })
    }

    /// A module below `vN` whose path leaves no room for that directory.
    fn astray(&self, tag: &VersionTag<'_>) -> Rejection {
        self.wrong_directory(tag.prefix.to_owned(), &self.directory)
    }

    fn wrong_directory(&self, expected: String, found: &str) -> Rejection {
        Rejection::WrongDirectory {
            path: self.path.to_owned(),
            expected,
            found: found.to_owned(),
        }
    }

    fn mismatch(&self, version: &str) -> Rejection {
        Rejection::MajorMismatch {
            path: self.path.to_owned(),
            version: version.to_owned(),
        }
    }

    /// Finds the root the path hangs on, and checks that the tag's directory is
    /// the one Go would look for tags in.
    fn origin(&self, roots: &[ImportRoot], tag: &VersionTag<'_>) -> Result<PathOrigin, Rejection> {
        let known = roots
            .iter()
            .filter(|root| under(self.path, &root.path).is_some());
        if let Some(root) = known.max_by_key(|root| root.path.len()) {
            let expected = self.tag_directory(root);
            return if expected == tag.prefix {
                Ok(PathOrigin::Known {
                    root: root.path.clone(),
                })
            } else {
                Err(self.wrong_directory(expected, tag.prefix))
            };
        }
        let stem = self.stem();
        let root = if tag.prefix.is_empty() {
            Some(stem)
        } else {
            stem.strip_suffix(tag.prefix)
                .and_then(|root| root.strip_suffix('/'))
        };
        Ok(match root {
            Some(root) => PathOrigin::Vanity {
                root: root.to_owned(),
            },
            None => PathOrigin::VanitySubdirectory {
                root: stem.to_owned(),
                subdir: tag.prefix.to_owned(),
            },
        })
    }

    /// The directory whose name is the prefix of the module's tags.
    fn tag_directory(&self, root: &ImportRoot) -> String {
        let below = under(self.stem(), &root.path).unwrap_or_default();
        let parts = [below, root.subdir.as_str()];
        parts
            .iter()
            .filter(|part| !part.is_empty())
            .copied()
            .collect::<Vec<_>>()
            .join("/")
    }

    /// The path without `/vN`. The suffix of gopkg.in belongs to its root.
    fn stem(&self) -> &'a str {
        match self.major {
            PathMajor::Slash(word) => &self.path[..self.path.len() - word.len() - 1],
            _ => self.path,
        }
    }
}

/// Picks between the go.mod in the tag's directory and the one below `vN`.
fn choose<'a>(
    roots: &[ImportRoot],
    version: &Semver<'_>,
    upper: Option<Result<Declared<'a>, Rejection>>,
    lower: Option<Result<Declared<'a>, Rejection>>,
    tag: &VersionTag<'_>,
) -> Result<Declared<'a>, Rejection> {
    let fits = |found: &Declared<'_>| found.major.allows(version);
    // A root that is the whole path, suffix included, and gopkg.in leave no room
    // for a directory of the major version.
    let closed = |found: &Declared<'_>| {
        matches!(found.major, PathMajor::Dot(_)) || roots.iter().any(|root| root.path == found.path)
    };
    match (upper, lower) {
        (None, None) => Err(Rejection::NoGoMod {
            directory: tag.prefix.to_owned(),
        }),
        (Some(Ok(upper)), _) if fits(&upper) && closed(&upper) => Ok(upper),
        (Some(Ok(upper)), Some(Ok(lower))) if fits(&upper) && fits(&lower) => {
            Err(Rejection::TwoGoMods {
                path: lower.path.to_owned(),
                upper: upper.directory,
                lower: lower.directory,
            })
        }
        (_, Some(Ok(lower))) if fits(&lower) && !closed(&lower) => Ok(lower),
        // A go.mod below `vN` that is not the module's own hides it from Go.
        (Some(Ok(upper)), Some(lower)) if fits(&upper) => {
            Err(lower.map_or_else(|fault| fault, |lower| lower.mismatch(tag.version)))
        }
        (Some(upper), _) => {
            let upper = upper?;
            if fits(&upper) {
                Ok(upper)
            } else {
                Err(upper.mismatch(tag.version))
            }
        }
        (None, Some(lower)) => {
            let lower = lower?;
            if fits(&lower) {
                Err(lower.astray(tag))
            } else {
                Err(lower.mismatch(tag.version))
            }
        }
    }
}

/// What follows `root` in `path`; empty when they are the same.
fn under<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(root)?;
    if rest.is_empty() {
        Some("")
    } else {
        rest.strip_prefix('/')
    }
}
