//! `pypi/audit`: compares all projects with the root of the index, and reports what differs.
//!
//! Following an index by what it says has changed relies on its saying so. Once a night the whole
//! list is held against what is known: projects that are listed and unknown, known and no longer
//! listed, or of another serial than should be known by now, are drift. They become due, as do
//! those that have failed for long.

use std::{collections::HashMap, time::Duration};

use engine::{Ending, Enqueue, Outcome, Run, RunError};
use scan::python::normalize_name;
use serde::{Deserialize, Serialize};
use store::pypi::{self, DueProject, KnownProject};

use super::{
    POOL, Settings,
    address::IndexAddress,
    crawl::{BATCH, Entering},
};
use crate::{
    collector::{Collector, Need, kind},
    http::Http,
};

/// A project that was due for so long has failed.
const LONG_DUE: Duration = Duration::from_hours(6);
/// Names in a report.
const NAMED: usize = 20;

/// Compares.
#[derive(Clone, Debug)]
pub struct PypiAudit {
    http: Http,
    settings: Settings,
}

/// There is one index.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Subject {}

#[derive(Debug, Default, Serialize)]
struct Report {
    projects: usize,
    drift: usize,
    /// Listed, and nobody knows them.
    unknown: usize,
    /// Known, and not listed.
    unlisted: usize,
    /// Of a lower serial than is listed.
    behind: usize,
    long_due: usize,
    examples: Vec<String>,
}

/// The unit of the audit.
pub fn unit(address: &IndexAddress) -> Enqueue {
    Enqueue::new(&kind::<PypiAudit>(), "index")
        .upstream(address.upstream())
        .payload(serde_json::to_value(Subject {}).unwrap_or_default())
}

impl PypiAudit {
    /// Asks through this client.
    pub fn new(http: Http, settings: Settings) -> Self {
        Self { http, settings }
    }
}

impl Collector for PypiAudit {
    const NAME: &'static str = "pypi/audit";
    const SUMMARY: &'static str = "compares all projects with the list of a Python index";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(Duration::from_hours(24));
    const POOL: &'static str = POOL;
    const MAX_RUN: Duration = super::MAX_RUN;
    const NEEDS: &'static [Need] = &[Need::Network];

    type Subject = Subject;
    type Cursor = ();

    async fn run(
        &self,
        _subject: Subject,
        _cursor: Option<()>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let address = self.settings.located(cx.db(), &self.http).await?;
        let known = pypi::index(cx.db()).await?;
        if known.full_finished_at.is_none() {
            let at = cx.clock().now().plus(Duration::from_hours(1));
            let why = "there is no finished crawl to be compared".into();
            return Ok(cx.end(Outcome::Retry { at, why }, ()));
        }
        let session = self.http.for_run(cx);
        let root = match self.settings.index(&session, &address).root().await {
            Ok(root) => root,
            Err(why) => return why.end(cx, session.log()),
        };
        let mut listed: HashMap<String, (String, Option<i64>)> = HashMap::new();
        for one in root.value.projects {
            let name = normalize_name(&one.name);
            if self.settings.chosen.wants(&name) {
                let serial = one
                    .last_serial
                    .and_then(|serial| i64::try_from(serial).ok());
                listed.insert(name, (one.name, serial));
            }
        }
        let mut report = Report {
            projects: listed.len(),
            ..Report::default()
        };
        let safe = known.safe.unwrap_or(i64::MAX);
        let mut due = Vec::new();
        let mut after = String::new();
        loop {
            let page = pypi::projects(cx.db(), &after, 20_000).await?;
            let Some(last) = page.last() else {
                break;
            };
            after.clone_from(&last.name);
            for one in page {
                let told = listed.remove(&one.name);
                let serial = told.as_ref().and_then(|(_, serial)| *serial);
                let kept = self.settings.chosen.wants(&one.name);
                let Some(how) = drift(&one, told.is_some(), serial, safe).filter(|_| kept) else {
                    continue;
                };
                match how {
                    Drift::Behind => report.behind += 1,
                    Drift::Unlisted => report.unlisted += 1,
                }
                let (shown, _) = told.unwrap_or_else(|| (one.name.clone(), None));
                due.push(DueProject {
                    name: one.name,
                    shown,
                    required: serial.unwrap_or(0),
                });
            }
        }
        if !known.sampled {
            // What came after the last window is not known yet, and need not be.
            let missed = listed.into_iter();
            let missed =
                missed.filter(|(_, (_, serial))| serial.is_none_or(|serial| serial <= safe));
            for (name, (shown, serial)) in missed {
                report.unknown += 1;
                due.push(DueProject {
                    name,
                    shown,
                    required: serial.unwrap_or(0),
                });
            }
        }
        report.drift = due.len();
        report.examples = due.iter().take(NAMED).map(|one| one.name.clone()).collect();
        let now = cx.clock().now();
        let mut after = String::new();
        loop {
            let before = now.minus(LONG_DUE);
            let names = pypi::due_since_before(cx.db(), before, &after, 20_000).await?;
            let Some(last) = names.last() else {
                break;
            };
            after.clone_from(last);
            report.long_due += names.len();
            due.extend(names.into_iter().map(|name| DueProject {
                shown: name.clone(),
                name,
                required: 0,
            }));
        }
        for chunk in due.chunks(BATCH) {
            let entering = Entering {
                floor: None,
                projects: chunk.to_vec(),
                address: address.clone(),
                urgent: true,
                now,
            };
            cx.commit(&(), &entering, |tx, entering| Box::pin(entering.write(tx)))
                .await?;
        }
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let facts = (count(report.projects), count(report.drift), now);
        Ok(cx.finish(Outcome::Done, report, facts, |tx, facts| {
            Box::pin(async move {
                let (projects, drift, now) = facts;
                Ok(pypi::audited(tx, *projects, *drift, *now).await?)
            })
        }))
    }
}

enum Drift {
    Behind,
    Unlisted,
}

/// How a known project differs from the root; none if it does not, or is known to be due.
fn drift(known: &KnownProject, listed: bool, serial: Option<i64>, safe: i64) -> Option<Drift> {
    if known.due {
        return None;
    }
    if !listed {
        let expected = matches!(known.status.as_str(), "gone" | "quarantined");
        return (!expected).then_some(Drift::Unlisted);
    }
    let behind = match serial {
        Some(serial) => serial <= safe && known.serial.is_none_or(|known| known < serial),
        None => known.status == "gone",
    };
    behind.then_some(Drift::Behind)
}
