//! The world, asked over HTTP as the product asks it.

mod client;
mod control;
mod faults;
mod gitea;
mod github;
mod github_limits;
mod gitlab;
mod world;
