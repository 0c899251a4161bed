//! `repo-metadata`: asks a repository's forge what has become of it.
//!
//! Archived and un-archived, renamed, transferred, default branch, fork and parent, visibility,
//! empty, last push; and if it is not there, in which way. Everything else waits for the first
//! answer, and stops while the repository is archived.
//!
//! The forge is asked by its own number once that is known, so that a repository is followed
//! wherever it goes, and one that took over its name is not mistaken for it. Where the forge has
//! entity tags, an unchanged repository costs one "not modified", which GitHub does not count.
//!
//! Once in seven days: these things change rarely, forges let old names lead on meanwhile, and a
//! repository that is listed by a group's source is noticed earlier anyway.

mod change;

use std::time::Duration;

use engine::{Ending, Enqueue, Outcome, Run, RunError};
use facts::repository::{Forge as Software, RepositoryUrl};
use serde::{Deserialize, Serialize};
use store::{
    forge_hosts,
    metadata::{Seen, Sight},
    repositories,
};

use self::change::prepare;
pub(crate) use self::change::{Change, apply, enqueue};
use crate::{
    collector::{Collector, Need, kind, untracked},
    forge::{self, Which},
    forge_activity,
    http::{Http, RequestLog},
    registry::{SCANS, Scans},
};

/// Asks forges about repositories.
#[derive(Clone, Debug)]
pub struct RepoMetadata {
    http: Http,
    scans: Scans,
    asks_for_issues: bool,
}

/// What a unit is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The repository's id.
    pub repository: i64,
}

/// What a run says of itself.
#[derive(Debug, Serialize)]
struct Report {
    forge: &'static str,
    /// `here`, `missing`, `blocked`; none where nobody could be asked.
    presence: Option<&'static str>,
    archived: Option<bool>,
    url: Option<String>,
    note: Option<&'static str>,
    requests: RequestLog,
}

/// The unit of a repository; one on this machine has no forge.
pub fn unit(id: i64, url: &RepositoryUrl) -> Option<Enqueue> {
    (!url.is_local()).then(|| ask(id, url.host()))
}

/// The unit of a repository on this host.
pub(crate) fn ask(id: i64, host: &str) -> Enqueue {
    let subject = Subject { repository: id };
    Enqueue::new(&kind::<RepoMetadata>(), id.to_string())
        .upstream(host)
        .payload(serde_json::to_value(subject).unwrap_or_default())
}

impl RepoMetadata {
    /// Asks through this client.
    pub fn new(http: Http) -> Self {
        Self {
            http,
            scans: SCANS,
            asks_for_issues: false,
        }
    }

    /// Has the issues of every repository asked for that its forge shows.
    pub fn asks_for_issues(mut self, all: bool) -> Self {
        self.asks_for_issues = all;
        self
    }

    /// Starts and stops this work, instead of all there is.
    pub fn scans(mut self, scans: Scans) -> Self {
        self.scans = scans;
        self
    }
}

impl Collector for RepoMetadata {
    const NAME: &'static str = "repo-metadata";
    const SUMMARY: &'static str =
        "asks a repository's forge: archived, renamed, moved, default branch, gone";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(Duration::from_hours(7 * 24));
    const POOL: &'static str = "repo-metadata";
    const MAX_RUN: Duration = Duration::from_mins(5);
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
        let session = self.http.for_run(cx);
        let guess = Software::from_word(&repository.forge).unwrap_or(Software::Git);
        let looked_up = forge::look_up(cx.db(), &session, &repository.host, guess).await?;
        let host = match looked_up {
            Ok(host) => host,
            Err(why) => return why.end(cx, session.log()),
        };
        let report = |seen: Option<&Seen>, note| {
            let sight = match seen {
                Some(Seen::Here(sight)) => Some(sight.as_ref()),
                _ => None,
            };
            Report {
                forge: host.software.as_str(),
                presence: seen.map(presence),
                archived: sight.and_then(|sight| sight.archived),
                url: sight.map(|sight: &Sight| sight.url.url()),
                note,
                requests: session.log(),
            }
        };
        let learned = (host, repository.host.clone(), cx.clock().now());
        let Some(client) = forge::client(host.software, &repository.host, session.clone()) else {
            let report = report(None, Some("there is no forge here that could be asked"));
            return Ok(cx.finish(Outcome::Done, report, learned, |tx, learned| {
                Box::pin(remember(tx, learned))
            }));
        };
        let which = Which {
            number: repository.forge_id.clone(),
            owner: repository.owner.clone(),
            name: repository.name.clone(),
            was_empty: false,
        };
        let seen = match client.repository(&which).await {
            Ok(seen) => seen,
            Err(why) => return why.end(cx, session.log()),
        };
        let report = report(Some(&seen), None);
        let outcome = match &seen {
            Seen::Here(_) => Outcome::Done,
            Seen::Missing => Outcome::Gone {
                why: "its forge does not know it: deleted, or private".into(),
            },
            Seen::Blocked => Outcome::Gone {
                why: "its forge has taken it down".into(),
            },
        };
        prepare(cx, self.scans, repository.id, &seen).await?;
        let asks = self.asks_for_issues && matches!(seen, Seen::Here(_));
        let issues = asks.then(|| forge_activity::unit(repository.id, &repository.host));
        let change = Change {
            repository: repository.id,
            seen,
            scans: self.scans,
            source: Self::NAME,
            now: cx.clock().now(),
        };
        let facts = (change, learned, issues);
        Ok(
            cx.finish(outcome, report, facts, |tx, (change, learned, issues)| {
                Box::pin(async move {
                    remember(tx, learned).await?;
                    if let Some(unit) = issues {
                        enqueue(tx, std::slice::from_ref(unit), change.now).await?;
                    }
                    apply(tx, change).await
                })
            }),
        )
    }
}

/// The word for how a repository is seen.
fn presence(seen: &Seen) -> &'static str {
    match seen {
        Seen::Here(_) => "here",
        Seen::Missing => "missing",
        Seen::Blocked => "blocked",
    }
}

async fn remember(
    tx: &mut db::Tx,
    (host, name, now): &(forge::Host, String, db::Timestamp),
) -> Result<(), RunError> {
    if host.learned {
        forge_hosts::remember(tx, name, host.software, *now).await?;
    }
    Ok(())
}
