//! What ScanCode's own program writes about a whole tree.

use std::{fs, io::BufReader, path::Path};

use facts::license::Findings;
use serde::Deserialize;
use serde_json::Value;

/// The longest output.
const MOST_BYTES: u64 = 4 << 30;

/// An output that is whole.
#[derive(Debug)]
pub(super) struct StockOutput {
    /// The files with a finding, by their paths below the tree.
    pub(super) files: Vec<(String, Findings)>,
    /// The packages that were put together.
    pub(super) packages: Vec<Value>,
}

impl StockOutput {
    /// Reads an output. One that does not tell when the scan ended is none: exit codes prove
    /// nothing, and neither does a file.
    pub(super) async fn read(path: &Path) -> Result<Self, String> {
        let path = path.to_owned();
        let read = tokio::task::spawn_blocking(move || read(&path));
        read.await.map_err(|error| error.to_string())?
    }
}

#[derive(Deserialize)]
struct Written {
    headers: Vec<Header>,
    #[serde(default)]
    packages: Vec<Value>,
    files: Vec<File>,
}

#[derive(Deserialize)]
struct Header {
    end_timestamp: Option<String>,
}

#[derive(Deserialize)]
struct File {
    path: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(flatten)]
    findings: Findings,
}

fn read(path: &Path) -> Result<StockOutput, String> {
    let size = fs::metadata(path)
        .map_err(|_| "it wrote nothing".to_owned())?
        .len();
    if size > MOST_BYTES {
        return Err(format!("{size} bytes is over the limit of {MOST_BYTES}"));
    }
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let whole: Written =
        serde_json::from_reader(BufReader::new(file)).map_err(|error| error.to_string())?;
    let header = whole.headers.first();
    if header.is_none_or(|header| header.end_timestamp.is_none()) {
        return Err("it does not tell when it ended".to_owned());
    }
    let files = whole.files.into_iter();
    Ok(StockOutput {
        files: files
            .filter(|file| file.kind == "file" && !file.findings.is_empty())
            .map(|file| (file.path, file.findings))
            .collect(),
        packages: whole.packages,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_output_counts_when_it_is_whole_and_ended() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("o.json");
        assert!(StockOutput::read(&path).await.is_err());
        for (text, good) in [
            (
                r#"{"headers": [{"end_timestamp": "2026"}], "files": ["#,
                false,
            ),
            (
                r#"{"headers": [{"end_timestamp": null}], "files": []}"#,
                false,
            ),
            (r#"{"headers": [], "files": []}"#, false),
            (
                r#"{"headers": [{"end_timestamp": "2026"}], "files": [
                    {"path": "a", "type": "file", "detected_license_expression_spdx": "MIT"},
                    {"path": "b", "type": "file"}, {"path": "", "type": "directory"}]}"#,
                true,
            ),
        ] {
            fs::write(&path, text).unwrap();
            let read = StockOutput::read(&path).await;
            assert_eq!(read.is_ok(), good, "{text}");
            if let Ok(read) = read {
                assert_eq!(read.files.len(), 1);
            }
        }
    }
}
