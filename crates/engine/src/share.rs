//! Who gets the next slot of a pool.
//!
//! A running account per pool, not a share of each claim, since idle slots
//! refill one by one. `run-now` always goes first. The others share by weight:
//! whoever has had least for its weight is next (stride scheduling). Partials
//! and first-time units weigh the same, so partials get at most half while
//! first-time units wait; cadence and strike retries weigh less but never
//! nothing, so nobody starves. A rank that was away does not come back with a
//! claim on the past.
//!
//! Within a rank the upstreams take turns, so that a million units for one
//! service do not hide ten for another.

use std::collections::HashMap;

use crate::{Rank, claim::Pair};

/// Weight of each rank among those that wait.
fn weight(rank: Rank) -> u64 {
    match rank {
        // Never asked: it goes first. Kept equal to the next for completeness.
        Rank::RunNow | Rank::Partial | Rank::First => 8,
        Rank::Cadence => 4,
        Rank::Strike | Rank::Alone => 1,
    }
}

/// One unit of service costs this much for a weight of 1.
const STRIDE: u64 = 8;

/// The account of one pool in one process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares {
    had: [u64; Rank::ALL.len()],
    /// The account of whoever was served last: where newcomers begin.
    now: u64,
    /// The upstream that was served last, by rank.
    last: HashMap<Rank, String>,
}

impl Shares {
    /// How many of `want` to claim from which of the `pairs` (all due now).
    /// Grants by index; nothing is booked until [`Shares::book`].
    pub(crate) fn plan(&self, pairs: &[Pair], want: usize) -> Vec<(usize, usize)> {
        let mut trial = self.clone();
        let mut grants: Vec<(usize, usize)> = Vec::new();
        let mut left = want;
        // A batch is dealt out in eighths: fine enough to share, few enough statements.
        let quantum = (want / 8).max(1);
        while left > 0 {
            let Some(index) = trial.next(pairs) else {
                break;
            };
            let grant = quantum.min(left);
            left -= grant;
            trial.book(&pairs[index], grant);
            match grants.iter_mut().find(|(place, _)| *place == index) {
                Some((_, granted)) => *granted += grant,
                None => grants.push((index, grant)),
            }
        }
        grants
    }

    /// Books what was really claimed.
    pub(crate) fn book(&mut self, pair: &Pair, claimed: usize) {
        let account = &mut self.had[pair.rank as usize];
        *account = (*account).max(self.now);
        self.now = *account;
        *account += claimed as u64 * STRIDE * 8 / weight(pair.rank);
        self.last.insert(pair.rank, pair.upstream.clone());
    }

    fn next(&self, pairs: &[Pair]) -> Option<usize> {
        let rank = pairs
            .iter()
            .map(|pair| pair.rank)
            .filter(|rank| *rank != Rank::Alone)
            .min_by_key(|rank| match rank {
                Rank::RunNow => (0, 0, *rank),
                rank => (1, self.had[*rank as usize].max(self.now), *rank),
            })?;
        let last = self.last.get(&rank);
        let of_rank = || {
            pairs
                .iter()
                .enumerate()
                .filter(move |(_, pair)| pair.rank == rank)
        };
        // Pairs come sorted by upstream: the first behind the last one, else from the top.
        of_rank()
            .find(|(_, pair)| last.is_none_or(|last| pair.upstream > *last))
            .or_else(|| of_rank().next())
            .map(|(index, _)| index)
    }
}

#[cfg(test)]
mod tests {
    use db::Timestamp;

    use super::*;

    fn pair(upstream: &str, rank: Rank) -> Pair {
        Pair {
            upstream: upstream.into(),
            rank,
            due_at: Timestamp::EPOCH,
        }
    }

    /// Serves one slot at a time and counts who got how many.
    fn serve(shares: &mut Shares, pairs: &[Pair], slots: usize) -> Vec<usize> {
        let mut got = vec![0; pairs.len()];
        for _ in 0..slots {
            let plan = shares.plan(pairs, 1);
            assert_eq!(plan.len(), 1);
            got[plan[0].0] += 1;
            shares.book(&pairs[plan[0].0], 1);
        }
        got
    }

    #[test]
    fn partials_get_at_most_half_even_one_slot_at_a_time() {
        let pairs = [pair("a", Rank::Partial), pair("a", Rank::First)];
        assert_eq!(serve(&mut Shares::default(), &pairs, 100), [50, 50]);
    }

    #[test]
    fn nobody_starves() {
        let pairs =
            [Rank::Partial, Rank::First, Rank::Cadence, Rank::Strike].map(|rank| pair("a", rank));
        let got = serve(&mut Shares::default(), &pairs, 210);
        assert_eq!(got, [80, 80, 40, 10]);
    }

    #[test]
    fn run_now_goes_before_all() {
        let pairs = [pair("a", Rank::RunNow), pair("a", Rank::First)];
        assert_eq!(serve(&mut Shares::default(), &pairs, 10), [10, 0]);
    }

    #[test]
    fn a_rank_that_was_away_has_no_claim_on_the_past() {
        let mut shares = Shares::default();
        serve(&mut shares, &[pair("a", Rank::First)], 1_000);
        let pairs = [pair("a", Rank::Partial), pair("a", Rank::First)];
        let got = serve(&mut shares, &pairs, 100);
        assert!(got[0] <= 51, "{got:?}");
    }

    #[test]
    fn upstreams_take_turns() {
        let pairs = ["a", "b", "c"].map(|name| pair(name, Rank::First));
        assert_eq!(serve(&mut Shares::default(), &pairs, 30), [10, 10, 10]);
    }

    #[test]
    fn a_batch_is_dealt_out_among_the_pairs() {
        let pairs = [pair("a", Rank::First), pair("b", Rank::First)];
        let plan = Shares::default().plan(&pairs, 500);
        assert_eq!(plan.iter().map(|(_, n)| n).sum::<usize>(), 500);
        assert_eq!(plan.len(), 2);
    }
}
