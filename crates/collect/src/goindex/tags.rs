//! `goindex/tags`: reads the tags of a repository and what they name.
//!
//! One question for all tags; if their digest is that of the last whole reading, the run is over.
//! Else tags that vanished, came back or moved are written down as events, and new ones are read in
//! batches, each of which commits with the wish to have it published. Only a reading to the end
//! writes the digest, so that whatever could not be read is read the next time.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
    time::Duration,
};

use db::{Timestamp, Tx};
use engine::{Ending, Enqueue, Outcome, Run, RunError};
use facts::repository::RepositoryUrl;
use scan::go::{ImportRoot, TagFault, VersionTag};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use store::{
    goindex::{self, KnownTag, NewTag},
    repositories,
};

use super::{
    Settings, Way, address,
    publish::wake,
    read::{self, ReadTag, Tag},
    settle,
};
use crate::{
    collector::{Collector, Need, kind},
    git::remote::{Refs, Remote, RemoteError, Retry},
};

/// Reads tags.
#[derive(Clone, Debug)]
pub struct GoTags(Way);

/// What a unit is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The repository's id.
    pub repository: i64,
}

/// Commits whose trees are fetched in one question.
const COMMITS_AT_ONCE: usize = 200;
/// Tags in one transaction: each may bring a version, an event and more.
const TAGS_AT_ONCE: usize = store::MAX_ROWS / 5;

#[derive(Debug, Default, Serialize)]
struct Report {
    tags: usize,
    unchanged: bool,
    new: usize,
    versions: usize,
    rejected: usize,
    moved: usize,
    vanished: usize,
    returned: usize,
    /// Tags of which the go.mod files could not be had.
    unknown: usize,
    requests: usize,
}

/// The unit of a repository.
pub fn unit(id: i64, url: &RepositoryUrl) -> Enqueue {
    let subject = Subject { repository: id };
    let unit = Enqueue::new(&kind::<GoTags>(), id.to_string())
        .payload(serde_json::to_value(subject).unwrap_or_default());
    if url.is_local() {
        unit
    } else {
        unit.upstream(url.host())
    }
}

impl GoTags {
    /// Asks this way.
    pub fn new(settings: Settings) -> Self {
        Self(Way::new(settings))
    }
}

impl Collector for GoTags {
    const NAME: &'static str = "goindex/tags";
    const SUMMARY: &'static str = "reads a repository's tags and the Go module versions they name";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(Duration::from_hours(24));
    const POOL: &'static str = "goindex";
    const MAX_RUN: Duration = Duration::from_mins(30);
    const NEEDS: &'static [Need] = &[Need::Tool("git"), Need::Network];

    type Subject = Subject;
    type Cursor = ();

    async fn run(
        &self,
        subject: Subject,
        _cursor: Option<()>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let Some(repository) = repositories::by_id(cx.db(), subject.repository).await? else {
            let why = "the repository is no longer tracked".to_owned();
            return Ok(cx.end(Outcome::Gone { why }, ()));
        };
        let id = repository.id;
        let began = (id, cx.clock().now());
        cx.commit(&(), &began, |tx, (id, now)| {
            Box::pin(async move { Ok(goindex::began(tx, *id, *now).await?) })
        })
        .await?;

        let url = address::clone_url(&repository, &self.0.settings);
        let remote = match self.0.to(&url).await {
            Ok(remote) => remote,
            Err(error) => return no_answer(error, cx),
        };
        let refs = match remote.refs(&["refs/tags/"]).await {
            Ok(refs) => refs,
            Err(error @ RemoteError::NoRepository { .. }) => return gone(id, &error, cx).await,
            Err(error) => return no_answer(error, cx),
        };
        let roots = address::roots(&repository);
        let reading = Reading {
            cx,
            repository: id,
            remote,
            digest: digest(&refs, &roots),
            roots,
        };
        reading.run(refs).await
    }
}

/// One run's part of a repository.
struct Reading<'a> {
    cx: &'a Run,
    repository: i64,
    remote: Remote,
    digest: String,
    roots: Vec<ImportRoot>,
}

impl Reading<'_> {
    async fn run(self, refs: Refs) -> Result<Ending, RunError> {
        let mut report = Report {
            tags: refs.refs.len(),
            requests: refs.requests,
            ..Report::default()
        };
        let last = goindex::ref_digest(self.cx.db(), self.repository).await?;
        if last.as_deref() == Some(self.digest.as_str()) {
            report.unchanged = true;
            return Ok(self.end(report, Outcome::Done, settle::Changes::default()));
        }
        let tags: Vec<Tag> = refs.refs.into_iter().filter_map(Tag::of).collect();
        let known = goindex::known_tags(self.cx.db(), self.repository).await?;
        let news = News::tell(&tags, &known, last.is_none());
        report.moved = news.moved.len();
        report.vanished = news.vanished.len();
        report.returned = news.returned.len();
        self.note(&news).await?;

        report.new = news.unread.len();
        let (versions, nameless) = split(&news.unread);
        report.rejected += nameless.len();
        for chunk in nameless.chunks(TAGS_AT_ONCE) {
            let read: Vec<ReadTag> = chunk
                .iter()
                .map(|one| ReadTag::nothing(one.clone()))
                .collect();
            self.write(&read, &[]).await?;
        }
        for chunk in by_commit(&versions).chunks(COMMITS_AT_ONCE) {
            let read = read::read(&self.remote, &self.roots, chunk, self.cx.db()).await;
            let read = match read {
                Ok(read) => read,
                Err(read::Failed::Remote(error)) => return no_answer(error, self.cx),
                Err(read::Failed::Run(error)) => return Err(error),
            };
            report.requests += read.requests;
            report.unknown += read.unknown;
            for tag in &read.tags {
                report.versions += tag.versions.len();
                report.rejected += usize::from(tag.tag.rejection.is_some());
            }
            let mut files = read.files.as_slice();
            for tags in read.tags.chunks(TAGS_AT_ONCE) {
                self.write(tags, files).await?;
                files = &[];
            }
        }
        let changes = settle::changes(self.cx.db(), self.repository).await?;
        let outcome = match report.unknown {
            0 => Outcome::Done,
            unknown => Outcome::Partial {
                why: format!("the go.mod files of {unknown} tags could not be had"),
                retry_at: None,
            },
        };
        Ok(self.end(report, outcome, changes))
    }

    /// What became of tags that were known.
    async fn note(&self, news: &News) -> Result<(), RunError> {
        let now = self.cx.clock().now();
        for moved in news.moved.chunks(TAGS_AT_ONCE) {
            let facts = (self.repository, moved.to_vec(), now);
            self.cx
                .commit(&(), &facts, |tx, (id, tags, now)| {
                    Box::pin(async move { Ok(goindex::moved(tx, *id, tags, *now).await?) })
                })
                .await?;
        }
        for vanished in news.vanished.chunks(TAGS_AT_ONCE) {
            let facts = (self.repository, vanished.to_vec(), now);
            self.cx
                .commit(&(), &facts, |tx, (id, tags, now)| {
                    Box::pin(async move { Ok(goindex::vanished(tx, *id, tags, *now).await?) })
                })
                .await?;
        }
        for returned in news.returned.chunks(TAGS_AT_ONCE) {
            let facts = (self.repository, returned.to_vec(), now);
            self.cx
                .commit(&(), &facts, |tx, (id, tags, now)| {
                    Box::pin(async move {
                        goindex::returned(tx, *id, tags, *now).await?;
                        wake(tx, *now).await
                    })
                })
                .await?;
        }
        Ok(())
    }

    /// Writes tags down with what they name and the files it was read from.
    async fn write(&self, read: &[ReadTag], files: &[(String, Vec<u8>)]) -> Result<(), RunError> {
        let facts = Written {
            repository: self.repository,
            tags: read.iter().map(|one| one.tag.clone()).collect(),
            versions: read.iter().flat_map(|one| one.versions.clone()).collect(),
            files: files.to_vec(),
            now: self.cx.clock().now(),
        };
        self.cx
            .commit(&(), &facts, |tx, facts| Box::pin(facts.write(tx)))
            .await
    }

    fn end(&self, report: Report, outcome: Outcome, changes: settle::Changes) -> Ending {
        let whole = matches!(outcome, Outcome::Done);
        let facts = Last {
            repository: self.repository,
            digest: whole.then(|| self.digest.clone()),
            publish: !report.unchanged,
            changes,
            now: self.cx.clock().now(),
        };
        self.cx.finish(outcome, report, facts, |tx, facts| {
            Box::pin(facts.write(tx))
        })
    }
}

struct Written {
    repository: i64,
    tags: Vec<NewTag>,
    versions: Vec<goindex::NewVersion>,
    files: Vec<(String, Vec<u8>)>,
    now: Timestamp,
}

impl Written {
    async fn write(&self, tx: &mut Tx) -> Result<(), RunError> {
        goindex::keep_contents(tx, &self.files).await?;
        goindex::record(tx, self.repository, &self.tags, &self.versions, self.now).await?;
        if self.versions.is_empty() {
            return Ok(());
        }
        wake(tx, self.now).await
    }
}

struct Last {
    repository: i64,
    digest: Option<String>,
    publish: bool,
    changes: settle::Changes,
    now: Timestamp,
}

impl Last {
    async fn write(&self, tx: &mut Tx) -> Result<(), RunError> {
        self.changes.write(tx, self.now).await?;
        if let Some(digest) = &self.digest {
            goindex::finished(tx, self.repository, digest, self.now).await?;
        }
        if self.publish {
            wake(tx, self.now).await?;
        }
        Ok(())
    }
}

/// What is different from the last reading.
#[derive(Default)]
struct News {
    unread: Vec<Tag>,
    /// Names, and what they lead to now.
    moved: Vec<(String, String)>,
    vanished: Vec<String>,
    returned: Vec<String>,
}

impl News {
    /// `again`: tags that named nothing are looked at once more, whatever they lead to.
    fn tell(tags: &[Tag], known: &[KnownTag], again: bool) -> Self {
        let by_name: HashMap<&str, &KnownTag> =
            known.iter().map(|tag| (tag.name.as_str(), tag)).collect();
        let mut news = Self::default();
        for tag in tags {
            let Some(known) = by_name.get(tag.name.as_str()) else {
                news.unread.push(tag.clone());
                continue;
            };
            let moved = known.object != tag.target;
            if known.rejection.is_some() {
                // Nothing was published, so it is what it is now.
                if again || moved || known.gone {
                    news.unread.push(tag.clone());
                }
                continue;
            }
            if moved {
                news.moved.push((tag.name.clone(), tag.target.clone()));
            }
            if known.gone {
                news.returned.push(tag.name.clone());
            }
        }
        let here: HashSet<&str> = tags.iter().map(|tag| tag.name.as_str()).collect();
        let vanished = known
            .iter()
            .filter(|tag| !tag.gone && !here.contains(tag.name.as_str()));
        news.vanished = vanished.map(|tag| tag.name.clone()).collect();
        news
    }
}

/// Tags whose name can be a version, and those whose name tells that they are none.
fn split(tags: &[Tag]) -> (Vec<Tag>, Vec<(Tag, TagFault)>) {
    let (mut versions, mut nameless) = (Vec::new(), Vec::new());
    for tag in tags {
        match VersionTag::parse(&tag.name) {
            Ok(_) => versions.push(tag.clone()),
            Err(fault) => nameless.push((tag.clone(), fault)),
        }
    }
    (versions, nameless)
}

/// Tags that lead to the same commit are read together.
fn by_commit(tags: &[Tag]) -> Vec<Vec<Tag>> {
    let mut order: Vec<Vec<Tag>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for tag in tags {
        let next = order.len();
        let place = *places.entry(tag.target.as_str()).or_insert(next);
        if place == next {
            order.push(Vec::new());
        }
        order[place].push(tag.clone());
    }
    order
}

/// Over all tags, the rules they are read by and the paths that lead here.
fn digest(refs: &Refs, roots: &[ImportRoot]) -> String {
    let mut lines: Vec<String> = refs
        .refs
        .iter()
        .map(|one| {
            let peeled = one.peeled.as_deref().unwrap_or_default();
            format!("{} {} {peeled}", one.name, one.id)
        })
        .collect();
    lines.sort_unstable();
    let mut hash = Sha256::new();
    hash.update(format!("{}\n", GoTags::VERSION));
    for root in roots {
        hash.update(format!("{} {}\n", root.path, root.subdir));
    }
    for line in lines {
        hash.update(line);
        hash.update("\n");
    }
    let mut text = String::with_capacity(64);
    for byte in hash.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The server says plainly that there is no such repository: what it had is no longer available.
async fn gone(id: i64, error: &RemoteError, cx: &Run) -> Result<Ending, RunError> {
    let known = goindex::known_tags(cx.db(), id).await?;
    let here = known.iter().filter(|tag| !tag.gone);
    let names: Vec<String> = here.map(|tag| tag.name.clone()).collect();
    let now = cx.clock().now();
    for names in names.chunks(TAGS_AT_ONCE) {
        let facts = (id, names.to_vec(), now);
        cx.commit(&(), &facts, |tx, (id, tags, now)| {
            Box::pin(async move { Ok(goindex::vanished(tx, *id, tags, *now).await?) })
        })
        .await?;
    }
    let outcome = Outcome::Gone {
        why: error.to_string(),
    };
    Ok(cx.finish(outcome, Report::default(), id, |tx, id| {
        Box::pin(async move {
            // Should it come back as it was, its tags must be looked at.
            goindex::forget_digest(tx, Some(*id)).await?;
            Ok(())
        })
    }))
}

/// Nothing is known that was not known before.
fn no_answer(error: RemoteError, cx: &Run) -> Result<Ending, RunError> {
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
        RemoteError::Unauthorized { .. }
        | RemoteError::Forbidden { .. }
        | RemoteError::BadUrl { .. }
        | RemoteError::PrivateAddress { .. }
        | RemoteError::Moved { .. }
        | RemoteError::TooMuch { .. }
        | RemoteError::Directory { .. }
        | RemoteError::Git(_) => RunError::unit(error),
        other => RunError::upstream(other),
    })
}
