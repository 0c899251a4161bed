//! The run, from top to bottom.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use db::{Timestamp, Tx};
use engine::{Ending, Enqueue, Outcome, Requirement, Run, RunError};
use facts::repository::RepositoryUrl;
use serde::Serialize;
use store::{
    declared_names::{self, DeclaredName, Verdict},
    observed, repositories,
};

use super::{
    Wanted, comparable, wanted,
    whose::{Whose, whose},
};
use crate::{
    collector::{Collector, Need, kind, untracked},
    distribution::{
        Settings, Subject,
        depsdev::{self, Client, UPSTREAM},
        manifests, pairing,
        registry_view::{CADENCE, Learned, addresses, each},
    },
    http::{Http, RequestLog},
    repo_metadata,
};

/// Asks deps.dev about names.
#[derive(Clone, Debug)]
pub struct Names {
    http: Http,
    settings: Settings,
}

/// What was learned so lately is not asked again: a run that comes back for the rest asks for that.
const FRESH: Duration = Duration::from_hours(24);
/// What deps.dev listed longer ago is asked about by name.
const LISTED: Duration = Duration::from_hours(30 * 24);
/// Names that one run asks for; the rest waits for the next.
const MOST: usize = 1_000;
/// Manifests of one repository are read up to here.
const MOST_MANIFESTS: usize = 50_000;

/// What a run says of itself.
#[derive(Debug, Default, Serialize)]
struct Report {
    names: usize,
    absent: usize,
    ours: usize,
    other: usize,
    unclear: usize,
    /// Those that were known without asking.
    known: usize,
    requests: RequestLog,
}

/// The unit of a repository. It waits until its manifests were read and deps.dev was asked for its
/// packages, well or not.
pub fn unit(id: i64, url: &RepositoryUrl) -> Option<Enqueue> {
    if url.is_local() {
        return None;
    }
    let before = [manifests::unit(id, url), depsdev::unit(id, url)];
    let unit = before.into_iter().flatten().fold(ask(id), |unit, first| {
        unit.requires(Requirement::soft(first))
    });
    Some(unit)
}

/// Makes the unit due, in the transaction in which a repository's manifests changed, or in which
/// deps.dev no longer listed one of its packages.
pub async fn changed(tx: &mut Tx, repository: i64, now: Timestamp) -> Result<(), RunError> {
    repo_metadata::enqueue(tx, &[ask(repository).now()], now).await
}

fn ask(id: i64) -> Enqueue {
    let subject = Subject { repository: id };
    Enqueue::new(&kind::<Names>(), id.to_string())
        .upstream(UPSTREAM)
        .payload(serde_json::to_value(subject).unwrap_or_default())
}

impl Names {
    /// Asks through this client.
    pub fn new(http: Http, settings: Settings) -> Self {
        Self { http, settings }
    }
}

impl Collector for Names {
    const NAME: &'static str = "distribution/names";
    const SUMMARY: &'static str =
        "asks deps.dev whether declared names are free, ours, or another repository's";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(CADENCE);
    const POOL: &'static str = "distribution-names";
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
        let now = cx.clock().now();
        let own = addresses(cx, &repository).await?;
        if own.is_empty() {
            let why = "a repository without an address has no packages to call its own";
            return Ok(cx.end(Outcome::Gone { why: why.into() }, ()));
        }
        let Sorted {
            names,
            mut learned,
            mut ask,
            forget,
        } = sort(cx, repository.id, now).await?;
        let known = names - ask.len();
        let too_many = ask.len().saturating_sub(MOST);
        ask.truncate(MOST);

        let session = self.http.for_run(cx);
        let client = Client::new(session.clone(), self.settings.clone());
        let (client, own) = (&client, own.as_slice());
        let answers = each(ask, |name| async move { whose(client, &name, own).await }).await;
        let (answers, missed) = match answers {
            Ok(answers) => answers,
            Err(why) => return why.end(cx, session.log()),
        };
        for (name, answer) in answers {
            let (verdict, linked_repository) = match answer {
                Learned::Found(Whose::Ours) => (Verdict::Ours, None),
                Learned::Found(Whose::Other(linked)) => (Verdict::Other, linked),
                Learned::Found(Whose::Unclear(linked)) => (Verdict::Unclear, Some(linked)),
                Learned::Absent => (Verdict::Absent, None),
                Learned::Nothing => continue,
            };
            learned.push(DeclaredName {
                ecosystem: name.ecosystem,
                name: name.name,
                verdict,
                linked_repository,
                checked_at: now,
            });
        }

        let count = |verdict| learned.iter().filter(|one| one.verdict == verdict).count();
        let report = Report {
            names,
            absent: count(Verdict::Absent),
            ours: count(Verdict::Ours),
            other: count(Verdict::Other),
            unclear: count(Verdict::Unclear),
            known,
            requests: session.log(),
        };
        let outcome = match missed {
            Some(missed) => Outcome::Partial {
                why: format!(
                    "{} names could not be asked about: {}",
                    missed.count, missed.first
                ),
                retry_at: missed.first.retry_at,
            },
            None if too_many > 0 => Outcome::Partial {
                why: format!("{too_many} names are left for the next run"),
                retry_at: None,
            },
            None => Outcome::Done,
        };
        let facts = (repository.id, learned, forget, now);
        Ok(
            cx.finish(outcome, report, facts, |tx, (id, learned, forget, now)| {
                Box::pin(async move {
                    declared_names::record(tx, *id, learned).await?;
                    declared_names::forget(tx, *id, forget).await?;
                    pairing::wake(tx, *id, *now).await
                })
            }),
        )
    }
}

/// What is to be done about each declared name.
struct Sorted {
    /// How many there are.
    names: usize,
    /// Known without asking.
    learned: Vec<DeclaredName>,
    /// To be asked about: those that were never asked first, then the oldest.
    ask: Vec<Wanted>,
    /// No longer declared.
    forget: Vec<(String, String)>,
}

async fn sort(cx: &Run, repository: i64, now: Timestamp) -> Result<Sorted, RunError> {
    let manifests = observed::manifests(cx.db(), repository, false, MOST_MANIFESTS).await?;
    let declared = wanted(manifests.iter().map(|kept| &kept.fact));
    let before = declared_names::of(cx.db(), repository).await?;
    let listed: HashMap<(String, String), Listed> =
        observed::evidence(cx.db(), repository, true, MOST_MANIFESTS)
            .await?
            .into_iter()
            .filter(|kept| kept.source == depsdev::SOURCE)
            .map(|kept| {
                let name = comparable(&kept.fact.ecosystem, &kept.fact.package);
                let listed = Listed {
                    last_seen: kept.last_seen.into(),
                    gone_at: kept.gone_at.map(Timestamp::from),
                };
                ((kept.fact.ecosystem, name), listed)
            })
            .collect();

    let names = declared.len();
    let still: HashSet<(&str, &str)> = declared
        .iter()
        .map(|name| (name.ecosystem.as_str(), name.name.as_str()))
        .collect();
    let forget = before
        .iter()
        .filter(|known| !still.contains(&(known.ecosystem.as_str(), known.name.as_str())))
        .map(|known| (known.ecosystem.clone(), known.name.clone()))
        .collect();
    let checked: HashMap<(String, String), Timestamp> = before
        .into_iter()
        .map(|known| ((known.ecosystem, known.name), known.checked_at))
        .collect();
    let (mut learned, mut ask) = (Vec::new(), Vec::new());
    for name in declared {
        let Wanted {
            ecosystem,
            name: spelt,
        } = name.clone();
        let listed = listed.get(&(ecosystem.clone(), comparable(&ecosystem, &spelt)));
        let checked = checked.get(&(ecosystem, spelt)).copied();
        if listed.is_some_and(|listed| listed.is_there(now)) {
            learned.push(DeclaredName {
                ecosystem: name.ecosystem,
                name: name.name,
                verdict: Verdict::Ours,
                linked_repository: None,
                checked_at: now,
            });
        } else if is_due(checked, listed, now) {
            ask.push((checked, name));
        }
    }
    ask.sort();
    Ok(Sorted {
        names,
        learned,
        ask: ask.into_iter().map(|(_, name)| name).collect(),
        forget,
    })
}

/// How a package stands in what deps.dev lists for the project.
struct Listed {
    last_seen: Timestamp,
    gone_at: Option<Timestamp>,
}

impl Listed {
    /// It was there when deps.dev was last asked, and that is not long ago.
    fn is_there(&self, now: Timestamp) -> bool {
        self.gone_at.is_none() && self.last_seen > now.minus(LISTED)
    }
}

/// Whether a name is to be asked for. One that deps.dev no longer lists is, however lately it was.
fn is_due(checked: Option<Timestamp>, listed: Option<&Listed>, now: Timestamp) -> bool {
    let gone = listed.and_then(|listed| listed.gone_at);
    checked.is_none_or(|at| at <= now.minus(FRESH) || gone.is_some_and(|gone| gone > at))
}
