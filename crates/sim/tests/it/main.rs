//! The world, asked over HTTP as the product asks it.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod client;
mod content;
mod control;
mod faults;
mod gitea;
mod github;
mod github_limits;
mod gitlab;
mod issues;
mod pony_mail;
mod python_index;
mod registries;
mod world;
