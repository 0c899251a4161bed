//! The scanner that is always there.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use facts::license::ScannerIdentity;
use futures_util::future::BoxFuture;

use super::{Broken, Input, Scanned, Scanner};

/// `scan::license`, beside the other work.
#[derive(Debug)]
pub struct Builtin {
    identity: ScannerIdentity,
}

impl Default for Builtin {
    fn default() -> Self {
        Self {
            identity: ScannerIdentity {
                tool: "builtin".to_owned(),
                version: scan::license::VERSION.to_string(),
                options: String::new(),
            },
        }
    }
}

impl Scanner for Builtin {
    fn identity(&self) -> &ScannerIdentity {
        &self.identity
    }

    fn scan(&self, files: Vec<Input>) -> BoxFuture<'_, Result<Vec<Scanned>, Broken>> {
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || files.iter().map(one).collect());
            done.await.map_err(|error| Broken(error.to_string()))
        })
    }
}

fn one(file: &Input) -> Scanned {
    let began = Instant::now();
    // It is tested never to panic. Should it, that is one file's misfortune.
    let found = catch_unwind(AssertUnwindSafe(|| {
        scan::license::scan_file(&file.path, &file.bytes)
    }));
    let elapsed = began.elapsed();
    match found {
        Ok(findings) => Scanned::Done {
            findings: Box::new(findings),
            elapsed,
            degraded: elapsed > Duration::from_mins(5),
        },
        Err(_) => Scanned::Failed {
            why: "the scanner panicked".to_owned(),
            elapsed,
        },
    }
}
