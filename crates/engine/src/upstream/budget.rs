//! Budgets in the database: leasing slices, giving them back, hearing what the
//! service says. The arithmetic is in [`super::ledger`].

use std::time::Duration;

use db::{DbError, Statement, Timestamp, Tx, sql, transact};

use super::{
    Announced, Upstreams,
    ledger::{Abroad, Ledger, RESET_SLACK, same_window},
    memory::Slice,
    view::{self, Hold},
    wall,
};

/// How long a process may sit on a slice. At the rate of one request a second,
/// which most budgets come to, a slice is used up in about this time.
const LEASE: Duration = Duration::from_secs(30);
/// After this others take a slice for lost. Twice the lease: the owner counts by
/// its monotonic clock, the others by the wall's, which may be set.
const LOST_AFTER: Duration = Duration::from_mins(1);
/// The longest silence that is believed. A service that says "next year" is
/// asked again tomorrow, once.
const LONGEST_HOLD: Duration = Duration::from_hours(24);

/// What came of asking for a slice.
pub(super) enum Leased {
    /// One request may be sent; what is left of the slice is in the purse.
    Granted,
    /// The service wants silence.
    Held(Hold),
    /// There is nothing left.
    Spent {
        /// Until then.
        until: Timestamp,
    },
}

impl Upstreams {
    /// Leases a slice of one budget and spends the first request of it.
    pub(super) async fn lease(&self, upstream: &str, token: &str) -> Result<Leased, DbError> {
        let shared = &self.shared;
        let (policy, old, sent) = {
            let mut memory = self.memory();
            let policy = memory.policy(upstream);
            let monotonic = shared.clock.monotonic();
            let purse = memory.purse(upstream, token);
            let old = purse.slice.take();
            (policy, old, purse.unanswered(monotonic))
        };
        let left = old.as_ref().map_or(0, |slice| slice.left);
        let now = shared.clock.now();
        let lost_after = wall(&shared.clock, LOST_AFTER);
        let key = Key {
            upstream,
            token,
            holder: &shared.holder,
            lost_after,
        };
        let interactive = self.interactive;
        let policy = &policy;
        let leased: Result<(Leased, i64, Option<Timestamp>), DbError> =
            transact!(shared.db, |tx| {
                if policy.budget.is_some() {
                    insert(tx, key, &Ledger::default()).await?;
                }
                let Some(mut row) = lock(tx, key).await? else {
                    return Ok((Leased::Granted, 0, None));
                };
                give(tx, key, &mut row.ledger, (left, sent), now).await?;
                if let Some(held) = row.held.filter(|held| held.until > now) {
                    store(tx, key, &row.ledger).await?;
                    return Ok((Leased::Held(held), 0, None));
                }
                if row.ledger.remaining.is_none() {
                    let Some((quota, span)) = policy.budget else {
                        return Ok((Leased::Granted, 0, None));
                    };
                    row.ledger = Ledger::configured(quota, span, now);
                }
                let slice = row.ledger.slice(policy.reserve, interactive);
                store(tx, key, &row.ledger).await?;
                if slice == 0 {
                    let reset_at = row.ledger.reset_at.unwrap_or(now).plus(RESET_SLACK);
                    let returns_at = others(tx, key, now).await?.returns_at;
                    let until = returns_at.map_or(reset_at, |at| at.min(reset_at));
                    return Ok((Leased::Spent { until }, 0, None));
                }
                tx.execute(sql!(
                    "INSERT INTO budget_slice (upstream, token, holder, requests, expires_at)
                     VALUES ($1, $2, $3, $4, $5)
                     ON CONFLICT (upstream, token, holder) DO UPDATE SET
                        requests = excluded.requests, expires_at = excluded.expires_at",
                    upstream,
                    token,
                    &shared.holder,
                    // Those on their way are abroad as well.
                    slice + sent,
                    now.plus(lost_after)
                ))
                .await?;
                Ok((Leased::Granted, slice, row.ledger.reset_at))
            });
        // Read after the commit: no view that was begun before it knows the slice.
        let monotonic = shared.clock.monotonic();
        let mut memory = self.memory();
        let step = memory.step();
        memory.views.remove(upstream);
        let purse = memory.purse(upstream, token);
        let (leased, slice, reset_at) = match leased {
            Ok(leased) => leased,
            Err(error) => {
                purse.slice = old;
                return Err(error);
            }
        };
        if matches!(leased, Leased::Granted) {
            purse.send(monotonic);
        }
        if slice > 0 {
            purse.slice = Some(Slice {
                left: slice - 1,
                reset_at: reset_at.unwrap_or(Timestamp::FAR_FUTURE),
                leased: step,
                expires: monotonic + LEASE,
            });
        }
        Ok(leased)
    }

    /// Gives back slices: all, or those whose lease has run out.
    pub(super) async fn return_slices(&self, all: bool) {
        let _alone = self.shared.leasing.lock().await;
        let monotonic = self.shared.clock.monotonic();
        let mut back = Vec::new();
        for ((upstream, token), purse) in &mut self.memory().purses {
            let over = |slice: &mut Slice| all || slice.expires <= monotonic;
            if let Some(slice) = purse.slice.take_if(over) {
                let sent = purse.unanswered(monotonic);
                back.push((upstream.clone(), token.clone(), slice.left, sent));
            }
        }
        for (upstream, token, left, sent) in &back {
            let key = Key {
                upstream,
                token,
                holder: &self.shared.holder,
                lost_after: wall(&self.shared.clock, LOST_AFTER),
            };
            let now = self.shared.clock.now();
            let returned: Result<(), DbError> = transact!(self.shared.db, |tx| {
                if let Some(mut row) = lock(tx, key).await? {
                    give(tx, key, &mut row.ledger, (*left, *sent), now).await?;
                    store(tx, key, &row.ledger).await?;
                    if *left > 0 {
                        tx.wake();
                    }
                }
                Ok(())
            });
            if let Err(error) = returned {
                tracing::warn!(upstream, %error, "could not give back a part of a budget");
            }
        }
    }

    /// Takes over what the service said, if it is news.
    pub(super) async fn hear(
        &self,
        upstream: &str,
        token: &str,
        said: &Announced,
    ) -> Result<(), DbError> {
        let now = self.shared.clock.now();
        let mut abroad = {
            let mut memory = self.memory();
            let purse = memory.purse(upstream, token);
            purse.sent.pop_front();
            let (window, lowest) = match purse.lowest {
                Some((window, lowest)) if same_window(window, said.reset_at) => {
                    (window, lowest.min(said.remaining))
                }
                _ => (said.reset_at, said.remaining),
            };
            purse.lowest = Some((window, lowest));
            if let Some(slice) = &mut purse.slice {
                slice.left = slice.left.min(said.remaining.max(0));
            }
            Abroad {
                left: purse.slice.as_ref().map_or(0, |slice| slice.left),
                sent: purse.unanswered(self.shared.clock.monotonic()),
                others: 0,
                alone: true,
                lowest,
            }
        };
        // The first view may be old: look twice before writing.
        for again in [false, true] {
            let view = if again {
                self.fresh_view(upstream).await?
            } else {
                self.view(upstream).await?
            };
            let budget = view.budgets.get(token);
            abroad.others = budget.map_or(0, |budget| budget.others);
            abroad.alone = budget.is_none_or(|budget| budget.alone);
            if budget.is_some_and(|budget| !budget.ledger.would_change(said, abroad, now)) {
                return Ok(());
            }
        }
        let key = Key {
            upstream,
            token,
            holder: &self.shared.holder,
            lost_after: wall(&self.shared.clock, LOST_AFTER),
        };
        let void = transact!(self.shared.db, |tx| write_down(tx, key, said, abroad, now)
            .await)?;
        let mut memory = self.memory();
        memory.views.remove(upstream);
        if void {
            memory.purse(upstream, token).slice = None;
        }
        Ok(())
    }

    pub(super) async fn hold_until(
        &self,
        upstream: &str,
        token: Option<&str>,
        until: Timestamp,
        why: &str,
    ) -> Result<(), DbError> {
        let now = self.shared.clock.now();
        let until = until.min(now.plus(LONGEST_HOLD));
        if until <= now {
            return Ok(());
        }
        transact!(self.shared.db, |tx| {
            // Of two wishes the longer one counts.
            let statement = match token {
                None => sql!(
                    "INSERT INTO upstream (name, failures, openings, held_until, held_why)
                     VALUES ($1, 0, 0, $2, $3)
                     ON CONFLICT (name) DO UPDATE SET held_until = excluded.held_until,
                        held_why = excluded.held_why
                     WHERE upstream.held_until IS NULL OR upstream.held_until < excluded.held_until",
                    upstream,
                    until,
                    why
                ),
                Some(token) => sql!(
                    "INSERT INTO budget (upstream, token, announced, held_until, held_why)
                     VALUES ($1, $4, FALSE, $2, $3)
                     ON CONFLICT (upstream, token) DO UPDATE SET held_until = excluded.held_until,
                        held_why = excluded.held_why
                     WHERE budget.held_until IS NULL OR budget.held_until < excluded.held_until",
                    upstream,
                    until,
                    why,
                    token
                ),
            };
            tx.execute(statement).await?;
            tx.wake();
            Ok(())
        })
    }
}

/// Whose budget, and who asks.
#[derive(Clone, Copy)]
struct Key<'a> {
    upstream: &'a str,
    token: &'a str,
    holder: &'a str,
    lost_after: Duration,
}

struct Locked {
    ledger: Ledger,
    held: Option<Hold>,
}

/// The row, kept from others until the commit.
async fn lock(tx: &mut Tx, key: Key<'_>) -> Result<Option<Locked>, DbError> {
    let text = format!(
        "SELECT * FROM budget WHERE upstream = $1 AND token = $2 {}",
        tx.dialect().for_update()
    );
    let row = tx
        .fetch_optional(Statement::built(text).bind(key.upstream).bind(key.token))
        .await?;
    row.map(|row| {
        Ok(Locked {
            ledger: view::ledger(&row)?,
            held: view::hold(&row)?,
        })
    })
    .transpose()
}

async fn insert(tx: &mut Tx, key: Key<'_>, ledger: &Ledger) -> Result<(), DbError> {
    tx.execute(sql!(
        "INSERT INTO budget (upstream, token, quota, remaining, reset_at, span, announced)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (upstream, token) DO NOTHING",
        key.upstream,
        key.token,
        ledger.quota,
        ledger.remaining,
        ledger.reset_at,
        ledger.span,
        ledger.announced
    ))
    .await?;
    Ok(())
}

async fn store(tx: &mut Tx, key: Key<'_>, ledger: &Ledger) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE budget SET quota = $3, remaining = $4, reset_at = $5, span = $6, announced = $7
         WHERE upstream = $1 AND token = $2",
        key.upstream,
        key.token,
        ledger.quota,
        ledger.remaining,
        ledger.reset_at,
        ledger.span,
        ledger.announced
    ))
    .await?;
    Ok(())
}

/// Ends our slice and gives back what is left of it, unless its window is over
/// or the slice was declared void. Its row stays for a while, with the requests
/// that are on their way. Strikes out slices that are lost.
async fn give(
    tx: &mut Tx,
    key: Key<'_>,
    ledger: &mut Ledger,
    (left, sent): (i64, i64),
    now: Timestamp,
) -> Result<(), DbError> {
    if ledger.roll(now) {
        return void(tx, key, now).await;
    }
    let ours = tx
        .execute(sql!(
            "UPDATE budget_slice SET requests = $4, expires_at = $5
             WHERE upstream = $1 AND token = $2 AND holder = $3 AND requests > 0",
            key.upstream,
            key.token,
            key.holder,
            sent,
            now.plus(key.lost_after)
        ))
        .await?;
    if ours > 0 {
        ledger.remaining = ledger.remaining.map(|remaining| remaining + left);
    }
    tx.execute(sql!(
        "DELETE FROM budget_slice WHERE upstream = $1 AND token = $2 AND expires_at <= $3",
        key.upstream,
        key.token,
        now
    ))
    .await?;
    Ok(())
}

/// All slices of this budget are void.
async fn void(tx: &mut Tx, key: Key<'_>, now: Timestamp) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE budget_slice SET requests = 0, expires_at = $3
         WHERE upstream = $1 AND token = $2",
        key.upstream,
        key.token,
        now.plus(key.lost_after)
    ))
    .await?;
    Ok(())
}

struct Others {
    /// What they have leased.
    requests: i64,
    /// There is none.
    none: bool,
    /// When the first of them gives back or is lost.
    returns_at: Option<Timestamp>,
}

/// The other processes that have leased from this budget within a minute.
async fn others(tx: &mut Tx, key: Key<'_>, now: Timestamp) -> Result<Others, DbError> {
    let row = tx
        .fetch_one(sql!(
            "SELECT CAST(COALESCE(sum(requests), 0) AS BIGINT) AS requests, count(*) AS n,
                min(CASE WHEN requests > 0 THEN expires_at END) AS first
             FROM budget_slice
             WHERE upstream = $1 AND token = $2 AND holder <> $3 AND expires_at > $4",
            key.upstream,
            key.token,
            key.holder,
            now
        ))
        .await?;
    Ok(Others {
        requests: row.get("requests")?,
        none: row.get::<i64>("n")? == 0,
        returns_at: row.get("first")?,
    })
}

/// Writes down what the service said; true if all slices are void by it.
async fn write_down(
    tx: &mut Tx,
    key: Key<'_>,
    said: &Announced,
    abroad: Abroad,
    now: Timestamp,
) -> Result<bool, DbError> {
    insert(tx, key, &Ledger::default()).await?;
    let Some(mut row) = lock(tx, key).await? else {
        return Ok(false);
    };
    if row.ledger.remaining.is_none() {
        // Nobody knew that there is a limit.
        tx.wake();
    }
    let others = others(tx, key, now).await?;
    let abroad = Abroad {
        others: others.requests,
        alone: others.none,
        ..abroad
    };
    let is_void = row.ledger.hear(said, abroad, now);
    store(tx, key, &row.ledger).await?;
    if is_void {
        void(tx, key, now).await?;
        tx.wake();
    }
    Ok(is_void)
}
