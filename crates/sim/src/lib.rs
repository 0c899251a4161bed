//! A small faithful world for tests, the demo and benches: deterministic by
//! seed, on its own clock, with everything that goes wrong outside.
//!
//! ```
//! # async fn example() -> std::io::Result<()> {
//! use sim::{Change, Config, Fault, Rule, Server};
//!
//! let server = Server::start(Config { seed: 7, ..Config::default() }).await?;
//! let api = server.base_url("github.com"); // give this to the product
//!
//! let archive = Change::Archive { repository: "meadow/some-name".to_owned() };
//! let _ = server.world().apply("github.com", &archive);
//! let _ = server.plan().add(Rule::on("github.com", Fault::status(503)).requests(1..=3));
//! assert_eq!(server.journal().counts("github.com").requests, 0);
//! # Ok(())
//! # }
//! ```
//!
//! [`World`] is the truth, [`Plan`] what goes wrong, [`Journal`] what was asked;
//! an [`Upstream`] is the double of one remote service. Other processes reach
//! all of it over HTTP below `/__sim/`. Trees of source files, which need no
//! server, are [`source_trees`].

mod clock;
mod config;
mod control;
mod dice;
mod faults;
mod git_forge;
pub mod git_server;
mod go_imports;
mod journal;
mod server;
mod trees;
mod upstream;
pub mod upstreams;
mod wire;
mod world;

pub use {
    clock::WorldClock,
    config::Config,
    faults::{Fault, Plan, PlanError, RetryAfter, Rule},
    go_imports::GoImports,
    journal::{Counts, Journal, Limit, Request},
    server::Server,
    trees::{SourceTree, source_trees},
    upstream::{Caller, Credential, Site, Upstream},
    world::{
        Change, ChangeError, Declared, EPOCH, Fate, File, Forge, ForgeKind, Issue, ORGANISATION,
        Owner, OwnerKind, Packaged, Person, Presence, Publication, Registration, Registries,
        Release, Repository, Token, Turn, Version, World, WorldSize, declared, files, packages,
        releases,
    },
};
