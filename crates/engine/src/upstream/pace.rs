//! The least time between two requests of the whole fleet.

use std::time::Duration;

use db::{DbError, Timestamp, sql, transact};

use super::Upstreams;

/// Gaps shorter than this are booked several at a time, so that pacing costs no
/// more than ten writes a second.
const BOOKING: Duration = Duration::from_millis(100);

/// Time that this process has booked for its requests.
#[derive(Clone, Debug)]
pub(super) struct Paced {
    next: Timestamp,
    ends: Timestamp,
}

impl Upstreams {
    /// Books the next request; or says when one may be sent.
    pub(super) async fn pace(
        &self,
        upstream: &str,
        gap: Duration,
    ) -> Result<Option<Timestamp>, DbError> {
        if gap.is_zero() {
            return Ok(None);
        }
        let now = self.shared.clock.now();
        if let Some(paced) = self.memory().paced.get_mut(upstream)
            && now < paced.ends
            // Else the clock was set back: what was booked means nothing.
            && paced.ends.since(now) <= gap.max(BOOKING * 2)
        {
            if now < paced.next {
                return Ok(Some(paced.next));
            }
            paced.next = now.plus(gap);
            return Ok(None);
        }
        let slots = BOOKING.as_micros().div_ceil(gap.as_micros().max(1)).max(1);
        let ends = now.plus(gap * u32::try_from(slots).unwrap_or(1));
        let absurd = now.plus(gap.max(BOOKING * 2) * 2);
        let free: Result<Option<Timestamp>, DbError> = transact!(self.shared.db, |tx| {
            let booked = tx
                .execute(sql!(
                    "INSERT INTO upstream (name, failures, openings, next_request_at)
                     VALUES ($1, 0, 0, $3)
                     ON CONFLICT (name) DO UPDATE SET next_request_at = excluded.next_request_at
                     WHERE upstream.next_request_at IS NULL OR upstream.next_request_at <= $2
                        OR upstream.next_request_at > $4",
                    upstream,
                    now,
                    ends,
                    absurd
                ))
                .await?;
            if booked > 0 {
                return Ok(None);
            }
            let row = tx
                .fetch_one(sql!(
                    "SELECT next_request_at FROM upstream WHERE name = $1",
                    upstream
                ))
                .await?;
            row.get("next_request_at")
        });
        let free = free?;
        let paced = match free {
            None => Paced {
                next: now.plus(gap),
                ends,
            },
            // Somebody else's: nothing to be had before.
            Some(ends) => Paced { next: ends, ends },
        };
        self.memory().paced.insert(upstream.to_owned(), paced);
        Ok(free)
    }
}
