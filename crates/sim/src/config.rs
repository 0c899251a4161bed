//! Which world to make.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use crate::{
    clock::WorldClock,
    faults::Plan,
    upstream::Upstream,
    upstreams,
    world::{EPOCH, Token, WorldSize},
};

/// What [`Server::start`](crate::Server::start) makes a world from. The default
/// is small, healthy, and runs in real time from [`EPOCH`] on a free port.
#[derive(Debug)]
pub struct Config {
    /// The same seed gives the same world.
    pub seed: u64,
    /// How much there is on each forge.
    pub size: WorldSize,
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// World time.
    pub clock: WorldClock,
    /// What goes wrong from the start.
    pub plan: Plan,
    /// Tokens that are given out. An upstream without any takes all.
    pub tokens: Vec<Token>,
    /// Who is there.
    pub upstreams: Vec<Arc<dyn Upstream>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            size: WorldSize {
                repositories: 40,
                organisation: 120,
            },
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            clock: WorldClock::scaled(EPOCH, 1.0),
            plan: Plan::default(),
            tokens: Vec::new(),
            upstreams: upstreams::all(),
        }
    }
}

impl Config {
    /// With this upstream, instead of the one of the same name if there is one:
    /// a GitHub with other limits, a service that only one test needs.
    pub fn with(mut self, upstream: impl Upstream + 'static) -> Self {
        self.upstreams
            .retain(|present| present.name() != upstream.name());
        self.upstreams.push(Arc::new(upstream));
        self
    }
}
