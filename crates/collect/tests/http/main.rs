//! Every fault that a web service can have, and what the client makes of it.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod bodies;
mod budgets;
mod cache;
mod limits;
mod manners;
mod redirects;
mod runs;
mod secrets;
mod server;
mod simulated;
mod statuses;
mod transport;
mod world;
