//! What is kept of a scan of one file.

use std::time::Duration;

use facts::license::Findings;
use scan::license::{Sort, sort};
use store::license::{Answer, FileKey, State};

use super::{Input, Scanned};

/// What is kept of a scan of one file.
pub(super) fn answer(key: &FileKey, input: &Input, outcome: Scanned) -> Answer {
    let size = Some(input.bytes.len() as u64);
    let sort = match sort(&input.bytes) {
        Sort::Text | Sort::TooLarge => None,
        sort => Some(sort.as_str().to_owned()),
    };
    let millis = |elapsed: Duration| i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
    match outcome {
        Scanned::Done {
            findings,
            elapsed,
            degraded,
        } => {
            let mut findings = *findings;
            findings.size = size;
            findings.sort = sort;
            let state = match (degraded, findings.is_empty()) {
                (true, _) => State::Degraded,
                (false, true) => State::Nothing,
                (false, false) => State::Found,
            };
            if state == State::Nothing {
                // Nine rows of ten: they say that there is nothing, and no more.
                findings = Findings {
                    size,
                    sort: findings.sort,
                    programming_language: findings.programming_language,
                    ..Findings::default()
                };
            }
            Answer {
                key: key.clone(),
                state,
                findings,
                elapsed_ms: millis(elapsed),
            }
        }
        Scanned::Failed { why, elapsed } => Answer {
            key: key.clone(),
            state: State::Failed,
            findings: Findings {
                size,
                sort,
                scan_errors: vec![why],
                ..Findings::default()
            },
            elapsed_ms: millis(elapsed),
        },
    }
}
