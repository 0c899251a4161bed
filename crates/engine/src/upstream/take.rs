//! May a request be sent now, and with which token?

use db::{DbError, Timestamp};

use super::{
    Grant, Upstreams,
    budget::Leased,
    ledger::RESET_SLACK,
    view::{BudgetView, LOOK_AGAIN, View},
};

/// What stands against a request.
struct Refusal {
    at: Timestamp,
    why: String,
}

impl From<Refusal> for Grant {
    fn from(Refusal { at, why }: Refusal) -> Self {
        Self::NotBefore { at, why }
    }
}

impl Upstreams {
    pub(super) async fn take_one(
        &self,
        upstream: &str,
        tokens: &[String],
    ) -> Result<Grant, DbError> {
        let anonymous = [String::new()];
        let names = if tokens.is_empty() {
            &anonymous
        } else {
            tokens
        };
        let policy = {
            let mut memory = self.memory();
            if memory.offered.get(upstream).map(Vec::as_slice) != Some(names) {
                memory.offered.insert(upstream.to_owned(), names.to_vec());
            }
            memory.policy(upstream)
        };
        let view = self.view(upstream).await?;
        if let Some(refusal) = self.refused(upstream, &view) {
            return Ok(refusal.into());
        }
        if let Some(at) = self.pace(upstream, policy.min_gap).await? {
            let why = format!("requests to {upstream} keep {:?} apart", policy.min_gap);
            return Ok(Grant::NotBefore { at, why });
        }
        let index = match self.spend(upstream, names, &view) {
            Some(index) => Ok(index),
            None => self.lease_any(upstream, names).await?,
        };
        Ok(match index {
            Ok(index) => Grant::Go {
                token: (!tokens.is_empty()).then_some(index),
            },
            Err(refusal) => refusal.into(),
        })
    }

    pub(super) async fn uncounted(&self, upstream: &str) -> Result<Grant, DbError> {
        let view = self.view(upstream).await?;
        let refusal = self.refused(upstream, &view);
        Ok(refusal.map_or(Grant::Go { token: None }, Grant::from))
    }

    /// Whether the upstream as a whole must not be asked.
    fn refused(&self, upstream: &str, view: &View) -> Option<Refusal> {
        let now = self.shared.clock.now();
        if let Some(why) = &view.paused {
            return Some(Refusal {
                at: now.plus(LOOK_AGAIN),
                why: format!("{upstream} is paused: {why}"),
            });
        }
        if let Some(open_until) = view.open_until
            && !self.probes(upstream)
        {
            let error = view.last_error.as_deref().unwrap_or("too many failures");
            return Some(Refusal {
                // Past: a probe is due or on its way.
                at: if open_until > now {
                    open_until
                } else {
                    now.plus(LOOK_AGAIN)
                },
                why: format!("{upstream} is left alone: {error}"),
            });
        }
        let held = view.held.as_ref().filter(|held| held.until > now)?;
        Some(Refusal {
            at: held.until,
            why: format!("{upstream} wants silence: {}", held.why),
        })
    }

    /// Spends from a slice that this process has, or with a token that is not
    /// limited as far as is known.
    fn spend(&self, upstream: &str, names: &[String], view: &View) -> Option<usize> {
        let now = self.shared.clock.now();
        let monotonic = self.shared.clock.monotonic();
        let mut memory = self.memory();
        let limited = memory.policy(upstream).budget.is_some();
        for (index, name) in names.iter().enumerate() {
            let budget = view.budgets.get(name);
            if budget.is_some_and(|budget| is_held(budget, now)) {
                continue;
            }
            let purse = memory.purse(upstream, name);
            let Some(slice) = &mut purse.slice else {
                continue;
            };
            // The books may say that it is void, if they were read after it was leased.
            let booked = budget.filter(|budget| budget.ours);
            let void = view.begun > slice.leased && booked.is_none();
            let ends = booked
                .and_then(|budget| budget.ledger.reset_at)
                .unwrap_or(slice.reset_at);
            if void || ends.plus(RESET_SLACK) <= now {
                purse.slice = None;
            } else if slice.left > 0 && slice.expires > monotonic {
                slice.left -= 1;
                purse.send(monotonic);
                return Some(index);
            }
        }
        // Of a token that was never heard of we learn by using it.
        let unlimited = |name: &String| match view.budgets.get(name) {
            None => !limited,
            Some(budget) => budget.ledger.remaining.is_none() && !limited && !is_held(budget, now),
        };
        let index = names.iter().position(unlimited)?;
        memory.purse(upstream, &names[index]).send(monotonic);
        Some(index)
    }

    /// Leases a slice of the budget that has most left.
    async fn lease_any(
        &self,
        upstream: &str,
        names: &[String],
    ) -> Result<Result<usize, Refusal>, DbError> {
        let _alone = self.shared.leasing.lock().await;
        // Somebody may have leased while we waited.
        let view = self.fresh_view(upstream).await?;
        if let Some(index) = self.spend(upstream, names, &view) {
            return Ok(Ok(index));
        }
        let now = self.shared.clock.now();
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(promise(&view, &names[*index], now)));
        let mut refusal: Option<Refusal> = None;
        for index in order {
            let name = &names[index];
            let (at, why) = match self.lease(upstream, name).await? {
                Leased::Granted => return Ok(Ok(index)),
                Leased::Held(hold) => (hold.until, hold.why),
                Leased::Spent { until } => (until, "its budget is spent".to_owned()),
            };
            if refusal.as_ref().is_none_or(|known| at < known.at) {
                let whose = if name.is_empty() {
                    String::new()
                } else {
                    format!(" (token {name})")
                };
                refusal = Some(Refusal {
                    at,
                    why: format!("{upstream}{whose}: {why}"),
                });
            }
        }
        Ok(Err(refusal.unwrap_or_else(|| Refusal {
            at: now.plus(LOOK_AGAIN),
            why: format!("{upstream}: no token"),
        })))
    }
}

fn is_held(budget: &BudgetView, now: Timestamp) -> bool {
    budget.held.as_ref().is_some_and(|held| held.until > now)
}

/// How much a token promises: the one with most is asked first.
fn promise(view: &View, name: &str, now: Timestamp) -> i64 {
    let Some(budget) = view.budgets.get(name) else {
        return i64::MAX;
    };
    if budget.ledger.is_over(now) {
        return budget.ledger.quota.unwrap_or(i64::MAX);
    }
    budget.ledger.remaining.unwrap_or(i64::MAX)
}
