//! Reading git repositories without a checkout.
//!
//! [`Local`] lists a tree and reads blobs by id; nothing is ever written, checked out, fetched or run.
//! [`remote`] fetches what is elsewhere, into directories of its own that [`Local`] then reads.
//! It is done by the `git` binary as a subprocess rather than by a library: it reads every
//! repository format there is, a fault in it cannot take the process along, and it can be stopped
//! at a time limit.
//!
//! The repository is as hostile as any remote text. Its own configuration is the one thing git
//! cannot be kept from reading, so what that could set off is shut in `command`: no hooks, no
//! protocols, no lazy fetches, no replaced objects, no pager, no prompt.
//!
//! A repository without commits is knowledge ([`Head::Empty`]); a path that is no repository is an
//! error ([`GitError::NotARepository`]).

mod blobs;
mod changes;
mod command;
mod commits;
mod error;
mod local;
pub mod remote;
mod tree;

use std::time::Duration;

pub use blobs::Blob;
pub use changes::{Change, Changed};
pub use error::GitError;
pub use local::{Head, Local};
pub use tree::{Entry, EntryKind};

/// How far a repository is followed.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The time one git process may take.
    pub time: Duration,
    /// The most bytes of a tree listing. The largest public trees (half a million files) list in
    /// about 60 MB.
    pub listing_bytes: usize,
    /// The most bytes of one blob; larger ones are skipped.
    pub blob_bytes: usize,
    /// The most bytes of all blobs of one reading.
    pub total_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_mins(5),
            listing_bytes: 256 << 20,
            blob_bytes: 1 << 20,
            total_bytes: 512 << 20,
        }
    }
}
