//! What holds for all cases.

use facts::{
    distribution::{Grade, How, Likeness, Verdict, comparable, compare, covers, family},
    manifest::{Intent, Place},
};
use proptest::prelude::*;

use crate::case::{Case, case};

const WORDS: &[&str] = &[
    "npm",
    "pypi",
    "conda",
    "cargo",
    "maven",
    "clojars",
    "rubygems",
    "nuget",
    "composer",
    "go",
    "hex",
    "pub",
    "hackage",
    "cocoapods",
    "conan",
    "julia",
    "cran",
    "bioconductor",
    "swiftpm",
    "docker",
    "container",
    "helm",
    "opam",
];

fn word() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(WORDS)
}

fn name() -> impl Strategy<Value = String> {
    "(@a/|org\\.x:|github\\.com/A/|!)?[aAbB._-]{0,3}(/v2|:a)?"
}

prop_compose! {
    fn any_case()(
        declared in prop::collection::vec((0..4usize, word(), name(), 0..6u8), 0..6),
        published in prop::collection::vec((0..4usize, word(), name(), 0..5u8), 0..6),
        complete in prop::collection::vec(any::<bool>(), 5),
        verdict in 0..4u8,
    ) -> Case {
        let mut case = case();
        for (answer, complete) in case.sources.iter_mut().zip(complete) {
            answer.complete = complete;
        }
        for (directory, kind, name, sort) in declared {
            case = case.declared(&format!("{}m", "d/".repeat(directory)), kind, &name).manifest(|fact| match sort {
                0 => fact.intent = Intent::Denied,
                1 => fact.place = Place::Test,
                2 => (fact.name, fact.effective_name) = (None, None),
                3 => fact.error = Some("broken".into()),
                _ => {}
            });
            case = match verdict {
                0 => case,
                1 => case.absent(kind, &name),
                2 => case.check(kind, &name, Verdict::Unclear, Some("https://x.example/a/b")),
                _ => case.check(kind, &name, Verdict::Other, None),
            };
        }
        for (source, kind, name, sort) in published {
            let source = ["depsdev", "ecosystems", "packages", "releases"][source];
            let attributes = match sort {
                0 => r#"{"redistributor":true}"#,
                1 => r#"{"status":"removed"}"#,
                _ => "{}",
            };
            case = case.with(source, kind, &name, attributes);
        }
        case
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn comparing_is_symmetric_and_agrees_with_the_comparable_form(
        one in word(), a in name(), two in word(), b in name()
    ) {
        let likeness = compare((one, &a), (two, &b));
        prop_assert_eq!(likeness, compare((two, &b), (one, &a)));
        if !a.is_empty() {
            // An artifact without a group is not even sure to be itself.
            let least = if family(one) == "maven" { Likeness::Alike } else { Likeness::Same };
            prop_assert!(compare((one, &a), (one, &a)) >= least);
        }
        if family(one) != family(two) {
            prop_assert_eq!(likeness, Likeness::Different);
        }
        if one == two && likeness == Likeness::Same {
            prop_assert_eq!(comparable(one, &a), comparable(two, &b));
        }
    }

    #[test]
    fn nothing_is_missing_while_somebody_has_not_answered(case in any_case()) {
        let judged = case.judge();
        for gap in &judged.gaps {
            let relevant = case.sources.iter().filter(|one| covers(&one.source, "github", &gap.ecosystem));
            let silent = relevant.clone().any(|one| !one.complete)
                || case.sources.iter().any(|one| one.source == "manifests" && !one.complete);
            if matches!(gap.grade, Grade::Orphan | Grade::NameDiffers) {
                prop_assert!(!silent && relevant.count() > 0, "{gap:?}");
            }
            if gap.grade == Grade::Undeclared {
                prop_assert!(case.sources.iter().any(|one| one.source == "manifests" && one.complete));
            }
            // What is declared and missing is a manifest of the project that may be published.
            if let Some(path) = &gap.path {
                let there = case.manifests.iter().any(|fact| fact.path == *path
                    && fact.intent != Intent::Denied && fact.place == Place::Ordinary && fact.error.is_none());
                prop_assert!(there, "{gap:?}");
            }
        }
        // No name is told twice, and nothing that is paired by name is missing.
        for pair in &judged.pairings {
            let published = !matches!(pair.how, How::Directory | How::Leftover | How::Resemblance);
            let undeclared = judged.gaps.iter().any(|gap| gap.grade == Grade::Undeclared
                && (&gap.ecosystem, &gap.name) == (&pair.ecosystem, &pair.package));
            prop_assert!(!(published && undeclared), "{pair:?}");
        }
    }

    #[test]
    fn the_order_of_what_was_observed_does_not_matter(case in any_case()) {
        let mut turned = Case {
            evidence: case.evidence.clone(),
            manifests: case.manifests.clone(),
            sources: case.sources.clone(),
            checks: case.checks.clone(),
        };
        let once: std::collections::HashSet<_> = case.manifests.iter().map(|fact| &fact.path).collect();
        prop_assume!(once.len() == case.manifests.len());
        turned.evidence.reverse();
        turned.manifests.reverse();
        prop_assert_eq!(turned.judge(), case.judge());
    }
}
