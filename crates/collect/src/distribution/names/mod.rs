//! `distribution/names`: asks deps.dev whose the names are that a repository's manifests declare.
//!
//! The way from a repository to its packages misses what was cut from a long list and what says
//! nothing of where it comes from. The way from a declared name finds it: there is no such package,
//! there is one and it comes from here, or it comes from elsewhere, and then the name is taken.
//!
//! A kind of its own, and not a part of `distribution/depsdev`, for three reasons: it needs the
//! manifests, which the other need not wait for; it is due again whenever they change, and then
//! the other is not; and a name that fails must not make the list of a project look partial. It
//! asks the same upstream, so that one breaker and one budget hold for both. [`changed`] makes it
//! due.
//!
//! A link is text in a package's metadata, and a repository that has moved does not change it. So a
//! link that shares the repository's name, or its owner, is not taken for another repository's
//! until deps.dev is found to know that one as a project: until then it is unclear whose the name
//! is. A link that shares nothing is believed.
//!
//! A name that deps.dev has already listed for the project costs no question. Names of manifests
//! that are not to be published, or lie among tests, examples and copied code, are not asked for,
//! nor are those of registries that deps.dev does not have.

mod collector;
mod wanted;
mod whose;

pub use collector::{Names, changed, unit};
pub use wanted::{Wanted, comparable, wanted};
