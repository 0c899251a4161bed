//! Drills with real processes in the simulated world: two `gleaner work` on one database and on the
//! world's clock, which runs so fast that hours pass in seconds.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]
#![expect(
    clippy::print_stderr,
    reason = "the figures are worth a line in the log"
)]

mod blip;
mod budgets;
mod fleet;
mod half_written;
mod outage;
