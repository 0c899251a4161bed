//! What asking came to: three values, the third with its reason.

use std::{collections::BTreeMap, fmt};

use super::unknown::Unknown;
use crate::answer::Answer;

/// What asking came to.
#[derive(Debug)]
#[must_use]
pub enum Reply<T> {
    /// This is there.
    Found(T),
    /// There is none: knowledge.
    Absent,
    /// Could not find out, and why.
    Unknown(Box<Unknown>),
}

impl<T> Reply<T> {
    /// The same reply about something else.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Reply<U> {
        match self {
            Self::Found(value) => Reply::Found(change(value)),
            Self::Absent => Reply::Absent,
            Self::Unknown(why) => Reply::Unknown(why),
        }
    }

    /// What is known, or why nothing is: `ask(…).known()?` in a function about errors.
    pub fn known(self) -> Result<Option<T>, Box<Unknown>> {
        match self {
            Self::Found(value) => Ok(Some(value)),
            Self::Absent => Ok(None),
            Self::Unknown(why) => Err(why),
        }
    }
}

impl<T> From<Result<Option<T>, Box<Unknown>>> for Reply<T> {
    fn from(known: Result<Option<T>, Box<Unknown>>) -> Self {
        match known {
            Ok(Some(value)) => Self::Found(value),
            Ok(None) => Self::Absent,
            Err(why) => Self::Unknown(why),
        }
    }
}

/// The reason becomes text.
impl<T> From<Reply<T>> for Answer<T> {
    fn from(reply: Reply<T>) -> Self {
        match reply {
            Reply::Found(value) => Self::Found(value),
            Reply::Absent => Self::Absent,
            Reply::Unknown(why) => Self::Unknown(why.to_string()),
        }
    }
}

/// A whole answer.
#[derive(Clone)]
pub struct Response {
    /// 200, 203, 204 or 206.
    pub status: u16,
    /// The headers worth keeping, by lower-case name; several of one name are joined by commas.
    pub headers: BTreeMap<String, String>,
    /// Decompressed.
    pub body: Vec<u8>,
    /// It is as it was when it was last asked for: the body is the kept one.
    pub not_modified: bool,
    /// The path within the upstream that answered, which differs from the one asked for after a
    /// redirect (a renamed repository); none if the answer came from elsewhere.
    pub path: Option<String>,
    /// Whether there were redirects on the way.
    pub redirected: bool,
    /// The path of the next page, where the `Link` header names one within the upstream.
    pub next: Option<String>,
}

impl Response {
    /// A header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The entity tag.
    pub fn etag(&self) -> Option<&str> {
        self.header("etag")
    }
}

/// The body is left out: it is long, and may be private.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .field("not_modified", &self.not_modified)
            .finish_non_exhaustive()
    }
}

/// An answer in JSON, read.
#[derive(Clone, Debug)]
pub struct Decoded<T> {
    /// What it says.
    pub value: T,
    /// How it came.
    pub response: Response,
}
