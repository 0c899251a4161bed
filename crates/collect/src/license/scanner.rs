//! What all scanners have in common.

use std::time::Duration;

use facts::license::{Findings, ScannerIdentity};
use futures_util::future::BoxFuture;
use scan::license::tree::{Settled, TreeFile, settle};

/// A file to be scanned.
#[derive(Clone, Debug)]
pub struct Input {
    /// From the top of its repository, with `/`.
    pub path: String,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// What came of one file.
#[derive(Clone, Debug)]
pub enum Scanned {
    /// An answer.
    Done {
        /// What was found.
        findings: Box<Findings>,
        /// How long it took.
        elapsed: Duration,
        /// It took so long that the scanner may have cut it short without saying so.
        degraded: bool,
    },
    /// The scanner cannot do this file: it timed out, died of it or wanted too much memory, alone.
    Failed {
        /// Why.
        why: String,
        /// How long it took.
        elapsed: Duration,
    },
}

/// The scanner itself does not work. Nothing is known of any file.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the license scanner does not work: {0}")]
pub struct Broken(pub String);

/// Scans files.
pub trait Scanner: Send + Sync + std::fmt::Debug {
    /// Who it is; part of every key.
    fn identity(&self) -> &ScannerIdentity;

    /// Scans files, each by itself: an answer for each in its order. Whatever a single file does to
    /// it is that file's answer.
    fn scan(&self, files: Vec<Input>) -> BoxFuture<'_, Result<Vec<Scanned>, Broken>>;

    /// Puts the files of a tree together.
    fn settle(&self, files: Vec<(String, Findings)>) -> BoxFuture<'_, Settling> {
        Box::pin(async move { Settling::plain(files).await })
    }
}

/// A tree put together.
#[derive(Clone, Debug, Default)]
pub struct Settling {
    /// What only the tree tells, by the files' places.
    pub settled: Settled,
    /// The files, as they came.
    pub files: Vec<(String, Findings)>,
}

impl Settling {
    /// By our own rules. A large tree takes a while, so it is done beside the other work.
    pub async fn plain(files: Vec<(String, Findings)>) -> Self {
        let done = tokio::task::spawn_blocking(move || {
            let list: Vec<TreeFile<'_>> = files
                .iter()
                .map(|(path, findings)| TreeFile { path, findings })
                .collect();
            let settled = settle(&list);
            Self { settled, files }
        });
        done.await.unwrap_or_default()
    }
}
