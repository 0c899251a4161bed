//! `pypi/follow`: finds what changed since the last window, and has it read.
//!
//! 1. By the changelog, where the index has one: all lines behind the safe serial less an overlap,
//!    answer by answer, since one holds only so many. Serials are given before they commit, so that
//!    a line may become visible after lines with higher ones; lines of the overlap that were seen
//!    before are left out by their serials, and nothing else is.
//! 2. Else by the root, if it tells the serial of each project: those above what is known.
//! 3. Else by pages: new names and missing ones at once, every page once in a while.
//!
//! The projects found become due, their units run, and the window waits for them, for their files
//! and for the numbers of what changed; then for what is to follow on it (a dump, datasets).
//! The safe serial moves on when all projects have ended, well or not: those that failed stay due.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use db::Tx;
use engine::{Ending, Enqueue, Outcome, Run, RunError};
use scan::python::{EXTRACTOR_VERSION, normalize_name};
use serde::{Deserialize, Serialize};
use store::pypi::{self, DueProject};

use super::{
    POOL, Settings,
    address::IndexAddress,
    crawl::{BATCH, Entering},
    file,
    index::{Changelog, Index},
    window::{Next, Window},
};
use crate::{
    collector::{Collector, Need, kind},
    http::{Http, Unknown},
    repo_metadata::enqueue,
};

/// Answers of the changelog in one window: far more than a year's.
const MOST_ANSWERS: usize = 1_000;
/// Files of an older extractor that one window has read again.
const MOST_OUTDATED: usize = 20_000;

/// Follows an index.
#[derive(Clone, Debug)]
pub struct PypiFollow {
    http: Http,
    settings: Settings,
}

/// There is one index.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Subject {}

/// What is carried from window to window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Serials of the overlap that were seen.
    #[serde(default)]
    seen: Vec<i64>,
    #[serde(default)]
    open: Option<Open>,
}

/// A window that is not over.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    window: Window,
    from: Option<i64>,
    to: Option<i64>,
    how: String,
    projects: usize,
    /// What follows on it is on its way.
    #[serde(default)]
    last: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    followed_by: String,
    from: Option<i64>,
    to: Option<i64>,
    projects: usize,
    still_due: i64,
}

/// What changed.
struct Found {
    how: &'static str,
    to: Option<i64>,
    /// By normalised name: as it is spelt, and how new its page must be.
    changed: BTreeMap<String, (String, i64)>,
    seen: Vec<i64>,
}

/// The one unit that follows.
pub fn unit(address: &IndexAddress) -> Enqueue {
    Enqueue::new(&kind::<PypiFollow>(), "index")
        .upstream(address.upstream())
        .payload(serde_json::to_value(Subject {}).unwrap_or_default())
}

impl PypiFollow {
    /// Asks through this client.
    pub fn new(http: Http, settings: Settings) -> Self {
        Self { http, settings }
    }
}

impl Collector for PypiFollow {
    const NAME: &'static str = "pypi/follow";
    const SUMMARY: &'static str = "finds which projects of a Python index have changed";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(Duration::from_mins(5));
    const POOL: &'static str = POOL;
    const MAX_RUN: Duration = super::MAX_RUN;
    const NEEDS: &'static [Need] = &[Need::Network];

    type Subject = Subject;
    type Cursor = Progress;

    async fn run(
        &self,
        _subject: Subject,
        cursor: Option<Progress>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let address = self.settings.located(cx.db(), &self.http).await?;
        let mut progress = cursor.unwrap_or_default();
        let open = if let Some(open) = progress.open.take() {
            open
        } else {
            self.read_outdated(&address, cx).await?;
            match self.open(&mut progress, &address, cx).await? {
                Ok(open) => open,
                Err(ending) => return Ok(ending),
            }
        };
        self.go_on(open, progress, &address, cx).await
    }
}

impl PypiFollow {
    /// Finds what changed and makes it due. A run that is cut off finds it again.
    async fn open(
        &self,
        progress: &mut Progress,
        address: &IndexAddress,
        cx: &Run,
    ) -> Result<Result<Open, Ending>, RunError> {
        let known = pypi::index(cx.db()).await?;
        if known.full_finished_at.is_none() && known.safe.is_none() {
            let why = "the index was not crawled yet: `gleaner pypi crawl --full` comes first";
            let at = cx.clock().now().plus(Duration::from_mins(15));
            let outcome = Outcome::Retry {
                at,
                why: why.into(),
            };
            return Ok(Err(cx.end(outcome, ())));
        }
        let session = self.http.for_run(cx);
        let index = self.settings.index(&session, address);
        let found = match self.find(&index, &known, &progress.seen, cx).await? {
            Ok(found) => found,
            Err(why) => return Ok(Err(why.end(cx, session.log())?)),
        };
        let began = cx.clock().now();
        let changed: Vec<DueProject> = found
            .changed
            .into_iter()
            .filter(|(name, _)| self.settings.chosen.wants(name))
            .map(|(name, (shown, required))| DueProject {
                name,
                shown,
                required,
            })
            .collect();
        let projects = changed.len();
        let seen = (found.to, began);
        cx.commit(&*progress, &seen, |tx, (to, now)| {
            Box::pin(async move { Ok(pypi::seen(tx, *to, *now).await?) })
        })
        .await?;
        for chunk in changed.chunks(BATCH) {
            let entering = Entering {
                floor: None,
                projects: chunk.to_vec(),
                address: address.clone(),
                urgent: true,
                now: began,
            };
            cx.commit(&*progress, &entering, |tx, entering| {
                Box::pin(entering.write(tx))
            })
            .await?;
        }
        progress.seen = found.seen;
        Ok(Ok(Open {
            window: Window::new(began),
            from: known.safe,
            to: found.to,
            how: found.how.to_owned(),
            projects,
            last: false,
        }))
    }

    /// Waits for what is left, and ends when nothing is.
    async fn go_on(
        &self,
        mut open: Open,
        mut progress: Progress,
        address: &IndexAddress,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let now = cx.clock().now();
        let deadline = now.plus(self.settings.patience);
        let was_past = open.window.is_past_projects();
        // A window in which nothing happened has nothing to wait for.
        let next = if open.projects == 0 {
            Next::Over
        } else {
            open.window.next(cx.db(), address, now, deadline).await?
        };
        let is_past = match &next {
            Next::Wait(_, window) => window.is_past_projects(),
            Next::Over => true,
        };
        let safe = (is_past && !was_past).then(|| Safe {
            to: open.to,
            how: open.how.clone(),
            now,
        });
        let requirements = match next {
            Next::Wait(requirements, window) => {
                open.window = window;
                requirements
            }
            Next::Over if !open.last && open.projects > 0 => {
                open.last = true;
                self.settings.stages(now)
            }
            Next::Over => Vec::new(),
        };
        if !requirements.is_empty() {
            progress.open = Some(open);
            let outcome = Outcome::Wait { requirements };
            let ending = cx.finish(outcome, (), safe, |tx, safe| {
                Box::pin(write_safe(tx, safe.as_ref()))
            });
            return Ok(ending.cursor(progress));
        }
        let report = Report {
            followed_by: open.how,
            from: open.from,
            to: open.to,
            projects: open.projects,
            still_due: pypi::due_count(cx.db(), open.window.began).await?,
        };
        let ending = cx.finish(Outcome::Done, report, safe, |tx, safe| {
            Box::pin(write_safe(tx, safe.as_ref()))
        });
        Ok(ending.cursor(progress))
    }

    async fn find(
        &self,
        index: &Index<'_>,
        known: &pypi::Index,
        seen: &[i64],
        cx: &Run,
    ) -> Result<Result<Found, Box<Unknown>>, RunError> {
        let safe = known.safe.unwrap_or(0);
        match self.by_changelog(index, safe, seen).await {
            Ok(Some(mut found)) => {
                if known.sampled {
                    self.only_known(&mut found, cx).await?;
                }
                return Ok(Ok(found));
            }
            Ok(None) => {}
            Err(why) => return Ok(Err(why)),
        }
        match index.root().await {
            Ok(root) => self.by_root(root, known, cx).await.map(Ok),
            Err(why) => Ok(Err(why)),
        }
    }

    async fn by_changelog(
        &self,
        index: &Index<'_>,
        safe: i64,
        seen: &[i64],
    ) -> Result<Option<Found>, Box<Unknown>> {
        let Changelog::Told(last) = index.last_serial().await? else {
            return Ok(None);
        };
        let before: HashSet<i64> = seen.iter().copied().collect();
        let mut since = (safe - self.settings.overlap).max(0);
        let mut to = safe.max(last);
        let mut changed: BTreeMap<String, (String, i64)> = BTreeMap::new();
        let mut lines_seen = Vec::new();
        for _ in 0..MOST_ANSWERS {
            let Changelog::Told(lines) = index.since(since).await? else {
                return Ok(None);
            };
            let mut highest = since;
            for line in lines {
                let serial = i64::try_from(line.serial).unwrap_or(i64::MAX);
                highest = highest.max(serial);
                lines_seen.push(serial);
                // At first nothing was seen, and the whole overlap is read: a line below the floor
                // may have become visible after the crawl had read its page.
                if before.contains(&serial) {
                    continue;
                }
                let name = normalize_name(&line.project);
                if name.is_empty() || name.len() > 300 {
                    continue;
                }
                let entry = changed.entry(name).or_insert((line.project, 0));
                entry.1 = entry.1.max(serial);
            }
            if highest <= since || highest >= last {
                to = to.max(highest);
                break;
            }
            since = highest;
        }
        let edge = to - self.settings.overlap;
        lines_seen.retain(|serial| *serial > edge);
        lines_seen.sort_unstable();
        lines_seen.dedup();
        Ok(Some(Found {
            how: "changelog",
            to: Some(to),
            changed,
            seen: lines_seen,
        }))
    }

    async fn by_root(
        &self,
        root: super::index::Page<scan::python::simple::RootPage>,
        known: &pypi::Index,
        cx: &Run,
    ) -> Result<Found, RunError> {
        let now = cx.clock().now();
        let mut listed: HashMap<String, (String, Option<i64>)> = HashMap::new();
        for one in root.value.projects {
            let serial = one
                .last_serial
                .and_then(|serial| i64::try_from(serial).ok());
            listed.insert(normalize_name(&one.name), (one.name, serial));
        }
        let by_serials = listed.values().any(|(_, serial)| serial.is_some());
        let mut changed = BTreeMap::new();
        let mut after = String::new();
        loop {
            let page = pypi::projects(cx.db(), &after, 20_000).await?;
            let Some(last) = page.last() else {
                break;
            };
            after.clone_from(&last.name);
            for one in page {
                let told = listed.remove(&one.name);
                let is_due = match &told {
                    Some((_, Some(serial))) => one.serial.is_none_or(|known| known < *serial),
                    Some((_, None)) => one.status == "gone" || self.is_old(&one, now),
                    // It is withheld, or no longer there.
                    None => {
                        let known = matches!(one.status.as_str(), "gone" | "quarantined");
                        !known || (!by_serials && one.status == "quarantined")
                    }
                };
                if is_due {
                    let (shown, serial) = told.unwrap_or_else(|| (one.name.clone(), None));
                    changed.insert(one.name, (shown, serial.unwrap_or(0)));
                }
            }
        }
        if !known.sampled {
            for (name, (shown, serial)) in listed {
                if !name.is_empty() && name.len() <= 300 {
                    changed.insert(name, (shown, serial.unwrap_or(0)));
                }
            }
        }
        Ok(Found {
            how: if by_serials { "serials" } else { "pages" },
            to: root.serial,
            changed,
            seen: Vec::new(),
        })
    }

    fn is_old(&self, project: &pypi::KnownProject, now: db::Timestamp) -> bool {
        let cadence = self.settings.page_cadence;
        project
            .asked_at
            .is_none_or(|asked| asked.plus(cadence) <= now)
    }

    /// A store that knows a sample on purpose learns of no other projects.
    async fn only_known(&self, found: &mut Found, cx: &Run) -> Result<(), RunError> {
        let mut known = HashSet::new();
        for name in found.changed.keys() {
            if pypi::project(cx.db(), name).await?.is_some() {
                known.insert(name.clone());
            }
        }
        found.changed.retain(|name, _| known.contains(name));
        Ok(())
    }

    /// Has files read again that an older extractor has read; some with each window.
    async fn read_outdated(&self, address: &IndexAddress, cx: &Run) -> Result<(), RunError> {
        let version = i64::from(EXTRACTOR_VERSION);
        let mut after = 0;
        for _ in 0..MOST_OUTDATED / BATCH {
            let files = pypi::outdated(cx.db(), version, after, BATCH).await?;
            let Some((last, ..)) = files.last() else {
                break;
            };
            after = *last;
            let units: Vec<Enqueue> = files
                .iter()
                .map(|(_, project, filename, url)| {
                    file::unit_at(address, project, filename, url).now()
                })
                .collect();
            let facts = (units, cx.clock().now());
            cx.commit(&cx.cursor::<Progress>(), &facts, |tx, (units, now)| {
                Box::pin(enqueue(tx, units, *now))
            })
            .await?;
        }
        Ok(())
    }
}

/// Up to where changes are known.
struct Safe {
    to: Option<i64>,
    how: String,
    now: db::Timestamp,
}

async fn write_safe(tx: &mut Tx, safe: Option<&Safe>) -> Result<(), RunError> {
    if let Some(safe) = safe {
        pypi::seen(tx, safe.to, safe.now).await?;
        pypi::safe_up_to(tx, safe.to, &safe.how, safe.now).await?;
    }
    Ok(())
}
