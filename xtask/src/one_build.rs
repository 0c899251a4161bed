//! Tests and binary must share their dependencies' artefacts.
//!
//! A dev-dependency that switches on one more feature of a crate from outside makes cargo build
//! that crate twice, once for the tests and once for the binary, and with it all that stands on it:
//! `test-util` of tokio alone cost two and a half minutes of every cold run. So what tests need is
//! asked for in `[workspace.dependencies]`, or done without. Rooms are free: theirs is the feature
//! `testing`, and that they also compile without it is worth a build.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;

use crate::steps;

pub(crate) fn check() -> anyhow::Result<()> {
    let (shipped, tested) = (tree("normal,build")?, tree("normal,build,dev")?);
    let shipped = features_by_crate(&shipped);
    let twice = built_twice(&shipped, &features_by_crate(&tested));
    if !twice.is_empty() {
        bail!(
            "built twice, since tests ask for more features than the binary does:\n  {}\n  hint: \
             name the same features in `[workspace.dependencies]`, without `default` where the \
             binary does not have it, or do without them",
            twice.join("\n  ")
        );
    }
    eprintln!("tests and binary share {} dependencies", shipped.len());
    Ok(())
}

/// One line for each crate of the graph: `name version [features]`, with its path if it is ours.
fn tree(edges: &str) -> anyhow::Result<String> {
    let args = ["tree", "--workspace", "--prefix=none", "--format={p} [{f}]"];
    steps::stdout(steps::cargo(&args).args(["--edges", edges]))
}

type Features<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// A crate can stand in the graph several times, for host and target; the sets are joined.
fn features_by_crate(tree: &str) -> Features<'_> {
    let mut found = Features::new();
    for line in tree.lines().filter(|line| !line.contains(" (/")) {
        if let Some((name, rest)) = line.split_once(" [") {
            let features = rest.split_once(']').map_or("", |(features, _)| features);
            found.entry(name).or_default().extend(features.split(','));
        }
    }
    found
}

fn built_twice(shipped: &Features<'_>, tested: &Features<'_>) -> Vec<String> {
    let mut twice = Vec::new();
    for (name, features) in shipped {
        let with_tests = tested.get(name).unwrap_or(features);
        let more: Vec<&str> = with_tests.difference(features).copied().collect();
        if !more.is_empty() {
            twice.push(format!("{name}: {}", more.join(", ")));
        }
    }
    twice
}

#[cfg(test)]
mod tests {
    use super::{built_twice, features_by_crate};

    const SHIPPED: &str = "\
room v0.1.0 (/house/room) []
clock v1.2.0 [default,hands]
wine v0.3.0 []
";

    #[test]
    fn tests_may_bring_crates_and_switch_on_features_of_rooms() {
        let tested = "\
room v0.1.0 (/house/room) [testing]
clock v1.2.0 [default,hands] (*)
cork v9.0.0 [pop]
wine v0.3.0 []
";
        assert!(twice(tested).is_empty());
    }

    #[test]
    fn one_more_feature_is_named() {
        let tested = "clock v1.2.0 [alarm,default,hands]\nwine v0.3.0 [default]\n";
        let expected = ["clock v1.2.0: alarm", "wine v0.3.0: default"];
        assert_eq!(twice(tested), expected);
    }

    fn twice(tested: &str) -> Vec<String> {
        built_twice(&features_by_crate(SHIPPED), &features_by_crate(tested))
    }
}
