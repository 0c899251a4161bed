//! What stock ScanCode says of a tree, and where that differs from what we say.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Stdio,
    time::Duration,
};

use engine::Attachment;
use facts::license::Findings;
use serde::Serialize;
use store::repositories::Repository;
use tokio::time::timeout;

use super::{
    Broken, Settings,
    gather::{Leads, Way},
    python_in,
    stock_output::StockOutput,
    stop::Stop,
    work_directory,
};
use crate::git::{Blob, EntryKind, remote::RemoteError};

/// The longest that a whole tree may take.
const LONGEST: Duration = Duration::from_hours(12);
/// Files that are unpacked together.
const UNPACK: usize = 200;

/// One thing that two scans of the same file tell differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The file.
    pub path: String,
    /// `license`, `holders` or `packages`.
    pub what: &'static str,
    /// What we say.
    pub ours: Option<String>,
    /// What the stock scanner says.
    pub theirs: Option<String>,
}

/// What a comparison came to.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Compared {
    /// Files that were compared.
    pub files: usize,
    /// Those of them that differ in anything.
    pub differing: usize,
    /// Each difference.
    pub differences: Vec<Difference>,
}

impl Compared {
    /// The share of files that are equal in everything, 0 to 1.
    pub fn share(&self) -> f64 {
        1.0 - self.differing as f64 / self.files.max(1) as f64
    }
}

/// Compares, file by file, what two scans found. Who has nothing to say of a file is not in its list.
pub fn compare(
    ours: &BTreeMap<String, Findings>,
    theirs: &BTreeMap<String, Findings>,
    files: usize,
) -> Compared {
    let mut compared = Compared {
        files,
        ..Compared::default()
    };
    let nothing = Findings::default();
    let paths: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    for path in paths {
        let (a, b) = (
            ours.get(path).unwrap_or(&nothing),
            theirs.get(path).unwrap_or(&nothing),
        );
        let before = compared.differences.len();
        let told = [
            ("license", a.spdx.clone(), b.spdx.clone()),
            ("holders", list(&holders(a)), list(&holders(b))),
            ("packages", list(&a.purls()), list(&b.purls())),
        ];
        for (what, ours, theirs) in told {
            if ours != theirs {
                compared.differences.push(Difference {
                    path: path.clone(),
                    what,
                    ours,
                    theirs,
                });
            }
        }
        compared.differing += usize::from(compared.differences.len() > before);
    }
    compared
}

fn holders(findings: &Findings) -> Vec<String> {
    findings
        .holders
        .iter()
        .map(|one| one.value.clone())
        .collect()
}

fn list(names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| names.join(" | "))
}

/// Runs stock ScanCode over a directory: every file with a finding, by its path.
pub async fn stock(
    settings: &Settings,
    directory: &Path,
) -> Result<BTreeMap<String, Findings>, Broken> {
    let program = python_in(&settings.venv).with_file_name("scancode");
    let base = settings.directory.clone();
    let place = work_directory::make(&base).map_err(|error| Broken(error.to_string()))?;
    let output = place.path().join("output.json");
    let mut attachment = Attachment::new(&program);
    attachment
        .command()
        .args([
            "-clpi",
            "--strip-root",
            "--max-in-memory",
            "0",
            "--quiet",
            "--processes",
        ])
        .arg(settings.processes.max(1).to_string())
        .arg("--timeout")
        .arg(settings.file_timeout.as_secs().to_string())
        .arg("--json")
        .arg(&output)
        .arg(directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = attachment
        .spawn()
        .await
        .map_err(|error| Broken(error.to_string()))?;
    if timeout(LONGEST, child.wait()).await.is_err() {
        return Err(Broken("it took too long".to_owned()));
    }
    let whole = StockOutput::read(&output).await.map_err(Broken)?;
    Ok(whole.files.into_iter().collect())
}

/// Why a repository could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The repository could not be had.
    #[error(transparent)]
    Git(#[from] RemoteError),
    /// The stock scanner does not work.
    #[error(transparent)]
    Scanner(#[from] Broken),
    /// It has moved on since.
    #[error("its HEAD is {now} by now, and the result is of {then}; scan it again first")]
    MovedOn {
        /// Where HEAD leads.
        now: String,
        /// What was scanned.
        then: String,
    },
    /// The files could not be unpacked.
    #[error("its files could not be unpacked")]
    Unpack(#[from] std::io::Error),
}

impl From<Stop> for VerifyError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Git(error) => Self::Git(error),
            Stop::Broken(broken) => Self::Scanner(broken),
            Stop::Run(error) => Self::Scanner(Broken(error.to_string())),
        }
    }
}

/// Runs stock ScanCode over a repository's tree at the commit of its result. Returns what it says
/// and how many files there are.
pub async fn stock_of_repository(
    settings: &Settings,
    repository: &Repository,
    commit: &str,
) -> Result<(BTreeMap<String, Findings>, usize), VerifyError> {
    let source = Way::new(settings.clone()).to(repository).await?;
    let now = match source.head(None).await? {
        Leads::To(now) => now,
        Leads::Nowhere => String::new(),
    };
    if now != commit {
        return Err(VerifyError::MovedOn {
            now,
            then: commit.to_owned(),
        });
    }
    let tree = source.tree(true, None).await?;
    let mut entries = tree.entries(commit).await?;
    entries.retain(|entry| entry.kind == EntryKind::File);
    let place = work_directory::make(&settings.directory)?;
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for chunk in entries.chunks(UNPACK) {
        let mut ids: Vec<&str> = chunk.iter().map(|entry| entry.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        let blobs = tree.blobs(&ids, None).await?;
        let blobs: BTreeMap<&str, Blob> = ids.into_iter().zip(blobs).collect();
        for entry in chunk {
            if let Some(Blob::Bytes(bytes)) = blobs.get(entry.id.as_str()) {
                let written = work_directory::write(place.path(), &entry.path, bytes)?;
                let inner = written.strip_prefix(place.path()).unwrap_or(&written);
                names.insert(inner.to_string_lossy().into_owned(), entry.path.clone());
            }
        }
    }
    let said = stock(settings, place.path()).await?;
    let said = said
        .into_iter()
        .map(|(path, findings)| (names.get(&path).cloned().unwrap_or(path), findings))
        .collect();
    Ok((said, names.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_is_told() {
        let with = |spdx: &str| Findings {
            spdx: Some(spdx.to_owned()),
            ..Findings::default()
        };
        let ours = BTreeMap::from([("a".to_owned(), with("MIT")), ("b".to_owned(), with("ISC"))]);
        let theirs = BTreeMap::from([
            ("a".to_owned(), with("MIT")),
            ("c".to_owned(), with("Zlib")),
        ]);
        let compared = compare(&ours, &theirs, 10);
        assert_eq!((compared.differing, compared.differences.len()), (2, 2));
        assert!((compared.share() - 0.8).abs() < 1e-9);
        assert_eq!(compared.differences[1].theirs.as_deref(), Some("Zlib"));
    }
}
