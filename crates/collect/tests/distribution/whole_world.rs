//! The whole round over a world as it comes: every repository of its organisations is watched.

use std::{ops::Deref, time::Duration};

use db::testing::TestDb;
use sim::{ORGANISATION, Repository};

use crate::whole_round::{self, Round};

pub(crate) use crate::whole_round::{DAY, PARTS};

pub(crate) struct WholeWorld {
    round: Round,
    pub(crate) watched: Vec<Watched>,
}

/// A repository that is watched, as it was when it was added.
pub(crate) struct Watched {
    pub(crate) host: &'static str,
    pub(crate) id: i64,
    pub(crate) truth: Repository,
}

impl WholeWorld {
    /// A world whose organisations have so many repositories on each forge.
    pub(crate) async fn new(db: &TestDb, organisation: usize) -> Self {
        Self {
            round: Round::new(db, whole_round::of_size(organisation)).await,
            watched: Vec::new(),
        }
    }

    /// Adds all repositories of the organisation on these forges that are not archived.
    pub(crate) async fn watch_all(&mut self, hosts: &[&'static str]) {
        for &host in hosts {
            let all = self.server.world().public_repositories(host, ORGANISATION);
            for truth in all {
                if truth.archived {
                    continue;
                }
                let id = self.watch_at(host, &truth.path()).await.id;
                self.watched.push(Watched { host, id, truth });
            }
        }
    }

    /// Runs all that is due, and what comes back soon: an answer may have waited for another.
    pub(crate) async fn settle(&self) {
        for _ in 0..3 {
            self.run().await;
            self.hand.advance(Duration::from_mins(20));
        }
    }
}

impl Deref for WholeWorld {
    type Target = Round;

    fn deref(&self) -> &Round {
        &self.round
    }
}
