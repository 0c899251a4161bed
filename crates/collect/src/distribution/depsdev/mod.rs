//! `distribution/depsdev`: asks deps.dev which packages come from a repository.
//!
//! One question for the project gives the packages and how they are known to come from it; then
//! one for each package gives how many versions it has and since when, since the list of a project
//! is cut at 1,500 versions and has no dates.
//!
//! A list that was cut is a part: nothing is taken for removed, and asking again soon would bring
//! the same, so it waits for the cadence. A package whose details could not be had keeps those
//! that were known, and the run comes back for it.
//!
//! "Not found" is what deps.dev also says to a question that was mangled on its way. So when it is
//! said of a project that had packages, one of them is asked where it comes from: if that still
//! names the project, the answer is not believed.

mod client;
mod collector;
mod read;

pub use client::{Client, UPSTREAM, knows, project_id};
pub(crate) use collector::SOURCE;
pub use collector::{DepsDev, unit};
pub use read::{
    CAP, Mapping, Package, PackageVersions, Project, ProjectVersions, VersionDetail, ecosystem,
    system,
};
