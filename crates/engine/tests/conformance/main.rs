//! What the engine promises, on both databases, through its public door and
//! hand-driven steps.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

mod breakers;
mod budgets;
mod bundles;
mod claiming;
mod drill;
mod enqueueing;
mod fencing;
mod housekeeping;
mod leases;
mod outcomes;
mod plans;
mod pooled;
mod requirements;
#[allow(dead_code, reason = "made for another binary as well")]
mod scanner;
mod steering;
mod subprocesses;
mod workers;
