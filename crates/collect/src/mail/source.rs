//! What an archive of mailing lists is to the one who fetches from it.
//!
//! An archive has *parts* (months, epochs). [`ArchiveSource::plan`] says which of them there is
//! something to read in, [`ArchiveSource::read`] hands every mail of one over to the [`Desk`] and
//! says how that ended. Staging, checkpoints, reports and the waking of the resolver are the same
//! for all.

use db::{Timestamp, Tx};
use engine::{Ending, Outcome, Run, RunError};
use facts::mail::Archive;
use futures_util::future::BoxFuture;
use store::mail::{self, KeptList, KnownPart, NewCopy};

use super::{
    Settings,
    pony_mail::PonyMail,
    public_inbox::PublicInbox,
    resolve,
    stage::{BYTES_AT_ONCE, COPIES_AT_ONCE},
};
use crate::{
    git::remote::{RemoteError, Retry},
    http::{Session, Unknown},
};

/// A kind of archive.
pub trait ArchiveSource: Send + Sync {
    /// The parts there is something to read in, oldest first.
    fn plan<'a>(&'a self, visit: &'a Visit<'a>) -> BoxFuture<'a, Result<Vec<Part>, Stopped>>;

    /// Hands over the mail of one part.
    fn read<'a>(
        &'a self,
        visit: &'a Visit<'a>,
        part: &'a Part,
        desk: &'a mut Desk<'_>,
    ) -> BoxFuture<'a, Result<PartEnd, Stopped>>;
}

/// The archive that a list is in; none for imports, which nobody fetches.
pub fn of(archive: Archive) -> Option<Box<dyn ArchiveSource>> {
    match archive {
        Archive::PonyMail => Some(Box::new(PonyMail)),
        Archive::PublicInbox => Some(Box::new(PublicInbox::default())),
        Archive::Import => None,
    }
}

/// One run's visit to a list.
#[derive(Debug)]
pub struct Visit<'a> {
    pub list: &'a KeptList,
    pub known: Vec<KnownPart>,
    pub settings: &'a Settings,
    pub session: Session,
    pub cx: &'a Run,
}

/// A part that is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub name: String,
    /// How many mails the archive says there are.
    pub expected: Option<i64>,
    /// More may come, so that it is read again.
    pub open: bool,
}

/// How reading a part ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartEnd {
    /// How many mails came; none where the copies of the part are to be counted.
    pub found: Option<i64>,
    /// The commit up to which it was read.
    pub tip: Option<String>,
    /// Fewer came than there should be, or something else worth telling.
    pub why: Option<String>,
    pub incomplete: bool,
}

/// Why a visit stopped.
#[derive(Debug)]
pub enum Stopped {
    Unknown(Box<Unknown>),
    Remote(RemoteError),
    Run(RunError),
    /// The archive says plainly that there is no such list.
    Gone(String),
}

impl From<Box<Unknown>> for Stopped {
    fn from(why: Box<Unknown>) -> Self {
        Self::Unknown(why)
    }
}

impl From<RemoteError> for Stopped {
    fn from(error: RemoteError) -> Self {
        Self::Remote(error)
    }
}

impl From<crate::git::GitError> for Stopped {
    fn from(error: crate::git::GitError) -> Self {
        Self::Remote(error.into())
    }
}

impl From<RunError> for Stopped {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

impl From<db::DbError> for Stopped {
    fn from(error: db::DbError) -> Self {
        Self::Run(error.into())
    }
}

impl Stopped {
    /// What is shown with the list.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Unknown(why) => why.to_string(),
            Self::Remote(error) => error.to_string(),
            Self::Run(error) => error.to_string(),
            Self::Gone(why) => why.clone(),
        }
    }

    /// How the run ends.
    pub(super) fn end(self, cx: &Run) -> Result<Ending, RunError> {
        match self {
            Self::Unknown(why) => why.end(cx, ()),
            Self::Run(error) => Err(error),
            Self::Gone(why) => Ok(cx.end(Outcome::Gone { why }, ())),
            Self::Remote(error) => {
                let now = cx.clock().now();
                if let Some(retry) = error.retry() {
                    let at = match retry {
                        Retry::After(time) => now.plus(*time),
                        Retry::At(time) => Timestamp::from(*time),
                    };
                    let why = error.to_string();
                    return Ok(cx.end(Outcome::Retry { at, why }, ()));
                }
                Err(match error {
                    RemoteError::BadUrl { .. }
                    | RemoteError::PrivateAddress { .. }
                    | RemoteError::TooMuch { .. }
                    | RemoteError::Directory { .. } => RunError::unit(error),
                    other => RunError::upstream(other),
                })
            }
        }
    }
}

/// Takes mail in and writes it in batches.
#[derive(Debug)]
pub struct Desk<'a> {
    cx: &'a Run,
    list: i64,
    copies: Vec<NewCopy>,
    bytes: usize,
    gone: Vec<String>,
    buried: Vec<String>,
    graveyard: String,
    /// Copies that were new.
    pub staged: usize,
    /// Copies that left the archive.
    pub forgotten: usize,
}

impl<'a> Desk<'a> {
    pub(super) fn new(cx: &'a Run, list: i64) -> Self {
        Self {
            cx,
            list,
            copies: Vec::new(),
            bytes: 0,
            gone: Vec::new(),
            buried: Vec::new(),
            graveyard: String::new(),
            staged: 0,
            forgotten: 0,
        }
    }

    /// Takes a mail.
    pub async fn take(&mut self, copy: NewCopy) -> Result<(), RunError> {
        self.bytes += copy.raw.len();
        self.copies.push(copy);
        if self.copies.len() >= COPIES_AT_ONCE || self.bytes >= BYTES_AT_ONCE {
            self.flush(None).await?;
        }
        Ok(())
    }

    /// Takes mail back that left the archive.
    pub async fn take_back(&mut self, digest: String) -> Result<(), RunError> {
        self.gone.push(digest);
        if self.gone.len() >= COPIES_AT_ONCE {
            self.flush(None).await?;
        }
        Ok(())
    }

    /// Takes mail back that a part of the archive says was removed, from whichever part it is in.
    pub async fn bury(&mut self, part: &str, digest: String) -> Result<(), RunError> {
        part.clone_into(&mut self.graveyard);
        self.buried.push(digest.clone());
        self.take_back(digest).await
    }

    /// Writes what is left together with how far the part was read.
    pub(super) async fn close(&mut self, part: KnownPart, count: bool) -> Result<(), RunError> {
        self.flush(Some((part, count))).await
    }

    async fn flush(&mut self, part: Option<(KnownPart, bool)>) -> Result<(), RunError> {
        if self.cx.cancelled().is_cancelled() {
            return Err(RunError::Interrupted);
        }
        let batch = Batch {
            list: self.list,
            copies: std::mem::take(&mut self.copies),
            gone: std::mem::take(&mut self.gone),
            buried: std::mem::take(&mut self.buried),
            graveyard: self.graveyard.clone(),
            part,
            now: self.cx.clock().now(),
            staged: std::sync::atomic::AtomicUsize::new(0),
        };
        self.bytes = 0;
        self.cx
            .commit(&(), &batch, |tx, batch| Box::pin(batch.write(tx)))
            .await?;
        self.forgotten += batch.gone.len();
        self.staged += batch.staged.into_inner();
        Ok(())
    }
}

struct Batch {
    list: i64,
    copies: Vec<NewCopy>,
    gone: Vec<String>,
    buried: Vec<String>,
    graveyard: String,
    /// How far it was read, and whether its copies are to be counted.
    part: Option<(KnownPart, bool)>,
    now: Timestamp,
    staged: std::sync::atomic::AtomicUsize,
}

impl Batch {
    async fn write(&self, tx: &mut Tx) -> Result<(), RunError> {
        let staged = mail::stage(tx, self.list, &self.copies, self.now).await?;
        self.staged
            .store(staged, std::sync::atomic::Ordering::Relaxed);
        let mut lists = vec![self.list];
        mail::bury(tx, self.list, &self.graveyard, &self.buried).await?;
        if !self.gone.is_empty() {
            lists.extend(mail::forget(tx, self.list, &self.gone).await?);
        }
        if let Some((part, count)) = &self.part {
            let mut part = part.clone();
            if *count {
                part.found = mail::count_part(tx, self.list, &part.part).await?;
            }
            mail::read_part(tx, self.list, &part).await?;
        }
        if staged == 0 && self.gone.is_empty() {
            return Ok(());
        }
        lists.sort_unstable();
        lists.dedup();
        resolve::wake(tx, &lists, self.now).await
    }
}
