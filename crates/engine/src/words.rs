//! The words of the engine: states and ranks, spelled the same in code,
//! columns, API, command line and pages.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The number of a unit.
pub type UnitId = i64;

/// The upstream of derived work, which asks nobody.
pub const NOBODY: &str = "";

/// Where a unit stands. The picture is in ENGINE.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Has requirements that are not met.
    Waiting,
    /// Runs as soon as it is due and there is a slot.
    Ready,
    /// A worker has it.
    Running,
    /// A one-off that ended well.
    Done,
    /// Set aside after its last strike, or because a hard requirement failed.
    Parked,
    /// Called off by a person.
    Cancelled,
}

impl State {
    /// All states, in the order in which pages list them.
    pub const ALL: [Self; 6] = [
        Self::Running,
        Self::Ready,
        Self::Waiting,
        Self::Parked,
        Self::Done,
        Self::Cancelled,
    ];

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Done => "done",
            Self::Parked => "parked",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that is no state.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no state: use one of waiting, ready, running, done, parked, cancelled")]
pub struct UnknownState(String);

impl FromStr for State {
    type Err = UnknownState;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == word)
            .ok_or_else(|| UnknownState(word.to_owned()))
    }
}

/// Why a unit is ready, which decides its share of the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rank {
    /// A person said so.
    RunNow = 0,
    /// The last run got only part of the answer.
    Partial = 1,
    /// It never ran.
    First = 2,
    /// Its cadence has passed.
    Cadence = 3,
    /// The last run failed.
    Strike = 4,
    /// It was there when three processes died: runs alone in its process.
    Alone = 5,
}

impl Rank {
    /// All ranks, most urgent first.
    pub const ALL: [Self; 6] = [
        Self::RunNow,
        Self::Partial,
        Self::First,
        Self::Cadence,
        Self::Strike,
        Self::Alone,
    ];

    /// The number in the column.
    pub fn number(self) -> i64 {
        self as i64
    }

    /// From the column. A number of a later binary is taken as the least urgent.
    pub fn from_number(number: i64) -> Self {
        usize::try_from(number)
            .ok()
            .and_then(|index| Self::ALL.get(index).copied())
            .unwrap_or(Self::Strike)
    }

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RunNow => "run-now",
            Self::Partial => "partial",
            Self::First => "first",
            Self::Cadence => "cadence",
            Self::Strike => "strike",
            Self::Alone => "alone",
        }
    }
}
