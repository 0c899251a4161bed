//! `distribution/ecosystems`: asks ecosyste.ms which packages come from a repository.
//!
//! It knows some fifty registries, distributions among them: those carry on what others publish
//! and are marked `redistributor`. A package that its registry removed stays listed with its
//! status.
//!
//! It compares addresses as text, so former names are asked for as well. It asks to be told whom
//! to write to, by `mailto` in the question, and gives a larger limit for it.
//!
//! One question can look up many repositories. A run asks for its own and for those that come next
//! ([`shelf`]); their runs then find their answer there. What comes back cut is asked for one by
//! one, page by page.

mod client;
mod collector;
mod read;
mod shelf;

pub use client::{Client, Listed, UPSTREAM};
pub use collector::{Ecosystems, unit};
pub use read::{Row, Rows, merged};
