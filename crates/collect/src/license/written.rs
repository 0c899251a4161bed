//! What a run of the license round writes down.

use std::{borrow::Cow, collections::BTreeMap};

use db::{Timestamp, Tx};
use engine::RunError;
use facts::license::ScannerIdentity;
use scan::license::{expression, tree::Settled};
use serde::Serialize;
use store::license::{self, Answer, CrossCheck, NewFile, NewPackage, NewResult, NewTally};

/// What a run says of itself.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Report {
    pub(super) scanner: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) commit: Option<String>,
    /// Neither the commit nor the scanner has changed.
    pub(super) unchanged: bool,
    /// Files of the tree.
    pub(super) files: usize,
    /// Distinct ones.
    pub(super) distinct: usize,
    /// Those of them that had an answer.
    pub(super) known: usize,
    /// Those that were scanned now.
    pub(super) scanned: usize,
    pub(super) bytes: u64,
    pub(super) found: usize,
    pub(super) failed: usize,
    pub(super) degraded: usize,
    pub(super) too_large: usize,
    pub(super) missing: usize,
    /// What was left out, by the reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) skipped: BTreeMap<Cow<'static, str>, usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) license: Option<String>,
}

/// A batch of answers.
pub(super) struct Batch {
    pub(super) scanner: ScannerIdentity,
    pub(super) answers: Vec<Answer>,
    pub(super) other: Option<ScannerIdentity>,
    pub(super) checks: Vec<CrossCheck>,
    pub(super) now: Timestamp,
}

impl Batch {
    pub(super) async fn write(&self, tx: &mut Tx) -> Result<(), RunError> {
        let scanner = license::scanner(tx, &self.scanner, self.now).await?;
        license::keep(tx, scanner, &self.answers, self.now).await?;
        if let Some(other) = &self.other {
            let other = license::scanner(tx, other, self.now).await?;
            license::note_checks(tx, scanner, other, &self.checks, self.now).await?;
        }
        Ok(())
    }
}

/// The rows of a result, in portions that fit a transaction.
pub(super) struct Portion {
    pub(super) repository: i64,
    pub(super) files: Vec<NewFile>,
    pub(super) tallies: Vec<NewTally>,
    pub(super) packages: Vec<NewPackage>,
}

impl Portion {
    pub(super) async fn write(&self, tx: &mut Tx) -> Result<(), RunError> {
        license::add_files(tx, self.repository, &self.files).await?;
        license::add_tallies(tx, self.repository, &self.tallies).await?;
        license::add_packages(tx, self.repository, &self.packages).await?;
        Ok(())
    }

    /// All rows, cut into portions.
    pub(super) fn all(repository: i64, files: Vec<NewFile>, settled: &Settled) -> Vec<Self> {
        let empty = || Self {
            repository,
            files: Vec::new(),
            tallies: Vec::new(),
            packages: Vec::new(),
        };
        let mut portions: Vec<Self> = Vec::new();
        for chunk in chunks(files) {
            portions.push(Self {
                files: chunk,
                ..empty()
            });
        }
        for chunk in chunks(tallies(settled)) {
            portions.push(Self {
                tallies: chunk,
                ..empty()
            });
        }
        let packages = settled.packages.iter().map(|one| NewPackage {
            purl: one.purl.clone(),
            path: one.path.clone(),
            spdx: one.spdx.clone(),
        });
        for chunk in chunks(packages.collect()) {
            portions.push(Self {
                packages: chunk,
                ..empty()
            });
        }
        portions
    }
}

fn tallies(settled: &Settled) -> Vec<NewTally> {
    let licenses = settled.licenses.iter().map(|one| NewTally {
        what: "license",
        value: one.value.clone(),
        files: one.files as i64,
        osi_approved: Some(expression::is_osi_approved(&one.value)),
    });
    let holders = settled.holders.iter().map(|one| NewTally {
        what: "holder",
        value: one.value.clone(),
        files: one.files as i64,
        osi_approved: None,
    });
    licenses.chain(holders).collect()
}

fn chunks<T>(mut list: Vec<T>) -> Vec<Vec<T>> {
    let size = store::MAX_ROWS / 2;
    let mut chunks = Vec::new();
    while list.len() > size {
        let rest = list.split_off(size);
        chunks.push(std::mem::replace(&mut list, rest));
    }
    if !list.is_empty() {
        chunks.push(list);
    }
    chunks
}

/// The beginning of a result.
pub(super) struct Begin {
    pub(super) new: NewResult,
    pub(super) scanner: ScannerIdentity,
    pub(super) now: Timestamp,
}

impl Begin {
    pub(super) async fn write(&self, tx: &mut Tx) -> Result<(), RunError> {
        let mut new = self.new.clone();
        new.scanner = license::scanner(tx, &self.scanner, self.now).await?;
        license::begin(tx, &new, self.now).await?;
        Ok(())
    }
}
