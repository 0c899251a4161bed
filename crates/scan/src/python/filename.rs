//! What a file's name says: which kind of distribution, of which project and version.

use super::project_name::normalize_name;
use super::version::normalize_version;

/// A distribution's file name, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filename {
    pub kind: FileKind,
    /// The project as written in the name.
    pub name: String,
    /// The version as written in the name; may be no valid version.
    pub version: String,
}

/// The kinds of files an index has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileKind {
    Wheel(WheelTags),
    Egg {
        python: Option<String>,
        platform: Option<String>,
    },
    Sdist(SdistFormat),
    /// Installers nobody makes any more: `exe`, `msi`, `rpm`, `deb`, `dmg`, `dumb`.
    /// They are listed, not read.
    Installer(&'static str),
}

/// What a wheel runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelTags {
    pub build: Option<String>,
    pub python: Vec<String>,
    pub abi: Vec<String>,
    pub platform: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SdistFormat {
    /// tar, whatever it is compressed by.
    Tar,
    Zip,
}

/// Longer names cannot be stored by common file systems.
const MAX_FILENAME: usize = 255;

impl Filename {
    /// Takes a file name apart. `project` is the project the file is listed
    /// under; it tells where the name of an old source distribution ends
    /// (`a-1-b-2.tar.gz`). `None` for what is no distribution at all.
    pub fn parse(filename: &str, project: Option<&str>) -> Option<Filename> {
        if filename.len() > MAX_FILENAME || filename.contains(['/', '\\', '\0']) {
            return None;
        }
        if let Some(stem) = strip_suffix(filename, ".whl") {
            return wheel(stem);
        }
        if let Some(stem) = strip_suffix(filename, ".egg") {
            return Some(egg(stem));
        }
        for (suffix, kind) in INSTALLERS {
            if let Some(stem) = strip_suffix(filename, suffix) {
                let (name, version) = split_name(stem, project).unwrap_or((stem, ""));
                return Some(named(FileKind::Installer(kind), name, version));
            }
        }
        for (suffix, format) in SDISTS {
            if let Some(stem) = strip_suffix(filename, suffix) {
                let (name, version) = split_name(stem, project)?;
                return Some(
                    match version.find(".linux-").or_else(|| version.find(".macosx-")) {
                        Some(end) => named(FileKind::Installer("dumb"), name, &version[..end]),
                        None => named(FileKind::Sdist(format), name, version),
                    },
                );
            }
        }
        None
    }

    pub fn normalized_name(&self) -> String {
        normalize_name(&self.name)
    }
}

const INSTALLERS: [(&str, &str); 5] = [
    (".exe", "exe"),
    (".msi", "msi"),
    (".rpm", "rpm"),
    (".deb", "deb"),
    (".dmg", "dmg"),
];

const SDISTS: [(&str, SdistFormat); 9] = [
    (".tar.gz", SdistFormat::Tar),
    (".tgz", SdistFormat::Tar),
    (".tar.bz2", SdistFormat::Tar),
    (".tbz", SdistFormat::Tar),
    (".tbz2", SdistFormat::Tar),
    (".tar.xz", SdistFormat::Tar),
    (".tar.Z", SdistFormat::Tar),
    (".tar", SdistFormat::Tar),
    (".zip", SdistFormat::Zip),
];

fn named(kind: FileKind, name: &str, version: &str) -> Filename {
    Filename {
        kind,
        name: name.to_owned(),
        version: version.to_owned(),
    }
}

fn wheel(stem: &str) -> Option<Filename> {
    let parts: Vec<&str> = stem.split('-').collect();
    let (name, version, build, tags) = match parts.as_slice() {
        [name, version, tags @ ..] if tags.len() == 3 => (name, version, None, tags),
        [name, version, build, tags @ ..] if tags.len() == 3 => (name, version, Some(build), tags),
        _ => return None,
    };
    if name.is_empty() || version.is_empty() {
        return None;
    }
    let set = |tags: &str| tags.split('.').map(str::to_owned).collect();
    let tags = WheelTags {
        build: build.map(|build| (*build).to_owned()),
        python: set(tags[0]),
        abi: set(tags[1]),
        platform: set(tags[2]),
    };
    Some(named(FileKind::Wheel(tags), name, version))
}

fn egg(stem: &str) -> Filename {
    let mut parts = stem.splitn(4, '-');
    let name = parts.next().unwrap_or(stem);
    let version = parts.next().unwrap_or("");
    let (python, platform) = (parts.next(), parts.next());
    let python = python.map(|python| python.strip_prefix("py").unwrap_or(python).to_owned());
    named(
        FileKind::Egg {
            python,
            platform: platform.map(str::to_owned),
        },
        name,
        version,
    )
}

/// Splits `name-version`. The listed project decides, else the last dash with a
/// version behind it, else the last dash before a digit, else the last dash.
fn split_name<'a>(stem: &'a str, project: Option<&str>) -> Option<(&'a str, &'a str)> {
    let dashes: Vec<(&str, &str)> = stem
        .match_indices('-')
        .map(|(at, _)| (&stem[..at], &stem[at + 1..]))
        .collect();
    let usable = |(name, version): &&(&str, &str)| !name.is_empty() && !version.is_empty();
    let project = project.map(normalize_name);
    let by_project = dashes
        .iter()
        .filter(usable)
        .find(|(name, _)| Some(normalize_name(name)) == project);
    let by_version = || {
        dashes
            .iter()
            .rev()
            .filter(usable)
            .find(|(_, version)| normalize_version(version).is_some())
    };
    let by_digit = || {
        let digit = |version: &str| version.starts_with(|c: char| c.is_ascii_digit());
        dashes
            .iter()
            .filter(usable)
            .find(|(_, version)| digit(version))
    };
    let last = || dashes.iter().rev().find(usable);
    by_project
        .or_else(by_version)
        .or_else(by_digit)
        .or_else(last)
        .copied()
}

/// Old files carry suffixes in any case.
fn strip_suffix<'a>(text: &'a str, suffix: &str) -> Option<&'a str> {
    let at = text.len().checked_sub(suffix.len())?;
    let (stem, end) = text.split_at_checked(at)?;
    (end.eq_ignore_ascii_case(suffix) && !stem.is_empty()).then_some(stem)
}
