//! `goindex/tags`: reads the tags of a repository and what they name.
//!
//! One question for all tags; if their digest is that of the last whole reading, the run is over.
//! Else tags that vanished, came back or moved are written down as events, and new ones are read in
//! batches, each of which commits with the wish to have it published. Only a reading to the end
//! writes the digest, so that whatever could not be read is read the next time.
//!
//! A path that is not the repository's own counts once its host has said that it leads here
//! (`goindex/vanity`); until then nothing is said about the tags that declare it.

use std::time::Duration;

use db::{Timestamp, Tx};
use engine::{Ending, Enqueue, Outcome, Run, RunError};
use facts::repository::RepositoryUrl;
use serde::{Deserialize, Serialize};
use store::{
    goindex::{self, NewTag},
    repositories::{self, Repository},
};

use super::{
    Settings, Way, address,
    api::{self, Api},
    news::{News, by_commit, digest, split},
    paths::Paths,
    publish::wake,
    read::{self, ReadTag, Source, Tag},
    settle, vanity,
};
use crate::{
    collector::{Collector, Need, kind, untracked},
    git::remote::{self, Refs, RemoteError},
    http::Http,
    repo_metadata::enqueue,
};

/// Reads tags.
#[derive(Clone, Debug)]
pub struct GoTags {
    way: Way,
    /// For repositories that git cannot reach.
    http: Option<Http>,
}

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
    /// Paths whose hosts have not answered for them.
    unanswered: usize,
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
        Self {
            way: Way::new(settings),
            http: None,
        }
    }

    /// Asks the APIs of forges where git cannot be reached.
    pub fn or_by_api(mut self, http: Http) -> Self {
        self.http = Some(http);
        self
    }

    /// What the forge tells of a repository that git was not told of.
    async fn by_api(
        &self,
        error: &RemoteError,
        repository: &Repository,
        cx: &Run,
    ) -> Result<Option<(Source, Refs)>, RunError> {
        let Some(http) = self.http.as_ref().filter(|_| api::may_help(error)) else {
            return Ok(None);
        };
        let opened = Api::open(http, repository, cx).await?;
        Ok(opened.map(|(api, refs)| (Source::Api(api), refs)))
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
            return Ok(untracked(cx));
        };
        let id = repository.id;
        let began = (id, cx.clock().now());
        cx.commit(&(), &began, |tx, (id, now)| {
            Box::pin(async move { Ok(goindex::began(tx, *id, *now).await?) })
        })
        .await?;

        let url = address::clone_url(&repository, &self.way.settings);
        let remote = match self.way.to(&url).await {
            Ok(remote) => remote,
            Err(error) => return error.end(cx, ()),
        };
        let refs = remote.refs(&["refs/tags/"]).await;
        remote::account(cx, &refs).await;
        let (source, refs) = match refs {
            Ok(refs) => (Source::Git(remote), refs),
            Err(error @ RemoteError::NoRepository { .. }) => return gone(id, &error, cx).await,
            Err(error) => match self.by_api(&error, &repository, cx).await? {
                Some(told) => told,
                None => return error.end(cx, ()),
            },
        };
        let answered = goindex::roots(cx.db(), id).await?;
        let trusted = repository.local || !self.way.settings.check_vanity;
        let paths = Paths::new(address::roots(&repository), answered, trusted);
        let reading = Reading {
            cx,
            repository: id,
            source,
            digest: digest(&refs, paths.roots()),
            paths,
        };
        reading.run(refs).await
    }
}

/// One run's part of a repository.
struct Reading<'a> {
    cx: &'a Run,
    repository: i64,
    source: Source,
    digest: String,
    paths: Paths,
}

impl Reading<'_> {
    async fn run(mut self, refs: Refs) -> Result<Ending, RunError> {
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
            let read = read::read(&self.source, &mut self.paths, chunk, self.cx.db()).await;
            let read = match read {
                Ok(read) => read,
                Err(read::Failed::Remote(error)) => {
                    let failed: Result<(), RemoteError> = Err(error);
                    remote::account(self.cx, &failed).await;
                    return match failed {
                        Err(error) => error.end(self.cx, report),
                        Ok(()) => Ok(self.cx.end(Outcome::Done, report)),
                    };
                }
                Err(read::Failed::Forge(why)) => return why.end(self.cx, report),
                Err(read::Failed::Run(error)) => return Err(error),
            };
            report.requests += read.requests;
            report.unknown += read.unknown;
            for tag in &read.tags {
                report.versions += tag.versions.len();
                report.rejected += usize::from(tag.tag.rejection.is_some());
            }
            self.keep(&read.files).await?;
            for tags in read.tags.chunks(TAGS_AT_ONCE) {
                self.write(tags, &[]).await?;
            }
        }
        report.unanswered = self.paths.unanswered().len();
        let changes = settle::changes(self.cx.db(), self.repository).await?;
        let mut pieces = changes.pieces();
        let last = pieces.pop().unwrap_or_default();
        for piece in pieces {
            let facts = (piece, self.cx.clock().now());
            self.cx
                .commit(&(), &facts, |tx, (piece, now)| {
                    Box::pin(piece.write(tx, *now))
                })
                .await?;
        }
        let outcome = self.outcome(&report);
        Ok(self.end(report, outcome, last))
    }

    fn outcome(&self, report: &Report) -> Outcome {
        match (report.unknown, report.unanswered) {
            (0, 0) => Outcome::Done,
            // Whoever answers for the paths makes this unit due.
            (0, _) => Outcome::Partial {
                why: format!(
                    "nobody has answered yet for {}",
                    self.paths.unanswered().join(", ")
                ),
                retry_at: Some(
                    self.cx
                        .clock()
                        .now()
                        .plus(GoTags::CADENCE.unwrap_or_default()),
                ),
            },
            (unknown, _) => Outcome::Partial {
                why: format!("the go.mod files of {unknown} tags could not be had"),
                retry_at: None,
            },
        }
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
        vanish(self.repository, &news.vanished, self.cx).await?;
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

    /// Keeps files that were fetched, whatever comes of the tags that lead to them.
    async fn keep(&self, files: &[(String, Vec<u8>)]) -> Result<(), RunError> {
        for files in files.chunks(TAGS_AT_ONCE) {
            self.write(&[], files).await?;
        }
        Ok(())
    }

    /// Writes tags down with what they name, and files.
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
        let unanswered = self.paths.unanswered();
        let facts = Last {
            repository: self.repository,
            digest: whole.then(|| self.digest.clone()),
            publish: !report.unchanged,
            asking: unanswered
                .iter()
                .map(|path| vanity::unit(self.repository, path))
                .collect(),
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
        if self.tags.is_empty() {
            return Ok(());
        }
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
    /// Those who find out where paths lead.
    asking: Vec<Enqueue>,
    changes: settle::Changes,
    now: Timestamp,
}

impl Last {
    async fn write(&self, tx: &mut Tx) -> Result<(), RunError> {
        self.changes.write(tx, self.now).await?;
        enqueue(tx, &self.asking, self.now).await?;
        if let Some(digest) = &self.digest {
            goindex::finished(tx, self.repository, digest, self.now).await?;
        }
        if self.publish {
            wake(tx, self.now).await?;
        }
        Ok(())
    }
}

/// The server says plainly that there is no such repository: what it had is no longer available.
async fn gone(id: i64, error: &RemoteError, cx: &Run) -> Result<Ending, RunError> {
    let known = goindex::known_tags(cx.db(), id).await?;
    let here = known.iter().filter(|tag| !tag.gone);
    let names: Vec<String> = here.map(|tag| tag.name.clone()).collect();
    vanish(id, &names, cx).await?;
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

/// These tags are no longer there.
async fn vanish(id: i64, tags: &[String], cx: &Run) -> Result<(), RunError> {
    let now = cx.clock().now();
    for tags in tags.chunks(TAGS_AT_ONCE) {
        let facts = (id, tags.to_vec(), now);
        cx.commit(&(), &facts, |tx, (id, tags, now)| {
            Box::pin(async move { Ok(goindex::vanished(tx, *id, tags, *now).await?) })
        })
        .await?;
    }
    Ok(())
}
