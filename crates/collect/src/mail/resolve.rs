//! `mail/resolve`: turns the staged mail of a list into messages.
//!
//! One unit for each list, so that nobody else writes for it. While one batch is written the next
//! is read. A batch that the database refuses is halved until the mail is found that it refuses;
//! that one is set aside with its bytes, and the rest is written.

use std::{sync::Mutex, time::Duration};

use db::{Db, DbError, Timestamp, Tx};
use engine::{Ending, Enqueue, Outcome, Run, RunError};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use store::{
    mail::{self, NewMessage, Written},
    repositories,
};

use super::{
    Settings, project,
    read::{Read, Reader},
    series,
};
use crate::{
    collector::{Collector, Need, kind},
    repo_metadata::enqueue,
};

/// Messages in one transaction; each is about seven rows.
const BATCH: usize = 500;
/// Authors whose series are told anew between two looks.
const AUTHORS: usize = 500;
/// Patches of authors whose series are told anew together; each is about two rows.
const PATCHES: i64 = 1_500;

/// Resolves staged mail.
#[derive(Clone, Debug)]
pub struct MailResolve(Settings);

/// What a unit is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The list's id.
    pub list: i64,
}

#[derive(Debug, Default, Serialize)]
struct Report {
    new: usize,
    retold: usize,
    known: usize,
    skipped: usize,
    dead: usize,
    authors: usize,
}

/// The unit of a list.
pub fn unit(list: i64) -> Enqueue {
    Enqueue::new(&kind::<MailResolve>(), list.to_string())
        .payload(serde_json::to_value(Subject { list }).unwrap_or_default())
}

/// Has staged mail of these lists resolved, in the transaction that stages it.
pub(super) async fn wake(tx: &mut Tx, lists: &[i64], now: Timestamp) -> Result<(), RunError> {
    let units: Vec<Enqueue> = lists.iter().map(|list| unit(*list).now()).collect();
    enqueue(tx, &units, now).await
}

impl MailResolve {
    /// With these settings.
    pub fn new(settings: Settings) -> Self {
        Self(settings)
    }
}

impl Collector for MailResolve {
    const NAME: &'static str = "mail/resolve";
    const SUMMARY: &'static str = "turns fetched mail into messages, threads and patch series";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = None;
    const POOL: &'static str = "mail-resolve";
    const MAX_RUN: Duration = Duration::from_hours(6);
    const NEEDS: &'static [Need] = &[];

    type Subject = Subject;
    type Cursor = ();

    async fn run(
        &self,
        subject: Subject,
        _cursor: Option<()>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let Some(list) = mail::by_id(cx.db(), subject.list).await? else {
            let why = "the list is no longer registered".to_owned();
            return Ok(cx.end(Outcome::Gone { why }, ()));
        };
        let rules = self.0.rules(&list.system).map_err(RunError::unit)?;
        let home = match list.repository {
            Some(id) => repositories::by_id(cx.db(), id).await?,
            None => None,
        };
        let reader = Reader {
            rules,
            mirrors: self.0.mirror_handling,
            home: home.map(|repository| repository.url),
            list,
        };
        let mut report = Report::default();
        let mut next = load(cx, &reader, 0);
        loop {
            let batch = next
                .await
                .map_err(|_| RunError::Interrupted)?
                .map_err(RunError::from)?;
            let Some(last) = batch.last else {
                break;
            };
            if cx.cancelled().is_cancelled() {
                return Err(RunError::Interrupted);
            }
            next = load(cx, &reader, last);
            write(cx, batch, &mut report).await?;
        }
        tell_series(cx, &mut report).await?;
        let facts = (reader.list.id, cx.clock().now());
        Ok(cx.finish(Outcome::Done, report, facts, |tx, (list, now)| {
            Box::pin(project::wake(tx, *list, *now))
        }))
    }
}

/// Copies that were read.
#[derive(Default)]
struct Batch {
    messages: Vec<NewMessage>,
    skipped: Vec<i64>,
    dead: Vec<(i64, String)>,
    /// The last copy of it; none when there are none.
    last: Option<i64>,
}

/// Reads the copies behind a number, beside what goes on meanwhile.
fn load(cx: &Run, reader: &Reader, after: i64) -> tokio::task::JoinHandle<Result<Batch, DbError>> {
    let (db, reader): (Db, Reader) = (cx.db().clone(), reader.clone());
    tokio::spawn(async move {
        let copies = mail::staged(&db, reader.list.id, after, BATCH).await?;
        let read = tokio::task::spawn_blocking(move || {
            let mut batch = Batch {
                last: copies.last().map(|copy| copy.id),
                ..Batch::default()
            };
            for copy in &copies {
                match reader.read(copy) {
                    Read::Message(message) => batch.messages.push(*message),
                    Read::Skipped(copy) => batch.skipped.push(copy),
                    Read::Dead(copy, why) => batch.dead.push((copy, why)),
                }
            }
            batch
        });
        Ok(read.await.unwrap_or_default())
    })
}

async fn write(cx: &Run, batch: Batch, report: &mut Report) -> Result<(), RunError> {
    report.skipped += batch.skipped.len();
    if !batch.skipped.is_empty() || !batch.dead.is_empty() {
        report.dead += batch.dead.len();
        let aside = (batch.skipped, batch.dead);
        cx.commit(&(), &aside, |tx, (skipped, dead)| {
            Box::pin(async move {
                mail::skip(tx, skipped).await?;
                Ok(mail::set_aside(tx, dead).await?)
            })
        })
        .await?;
    }
    write_messages(cx, &batch.messages, report).await
}

/// Writes messages, by halves where the database refuses them together.
fn write_messages<'a>(
    cx: &'a Run,
    messages: &'a [NewMessage],
    report: &'a mut Report,
) -> BoxFuture<'a, Result<(), RunError>> {
    Box::pin(async move {
        if messages.is_empty() {
            return Ok(());
        }
        let facts = ToWrite {
            messages,
            now: cx.clock().now(),
            written: Mutex::default(),
        };
        let committed = cx
            .commit(&(), &facts, |tx, facts| Box::pin(facts.write(tx)))
            .await;
        match committed {
            Ok(()) => {
                let written = facts.written.into_inner().unwrap_or_default();
                report.new += written.new;
                report.retold += written.retold;
                report.known += written.known;
                Ok(())
            }
            Err(RunError::Unit(why)) if messages.len() == 1 => {
                report.dead += 1;
                let dead = vec![(messages[0].copy, why.to_string())];
                cx.commit(&(), &dead, |tx, dead| {
                    Box::pin(async move { Ok(mail::set_aside(tx, dead).await?) })
                })
                .await
            }
            Err(RunError::Unit(_)) => {
                let (one, other) = messages.split_at(messages.len() / 2);
                write_messages(cx, one, report).await?;
                write_messages(cx, other, report).await
            }
            Err(other) => Err(other),
        }
    })
}

struct ToWrite<'a> {
    messages: &'a [NewMessage],
    now: Timestamp,
    /// The transaction may be run again, and then tells anew.
    written: Mutex<Written>,
}

impl ToWrite<'_> {
    async fn write(&self, tx: &mut Tx) -> Result<(), RunError> {
        let written = mail::write(tx, self.messages, self.now).await?;
        if let Ok(mut place) = self.written.lock() {
            *place = written;
        }
        Ok(())
    }
}

/// Tells the series anew of all authors with new patches.
async fn tell_series(cx: &Run, report: &mut Report) -> Result<(), RunError> {
    loop {
        let authors = mail::due_authors(cx.db(), AUTHORS).await?;
        if authors.is_empty() {
            return Ok(());
        }
        for authors in portions(authors) {
            if cx.cancelled().is_cancelled() {
                return Err(RunError::Interrupted);
            }
            cx.commit(&(), &authors, |tx, authors| {
                Box::pin(series::regroup(tx, authors))
            })
            .await?;
            report.authors += authors.len();
        }
    }
}

/// Authors with as many patches as fit into one transaction: most have few, and each statement
/// costs as much for one as for a hundred.
fn portions(authors: Vec<(String, i64)>) -> Vec<Vec<String>> {
    let mut portions: Vec<Vec<String>> = Vec::new();
    let mut patches = 0;
    for (author, count) in authors {
        patches += count.max(1);
        match portions.last_mut() {
            Some(last) if patches <= PATCHES => last.push(author),
            _ => {
                patches = count.max(1);
                portions.push(vec![author]);
            }
        }
    }
    portions
}
