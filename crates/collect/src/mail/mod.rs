//! Mail: what was discussed, reviewed and voted on, and which issue, patch and repository it concerns.
//!
//! | kind | asks | does |
//! |---|---|---|
//! | `mail/fetch` | Pony Mail | stages every mail of a list, month by month |
//! | `mail/fetch-inbox` | public-inbox | likewise, epoch by epoch |
//! | `mail/resolve` | nobody | turns staged mail into messages, threads, classes and patch series |
//! | `mail/senders` | a forge | whose the addresses are that nobody here knows |
//! | `mail/project` | nobody | ties messages to issues, pull requests, repositories and people |
//!
//! Fetching never touches what readers see, so that a slow archive holds up nobody; one resolver for
//! each list writes, so that nobody waits for rows. Whatever is fetched becomes a message whether or
//! not a repository is known for it; only projection waits for one.
//!
//! Archives are behind [`ArchiveSource`](source::ArchiveSource): a third kind is a directory here and
//! a line in [`source::of`].

mod automation;
mod fetch;
pub mod pony_mail;
mod project;
pub mod public_inbox;
mod read;
mod resolve;
mod senders;
mod series;
pub mod source;
mod spool;
mod stage;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use facts::mail::MirrorHandling;
use scan::mail::classify::{Rules, RulesError};

pub use self::{
    fetch::{MailFetch, MailFetchInbox, unit as fetch_unit},
    project::{MailProject, unit as project_unit},
    resolve::{MailResolve, unit as resolve_unit},
    senders::{MailSenders, unit as senders_unit},
    stage::{MAX_MESSAGE, digest, stage_file_copy},
};
use crate::git::remote;

/// What is set about mail.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What becomes of mail that copies what a forge tells.
    pub mirror_handling: MirrorHandling,
    /// How many months of a list are read that was never read before; 0 or less for all.
    pub backfill_months: i64,
    /// A forge is asked about senders with at least so many messages; 0 or less for none.
    pub sender_search_after: i64,
    /// The forges of repositories that mail concerns are asked for their issues.
    pub ask_for_issues: bool,
    /// Rules in place of the shipped ones: the text of a file by its system.
    pub rules: BTreeMap<String, String>,
    /// Where mail lies while it arrives.
    pub spool: PathBuf,
    /// How git servers are asked.
    pub git: remote::Settings,
}

impl Settings {
    /// As it is without a configuration, with git's objects and the spool in these places.
    pub fn new(spool: impl Into<PathBuf>, mut git: remote::Settings) -> Self {
        // An epoch of a large list has a gigabyte, and a mail is read whole.
        git.limits.disk_bytes = 16 << 30;
        git.limits.time = std::time::Duration::from_hours(2);
        git.limits.reading.blob_bytes = MAX_MESSAGE;
        git.limits.reading.total_bytes = usize::MAX;
        git.limits.reading.time = std::time::Duration::from_hours(2);
        git.protocols
            .extend([remote::Protocol::Http, remote::Protocol::File]);
        Self {
            mirror_handling: MirrorHandling::default(),
            backfill_months: 6,
            sender_search_after: 5,
            ask_for_issues: true,
            rules: BTreeMap::new(),
            spool: spool.into(),
            git,
        }
    }

    /// The rules of a system.
    fn rules(&self, system: &str) -> Result<Arc<Rules>, RulesError> {
        Rules::load(system, &self.rules).map(Arc::new)
    }
}
