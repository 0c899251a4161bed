//! The binary as its users meet it: exit code, standard output, standard error.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod bad_input;
mod book;
mod catalogue;
mod configuration;
mod disks;
mod distribution;
mod go;
mod help;
mod license;
mod mail;
mod mail_served;
mod manifest;
mod pypi;
mod pypi_datasets;
mod python_index;
mod sandbox;
mod serving;
mod simulated;
mod units;
