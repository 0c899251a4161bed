//! What asking the outside came to: found, absent, or unknown.
//!
//! Only a clean answer is knowledge. "It is not there" (a clean 404, an empty list, a repository
//! without commits) may end facts; "could not find out" (refused, limited, truncated, undecodable)
//! must change none. The three are different values, so that no outage is ever stored as absence.

/// An answer of somebody outside.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Answer<T> {
    /// This is there.
    Found(T),
    /// There is none: knowledge.
    Absent,
    /// No answer, or none that can be trusted, and why.
    Unknown(String),
}

impl<T> Answer<T> {
    /// The same answer about something else.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Answer<U> {
        match self {
            Self::Found(value) => Answer::Found(change(value)),
            Self::Absent => Answer::Absent,
            Self::Unknown(why) => Answer::Unknown(why),
        }
    }

    /// Asks on, if something was found.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Answer<U>) -> Answer<U> {
        match self {
            Self::Found(value) => next(value),
            Self::Absent => Answer::Absent,
            Self::Unknown(why) => Answer::Unknown(why),
        }
    }

    /// Whether the answer is knowledge: found or absent.
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown(_))
    }
}
