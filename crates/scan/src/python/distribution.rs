//! One distribution, read: the same answer for wheels, eggs and sources.

use super::entry_points::EntryPoint;
use super::fetched::Fetched;
use super::filename::{FileKind, Filename};
use super::metadata::CoreMetadata;
use super::modules::{Module, ModuleKind, top_imports};
use super::refusal::{Limits, ReadError, Refusal};
use super::requirement::{Requirement, RequirementFault};
use super::source::RangeSource;
use super::zip_archive::Zip;
use super::{egg, sdist, wheel};

/// Bumped when the same bytes give another [`Distribution`].
pub const EXTRACTOR_VERSION: u32 = 1;

/// What a distribution's file says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    pub filename: Filename,
    pub metadata: CoreMetadata,
    /// From the metadata, else from `requires.txt`, each as it stands there.
    pub requires_dist: Vec<String>,
    pub extras: Vec<String>,
    /// Sorted by name.
    pub modules: Vec<Module>,
    /// `top_level.txt`, where there is one.
    pub top_level: Vec<String>,
    pub entry_points: Vec<EntryPoint>,
    pub warnings: Vec<Warning>,
    /// The members' names, from which modules can be found again.
    pub listing: Vec<String>,
    /// How much of the file was asked for.
    pub bytes_read: u64,
}

/// Something odd that did not keep the distribution from being read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    #[error("the requirement {text:?} is broken: {fault}")]
    Requirement {
        text: String,
        fault: RequirementFault,
    },
    #[error("the metadata call the project {0:?}, the file's name does not")]
    OtherName(String),
    #[error("the metadata give the version {0:?}, the file's name does not")]
    OtherVersion(String),
    #[error("there are no metadata, the file's name stands in")]
    NoMetadata,
}

/// Reads a wheel, an egg or a source distribution.
///
/// `project` is the project the file is listed under, if that is known.
pub fn read_distribution(
    filename: &str,
    project: Option<&str>,
    source: &mut dyn RangeSource,
    limits: &Limits,
) -> Result<Distribution, ReadError> {
    let unknown = || Refusal::UnknownKind(filename.chars().take(300).collect());
    let parsed = Filename::parse(filename, project).ok_or_else(unknown)?;
    let fetched = Fetched::new(source);
    let contents = match &parsed.kind {
        FileKind::Wheel(_) => wheel::read(&parsed, &fetched, limits)?,
        FileKind::Egg { .. } => egg::read(&fetched, limits)?,
        FileKind::Sdist(format) => sdist::read(&parsed, *format, &fetched, limits)?,
        FileKind::Installer(kind) => return Err(Refusal::Installer(kind).into()),
    };
    Ok(contents.judged(parsed, fetched.bytes_read()))
}

/// The names of a wheel's members, without reading any of them: for wheels whose
/// metadata were fetched as a file of their own. [`wheel_modules`] and
/// [`CoreMetadata::parse`] give the rest.
///
/// [`wheel_modules`]: super::wheel_modules
pub fn read_listing(source: &mut dyn RangeSource, limits: &Limits) -> Result<Listing, ReadError> {
    let fetched = Fetched::new(source);
    let zip = Zip::open(&fetched, limits)?;
    let names = zip
        .members
        .iter()
        .map(|member| member.path.clone())
        .collect();
    Ok(Listing {
        names,
        bytes_read: fetched.bytes_read(),
    })
}

/// A wheel whose metadata were fetched as a file of their own, by its listing. It says the same as
/// [`read_distribution`], but for entry points and `top_level.txt`, which only the wheel holds.
pub fn wheel_of_parts(
    filename: &str,
    project: Option<&str>,
    metadata: &[u8],
    listing: Listing,
) -> Result<Distribution, Refusal> {
    let unknown = || Refusal::UnknownKind(filename.chars().take(300).collect());
    let parsed = Filename::parse(filename, project).ok_or_else(unknown)?;
    let metadata = CoreMetadata::parse(metadata);
    let contents = Contents {
        requires_dist: metadata.requires_dist.clone(),
        extras: metadata.extras.clone(),
        metadata: Some(metadata),
        modules: super::wheel_modules(listing.names.iter().map(String::as_str)),
        listing: listing.names,
        ..Contents::default()
    };
    Ok(contents.judged(parsed, listing.bytes_read))
}

/// The members of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    pub names: Vec<String>,
    /// How much of the file was asked for.
    pub bytes_read: u64,
}

impl Distribution {
    /// The project's name: the metadata's, else the file's.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or(&self.filename.name)
    }

    /// The version: the metadata's, else the file's.
    pub fn version(&self) -> &str {
        self.metadata
            .version
            .as_deref()
            .unwrap_or(&self.filename.version)
    }

    /// The dotted names of all that can be imported.
    pub fn importable(&self) -> impl Iterator<Item = &str> {
        let real = self
            .modules
            .iter()
            .filter(|module| module.kind != ModuleKind::Stub);
        real.map(|module| module.name.as_str())
    }

    /// The names a user would import: those the project declares, else the
    /// topmost modules.
    pub fn import_names(&self) -> Vec<String> {
        let declared = self
            .metadata
            .import_names
            .iter()
            .filter(|name| !name.namespace);
        let declared: Vec<String> = declared.map(|name| name.name.clone()).collect();
        if declared.is_empty() {
            top_imports(&self.modules)
        } else {
            declared
        }
    }
}

/// What the readers of the three kinds find.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// `None` when there was no file with metadata.
    pub(super) metadata: Option<CoreMetadata>,
    pub(super) requires_dist: Vec<String>,
    pub(super) extras: Vec<String>,
    pub(super) modules: Vec<Module>,
    pub(super) top_level: Vec<String>,
    pub(super) entry_points: Vec<EntryPoint>,
    pub(super) listing: Vec<String>,
}

impl Contents {
    fn judged(self, filename: Filename, bytes_read: u64) -> Distribution {
        let mut warnings = Vec::new();
        match &self.metadata {
            Some(metadata) => warnings.extend(disagreements(metadata, &filename)),
            None => warnings.push(Warning::NoMetadata),
        }
        for text in &self.requires_dist {
            if let Err(fault) = Requirement::parse(text) {
                let text = text.chars().take(300).collect();
                warnings.push(Warning::Requirement { text, fault });
            }
        }
        Distribution {
            filename,
            metadata: self.metadata.unwrap_or_default(),
            requires_dist: self.requires_dist,
            extras: self.extras,
            modules: self.modules,
            top_level: self.top_level,
            entry_points: self.entry_points,
            warnings,
            listing: self.listing,
            bytes_read,
        }
    }
}

fn disagreements(metadata: &CoreMetadata, filename: &Filename) -> Vec<Warning> {
    use super::{normalize_name, normalize_version};
    let mut warnings = Vec::new();
    if let Some(name) = &metadata.name
        && normalize_name(name) != filename.normalized_name()
    {
        warnings.push(Warning::OtherName(name.clone()));
    }
    if let Some(version) = &metadata.version {
        // File names write `_` for what they cannot hold.
        let same = |text: &str| normalize_version(text).unwrap_or_else(|| text.replace('-', "_"));
        if same(version) != same(&filename.version.replace('_', "-"))
            && same(version) != same(&filename.version)
        {
            warnings.push(Warning::OtherVersion(version.clone()));
        }
    }
    warnings
}

/// The names in a `top_level.txt`.
pub(super) fn top_level(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}");
    // Some tools write nested names, with either separator.
    let names = text
        .lines()
        .map(|line| line.trim().replace(['/', '\\'], "."));
    names.filter(|name| !name.is_empty()).take(10_000).collect()
}
