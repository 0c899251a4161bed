//! What a scanner finds in one file: licenses, copyrights, packages.
//!
//! The names are those that ScanCode gives its output, so that one reader serves every scanner that
//! speaks its format, and what one of them says more is ignored. What a file says is the same
//! wherever it stands ([`Findings`]); what it means beside other files is the tree's affair.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name of a license nobody could tell: the text leads to another file.
pub const UNKNOWN_REFERENCE: &str = "LicenseRef-scancode-unknown-license-reference";

/// What was found in one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Findings {
    /// The expression in the scanner's own keys.
    #[serde(
        rename = "detected_license_expression",
        skip_serializing_if = "Option::is_none"
    )]
    pub expression: Option<String>,
    /// The expression in SPDX identifiers.
    #[serde(
        rename = "detected_license_expression_spdx",
        skip_serializing_if = "Option::is_none"
    )]
    pub spdx: Option<String>,
    /// Matches that belong together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub license_detections: Vec<Detection>,
    /// Matches that prove nothing by themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub license_clues: Vec<Match>,
    /// How much of the file is license text, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentage_of_license_text: Option<f64>,
    /// Copyright statements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub copyrights: Vec<Line>,
    /// Who holds the copyright.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<Line>,
    /// Who wrote it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<Line>,
    /// Packages that the file declares, with their dependencies, as the scanner tells them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub package_data: Vec<Value>,
    /// The language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programming_language: Option<String>,
    /// What sort of file it is, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_type: Option<String>,
    /// The same as a media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// `empty`, `binary` or `lfs-pointer`, by its contents; none for what can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort: Option<String>,
    /// In bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// What the scanner could not do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scan_errors: Vec<String>,
}

/// Matches that belong together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Detection {
    /// In the scanner's own keys.
    pub license_expression: String,
    /// In SPDX identifiers.
    pub license_expression_spdx: String,
    /// One at least.
    pub matches: Vec<Match>,
    /// The same for equal detections, in whatever file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identifier: Option<String>,
}

/// A stretch of text that tells of a license.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Match {
    /// In the scanner's own keys.
    pub license_expression: String,
    /// In SPDX identifiers.
    #[serde(alias = "spdx_license_expression")]
    pub license_expression_spdx: String,
    /// The file it stands in, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_file: Option<String>,
    /// Counted from 1.
    pub start_line: u32,
    /// Counted from 1, inclusive.
    pub end_line: u32,
    /// By what it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// 0 to 100.
    pub score: f64,
    /// In words.
    pub matched_length: u32,
    /// How much of the rule was found, 0 to 100.
    pub match_coverage: f64,
    /// How much a full match of the rule says, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_relevance: Option<f64>,
    /// The rule.
    pub rule_identifier: String,
    /// The files it leads to: "see LICENSE".
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub referenced_filenames: Vec<String>,
}

/// Something that stands in some lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// What.
    #[serde(alias = "copyright", alias = "holder", alias = "author")]
    pub value: String,
    /// Counted from 1.
    pub start_line: u32,
    /// Counted from 1, inclusive.
    pub end_line: u32,
}

impl Findings {
    /// Whether there is anything that a reader would want to see.
    pub fn is_empty(&self) -> bool {
        self.spdx.is_none()
            && self.license_clues.is_empty()
            && self.copyrights.is_empty()
            && self.holders.is_empty()
            && self.authors.is_empty()
            && self.package_data.is_empty()
            && self.scan_errors.is_empty()
    }

    /// The package URLs of what the file declares.
    pub fn purls(&self) -> Vec<String> {
        let packages = self.package_data.iter();
        packages
            .filter_map(|package| package.get("purl")?.as_str().map(str::to_owned))
            .collect()
    }

    /// Names of files that the text leads to, each once.
    pub fn references(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self
            .license_detections
            .iter()
            .flat_map(|one| &one.matches)
            .flat_map(|one| &one.referenced_filenames)
            .map(String::as_str)
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Who scans: part of every key, shown with every answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ScannerIdentity {
    /// `builtin`, `scancode` or `provenant`.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// What tells two indexes or two sets of options of the same version apart.
    pub options: String,
}

impl ScannerIdentity {
    /// What stands in keys: everything that may change an answer.
    pub fn key(&self) -> String {
        if self.options.is_empty() {
            format!("{} {}", self.tool, self.version)
        } else {
            format!("{} {} {}", self.tool, self.version, self.options)
        }
    }

    /// What people read.
    pub fn title(&self) -> String {
        format!("{} {}", self.tool, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scancode_names_are_read_and_what_is_more_is_ignored() {
        let text = r#"{"path": "a", "detected_license_expression_spdx": "MIT", "is_binary": false,
            "copyrights": [{"copyright": "Copyright 2010 Pallets", "start_line": 1, "end_line": 1}],
            "license_detections": [{"license_expression": "mit", "matches": [{"score": 99.5,
            "start_line": 2, "end_line": 3, "rule_url": null, "rule_identifier": "mit.LICENSE"}]}],
            "package_data": [{"purl": "pkg:cargo/a@1"}, {"purl": null}]}"#;
        let findings: Findings = serde_json::from_str(text).unwrap();
        assert_eq!(findings.spdx.as_deref(), Some("MIT"));
        assert_eq!(findings.copyrights[0].value, "Copyright 2010 Pallets");
        assert_eq!(findings.purls(), ["pkg:cargo/a@1"]);
        assert!(!findings.is_empty());
        let again: Findings =
            serde_json::from_str(&serde_json::to_string(&findings).unwrap()).unwrap();
        assert_eq!(again, findings);
    }

    #[test]
    fn nothing_found_is_empty_whatever_sort_of_file_it_is() {
        let findings = Findings {
            programming_language: Some("C".to_owned()),
            size: Some(3),
            ..Findings::default()
        };
        assert!(findings.is_empty());
    }
}
