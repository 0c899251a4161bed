//! Pages of the Simple API: the list of all projects, and the files of one.
//!
//! Indexes answer in JSON (PEP 691) or in HTML (PEP 503), whatever was asked
//! for; both become the same types. A page that is neither (a login form, a
//! bot's challenge, an error in a 200) is a [`PageFault`], never an empty
//! project: only a page that is one may say that files are gone.

mod html;
mod json;

use std::collections::BTreeMap;

/// The files of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectPage {
    /// As the page gives it; HTML pages give none that can be relied on.
    pub name: Option<String>,
    pub files: Vec<ListedFile>,
    /// All versions, also those without files; empty in HTML and in old JSON.
    pub versions: Vec<String>,
    pub status: ProjectStatus,
    pub status_reason: Option<String>,
    /// The index's counter of changes, as of this page.
    pub last_serial: Option<u64>,
    pub api_version: Option<String>,
    /// Entries that were no files.
    pub skipped: usize,
}

/// One file of a project's page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedFile {
    pub filename: String,
    /// As given, without its fragment; may be relative to the page.
    pub url: String,
    /// Algorithm to hexadecimal digest.
    pub hashes: BTreeMap<String, String>,
    pub requires_python: Option<String>,
    pub size: Option<u64>,
    /// As given: RFC 3339.
    pub upload_time: Option<String>,
    pub yanked: Yanked,
    pub core_metadata: MetadataFile,
    pub provenance: Option<String>,
}

/// Whether installers should pass a file over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Yanked {
    #[default]
    No,
    Yes {
        reason: Option<String>,
    },
}

/// Whether `URL.metadata` can be fetched instead of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum MetadataFile {
    /// The page does not say.
    #[default]
    Unsaid,
    Absent,
    Present {
        hashes: BTreeMap<String, String>,
    },
}

/// What the index thinks of a project (PEP 792).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ProjectStatus {
    #[default]
    Active,
    Archived,
    /// Withheld as unsafe: it has no files, but it is not gone.
    Quarantined,
    Deprecated,
    Other(String),
}

/// The list of all projects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RootPage {
    pub projects: Vec<ListedProject>,
    pub last_serial: Option<u64>,
    pub api_version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedProject {
    pub name: String,
    pub last_serial: Option<u64>,
}

/// Why an answer is no page of an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageFault {
    #[error("the page is larger than {MAX_PAGE} bytes")]
    TooLarge,
    #[error("the page has more than {MAX_ENTRIES} entries")]
    TooManyEntries,
    #[error("the page is broken JSON: {0}")]
    Json(String),
    #[error("the page is not one of a package index")]
    NotAnIndex,
    #[error("the page speaks version {0} of the API")]
    ApiVersion(String),
}

/// The largest root known is a fifth of this.
const MAX_PAGE: usize = 256 << 20;
const MAX_ENTRIES: usize = 10_000_000;

impl ProjectPage {
    /// Reads a project's page. What the page is written in is seen from its
    /// first character, since answers mislabel themselves.
    pub fn parse(bytes: &[u8]) -> Result<ProjectPage, PageFault> {
        match form(bytes)? {
            Form::Json => json::project(bytes),
            Form::Html => html::project(bytes),
        }
    }
}

impl RootPage {
    /// Reads the list of all projects.
    pub fn parse(bytes: &[u8]) -> Result<RootPage, PageFault> {
        match form(bytes)? {
            Form::Json => json::root(bytes),
            Form::Html => html::root(bytes),
        }
    }
}

impl ProjectStatus {
    fn read(word: &str) -> ProjectStatus {
        match word.trim() {
            "" | "active" => ProjectStatus::Active,
            "archived" => ProjectStatus::Archived,
            "quarantined" => ProjectStatus::Quarantined,
            "deprecated" => ProjectStatus::Deprecated,
            other => ProjectStatus::Other(other.to_owned()),
        }
    }
}

enum Form {
    Json,
    Html,
}

fn form(bytes: &[u8]) -> Result<Form, PageFault> {
    if bytes.len() > MAX_PAGE {
        return Err(PageFault::TooLarge);
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match text.trim_ascii_start().first() {
        Some(b'{') => Ok(Form::Json),
        Some(b'<') => Ok(Form::Html),
        _ => Err(PageFault::NotAnIndex),
    }
}

/// Clients must not read pages of another major version.
fn check_api(version: Option<&str>) -> Result<(), PageFault> {
    match version {
        Some(version) if version.split('.').next() != Some("1") => {
            Err(PageFault::ApiVersion(version.chars().take(40).collect()))
        }
        _ => Ok(()),
    }
}
