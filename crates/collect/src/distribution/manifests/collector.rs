//! `distribution/manifests`: reads a repository's tree and records how it
//! declares itself. The pattern for all later collectors.
//!
//! A repository on this machine is read by git, one on a forge through the forge: one listing of
//! the tree, and only those contents that nobody has fetched before. One on a host without an API
//! is fetched by git, likewise without contents that are known. When a bump of the parsers' version
//! makes a unit due, what the last visit saw is read again without asking anybody.

use std::{path::Path, time::Duration};

use engine::{Ending, Enqueue, Run, RunError};
use facts::repository::RepositoryUrl;
use serde::{Deserialize, Serialize};
use store::{metadata, observed, repositories::Repository, sources};

use super::{
    Snapshot, by_git, directory,
    kept_blobs::KeptBlobs,
    read_manifests,
    remote::{self, Cellar},
    unmoved,
    visit::Visit,
    written::{self, Branch, Progress, Report, SOURCE, found, note_silence, nothing_declared},
};
use crate::{
    answer::Answer,
    collector::{Collector, Need, kind},
    distribution::at_forge::{self, Opening, Plain, Question},
    forge::Looked,
    git::{Limits, Local},
    http::Http,
};

/// Reads manifests.
#[derive(Clone, Debug)]
pub struct Manifests {
    http: Http,
    kept: KeptBlobs,
}

/// What a unit is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The repository's id.
    pub repository: i64,
    /// It is a directory of this machine without version control.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain: bool,
}

/// The unit of a repository.
pub fn unit(id: i64, url: &RepositoryUrl) -> Option<Enqueue> {
    let unit = about(id, false);
    Some(if url.is_local() {
        unit
    } else {
        unit.upstream(url.host())
    })
}

/// The unit of a directory of this machine that is no repository. Only for a look at it: a
/// repository whose `.git` has vanished must not pass for one.
pub fn plain_directory(id: i64) -> Enqueue {
    about(id, true)
}

fn about(repository: i64, plain: bool) -> Enqueue {
    let subject = Subject { repository, plain };
    Enqueue::new(&kind::<Manifests>(), repository.to_string())
        .payload(serde_json::to_value(subject).unwrap_or_default())
}

impl Manifests {
    /// Asks through this client.
    pub fn new(http: Http) -> Self {
        Self {
            http,
            kept: KeptBlobs::default(),
        }
    }
}

impl Collector for Manifests {
    const NAME: &'static str = "distribution/manifests";
    const SUMMARY: &'static str =
        "reads the manifests in a repository's tree: names, versions, intent to publish";
    const VERSION: i64 = scan::manifest::VERSION as i64;
    const CADENCE: Option<Duration> = Some(Duration::from_hours(180 * 24));
    const POOL: &'static str = "distribution-manifests";
    const MAX_RUN: Duration = Duration::from_mins(30);
    const NEEDS: &'static [Need] = &[Need::Tool("git"), Need::Network];

    type Subject = Subject;
    type Cursor = Progress;

    async fn run(
        &self,
        subject: Subject,
        cursor: Option<Progress>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let repository = match at_forge::tracked(cx, subject.repository).await? {
            Ok(repository) => repository,
            Err(over) => return Ok(over),
        };
        // All facts of one run are observed at one time: what an earlier run
        // saw and this one did not is then easily told.
        let question = Question {
            repository: repository.id,
            source: SOURCE,
            collector_version: Self::VERSION,
            now: cx.clock().now(),
        };
        if repository.local {
            return match on_this_machine(&repository, subject.plain).await {
                Answer::Found(snapshot) => {
                    let branch = Branch::Here(snapshot.branch.clone());
                    found(question, snapshot, branch, None, Report::default(), cx).await
                }
                Answer::Absent => Ok(nothing_declared(question, Report::default(), cx)),
                Answer::Unknown(why) => could_not_read(question, why, cx).await,
            };
        }
        self.at_forge(repository, question, cursor, cx).await
    }
}

impl Manifests {
    async fn at_forge(
        &self,
        repository: Repository,
        question: Question,
        cursor: Option<Progress>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let cellar = Cellar {
            kept: &self.kept,
            db: cx.db(),
            now: question.now,
        };
        let last = cursor.as_ref().and_then(|progress| progress.visit.as_ref());
        if let Some(visit) = last
            && let Some(snapshot) = read_again(&repository, visit, &cellar).await?
        {
            let report = Report {
                read_again: true,
                ..Report::default()
            };
            let visit = Some(visit.clone());
            return found(question, snapshot, Branch::Elsewhere, visit, report, cx).await;
        }

        let mut at = match at_forge::open(cx, &self.http, repository, question, &cursor).await? {
            Opening::Ready(at) => at,
            Opening::NoForge(plain) => {
                return through_git(&plain, question, cursor.as_ref(), &cellar, cx).await;
            }
            Opening::Over(ending) => return Ok(ending),
        };
        let known = metadata::of(cx.db(), question.repository).await?;
        let fork = known.as_ref().and_then(|known| known.fork);
        if at_forge::is_empty(known.as_ref(), question.now) {
            let report = Report {
                fork,
                ..Report::default()
            };
            return Ok(nothing_declared(question, report, cx));
        }
        if known.is_some_and(|known| known.empty == Some(true)) {
            let known = observed::manifests(cx.db(), question.repository, false, 1).await?;
            at.which.was_empty = known.is_empty();
        }
        let looked = match unmoved::look(&at, last, question, cx).await? {
            Ok(Some(snapshot)) => Ok(Looked::Here(snapshot)),
            Ok(None) => remote::read(at.client.as_ref(), &at.which, &cellar).await,
            Err(why) => Err(why),
        };
        let looked = match looked {
            Ok(looked) => looked,
            Err(why) => {
                return at_forge::could_not_ask(cx, question, &cursor, why, &at.session).await;
            }
        };
        let report = Report {
            fork,
            requests: Some(at.session.log()),
            ..Report::default()
        };
        match looked {
            Looked::Here(snapshot) => {
                let visit = Visit::of(&snapshot, question.now);
                found(question, snapshot, Branch::Elsewhere, visit, report, cx).await
            }
            Looked::Empty => Ok(nothing_declared(question, report, cx)),
            Looked::Missing => Ok(at_forge::not_shown(cx, question, false, &at.session)),
            Looked::Blocked => Ok(at_forge::not_shown(cx, question, true, &at.session)),
        }
    }
}

/// A host without an API has the same to tell, through git.
async fn through_git(
    plain: &Plain,
    question: Question,
    cursor: Option<&Progress>,
    cellar: &Cellar<'_>,
    cx: &Run,
) -> Result<Ending, RunError> {
    let Plain {
        repository,
        session,
    } = plain;
    let path = RepositoryUrl::parse(&repository.url).map(|url| url.slug());
    let (Some(way), Ok(path)) = (session.way(&repository.host), path) else {
        return Ok(plain.cannot_be_asked(cx, question));
    };
    match by_git::read(&way, &path, cellar).await {
        Ok(Looked::Here(snapshot)) => {
            let visit = Visit::of(&snapshot, question.now);
            let branch = Branch::ByGit(snapshot.branch.clone());
            found(question, snapshot, branch, visit, Report::default(), cx).await
        }
        Ok(Looked::Empty) => Ok(nothing_declared(question, Report::default(), cx)),
        Ok(Looked::Missing) => Ok(at_forge::not_shown(cx, question, false, session)),
        Ok(Looked::Blocked) => Ok(at_forge::not_shown(cx, question, true, session)),
        Err(error) => {
            note_silence(question, &error.to_string(), &cursor, cx).await?;
            error.end(cx, ())
        }
    }
}

/// What the last visit saw, as the parsers of today read it; none if the forge should be asked.
async fn read_again(
    repository: &Repository,
    visit: &Visit,
    cellar: &Cellar<'_>,
) -> Result<Option<Snapshot>, RunError> {
    let cadence = Manifests::CADENCE.unwrap_or_default();
    let states = sources::states(cellar.db, repository.id).await?;
    let older = states.iter().any(|state| {
        let version = state.collector_version;
        let older = version.is_some_and(|version| version < Manifests::VERSION);
        state.source == SOURCE && state.complete && older
    });
    if !older || repository.archived || !visit.serves(cellar.now, cadence) {
        return Ok(None);
    }
    let known = written::known(cellar.db, repository.id).await?;
    Ok(remote::read_again(&known, &visit.silent, cellar).await)
}

async fn on_this_machine(repository: &Repository, plain: bool) -> Answer<Snapshot> {
    let path = RepositoryUrl::parse(&repository.url)
        .ok()
        .and_then(|url| url.path());
    let Some(path) = path else {
        return Answer::Unknown(format!("`{}` has no path on this machine", repository.url));
    };
    if plain {
        return directory::read_directory(Path::new(&path)).await;
    }
    match Local::open(Path::new(&path), Limits::default()).await {
        Ok(local) => read_manifests(&local).await,
        Err(error) => Answer::Unknown(error.to_string()),
    }
}

/// Nothing is known that was not known before, except that we looked. The note
/// is written at once; the run then fails, and the engine decides when to look again.
async fn could_not_read(question: Question, why: String, cx: &Run) -> Result<Ending, RunError> {
    note_silence(question, &why, &(), cx).await?;
    Err(RunError::unit(why))
}
