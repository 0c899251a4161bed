//! The fenced end of runs, one or many, in one transaction.

mod plain;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    panic::AssertUnwindSafe,
};

use db::{Bulk, DbError, Dialect, Statement, Timestamp, Tx, sql};
use futures_util::FutureExt as _;

use crate::{
    Kind, Outcome, RunError, UnitId,
    claim::Claimed,
    enqueue::{EnqueueError, Placed},
    outcome::{backoff, chain, panic_text},
    queue, requirement,
    run::Ending,
    transition::{After, Before, End, after},
    upstream,
};

/// A run that is over and not yet written down.
pub(crate) struct Closing {
    pub unit: std::sync::Arc<Claimed>,
    pub started_at: Timestamp,
    pub result: Result<Ending, RunError>,
}

/// Why a batch of ends could not be written as it is.
pub(crate) enum FinishError {
    /// The database failed; nothing was written.
    Database(DbError),
    /// The facts of this one (by index) were refused: it is a strike instead.
    Refused(usize, RunError),
    /// Not all of them could be ended in the quick way: each is to be looked at.
    Odd,
}

impl From<DbError> for FinishError {
    fn from(error: DbError) -> Self {
        Self::Database(error)
    }
}

/// A unit under its fencing number. One batch may hold two attempts at the same
/// unit, when the process was taken for dead and claimed it again: the unit
/// alone says nothing.
pub(crate) type Attempt = (UnitId, i64);

/// Which attempts were really ended.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    pub kept: HashSet<Attempt>,
}

/// Who writes the ends: shown in the history of runs.
#[derive(Clone, Copy)]
pub(crate) struct Writer<'a> {
    pub name: &'a str,
    pub kinds: &'a HashMap<&'static str, Kind>,
    /// Each unit is looked at, since the quick way has failed.
    pub careful: bool,
}

/// Ends runs: facts, cursor, report and the unit's next state, all or nothing
/// per call. Fences are checked first, so a run that lost its lease writes
/// nothing at all. With `isolate`, refused facts spoil only their own unit.
pub(crate) async fn finish(
    tx: &mut Tx,
    writer: Writer<'_>,
    closings: &mut [Closing],
    isolate: bool,
    now: Timestamp,
) -> Result<Finished, FinishError> {
    if closings.is_empty() {
        return Ok(Finished::default());
    }
    write_facts(tx, closings, isolate).await?;
    let ends = ends(tx, closings).await?;
    let rows: Vec<(&Closing, &End, After)> = closings
        .iter()
        .zip(&ends)
        .filter_map(|(closing, end)| {
            let kind = writer.kinds.get(closing.unit.kind.as_str())?;
            Some((closing, end, after(before(&closing.unit), kind, end, now)))
        })
        .collect();
    let kept = update(tx, writer, &rows, now).await?;
    let rows: Vec<_> = rows
        .into_iter()
        .filter(|(closing, _, _)| kept.contains_key(&closing.unit.attempt()))
        .collect();
    write_bodies(tx, &rows, now).await?;
    write_runs(tx, writer, &rows, now).await?;
    report_ends(tx, &rows, &kept).await?;
    let failed: Vec<UnitId> = rows
        .iter()
        .filter(|(closing, _, _)| closing.result.is_err())
        .map(|(closing, _, _)| closing.unit.id)
        .collect();
    requirement::unstage(tx, failed).await?;
    for (index, closing) in closings.iter().enumerate() {
        if kept.contains_key(&closing.unit.attempt()) {
            add_requirements(tx, closing, index, now).await?;
        }
    }
    Ok(Finished {
        kept: kept.into_keys().collect(),
    })
}

/// Writes the facts of those whose fence holds.
async fn write_facts(
    tx: &mut Tx,
    closings: &mut [Closing],
    isolate: bool,
) -> Result<(), FinishError> {
    let with: Vec<Attempt> = closings
        .iter()
        .filter(|closing| matches!(&closing.result, Ok(ending) if ending.facts.is_some()))
        .map(|closing| closing.unit.attempt())
        .collect();
    if with.is_empty() {
        return Ok(());
    }
    let held = held(tx, &with).await?;
    for (index, closing) in closings.iter_mut().enumerate() {
        let Ok(Ending {
            facts: Some(facts), ..
        }) = &closing.result
        else {
            continue;
        };
        if !held.contains(&closing.unit.attempt()) {
            closing.result = Err(RunError::LeaseLost);
            continue;
        }
        if isolate {
            tx.savepoint().await?;
        }
        // The writer is the collector's code: should it panic, that is its
        // unit's strike and not the end of whoever completes the batch.
        let written = AssertUnwindSafe(facts.write(tx))
            .catch_unwind()
            .await
            .unwrap_or_else(|panic| Err(RunError::unit(panic_text(panic.as_ref()))));
        match written {
            Ok(()) if isolate => tx.keep().await?,
            Ok(()) => {}
            Err(RunError::Database(error)) => return Err(error.into()),
            Err(error) if isolate => {
                tx.undo().await?;
                closing.result = Err(error);
            }
            Err(error) => return Err(FinishError::Refused(index, error)),
        }
    }
    Ok(())
}

/// Those of these attempts that still have their unit; locked until the commit.
async fn held(tx: &mut Tx, attempts: &[Attempt]) -> Result<HashSet<Attempt>, DbError> {
    let lock = match tx.dialect() {
        Dialect::Sqlite => "",
        Dialect::Postgres => "FOR UPDATE OF unit",
    };
    let text = format!(
        "SELECT unit.id AS id, unit.attempt AS attempt FROM {{rows}} JOIN unit ON unit.id = r.id
         WHERE unit.attempt = r.fence AND unit.state = 'running' ORDER BY unit.id {lock}"
    );
    let rows = tx
        .fetch_bulk(
            Statement::built(text),
            Bulk::new()
                .ints("id", attempts.iter().map(|(id, _)| *id))
                .ints("fence", attempts.iter().map(|(_, fence)| *fence)),
        )
        .await?;
    rows.iter()
        .map(|row| Ok((row.get("id")?, row.get("attempt")?)))
        .collect()
}

/// How each run ended.
async fn ends(tx: &mut Tx, closings: &[Closing]) -> Result<Vec<End>, DbError> {
    let asked: Vec<String> = closings
        .iter()
        .filter(|closing| matches!(closing.result, Err(RunError::Upstream(_))))
        .map(|closing| closing.unit.upstream.clone())
        .collect();
    let served = if asked.is_empty() {
        HashMap::new()
    } else {
        upstream::last_successes(tx, asked).await?
    };
    Ok(closings
        .iter()
        .map(|closing| match &closing.result {
            Ok(ending) => End::Outcome(ending.outcome.clone()),
            Err(RunError::Unit(_)) => End::Strike,
            Err(RunError::Upstream(_)) => {
                let served = served.get(&closing.unit.upstream);
                let others_fare_better = match (closing.unit.failed_at, served) {
                    (Some(failed), Some(served)) => *served > failed,
                    _ => false,
                };
                if others_fare_better {
                    End::Strike
                } else {
                    End::Later(backoff(1))
                }
            }
            Err(RunError::Database(_)) => End::Later(std::time::Duration::from_secs(5)),
            // A run may only believe that it lost its lease: a process that could not
            // beat stops its own before it knows. If the fence holds after all, the
            // unit goes back; nobody else would ever do it while this process lives.
            Err(RunError::Interrupted | RunError::LeaseLost) => End::Released,
        })
        .collect())
}

fn before(unit: &Claimed) -> Before {
    Before {
        rank: unit.rank,
        strikes: unit.strikes,
        partials: unit.partials,
        lost: unit.lost,
    }
}

/// The fence and the next state in one statement; returns whose fence held, and
/// whether somebody requires them.
///
/// What is done keeps its rank and due time: they are in an index, and an end
/// that changes no indexed column costs PostgreSQL no index at all.
///
/// Most runs end well and say nothing more. All that is then to be written is
/// the same for every unit of a kind, so only ids and fences are sent: two
/// columns instead of thirteen, which on SQLite travel as JSON.
async fn update(
    tx: &mut Tx,
    writer: Writer<'_>,
    rows: &[Row<'_>],
    now: Timestamp,
) -> Result<HashMap<Attempt, bool>, FinishError> {
    let mut kept = HashMap::with_capacity(rows.len());
    let mut plain: BTreeMap<&str, Vec<&Row<'_>>> = BTreeMap::new();
    let mut others = Vec::new();
    for row in rows {
        let (closing, end, _) = row;
        if matches!(end, End::Outcome(Outcome::Done)) && !has_body(closing, end) {
            plain.entry(&closing.unit.kind).or_default().push(row);
        } else {
            others.push(row);
        }
    }
    for (kind, rows) in plain {
        if let Some(kind) = writer.kinds.get(kind) {
            plain::end(tx, kind, &rows, writer.careful, now, &mut kept).await?;
        }
    }
    update_each(tx, writer, &others, now, &mut kept).await?;
    Ok(kept)
}

type Row<'c> = (&'c Closing, &'c End, After);

/// Ends of any sort.
async fn update_each(
    tx: &mut Tx,
    writer: Writer<'_>,
    rows: &[&Row<'_>],
    now: Timestamp,
    kept: &mut HashMap<Attempt, bool>,
) -> Result<(), DbError> {
    let kind = |closing: &Closing| writer.kinds.get(closing.unit.kind.as_str());
    let bulk = Bulk::new()
        .ints("unit", rows.iter().map(|(closing, _, _)| closing.unit.id))
        .ints(
            "fence",
            rows.iter().map(|(closing, _, _)| closing.unit.attempt),
        )
        .texts(
            "next",
            rows.iter()
                .map(|(_, _, next)| next.state.as_str().to_owned()),
        )
        .ints("place", rows.iter().map(|(_, _, next)| next.rank.number()))
        .times("due", rows.iter().map(|(_, _, next)| next.due_at))
        .ints("struck", rows.iter().map(|(_, _, next)| next.strikes))
        .ints("parts", rows.iter().map(|(_, _, next)| next.partials))
        .ints("gone", rows.iter().map(|(_, _, next)| next.lost))
        .times("over", rows.iter().map(|(_, _, next)| next.ended_at))
        .times("good", rows.iter().map(|(_, _, next)| next.succeeded_at))
        .ints(
            "every",
            rows.iter()
                .map(|(closing, _, _)| kind(closing).and_then(Kind::cadence_seconds)),
        )
        .ints(
            "stamp",
            rows.iter()
                .map(|(closing, _, _)| kind(closing).map_or(1, |kind| kind.version)),
        )
        .bools(
            "bodied",
            rows.iter().map(|(closing, end, _)| has_body(closing, end)),
        );
    let ended = tx
        .fetch_bulk(
            sql!(
                // Enqueued again while it ran and ended well: once more, at once.
                "UPDATE unit SET
                    state = CASE WHEN again AND r.good IS NOT NULL THEN 'ready' ELSE r.next END,
                    rank = CASE WHEN again AND r.good IS NOT NULL THEN 2
                                WHEN r.next = 'done' THEN rank ELSE r.place END,
                    due_at = CASE WHEN again AND r.good IS NOT NULL THEN $1
                                  WHEN r.next = 'done' THEN due_at ELSE r.due END,
                    worker = NULL, strikes = r.struck, partials = r.parts, lost = r.gone,
                    cadence = r.every, version = r.stamp, again = FALSE,
                    ended_at = COALESCE(r.over, ended_at), succeeded_at = COALESCE(r.good, succeeded_at), body = (body OR r.bodied)
                 FROM {rows}
                 WHERE unit.id = r.unit AND unit.attempt = r.fence AND unit.state = 'running'
                 RETURNING id, attempt, required, state",
                now
            ),
            bulk,
        )
        .await?;
    keep(tx, &ended, kept).await
}

/// Books the ends that were written. Those that are ready again get their place.
async fn keep(
    tx: &mut Tx,
    ended: &[db::Row],
    kept: &mut HashMap<Attempt, bool>,
) -> Result<(), DbError> {
    let mut back = Vec::new();
    for row in ended {
        let (id, attempt): Attempt = (row.get("id")?, row.get("attempt")?);
        kept.insert((id, attempt), row.get("required")?);
        if row.get::<String>("state")? == "ready" {
            back.push(id);
        }
    }
    queue::note(tx, back).await
}

/// Whether this end leaves something in `unit_body`.
fn has_body(closing: &Closing, end: &End) -> bool {
    match &closing.result {
        Ok(ending) => {
            ending.report.is_some()
                || ending.cursor.is_some()
                || closing.unit.troubled
                || reason(&ending.outcome).is_some()
        }
        Err(_) => !matches!(end, End::Released),
    }
}

/// What an outcome leaves to be read as "why".
fn reason(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Partial { why, .. } | Outcome::Retry { why, .. } | Outcome::Gone { why } => {
            Some(why)
        }
        Outcome::Done | Outcome::Wait { .. } => None,
    }
}

async fn write_bodies(
    tx: &mut Tx,
    rows: &[(&Closing, &End, After)],
    now: Timestamp,
) -> Result<(), DbError> {
    let rows: Vec<_> = rows
        .iter()
        .filter(|(closing, end, _)| has_body(closing, end))
        .collect();
    let ok = |closing: &Closing| {
        closing.result.as_ref().ok().map(|ending| {
            (
                ending.report.as_ref().map(ToString::to_string),
                ending.cursor.as_ref().map(ToString::to_string),
                reason(&ending.outcome).map(str::to_owned),
            )
        })
    };
    tx.execute_bulk(
        sql!(
            "INSERT INTO unit_body (unit, report, cursor, error, failed_at)
             SELECT r.unit, r.report, r.place, r.error, r.failed FROM {rows} WHERE TRUE
             ON CONFLICT (unit) DO UPDATE SET
                report = COALESCE(excluded.report, unit_body.report),
                cursor = COALESCE(excluded.cursor, unit_body.cursor),
                error = excluded.error, failed_at = excluded.failed_at"
        ),
        Bulk::new()
            .ints("unit", rows.iter().map(|(closing, _, _)| closing.unit.id))
            .texts(
                "report",
                rows.iter()
                    .map(|(closing, _, _)| ok(closing).and_then(|ok| ok.0)),
            )
            .texts(
                "place",
                rows.iter()
                    .map(|(closing, _, _)| ok(closing).and_then(|ok| ok.1)),
            )
            .texts(
                "error",
                rows.iter().map(|(closing, _, _)| match &closing.result {
                    Ok(ending) => reason(&ending.outcome).map(str::to_owned),
                    Err(error) => Some(chain(error)),
                }),
            )
            .times(
                "failed",
                rows.iter()
                    .map(|(closing, _, _)| closing.result.is_err().then_some(now)),
            ),
    )
    .await?;
    Ok(())
}

async fn write_runs(
    tx: &mut Tx,
    writer: Writer<'_>,
    rows: &[(&Closing, &End, After)],
    now: Timestamp,
) -> Result<(), DbError> {
    let kept: Vec<_> = rows
        .iter()
        .filter(|(closing, _, _)| {
            writer
                .kinds
                .get(closing.unit.kind.as_str())
                .is_some_and(|kind| kind.keep_runs.is_some())
        })
        .collect();
    tx.execute_bulk(
        sql!(
            "INSERT INTO run (unit, attempt, worker, started_at, ended_at, outcome, error, report)
             SELECT r.unit, r.attempt, $1, r.started_at, $2, r.outcome, r.error, r.report FROM {rows}",
            writer.name,
            now
        ),
        Bulk::new()
            .ints("unit", kept.iter().map(|(closing, _, _)| closing.unit.id))
            .ints("attempt", kept.iter().map(|(closing, _, _)| closing.unit.attempt))
            .times("started_at", kept.iter().map(|(closing, _, _)| closing.started_at))
            .texts("outcome", kept.iter().map(|(_, end, after)| outcome_word(end, after).to_owned()))
            .texts(
                "error",
                kept.iter().map(|(closing, _, _)| match &closing.result {
                    Ok(ending) => reason(&ending.outcome).map(str::to_owned),
                    Err(error) => Some(chain(error)),
                }),
            )
            .texts(
                "report",
                kept.iter().map(|(closing, _, _)| {
                    let ending = closing.result.as_ref().ok()?;
                    Some(ending.report.as_ref()?.to_string())
                }),
            ),
    )
    .await?;
    Ok(())
}

/// The word for a run's end in its unit's history and in metrics.
pub(crate) fn outcome_word(end: &End, after: &After) -> &'static str {
    match end {
        End::Outcome(Outcome::Done) => "done",
        End::Outcome(Outcome::Partial { .. }) => "partial",
        End::Outcome(Outcome::Retry { .. }) | End::Later(_) => "retry",
        End::Outcome(Outcome::Gone { .. }) => "gone",
        End::Outcome(Outcome::Wait { .. }) => "wait",
        End::Strike if after.state == crate::State::Parked => "parked",
        End::Strike => "strike",
        End::Released => "released",
    }
}

/// Tells the resolver of ends that somebody waits for.
async fn report_ends(
    tx: &mut Tx,
    rows: &[(&Closing, &End, After)],
    kept: &HashMap<Attempt, bool>,
) -> Result<(), DbError> {
    let ended: Vec<UnitId> = rows
        .iter()
        .filter(|(closing, _, after)| {
            kept.get(&closing.unit.attempt()) == Some(&true) && after.ended_at.is_some()
        })
        .map(|(closing, _, _)| closing.unit.id)
        .collect();
    if ended.is_empty() {
        return Ok(());
    }
    requirement::unfold(tx, ended).await
}

async fn add_requirements(
    tx: &mut Tx,
    closing: &Closing,
    index: usize,
    now: Timestamp,
) -> Result<(), FinishError> {
    let Ok(Ending {
        outcome: Outcome::Wait { requirements },
        ..
    }) = &closing.result
    else {
        return Ok(());
    };
    let parent = Placed {
        id: closing.unit.id,
        fresh: false,
    };
    match requirement::add(tx, &[(parent, requirements)], now).await {
        Ok(()) => Ok(()),
        Err(EnqueueError::Database(error)) => Err(error.into()),
        Err(error) => Err(FinishError::Refused(index, RunError::unit(error))),
    }
}
