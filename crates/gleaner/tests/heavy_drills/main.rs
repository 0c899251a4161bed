//! Drills with real processes: several `gleaner work` on one database, most of them in the simulated
//! world and on its clock, which runs so fast that hours pass in seconds.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]
#![expect(
    clippy::print_stderr,
    reason = "the figures are worth a line in the log"
)]

mod blip;
mod budgets;
mod fleet;
mod followers;
mod go_fleet;
mod half_written;
mod license_home;
mod license_kill;
mod license_recovery;
mod mail_kill;
mod outage;
