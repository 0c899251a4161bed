//! The heart of a worker process: says that it lives, watches whether the
//! others do, and compares what it runs with what the table says it runs.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use db::DbError;

use crate::{
    UnitId,
    lease::{Observer, Strays},
    worker::House,
};

pub(crate) async fn beat_for_ever(house: Arc<House>) {
    let mut heart = Heart {
        last_beat: house.engine.clock.monotonic(),
        observer: Observer::default(),
        strays: Strays::default(),
    };
    loop {
        heart.beat(&house).await;
        tokio::time::sleep(house.timing.beat).await;
    }
}

struct Heart {
    /// Monotonic time of the last beat that is known to have arrived.
    last_beat: Duration,
    observer: Observer,
    strays: Strays,
}

impl Heart {
    async fn beat(&mut self, house: &House) {
        let before = house.engine.clock.monotonic();
        // A beat that hangs is a beat that fails.
        let patience = house.timing.give_up.saturating_sub(house.timing.beat);
        let beat = tokio::time::timeout(patience, house.engine.beat(house.process.worker())).await;
        match beat {
            Ok(Ok(true)) => {
                self.last_beat = before;
                house.suspended.store(false, Ordering::SeqCst);
                // A look that hangs must not keep us from the next beat.
                match tokio::time::timeout(patience, self.look_around(house)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => {
                        tracing::warn!(%error, "could not look after the other workers");
                    }
                    Err(_) => tracing::warn!("looking after the other workers hangs"),
                }
            }
            Ok(Ok(false)) => self.reborn(house).await,
            Ok(Err(error)) => {
                tracing::warn!(%error, "no heartbeat");
                self.give_up_in_time(house);
            }
            Err(_) => {
                tracing::warn!("the heartbeat hangs");
                self.give_up_in_time(house);
            }
        }
    }

    /// Others took us for dead: all our units are theirs now. Begin anew.
    async fn reborn(&mut self, house: &House) {
        tracing::warn!("this process was declared dead and starts over");
        drop_all(house);
        match house.engine.register(&house.introduction).await {
            Ok(worker) => {
                house.process.worker.store(worker, Ordering::SeqCst);
                self.last_beat = house.engine.clock.monotonic();
                self.strays = Strays::default();
            }
            Err(error) => tracing::warn!(%error, "could not register again"),
        }
    }

    /// Stops our own runs before the others may start them.
    fn give_up_in_time(&self, house: &House) {
        let silent = house
            .engine
            .clock
            .monotonic()
            .saturating_sub(self.last_beat);
        if silent >= house.timing.give_up {
            house.suspended.store(true, Ordering::SeqCst);
            drop_all(house);
        }
    }

    async fn look_around(&mut self, house: &House) -> Result<(), DbError> {
        house.process.upstreams.give_back_expired().await;
        let freed = self
            .observer
            .look(&house.engine, house.timing.dead_after)
            .await?;
        if freed > 0 {
            tracing::warn!(freed, "freed the units of a process that is gone");
        }
        self.compare(house).await
    }

    /// Units that were taken from us (cancelled) are stopped here; units that
    /// are ours without our knowledge (the answer to the claim was lost) go back.
    async fn compare(&mut self, house: &House) -> Result<(), DbError> {
        let worker = house.process.worker();
        let known: HashMap<UnitId, i64> = house
            .flights()
            .iter()
            .map(|(id, (attempt, _))| (*id, *attempt))
            .collect();
        let held = house.engine.held_by(worker).await?;
        for (id, attempt) in &known {
            if held.get(id) != Some(attempt)
                && let Some((flying, lost)) = house.flights().get(id)
                && flying == attempt
            {
                lost.cancel();
            }
        }
        house.process.tidy_holdings().await?;
        let twice = self
            .strays
            .seen_twice(held, |id| house.flights().contains_key(&id));
        if !twice.is_empty() {
            let given = house.engine.give_back(worker, &twice).await?;
            tracing::warn!(given, "gave back units whose claim was never answered");
        }
        Ok(())
    }
}

fn drop_all(house: &House) {
    for (_, lost) in house.flights().values() {
        lost.cancel();
    }
}
