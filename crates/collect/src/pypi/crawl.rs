//! `pypi/crawl`: all projects of an index, each as a unit of its own.
//!
//! The serial that the index has before anything is read is the floor: whatever happens meanwhile
//! is seen again by those who follow from there. Projects that could not be read in the end stay
//! due; the crawl ends with their number, and the floor holds.

use std::{collections::HashMap, time::Duration};

use db::{Timestamp, Tx};
use engine::{Ending, Enqueue, Outcome, Run, RunError};
use scan::python::normalize_name;
use serde::{Deserialize, Serialize};
use store::pypi::{self, DueProject};

use super::{
    POOL, Settings,
    address::IndexAddress,
    chosen::sample,
    index::Changelog,
    project,
    window::{Next, Window},
};
use crate::{
    collector::{Collector, Need, kind},
    http::Http,
    repo_metadata::enqueue,
};

/// Projects in one transaction: a row and a unit each, with its body and its place in the queue.
pub(super) const BATCH: usize = store::MAX_ROWS / 4;
/// How long a crawl waits for some thousand projects of which one fails.
const PATIENCE: Duration = Duration::from_hours(24);

/// Crawls an index.
#[derive(Clone, Debug)]
pub struct PypiCrawl {
    http: Http,
    settings: Settings,
}

/// How much of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Subject {
    /// Only so many projects, the same ones every time.
    #[serde(default)]
    pub sample: Option<usize>,
}

/// How far a crawl is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Progress {
    window: Option<Window>,
    projects: i64,
}

#[derive(Debug, Serialize)]
struct Report {
    projects: i64,
    still_due: i64,
    floor: Option<i64>,
}

/// The unit of a full crawl.
pub fn unit(address: &IndexAddress, sample: Option<usize>) -> Enqueue {
    Enqueue::new(&kind::<PypiCrawl>(), "full")
        .upstream(address.upstream())
        .payload(serde_json::to_value(Subject { sample }).unwrap_or_default())
}

impl PypiCrawl {
    /// Asks through this client.
    pub fn new(http: Http, settings: Settings) -> Self {
        Self { http, settings }
    }
}

impl Collector for PypiCrawl {
    const NAME: &'static str = "pypi/crawl";
    const SUMMARY: &'static str = "lists all projects of a Python index and has each read";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = None;
    const POOL: &'static str = POOL;
    const MAX_RUN: Duration = super::MAX_RUN;
    const NEEDS: &'static [Need] = &[Need::Network];

    type Subject = Subject;
    type Cursor = Progress;

    async fn run(
        &self,
        subject: Subject,
        cursor: Option<Progress>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let address = self.settings.located(cx.db(), &self.http).await?;
        let begun = cursor.and_then(|progress| Some((progress.window?, progress.projects)));
        let (window, projects) = match begun {
            Some(begun) => begun,
            None => match self.list(&subject, &address, cx).await? {
                Listed::All(window, projects) => (window, projects),
                Listed::Ended(ending) => return Ok(ending),
            },
        };
        let now = cx.clock().now();
        let next = window
            .next(cx.db(), &address, now, now.plus(PATIENCE))
            .await?;
        if let Next::Wait(requirements, window) = next {
            let ending = cx.end(Outcome::Wait { requirements }, ());
            return Ok(ending.cursor(Progress {
                window: Some(window),
                projects,
            }));
        }
        let still_due = pypi::due_count(cx.db(), window.began).await?;
        let report = Report {
            projects,
            still_due,
            floor: pypi::index(cx.db()).await?.floor,
        };
        let facts = (projects, still_due, now);
        let ending = cx.finish(Outcome::Done, report, facts, |tx, facts| {
            Box::pin(async move {
                let (projects, still_due, now) = facts;
                Ok(pypi::crawl_finished(tx, *projects, *still_due, *now).await?)
            })
        });
        Ok(ending.cursor(Progress {
            window: None,
            projects: 0,
        }))
    }
}

enum Listed {
    All(Window, i64),
    Ended(Ending),
}

impl PypiCrawl {
    /// Enters all projects with their units, and the floor with the first of them. A run that is cut
    /// off begins again: it finds what is there.
    async fn list(
        &self,
        subject: &Subject,
        address: &IndexAddress,
        cx: &Run,
    ) -> Result<Listed, RunError> {
        let session = self.http.for_run(cx);
        let index = self.settings.index(&session, address);
        let before = match index.last_serial().await {
            Ok(Changelog::Told(serial)) => Some(serial),
            Ok(Changelog::NotOffered) => None,
            Err(why) => return Ok(Listed::Ended(why.end(cx, session.log())?)),
        };
        let root = match index.root().await {
            Ok(root) => root,
            Err(why) => return Ok(Listed::Ended(why.end(cx, session.log())?)),
        };
        // A list that a cache kept is older than the changelog: then that is how much is known.
        let floor = match (before, root.serial) {
            (Some(before), Some(listed)) => Some(before.min(listed)),
            (before, listed) => before.or(listed),
        };
        let mut once: HashMap<String, (String, Option<i64>)> = HashMap::new();
        for listed in root.value.projects {
            let name = normalize_name(&listed.name);
            if !name.is_empty() && name.len() <= 300 && self.settings.chosen.wants(&name) {
                let serial = listed
                    .last_serial
                    .and_then(|serial| i64::try_from(serial).ok());
                once.insert(name, (listed.name, serial));
            }
        }
        let all = once.into_iter();
        let mut all: Vec<(String, String, Option<i64>)> = all
            .map(|(name, (shown, serial))| (name, shown, serial))
            .collect();
        if let Some(count) = subject.sample {
            all = sample(all, count);
        }
        all.sort_unstable();
        let began = cx.clock().now();
        let projects = i64::try_from(all.len()).unwrap_or(i64::MAX);
        let progress = Progress {
            window: None,
            projects,
        };
        let sampled = subject.sample.is_some();
        let chunks = all.chunks(BATCH);
        let first: &[_] = &[];
        for (number, chunk) in std::iter::once(first).chain(chunks).enumerate() {
            let due = chunk.iter().map(|(name, shown, serial)| DueProject {
                name: name.clone(),
                shown: shown.clone(),
                required: serial.unwrap_or(0),
            });
            let entering = Entering {
                floor: (number == 0).then_some((floor, sampled)),
                projects: due.collect(),
                address: address.clone(),
                urgent: false,
                now: began,
            };
            cx.commit(&progress, &entering, |tx, entering| {
                Box::pin(entering.write(tx))
            })
            .await?;
        }
        Ok(Listed::All(Window::new(began), projects))
    }
}

/// Projects that become due, in one transaction.
pub(super) struct Entering {
    /// The floor, where a crawl begins, and whether it is of a sample.
    pub(super) floor: Option<(Option<i64>, bool)>,
    pub(super) projects: Vec<DueProject>,
    pub(super) address: IndexAddress,
    /// Those that were read before are read again at once.
    pub(super) urgent: bool,
    pub(super) now: Timestamp,
}

impl Entering {
    pub(super) async fn write(&self, tx: &mut Tx) -> Result<(), RunError> {
        if let Some((floor, sampled)) = self.floor {
            pypi::crawl_began(tx, floor, sampled, self.now).await?;
        }
        pypi::due(tx, &self.projects, self.now).await?;
        let units: Vec<Enqueue> = self
            .projects
            .iter()
            .map(|one| project::unit(&self.address, &one.name))
            .map(|unit| if self.urgent { unit.now() } else { unit })
            .collect();
        enqueue(tx, &units, self.now).await
    }
}
