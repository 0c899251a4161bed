//! Source distributions: nothing is built, so the answer is what the sources declare.

use std::collections::BTreeMap;

use super::distribution::{Contents, top_level};
use super::egg::with_requirements;
use super::entry_points::EntryPoint;
use super::fetched::Fetched;
use super::filename::{Filename, SdistFormat};
use super::metadata::CoreMetadata;
use super::normalize_name;
use super::project_files::{BuildHints, cargo_module, cargo_package};
use super::refusal::{Limits, ReadError};
use super::requires_txt::RequiresTxt;
use super::source_layout::{Layout, source_modules};
use super::tar_archive;
use super::zip_archive::{Member, Zip};

pub(super) fn read(
    filename: &Filename,
    format: SdistFormat,
    fetched: &Fetched<'_>,
    limits: &Limits,
) -> Result<Contents, ReadError> {
    let tree = match format {
        SdistFormat::Tar => from_tar(fetched, limits)?,
        SdistFormat::Zip => from_zip(fetched, limits)?,
    };
    Ok(tree.contents(filename))
}

/// The names of all files, and the content of those that say something.
#[derive(Default)]
struct Unpacked {
    files: Vec<String>,
    read: BTreeMap<String, Vec<u8>>,
    /// The sum of what was read.
    held: usize,
}

/// Small files that are worth their reading, unless they lie too deep to be the
/// project's own.
fn worth_reading(path: &str) -> bool {
    const NAMES: [&str; 6] = [
        "PKG-INFO",
        "requires.txt",
        "top_level.txt",
        "entry_points.txt",
        "pyproject.toml",
        "Cargo.toml",
    ];
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    NAMES.contains(&name) && path.matches('/').count() <= 4
}

/// A hostile archive could hold any number of them.
const MAX_READ: usize = 256;
const MAX_BYTES: usize = 64 << 20;

fn from_tar(fetched: &Fetched<'_>, limits: &Limits) -> Result<Unpacked, ReadError> {
    let mut tree = Unpacked::default();
    tar_archive::each_member(fetched, limits, |path, content| {
        if tree.wants(&path) {
            let bytes = tar_archive::read_member(&path, content, limits)?;
            tree.keep(path.clone(), bytes);
        }
        tree.files.push(path);
        Ok(())
    })?;
    Ok(tree)
}

fn from_zip(fetched: &Fetched<'_>, limits: &Limits) -> Result<Unpacked, ReadError> {
    let zip = Zip::open(fetched, limits)?;
    let worthy = zip
        .members
        .iter()
        .filter(|member| worth_reading(&member.path));
    let wanted: Vec<&Member> = worthy.take(MAX_READ).collect();
    zip.announce(&wanted)?;
    let mut tree = Unpacked::default();
    for member in wanted {
        if tree.wants(&member.path) {
            tree.keep(member.path.clone(), zip.read(member)?);
        }
    }
    tree.files = zip.members.into_iter().map(|member| member.path).collect();
    Ok(tree)
}

impl Unpacked {
    fn wants(&self, path: &str) -> bool {
        worth_reading(path) && self.read.len() < MAX_READ && self.held < MAX_BYTES
    }

    fn keep(&mut self, path: String, bytes: Vec<u8>) {
        self.held += bytes.len();
        self.read.insert(path, bytes);
    }

    fn contents(self, filename: &Filename) -> Contents {
        let root = self.root();
        let egg_info = self.egg_info(filename);
        let in_root = |name: &str| self.read.get(&format!("{root}{name}"));
        let in_egg_info = |name: &str| {
            let directory = egg_info.as_ref()?;
            self.read.get(&format!("{directory}/{name}"))
        };
        let hints = in_root("pyproject.toml")
            .map(|bytes| BuildHints::read(bytes))
            .unwrap_or_default();
        let cargo = in_root("Cargo.toml");
        let package_info = in_root("PKG-INFO")
            .or_else(|| in_egg_info("PKG-INFO"))
            .or_else(|| self.any("PKG-INFO"));
        let metadata = package_info
            .map(|bytes| CoreMetadata::parse(bytes))
            .or_else(|| hints.metadata.clone())
            .or_else(|| cargo.and_then(|bytes| cargo_package(bytes)));
        let requires = in_egg_info("requires.txt")
            .map(|bytes| RequiresTxt::parse(bytes))
            .unwrap_or_default();
        let declared = in_egg_info("top_level.txt")
            .map(|bytes| top_level(bytes))
            .unwrap_or_default();
        let native = if hints.maturin
            || (cargo.is_some() && !self.files.contains(&format!("{root}setup.py")))
        {
            hints
                .native
                .clone()
                .or_else(|| cargo.and_then(|bytes| cargo_module(bytes)))
        } else {
            None
        };
        let files: Vec<&str> = self
            .files
            .iter()
            .filter_map(|path| path.strip_prefix(&root))
            .collect();
        let modules = source_modules(
            &files,
            &Layout {
                project: &normalize_name(&filename.name),
                declared: &declared,
                packages: &hints.packages,
                roots: &hints.roots,
                own_name_only: hints.own_name_only,
                native: native.as_deref(),
            },
        );
        let entry_points = in_egg_info("entry_points.txt")
            .map(|bytes| EntryPoint::parse_all(bytes))
            .unwrap_or_default();
        let contents = with_requirements(metadata, requires);
        Contents {
            modules,
            top_level: declared,
            entry_points,
            listing: self.files,
            ..contents
        }
    }

    /// The project's directory with a `/` behind it: where the topmost metadata
    /// or build file is. Most archives wrap all in one directory, some do not.
    fn root(&self) -> String {
        let marks = ["PKG-INFO", "setup.py", "pyproject.toml"];
        let mut best: Option<&str> = None;
        for path in &self.files {
            let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
            if marks.contains(&name) && !directory.ends_with(".egg-info") {
                let depth = |directory: &str| {
                    if directory.is_empty() {
                        0
                    } else {
                        1 + directory.matches('/').count()
                    }
                };
                if best.is_none_or(|known| depth(directory) < depth(known)) {
                    best = Some(directory);
                }
            }
        }
        match best.or_else(|| self.wrapper()) {
            None | Some("") => String::new(),
            Some(directory) => format!("{directory}/"),
        }
    }

    /// The one directory all files are in.
    fn wrapper(&self) -> Option<&str> {
        let (first, _) = self.files.first()?.split_once('/')?;
        let inside = |path: &String| {
            path.strip_prefix(first)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        self.files.iter().all(inside).then_some(first)
    }

    /// The project's own `.egg-info`: the one of its name, else the topmost.
    fn egg_info(&self, filename: &Filename) -> Option<String> {
        let mut directories: Vec<&str> = self
            .read
            .keys()
            .filter_map(|path| path.rsplit_once('/'))
            .map(|(directory, _)| directory)
            .filter(|directory| directory.ends_with(".egg-info"))
            .collect();
        directories.sort_by_key(|directory| (directory.matches('/').count(), *directory));
        directories.dedup();
        let own = |directory: &&&str| {
            let name = directory
                .rsplit_once('/')
                .map_or(**directory, |(_, name)| name);
            let stem = name.strip_suffix(".egg-info").unwrap_or(name);
            normalize_name(stem) == filename.normalized_name()
        };
        directories
            .iter()
            .find(own)
            .or(directories.first())
            .map(|directory| (*directory).to_owned())
    }

    /// The topmost file of that name, wherever it is.
    fn any(&self, name: &str) -> Option<&Vec<u8>> {
        let named = self
            .read
            .iter()
            .filter(|(path, _)| path.rsplit_once('/').map_or(path.as_str(), |(_, n)| n) == name);
        named
            .min_by_key(|(path, _)| path.matches('/').count())
            .map(|(_, bytes)| bytes)
    }
}
