//! The run, from top to bottom.

use std::{sync::Arc, time::Duration};

use db::Timestamp;
use engine::{Ending, Enqueue, Outcome, Requirement, Run, RunError};
use facts::repository::RepositoryUrl;
use serde::Serialize;
use store::{
    observed, repositories,
    repositories::Repository,
    sources::{self, SourceState},
};
use tokio::sync::Mutex;

use super::{
    Client, Listed, Row, UPSTREAM,
    client::names,
    merged,
    shelf::{Kept, Shelf},
};
use crate::{
    collector::{Collector, Need, kind, untracked},
    distribution::{
        Settings, Subject, depsdev,
        registry_view::{Brought, CADENCE, Question, addresses, could_not_answer, never, write},
    },
    http::{Class, Http, RequestLog, Unknown},
};

/// Asks ecosyste.ms.
#[derive(Clone, Debug)]
pub struct Ecosystems {
    http: Http,
    settings: Settings,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    shelf: Shelf,
    /// Held by whoever asks for many: the others find their answer when it is done.
    asking: Mutex<()>,
}

/// The name under which facts are recorded.
pub(crate) const SOURCE: &str = "ecosystems";

/// Repositories of one bulk look-up. With some forty packages each it would be cut.
const TOGETHER: usize = 25;

/// What a run says of itself.
#[derive(Debug, Default, Serialize)]
struct Report {
    packages: usize,
    rows: usize,
    redistributed: usize,
    /// Why nobody was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<&'static str>,
    /// The answer came with another repository's.
    shared: bool,
    requests: RequestLog,
}

/// The unit of a repository; one on this machine is in nobody's view.
pub fn unit(id: i64, url: &RepositoryUrl) -> Option<Enqueue> {
    (!url.is_local()).then(|| {
        let subject = Subject { repository: id };
        Enqueue::new(&kind::<Ecosystems>(), id.to_string())
            .upstream(UPSTREAM)
            .payload(serde_json::to_value(subject).unwrap_or_default())
    })
}

impl Ecosystems {
    /// Asks through this client.
    pub fn new(http: Http, settings: Settings) -> Self {
        Self {
            http,
            settings,
            shared: Arc::default(),
        }
    }
}

impl Collector for Ecosystems {
    const NAME: &'static str = "distribution/ecosystems";
    const SUMMARY: &'static str =
        "asks ecosyste.ms which packages of some fifty registries come from a repository";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(CADENCE);
    const POOL: &'static str = "distribution-ecosystems";
    const MAX_RUN: Duration = Duration::from_mins(30);
    const NEEDS: &'static [Need] = &[Need::Network];

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
        let states = sources::states(cx.db(), repository.id).await?;
        if !self.settings.cross_check
            && let Some(ending) = self.spared(cx, &repository, &states).await?
        {
            return Ok(ending);
        }
        let mut question = Question {
            repository: repository.id,
            source: SOURCE,
            version: Self::VERSION,
            now: cx.clock().now(),
        };
        let addresses = addresses(cx, &repository).await?;
        if addresses.is_empty() {
            let why = "a repository without an address is in nobody's view";
            return Ok(never(cx, question, why, Report::default()));
        }
        let asked = states.iter().find(|state| state.source == SOURCE);
        let asked = asked.map(|state| state.last_asked);
        let session = self.http.for_run(cx);
        let client = Client::new(session.clone(), self.settings.clone());
        match self.ask(cx, &client, question, &addresses, asked).await {
            Err(Stop::Database(error)) => Err(error.into()),
            Err(Stop::Interrupted) => Err(RunError::Interrupted),
            Err(Stop::Unknown(why)) => could_not_answer(cx, question, *why, session.log()).await,
            Ok(answer) => {
                question.now = answer.at;
                let rows = answer.listed.rows.len();
                let facts = merged(answer.listed.rows);
                let carried = |one: &&facts::evidence::Evidence| {
                    one.attributes.to_map().contains_key("redistributor")
                };
                let report = Report {
                    packages: facts.len(),
                    rows,
                    redistributed: facts.iter().filter(carried).count(),
                    skipped: None,
                    shared: answer.shared,
                    requests: session.log(),
                };
                let brought = Brought {
                    facts,
                    missing: answer.listed.missing,
                    retry_at: None,
                };
                write(cx, question, brought, report).await
            }
        }
    }
}

/// Why there is no answer.
enum Stop {
    Unknown(Box<Unknown>),
    Database(db::DbError),
    Interrupted,
}

impl From<Box<Unknown>> for Stop {
    fn from(why: Box<Unknown>) -> Self {
        Self::Unknown(why)
    }
}

impl From<db::DbError> for Stop {
    fn from(error: db::DbError) -> Self {
        Self::Database(error)
    }
}

/// What was said, and when.
struct Said {
    listed: Listed,
    at: Timestamp,
    shared: bool,
}

impl Ecosystems {
    /// The end of a run that need not ask, because deps.dev had rows and nobody wants a second
    /// opinion; or that must wait until deps.dev was asked.
    async fn spared(
        &self,
        cx: &Run,
        repository: &Repository,
        states: &[SourceState],
    ) -> Result<Option<Ending>, RunError> {
        let source = depsdev::SOURCE;
        let answered = states.iter().find(|state| state.source == source);
        if answered.is_none_or(|state| state.last_answered.is_none()) {
            let url = RepositoryUrl::parse(&repository.url).ok();
            let first = url.and_then(|url| depsdev::unit(repository.id, &url));
            // It was asked and could not answer: then the other view is all there is.
            return Ok(match (answered, first) {
                (None, Some(first)) => {
                    let requirements = vec![Requirement::soft(first)];
                    Some(cx.end(Outcome::Wait { requirements }, ()))
                }
                _ => None,
            });
        }
        let known = observed::evidence(cx.db(), repository.id, false, 10_000).await?;
        if !known.iter().any(|one| one.source == source) {
            return Ok(None);
        }
        let report = Report {
            skipped: Some("deps.dev has rows, and cross_check is off"),
            ..Report::default()
        };
        Ok(Some(cx.end(Outcome::Done, report)))
    }

    async fn ask(
        &self,
        cx: &Run,
        client: &Client,
        question: Question,
        addresses: &[RepositoryUrl],
        asked: Option<Timestamp>,
    ) -> Result<Said, Stop> {
        let one_at_a_time = tokio::select! {
            guard = self.shared.asking.lock() => guard,
            () = cx.cancelled().cancelled() => return Err(Stop::Interrupted),
        };
        let on_shelf = self.shared.shelf.take(question.repository, question.now);
        if let Some(Kept { at, rows }) = on_shelf.filter(|kept| asked < Some(kept.at)) {
            let listed = Listed {
                rows,
                missing: None,
            };
            let shared = true;
            return Ok(Said { listed, at, shared });
        }
        if let Some(rows) = self.ask_together(cx, client, question, addresses).await? {
            let listed = Listed {
                rows,
                missing: None,
            };
            let (at, shared) = (question.now, false);
            return Ok(Said { listed, at, shared });
        }
        drop(one_at_a_time);
        let mut all = Listed::default();
        for address in addresses {
            let listed = client.look_up(address).await?;
            all.rows.extend(listed.rows);
            all.missing = all.missing.or(listed.missing);
        }
        Ok(Said {
            listed: all,
            at: question.now,
            shared: false,
        })
    }

    /// Asks for this repository and those that come next. None if that is not to be had.
    async fn ask_together(
        &self,
        cx: &Run,
        client: &Client,
        question: Question,
        addresses: &[RepositoryUrl],
    ) -> Result<Option<Vec<Row>>, Stop> {
        if !self.settings.cross_check {
            return Ok(None);
        }
        let before = question.now.minus(self.settings.cadence);
        let (id, room) = (
            question.repository,
            TOGETHER - addresses.len().min(TOGETHER),
        );
        let next = sources::not_asked_since(cx.db(), SOURCE, before, id, room).await?;
        let next: Vec<(i64, RepositoryUrl)> = next
            .into_iter()
            .filter_map(|(id, url)| Some((id, RepositoryUrl::parse(&url).ok()?)))
            .collect();
        if next.is_empty() {
            // Alone it is cheaper to ask whether anything has changed.
            return Ok(None);
        }
        let others = next.iter().map(|(_, url)| url);
        let all: Vec<RepositoryUrl> = addresses.iter().chain(others).cloned().collect();
        let rows = match client.bulk(&all).await {
            Ok(Some(rows)) => rows,
            Ok(None) => return Ok(None),
            Err(why) if is_about_this_question(&why) => return Ok(None),
            Err(why) => return Err(why.into()),
        };
        let of = |address: &RepositoryUrl| {
            let own = rows.iter().filter(|row| names(row, address));
            own.cloned().collect::<Vec<Row>>()
        };
        let answers = next.iter().map(|(id, url)| {
            let kept = Kept {
                at: question.now,
                rows: of(url),
            };
            (*id, kept)
        });
        let answers = answers.collect();
        self.shared.shelf.put(answers, question.now);
        Ok(Some(addresses.iter().flat_map(of).collect()))
    }
}

/// The service does not take such questions, or its answer is too long; one by one it may work.
fn is_about_this_question(why: &Unknown) -> bool {
    matches!(
        why.class,
        Class::Rejected | Class::TooLarge | Class::Undecodable | Class::Refused
    )
}
