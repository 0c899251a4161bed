//! `pypi/project`: reads the page of a project and writes down what happened to its files.
//!
//! The page is the truth: whatever is on it is listed, whatever is not is removed, yanks and
//! statuses are as it says; no line of a changelog is interpreted. Files that are new or have other
//! bytes get a unit of their own in the same transaction.
//!
//! A page that is older than the change it is asked for delays only its own project: what it says
//! is kept if it is newer than what is known, and it is asked for again.

use std::{collections::HashMap, time::Duration};

use db::{Timestamp, Tx};
use engine::{Ending, Enqueue, Outcome, Run, RunError};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use store::pypi::{self, Event, PageRead};

use super::{
    POOL, Settings,
    address::IndexAddress,
    compare::{Difference, Reading, compare, status_word},
    file, number,
};
use crate::{
    collector::{Collector, Need, kind},
    http::{Http, RequestLog},
    repo_metadata::enqueue,
};

/// Files in one transaction: a row, an event and a unit each, and what belongs to those.
const BATCH: usize = store::MAX_ROWS / 6;

/// Reads pages of projects.
#[derive(Clone, Debug)]
pub struct PypiProject {
    http: Http,
    settings: Settings,
}

/// A project.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// Normalised.
    pub project: String,
}

#[derive(Debug, Serialize)]
struct Report {
    files: usize,
    written: usize,
    removed: usize,
    withheld: usize,
    unusable: usize,
    status: String,
    serial: Option<i64>,
    unchanged: bool,
    requests: RequestLog,
}

/// The unit of a project, by its normalised name.
pub fn unit(address: &IndexAddress, project: &str) -> Enqueue {
    let subject = Subject {
        project: project.to_owned(),
    };
    Enqueue::new(&kind::<PypiProject>(), project)
        .upstream(address.upstream())
        .payload(serde_json::to_value(subject).unwrap_or_default())
}

impl PypiProject {
    /// Asks through this client.
    pub fn new(http: Http, settings: Settings) -> Self {
        Self { http, settings }
    }
}

impl Collector for PypiProject {
    const NAME: &'static str = "pypi/project";
    const SUMMARY: &'static str = "reads the page of a project of a Python index";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = None;
    const POOL: &'static str = POOL;
    const MAX_RUN: Duration = super::MAX_RUN;
    const NEEDS: &'static [Need] = &[Need::Network];

    type Subject = Subject;
    type Cursor = ();

    async fn run(
        &self,
        subject: Subject,
        _cursor: Option<()>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let name = subject.project;
        let session = self.http.for_run(cx);
        let address = self.settings.located(cx.db(), &self.http).await?;
        let index = self.settings.index(&session, &address);
        let before = pypi::project(cx.db(), &name).await?;
        let required = before.as_ref().and_then(|known| known.required);
        let page = match index.project(&name).await {
            Ok(page) => page,
            Err(why) => return why.end(cx, session.log()),
        };
        let now = cx.clock().now();
        let known = pypi::known_files(cx.db(), &name).await?;
        let Some(page) = page else {
            let removed = known.iter().filter(|file| !file.removed);
            let difference = Difference {
                removed: removed.clone().map(|file| file.id).collect(),
                events: removed
                    .map(|file| event(&name, Some(&file.filename), "removed", None, now))
                    .collect(),
                ..Difference::default()
            };
            let read = PageRead {
                name: name.clone(),
                shown: None,
                status: "gone".into(),
                status_reason: None,
                // The page that comes back, if any, has a higher one.
                serial: before.as_ref().and_then(|known| known.serial),
                digest: None,
                files: 0,
                satisfied: required,
                changed: before.as_ref().is_none_or(|known| known.status != "gone"),
            };
            return self
                .write(
                    cx,
                    address,
                    difference,
                    read,
                    before.as_ref(),
                    (Outcome::Done, session.log()),
                )
                .await;
        };
        let serial = page.serial;
        let known_serial = before.as_ref().and_then(|known| known.serial);
        let is_older = |than: Option<i64>| serial.zip(than).is_some_and(|(is, than)| is < than);
        let late = |asked: i64| Outcome::Partial {
            why: format!(
                "the page is of serial {}, and should be of {asked}",
                serial.unwrap_or_default()
            ),
            retry_at: None,
        };
        if is_older(known_serial) {
            // A cache somewhere has an older page than was seen before: nothing it says is news.
            return Ok(cx.end(late(known_serial.unwrap_or_default()), session.log()));
        }
        let status = status_word(&page.value.status);
        let digest = facts::hex::lower(Sha256::digest(&page.body));
        let same = before.as_ref().and_then(|known| known.digest.as_ref()) == Some(&digest);
        let difference = if same {
            Difference::default()
        } else {
            compare(&address, &name, &page.value, serial, &known, now)
        };
        let read = PageRead {
            shown: page.value.name.clone(),
            status_reason: page.value.status_reason.clone(),
            serial,
            digest: Some(digest),
            files: i64::try_from(page.value.files.len()).unwrap_or(i64::MAX),
            satisfied: match (required, serial) {
                (Some(required), Some(serial)) if serial < required => None,
                (required, _) => required,
            },
            changed: !difference.events.is_empty(),
            status,
            name,
        };
        let outcome = match required {
            Some(required) if is_older(Some(required)) => late(required),
            _ => Outcome::Done,
        };
        self.write(
            cx,
            address,
            difference,
            read,
            before.as_ref(),
            (outcome, session.log()),
        )
        .await
    }
}

impl PypiProject {
    async fn write(
        &self,
        cx: &Run,
        address: IndexAddress,
        mut difference: Difference,
        mut read: PageRead,
        before: Option<&pypi::Project>,
        (outcome, requests): (Outcome, RequestLog),
    ) -> Result<Ending, RunError> {
        let now = cx.clock().now();
        let was = before.map(|known| known.status.as_str());
        if was.is_some_and(|was| was != "unread" && was != read.status) {
            let detail = format!("{} to {}", was.unwrap_or_default(), read.status);
            let changed = event(&read.name, None, "status", Some(detail), now);
            difference.events.push(changed);
            read.changed = true;
        }
        let report = Report {
            files: usize::try_from(read.files).unwrap_or_default(),
            written: difference.writes.len(),
            removed: difference.removed.len(),
            withheld: difference.withheld.len(),
            unusable: difference.unusable,
            status: read.status.clone(),
            serial: read.serial,
            unchanged: difference == Difference::default(),
            requests,
        };
        let mut pieces = pieces(difference).into_iter().peekable();
        let mut writing = Writing {
            address,
            read,
            piece: pieces.next().unwrap_or_default(),
            is_last: pieces.peek().is_none(),
            now,
        };
        while !writing.is_last {
            cx.commit(&(), &writing, |tx, writing| Box::pin(writing.write(tx)))
                .await?;
            writing.piece = pieces.next().unwrap_or_default();
            writing.is_last = pieces.peek().is_none();
        }
        Ok(cx.finish(outcome, report, writing, |tx, writing| {
            Box::pin(writing.write(tx))
        }))
    }
}

/// A transaction's worth of what happened.
struct Writing {
    address: IndexAddress,
    read: PageRead,
    piece: Difference,
    is_last: bool,
    now: Timestamp,
}

impl Writing {
    async fn write(&self, tx: &mut Tx) -> Result<(), RunError> {
        let (piece, name) = (&self.piece, &self.read.name);
        let changes =
            !(piece.writes.is_empty() && piece.removed.is_empty() && piece.withheld.is_empty());
        if changes {
            number::wake(tx, self.now).await?;
        }
        let files: Vec<_> = piece.writes.iter().map(|(file, _)| file.clone()).collect();
        pypi::write_files(tx, name, &files, self.now).await?;
        pypi::remove_files(tx, &piece.removed, self.now).await?;
        pypi::withhold_files(tx, &piece.withheld, self.now).await?;
        pypi::write_events(tx, &piece.events).await?;
        let to_read = piece
            .writes
            .iter()
            .filter(|(_, reading)| *reading != Reading::None);
        let units: Vec<Enqueue> = to_read
            .filter_map(|(write, reading)| {
                let unit = file::unit(&self.address, name, write)?;
                Some(match reading {
                    Reading::First => unit,
                    _ => unit.now(),
                })
            })
            .collect();
        enqueue(tx, &units, self.now).await?;
        if self.is_last {
            pypi::page_read(tx, &self.read, self.now).await?;
        }
        Ok(())
    }
}

/// The same in pieces that fit into a transaction each. What a page says of itself is written with
/// the last one, so that a run that was cut off compares again; events go with their files, since a
/// second comparison would find nothing there.
fn pieces(difference: Difference) -> Vec<Difference> {
    let Difference {
        writes,
        removed,
        withheld,
        events,
        unusable,
    } = difference;
    if writes.len() + removed.len() + withheld.len() <= BATCH && events.len() <= 2 * BATCH {
        return vec![Difference {
            writes,
            removed,
            withheld,
            events,
            unusable,
        }];
    }
    let mut by_file: HashMap<Option<String>, Vec<Event>> = HashMap::new();
    for event in events {
        by_file
            .entry(event.filename.clone())
            .or_default()
            .push(event);
    }
    let mut pieces = Vec::new();
    for chunk in writes.chunks(BATCH) {
        let own = chunk.iter().flat_map(|(write, _)| {
            let own = by_file.remove(&Some(write.filename.clone()));
            own.into_iter().flatten()
        });
        pieces.push(Difference {
            events: own.collect(),
            writes: chunk.to_vec(),
            ..Difference::default()
        });
    }
    let mut rest = by_file
        .into_values()
        .flatten()
        .collect::<Vec<_>>()
        .into_iter();
    for ids in removed.chunks(BATCH) {
        pieces.push(Difference {
            removed: ids.to_vec(),
            events: rest.by_ref().take(BATCH).collect(),
            ..Difference::default()
        });
    }
    for ids in withheld.chunks(BATCH) {
        pieces.push(Difference {
            withheld: ids.to_vec(),
            events: rest.by_ref().take(BATCH).collect(),
            ..Difference::default()
        });
    }
    let rest: Vec<Event> = rest.collect();
    for events in rest.chunks(BATCH) {
        pieces.push(Difference {
            events: events.to_vec(),
            ..Difference::default()
        });
    }
    pieces
}

fn event(
    project: &str,
    filename: Option<&str>,
    what: &str,
    detail: Option<String>,
    now: Timestamp,
) -> Event {
    Event {
        project: project.to_owned(),
        filename: filename.map(str::to_owned),
        what: what.to_owned(),
        detail,
        serial: None,
        observed_at: now,
    }
}
