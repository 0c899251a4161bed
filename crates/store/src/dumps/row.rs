//! A line of a dump: one file of the index, as it is now.

use serde::{Deserialize, Serialize};

use crate::pypi::{Extracted, FileRow};

/// One file. (`project`, `filename`) is its identity: a later line about the same file, one with a
/// greater `seq`, replaces all that earlier ones say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DumpRow {
    /// The file's name.
    pub filename: String,
    /// The project, normalised.
    pub project: String,
    /// The version, by the name of the file.
    pub version: String,
    /// `wheel`, `egg`, `sdist`, `installer` or `other`.
    pub dist_type: String,
    /// The file's SHA-256 in hexadecimal, if the index tells.
    pub sha256: Option<String>,
    /// Requirements, as they stand in the metadata.
    pub requires_dist: Vec<String>,
    /// As the index has it, else as the metadata have it.
    pub requires_python: Option<String>,
    /// The extras that it offers.
    pub extras: Vec<String>,
    /// All that can be imported, dotted.
    pub modules: Vec<String>,
    /// What a user would import.
    pub import_names: Vec<String>,
    /// `python-abi-platform`, of wheels and eggs.
    pub tags: Vec<String>,
    /// Where the file lies.
    pub url: String,
    /// In bytes, if known.
    pub size: Option<i64>,
    /// When it came, in RFC 3339, if the index tells.
    pub upload_time: Option<String>,
    /// Why it was yanked, empty without a reason; null for a file that is not.
    pub yanked: Option<String>,
    /// The index does not list it any more.
    pub removed: bool,
    /// The index withholds its project as unsafe.
    pub quarantined: bool,
    /// The serial of the page that first listed it, if the index has serials.
    pub serial: Option<i64>,
    /// `ok`, `refused`, or `not-yet`.
    pub extracted: String,
    /// Why it was refused.
    pub refusal: Option<String>,
    /// The version of the extractor that read it.
    pub extractor: Option<i64>,
    /// The number of its last change.
    pub seq: i64,
}

impl DumpRow {
    /// Whether the file can be had from the index.
    pub fn is_there(&self) -> bool {
        !self.removed && !self.quarantined
    }
}

impl From<FileRow> for DumpRow {
    fn from(file: FileRow) -> Self {
        let (extracted, refusal) = match file.extracted {
            Extracted::NotYet => ("not-yet", None),
            Extracted::Ok => ("ok", None),
            Extracted::Refused { code, reason } if reason.is_empty() => ("refused", Some(code)),
            Extracted::Refused { code, reason } => ("refused", Some(format!("{code}: {reason}"))),
        };
        Self {
            filename: file.filename,
            project: file.project,
            version: file.version,
            dist_type: file.kind.as_str().to_owned(),
            sha256: file.sha256,
            requires_dist: file.requires_dist,
            requires_python: file.requires_python,
            extras: file.extras,
            modules: file.modules,
            import_names: file.import_names,
            tags: file.tags,
            url: file.url,
            size: file.size,
            upload_time: file.upload_time.map(|time| time.to_string()),
            yanked: file.yanked,
            removed: file.removed,
            quarantined: file.quarantined,
            serial: file.serial,
            extracted: extracted.to_owned(),
            refusal,
            extractor: file.extractor_version,
            seq: file.change_seq,
        }
    }
}
