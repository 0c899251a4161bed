//! What a unit remembers of its last visit to the forge, so that better parsers can read the same
//! contents again without another one.

use std::time::Duration;

use db::Timestamp;
use serde::{Deserialize, Serialize};

use super::Snapshot;

/// More are not remembered; such a repository is visited again instead.
const MOST_SILENT: usize = 1_000;

/// A visit to a forge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Visit {
    /// When the tree was listed.
    pub(super) at: Timestamp,
    /// How many forms of file names were known: with more, the tree may hold more manifests.
    patterns: usize,
    /// The commit that was read, if it is cheaper to ask for than the tree.
    #[serde(default)]
    pub(super) pinned: Option<String>,
    /// Path and id of files that turned out to be no manifests.
    pub(super) silent: Vec<(String, String)>,
}

impl Visit {
    /// What to remember of a visit; nothing if it saw only a part, or too much.
    pub(super) fn of(snapshot: &Snapshot, at: Timestamp) -> Option<Self> {
        let whole = snapshot.left_out == 0 && snapshot.cut.is_none();
        (whole && snapshot.silent.len() <= MOST_SILENT).then(|| Self {
            at,
            patterns: scan::manifest::patterns(),
            pinned: snapshot.pinned.clone(),
            silent: snapshot.silent.clone(),
        })
    }

    /// Whether it is good enough to be read again at this time. In the second half of a cadence the
    /// forge is asked instead, or its next turn would be put off for too long.
    pub(super) fn serves(&self, now: Timestamp, cadence: Duration) -> bool {
        self.is_of_today() && now.since(self.at) < cadence / 2
    }

    /// Whether it saw all that would be looked for now.
    pub(super) fn is_of_today(&self) -> bool {
        self.patterns == scan::manifest::patterns()
    }
}
