//! Simple pages in JSON.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{
    ListedFile, ListedProject, MAX_ENTRIES, MetadataFile, PageFault, ProjectPage, ProjectStatus,
    RootPage, Yanked, check_api,
};

pub(super) fn project(bytes: &[u8]) -> Result<ProjectPage, PageFault> {
    let raw: RawProject = read(bytes)?;
    let api_version = raw.meta.checked_version()?;
    let files = raw.files.ok_or(PageFault::NotAnIndex)?;
    if files.len() > MAX_ENTRIES {
        return Err(PageFault::TooManyEntries);
    }
    let given = files.len();
    let files: Vec<ListedFile> = files.iter().filter_map(file).collect();
    let status = raw.project_status.unwrap_or(raw.meta.project_status);
    Ok(ProjectPage {
        name: raw.name.as_deref().map(clean),
        skipped: given - files.len(),
        files,
        versions: raw.versions.iter().map(|version| clean(version)).collect(),
        status: ProjectStatus::read(
            status["status"]
                .as_str()
                .or(status.as_str())
                .unwrap_or_default(),
        ),
        status_reason: status["reason"].as_str().map(clean),
        last_serial: serial(&raw.meta.last_serial),
        api_version,
    })
}

pub(super) fn root(bytes: &[u8]) -> Result<RootPage, PageFault> {
    let raw: RawRoot = read(bytes)?;
    let api_version = raw.meta.checked_version()?;
    let projects = raw.projects.ok_or(PageFault::NotAnIndex)?;
    if projects.len() > MAX_ENTRIES {
        return Err(PageFault::TooManyEntries);
    }
    let project = |raw: RawListed| ListedProject {
        name: clean(&raw.name),
        last_serial: serial(&raw.last_serial),
    };
    let projects = projects.into_iter().map(project).collect();
    Ok(RootPage {
        projects,
        last_serial: serial(&raw.meta.last_serial),
        api_version,
    })
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, PageFault> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice(bytes).map_err(|error| PageFault::Json(error.to_string()))
}

#[derive(Deserialize)]
struct RawProject {
    #[serde(default)]
    meta: RawMeta,
    name: Option<String>,
    files: Option<Vec<Value>>,
    #[serde(default)]
    versions: Vec<String>,
    #[serde(rename = "project-status")]
    project_status: Option<Value>,
}

#[derive(Deserialize)]
struct RawRoot {
    #[serde(default)]
    meta: RawMeta,
    projects: Option<Vec<RawListed>>,
}

#[derive(Deserialize)]
struct RawListed {
    name: String,
    #[serde(default, rename = "_last-serial")]
    last_serial: Value,
}

#[derive(Deserialize, Default)]
struct RawMeta {
    #[serde(default, rename = "api-version")]
    api_version: Value,
    #[serde(default, rename = "_last-serial")]
    last_serial: Value,
    /// Where the first index to show it had it.
    #[serde(default, rename = "project-status")]
    project_status: Value,
}

impl RawMeta {
    fn checked_version(&self) -> Result<Option<String>, PageFault> {
        let version = match &self.api_version {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        check_api(version.as_deref())?;
        Ok(version)
    }
}

/// `None` for an entry without name or address.
fn file(entry: &Value) -> Option<ListedFile> {
    let text = |key: &str| {
        entry[key]
            .as_str()
            .filter(|text| !text.is_empty())
            .map(clean)
    };
    let url = text("url")?;
    Some(ListedFile {
        filename: text("filename")?,
        url: url
            .split_once('#')
            .map_or(url.as_str(), |(url, _)| url)
            .to_owned(),
        hashes: hashes(&entry["hashes"]),
        requires_python: text("requires-python"),
        size: entry["size"].as_u64(),
        upload_time: text("upload-time"),
        yanked: match &entry["yanked"] {
            Value::Bool(true) => Yanked::Yes { reason: None },
            Value::String(reason) => Yanked::Yes {
                reason: Some(clean(reason)).filter(|reason| !reason.is_empty()),
            },
            _ => Yanked::No,
        },
        core_metadata: core_metadata(entry),
        provenance: text("provenance"),
    })
}

/// The field was renamed twice; the newest name that is there counts.
fn core_metadata(entry: &Value) -> MetadataFile {
    let names = [
        "core-metadata",
        "data-dist-info-metadata",
        "dist-info-metadata",
    ];
    match names
        .iter()
        .map(|name| &entry[*name])
        .find(|value| !value.is_null())
    {
        None => MetadataFile::Unsaid,
        Some(Value::Bool(false)) => MetadataFile::Absent,
        Some(value) => MetadataFile::Present {
            hashes: hashes(value),
        },
    }
}

fn hashes(value: &Value) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    let digest = |(name, digest): (&String, &Value)| {
        Some((name.to_lowercase(), digest.as_str()?.to_lowercase()))
    };
    entries.filter_map(digest).collect()
}

/// JSON can spell a NUL, databases cannot hold it.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// A number, or a number in a string.
fn serial(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_str()?.trim().parse().ok())
}
