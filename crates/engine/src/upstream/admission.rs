//! Which upstreams may be asked at claim time.
//!
//! Units of an upstream that must not be asked are left where they are: their
//! rows are not touched, and their due times stay. Read only when something is
//! due.

use std::collections::{HashMap, HashSet};

use db::{DbError, Timestamp, sql};

use super::{Upstreams, ledger::RESET_SLACK, view};
use crate::Rank;

/// What may be claimed for one upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Nothing.
    Nothing,
    /// One unit, which then decides whether the upstream works again.
    OneAsProbe,
    /// Only what a person waits for: no more than the reserve is left.
    RunNow,
}

impl Admission {
    pub(crate) fn admits(self, rank: Rank) -> bool {
        match self {
            Self::Nothing => false,
            Self::OneAsProbe => true,
            Self::RunNow => rank == Rank::RunNow,
        }
    }
}

/// All upstreams that may not simply be asked.
#[derive(Debug, Default)]
pub(crate) struct Outlook {
    pub restricted: HashMap<String, Admission>,
    /// When one of those that are wanted may be asked again.
    pub next_at: Option<Timestamp>,
    /// The pause of one of those that are wanted is over, and nobody probes it.
    pub to_be_probed: bool,
}

impl Outlook {
    fn restrict(&mut self, name: &str, admission: Admission, until: Option<Timestamp>) {
        // Nothing is less than anything else.
        self.restricted
            .entry(name.to_owned())
            .and_modify(|known| {
                if admission == Admission::Nothing {
                    *known = admission;
                }
            })
            .or_insert(admission);
        self.next_at = match (self.next_at, until) {
            (Some(known), Some(until)) => Some(known.min(until)),
            (known, until) => known.or(until),
        };
    }
}

impl Upstreams {
    /// What may be claimed of the wanted upstreams. `can_probe`: a probe request
    /// decides whether one works again, not a unit.
    pub(crate) async fn outlook(
        &self,
        wanted: &HashSet<&str>,
        worker: i64,
        can_probe: bool,
    ) -> Result<Outlook, DbError> {
        let mut outlook = Outlook::default();
        self.look_at_services(&mut outlook, wanted, worker, can_probe)
            .await?;
        self.look_at_budgets(&mut outlook, wanted).await?;
        Ok(outlook)
    }

    async fn look_at_services(
        &self,
        outlook: &mut Outlook,
        wanted: &HashSet<&str>,
        worker: i64,
        can_probe: bool,
    ) -> Result<(), DbError> {
        let now = self.shared.clock.now();
        let rows = self
            .shared
            .db
            .fetch_all(sql!(
                "SELECT upstream.name AS name, paused_at, open_until, held_until, worker.id AS alive
                 FROM upstream LEFT JOIN worker ON worker.id = upstream.prober
                 WHERE paused_at IS NOT NULL OR open_until IS NOT NULL OR held_until > $1",
                now
            ))
            .await?;
        for row in &rows {
            let name: String = row.get("name")?;
            if !wanted.contains(name.as_str()) {
                continue;
            }
            if row.get::<Option<Timestamp>>("paused_at")?.is_some() {
                outlook.restrict(&name, Admission::Nothing, None);
                continue;
            }
            let held_until: Option<Timestamp> = row.get("held_until")?;
            if let Some(until) = held_until.filter(|until| *until > now) {
                outlook.restrict(&name, Admission::Nothing, Some(until));
            }
            match row.get::<Option<Timestamp>>("open_until")? {
                None => {}
                Some(until) if until > now => {
                    outlook.restrict(&name, Admission::Nothing, Some(until));
                }
                Some(_) => {
                    let alive: Option<i64> = row.get("alive")?;
                    // Ours, but not in hand: we were never told that we had it.
                    let free = alive.is_none_or(|alive| alive == worker) && !self.probes(&name);
                    outlook.to_be_probed |= free && can_probe;
                    let admission = if free && !can_probe {
                        Admission::OneAsProbe
                    } else {
                        Admission::Nothing
                    };
                    outlook.restrict(&name, admission, None);
                }
            }
        }
        Ok(())
    }

    async fn look_at_budgets(
        &self,
        outlook: &mut Outlook,
        wanted: &HashSet<&str>,
    ) -> Result<(), DbError> {
        let now = self.shared.clock.now();
        let rows = self
            .shared
            .db
            .fetch_all(sql!(
                "SELECT budget.*, (SELECT min(expires_at) FROM budget_slice
                    WHERE budget_slice.upstream = budget.upstream
                      AND budget_slice.token = budget.token
                      AND requests > 0 AND expires_at > $1) AS returns_at
                 FROM budget WHERE held_until > $1 OR reset_at > $2",
                now,
                now.minus(RESET_SLACK)
            ))
            .await?;
        // By upstream and token: what is to be had, and else until when not.
        let mut spent: HashMap<String, HashMap<String, (Admission, Timestamp)>> = HashMap::new();
        let memory = self.memory();
        for row in &rows {
            let (name, token): (String, String) = (row.get("upstream")?, row.get("token")?);
            if !wanted.contains(name.as_str()) {
                continue;
            }
            let ledger = view::ledger(row)?;
            let reserve = memory.policy(&name).reserve;
            let short = if let Some(hold) = view::hold(row)?.filter(|hold| hold.until > now) {
                Some((Admission::Nothing, hold.until))
            } else if ledger.available(reserve, false) == Some(0) && memory.left(&name, &token) == 0
            {
                let reset_at = ledger.reset_at.unwrap_or(now).plus(RESET_SLACK);
                let returns_at: Option<Timestamp> = row.get("returns_at")?;
                let until = returns_at.map_or(reset_at, |at| at.min(reset_at));
                match ledger.available(reserve, true) {
                    Some(0) => Some((Admission::Nothing, until)),
                    _ => Some((Admission::RunNow, until)),
                }
            } else {
                None
            };
            let tokens = spent.entry(name).or_default();
            if let Some(short) = short {
                tokens.insert(token, short);
            }
        }
        for (name, short) in &spent {
            // Of the tokens of this process, all must be short.
            let known = memory.offered.get(name).cloned().or_else(|| {
                let tokens = memory.policy(name).tokens;
                (!tokens.is_empty()).then_some(tokens)
            });
            let has_other = match &known {
                Some(tokens) => tokens.iter().any(|token| !short.contains_key(token)),
                None => rows.iter().any(|row| {
                    row.get::<String>("upstream").ok().as_ref() == Some(name)
                        && row
                            .get::<String>("token")
                            .is_ok_and(|token| !short.contains_key(&token))
                }),
            };
            if has_other {
                continue;
            }
            let ours = |token: &String| known.as_ref().is_none_or(|known| known.contains(token));
            let short = short.iter().filter(|(token, _)| ours(token));
            let short: Vec<(Admission, Timestamp)> = short.map(|(_, short)| *short).collect();
            let admission = if short.iter().any(|(short, _)| *short == Admission::RunNow) {
                Admission::RunNow
            } else {
                Admission::Nothing
            };
            let until = short.iter().map(|(_, until)| *until).min();
            outlook.restrict(name, admission, until);
        }
        Ok(())
    }
}
