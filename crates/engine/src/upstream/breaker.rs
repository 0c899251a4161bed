//! The breaker: whether a service works at all.
//!
//! | | closed | open | half-open |
//! |---|---|---|---|
//! | `open_until` | null | ahead | past |
//! | units are claimed | yes | no | no; one probe is sent |
//! | a success | failures forgotten | noted | closes |
//! | a failure | counted; may open | noted | noted; the probe's opens again, for twice as long |
//!
//! Failures while it is open are those of requests that were on their way: they
//! are news of the past, and do not make the pause longer.

use std::{collections::HashMap, time::Duration};

use db::{Bulk, DbError, Timestamp, Tx, sql, transact};

use super::{Upstreams, memory::Pending};

/// Failures in a row that open a breaker. Fewer would let one unlucky page with
/// a few bad links stop a service that answers all others.
const FAILURES: i64 = 10;
/// They must span this long: a blip of a second with 32 requests in flight is
/// 32 failures in a row, and no outage.
const SPAN: Duration = Duration::from_secs(30);
/// The first pause. Restarts and deployments of services take about as long.
const FIRST_PAUSE: Duration = Duration::from_mins(1);
/// The longest pause: an outage of a day costs 30 probes, and an hour at most
/// passes after its end.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// A success is written down at most this often: it is a hot row. Well below
/// [`SPAN`], so that a process that is served keeps another's bad luck from
/// opening the breaker; well below the shortest backoff (2 min), so that the
/// rule of strikes sees it.
const NOTE_EVERY: Duration = Duration::from_secs(10);
/// The shortest time between two such writes where the world's time is faster than life.
const NOTE_EVERY_REALLY: Duration = Duration::from_millis(50);

/// The part of a row that decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Breaker {
    pub failures: i64,
    pub failing_since: Option<Timestamp>,
    pub open_until: Option<Timestamp>,
    pub openings: i64,
}

impl Breaker {
    /// `count` requests failed, the first of them at `first`. True if that opens it.
    fn fail(&mut self, count: i64, first: Timestamp, now: Timestamp) -> bool {
        if self.open_until.is_some() {
            return false;
        }
        self.failures = self.failures.saturating_add(count);
        let since = *self.failing_since.get_or_insert(first);
        let opens = self.failures >= FAILURES && now.since(since) >= SPAN;
        if opens {
            self.open(now);
        }
        opens
    }

    pub(super) fn open(&mut self, now: Timestamp) {
        let doublings = u32::try_from(self.openings.clamp(0, 20)).unwrap_or(0);
        let pause = FIRST_PAUSE * 2_u32.pow(doublings);
        self.openings += 1;
        self.open_until = Some(now.plus(pause.min(LONGEST_PAUSE)));
    }
}

impl Upstreams {
    /// Writes down that the service answered, unless that was done a moment ago.
    pub(crate) async fn note_success(&self, upstream: &str) {
        let clock = &self.shared.clock;
        let every = clock.real(NOTE_EVERY).max(NOTE_EVERY_REALLY);
        {
            let mut memory = self.memory();
            let recent = memory
                .noted
                .get(upstream)
                .is_some_and(|noted| clock.monotonic().saturating_sub(*noted) < every);
            if recent && !memory.probing.contains_key(upstream) {
                return;
            }
            memory.noted.insert(upstream.to_owned(), clock.monotonic());
        }
        let now = clock.now();
        let noted: Result<(), DbError> =
            transact!(self.shared.db, |tx| succeed(tx, upstream, now).await);
        if let Err(error) = noted {
            self.memory().noted.remove(upstream);
            tracing::warn!(upstream, %error, "could not write down that a service answered");
        }
    }

    /// Writes down a failure, with those that gather while another is written.
    pub(crate) async fn note_failure(&self, upstream: &str, why: &str) {
        let now = self.shared.clock.now();
        {
            let mut memory = self.memory();
            // The next success must be written at once: it is news.
            memory.noted.remove(upstream);
            if let Some(trial) = memory.probing.get_mut(upstream) {
                trial.failed = Some(why.to_owned());
            }
            let pending = memory
                .pending
                .entry(upstream.to_owned())
                .or_insert_with(|| Pending {
                    count: 0,
                    first: now,
                    why: String::new(),
                });
            pending.count += 1;
            why.clone_into(&mut pending.why);
        }
        let _alone = self.shared.noting.lock().await;
        let Some(pending) = self.memory().pending.remove(upstream) else {
            return;
        };
        let pending = &pending;
        let opened: Result<bool, DbError> = transact!(self.shared.db, |tx| {
            fail(tx, upstream, pending, self.shared.clock.now()).await
        });
        match opened {
            Ok(true) => tracing::warn!(upstream, why, "it fails for everybody and is left alone"),
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(upstream, %error, "could not write down that a service failed");
            }
        }
    }

    /// Whether requests of this process have said how they fared since then.
    /// The end of a run then says nothing new.
    pub(crate) fn spoke_since(&self, upstream: &str, since: Timestamp) -> bool {
        let memory = self.memory();
        memory
            .spoken
            .get(upstream)
            .is_some_and(|spoke| *spoke >= since)
    }
}

async fn succeed(tx: &mut Tx, upstream: &str, now: Timestamp) -> Result<(), DbError> {
    let closed = tx
        .execute(sql!(
            "UPDATE upstream SET open_until = NULL, openings = 0, prober = NULL
             WHERE name = $1 AND open_until <= $2",
            upstream,
            now
        ))
        .await?;
    tx.execute(sql!(
        "INSERT INTO upstream (name, succeeded_at, failures, openings) VALUES ($1, $2, 0, 0)
         ON CONFLICT (name) DO UPDATE SET succeeded_at = excluded.succeeded_at,
            failures = 0, failing_since = NULL",
        upstream,
        now
    ))
    .await?;
    if closed > 0 {
        tx.wake();
    }
    Ok(())
}

async fn fail(
    tx: &mut Tx,
    upstream: &str,
    pending: &Pending,
    now: Timestamp,
) -> Result<bool, DbError> {
    let mut breaker = lock(tx, upstream).await?;
    let opened = breaker.fail(pending.count, pending.first, now);
    store(tx, upstream, &breaker, &pending.why, now).await?;
    if opened {
        // So that nobody claims on an older look.
        tx.wake();
    }
    Ok(opened)
}

/// The breaker of an upstream, kept from others until the commit.
pub(super) async fn lock(tx: &mut Tx, upstream: &str) -> Result<Breaker, DbError> {
    tx.execute(sql!(
        "INSERT INTO upstream (name, failures, openings) VALUES ($1, 0, 0)
         ON CONFLICT (name) DO NOTHING",
        upstream
    ))
    .await?;
    let text = format!(
        "SELECT failures, failing_since, open_until, openings FROM upstream WHERE name = $1 {}",
        tx.dialect().for_update()
    );
    let row = tx
        .fetch_one(db::Statement::built(text).bind(upstream))
        .await?;
    Ok(Breaker {
        failures: row.get("failures")?,
        failing_since: row.get("failing_since")?,
        open_until: row.get("open_until")?,
        openings: row.get("openings")?,
    })
}

/// Writes a breaker back after a failure.
pub(super) async fn store(
    tx: &mut Tx,
    upstream: &str,
    breaker: &Breaker,
    why: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE upstream SET failures = $2, failing_since = $3, open_until = $4, openings = $5,
            last_error = $6, failed_at = $7 WHERE name = $1",
        upstream,
        breaker.failures,
        breaker.failing_since,
        breaker.open_until,
        breaker.openings,
        why,
        now
    ))
    .await?;
    Ok(())
}

/// When each of these upstreams last served anybody. One whose breaker is not
/// closed fails for others too, whatever a straggler was told.
pub(crate) async fn last_successes(
    tx: &mut Tx,
    names: Vec<String>,
) -> Result<HashMap<String, Timestamp>, DbError> {
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT upstream.name AS name, succeeded_at FROM {rows}
                 JOIN upstream ON upstream.name = r.name
                 WHERE succeeded_at IS NOT NULL AND open_until IS NULL"
            ),
            Bulk::new().texts("name", names),
        )
        .await?;
    rows.iter()
        .map(|row| Ok((row.get("name")?, row.get("succeeded_at")?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::EPOCH.plus(Duration::from_secs(seconds))
    }

    #[test]
    fn ten_in_a_row_must_span_half_a_minute() {
        let mut breaker = Breaker::default();
        assert!(!breaker.fail(32, at(0), at(1)), "a blip");
        assert!(!breaker.fail(1, at(29), at(29)));
        assert!(breaker.fail(1, at(30), at(30)));
        let mut few = Breaker::default();
        assert!(!few.fail(9, at(0), at(500)), "nine are not ten");
    }

    #[test]
    fn pauses_double_up_to_an_hour_and_stragglers_do_not_extend_them() {
        let mut breaker = Breaker::default();
        breaker.open(at(0));
        assert_eq!(breaker.open_until, Some(at(60)));
        assert!(!breaker.fail(100, at(1), at(59)));
        assert_eq!((breaker.open_until, breaker.openings), (Some(at(60)), 1));
        let mut pauses = Vec::new();
        for _ in 0..8 {
            breaker.open(at(0));
            pauses.push(breaker.open_until.unwrap().since(at(0)).as_secs() / 60);
        }
        assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60, 60]);
        breaker.openings = i64::MAX - 1;
        breaker.open(at(0));
        assert_eq!(breaker.open_until, Some(at(3600)));
    }
}
