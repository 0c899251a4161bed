//! All collectors. Adding one is its directory and one line in [`all`].

use engine::Enqueue;
use facts::repository::RepositoryUrl;

use crate::{
    collector::{Collector as _, Registered},
    distribution::{self, manifests::Manifests},
    drill::Drill,
};

/// Every collector there is, in the order of their names.
///
/// # Panics
/// If two have the same name: that is a mistake in this file, and every test
/// that starts a worker finds it.
pub fn all() -> Vec<Registered> {
    let mut all = vec![Registered::new(Manifests), Registered::new(Drill)];
    all.sort_by_key(|one| one.kind.name);
    for pair in all.windows(2) {
        assert_ne!(
            pair[0].kind.name, pair[1].kind.name,
            "two collectors have the same name"
        );
    }
    all
}

/// The units that a repository brings with it.
pub fn of_repository(id: i64, url: &RepositoryUrl) -> Vec<Enqueue> {
    distribution::manifests::unit(id, url).into_iter().collect()
}

/// The kinds that [`of_repository`] may make, to find a repository's units.
pub fn kinds_of_repository() -> Vec<&'static str> {
    vec![Manifests::NAME]
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_name_is_round_and_what() {
        for one in super::all() {
            let name = one.kind.name;
            assert!(
                name.chars()
                    .all(|c| c.is_ascii_lowercase() || "/-".contains(c)),
                "{name}"
            );
            assert!(!one.summary.is_empty(), "{name}");
        }
    }
}
