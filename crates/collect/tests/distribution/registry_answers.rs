//! The readers of answers, under mutation: they never panic, and never name what was not named.

use collect::distribution::{
    depsdev::{CAP, Package, PackageVersions, Project, ProjectVersions, VersionDetail},
    ecosystems::{Rows, merged},
};
use facts::repository::RepositoryUrl;
use proptest::prelude::*;

const PROJECT: &str = r#"{"versions":[
 {"versionKey":{"system":"NPM","name":"espree","version":"9.6.1"},"relationType":"SOURCE_REPO",
  "relationProvenance":"SLSA_ATTESTATION","slsaProvenances":[{"sourceRepository":"https://github.com/eslint/espree","verified":true}],"attestations":[]},
 {"versionKey":{"system":"NPM","name":"espree","version":"9.6.0"},"relationType":"SOURCE_REPO","relationProvenance":"UNVERIFIED_METADATA"},
 {"versionKey":{"system":"NPM","name":"a>1.0.0>espree","version":"9.6.0"},"relationType":"SOURCE_REPO","relationProvenance":"UNVERIFIED_METADATA"},
 {"versionKey":{"system":"PYPI","name":"jaraco-context","version":"6.0.2"},"relationType":"ISSUE_TRACKER","relationProvenance":"UNVERIFIED_METADATA","slsaProvenances":[]}]}"#;

const PACKAGE: &str = r#"{"packageKey":{"system":"NPM","name":"@colors/colors"},"versions":[
 {"versionKey":{"system":"NPM","name":"@colors/colors","version":"1.4.0"},"publishedAt":"2022-02-12T07:39:04Z","isDefault":false,"isDeprecated":false,"deprecatedReason":""},
 {"versionKey":{"system":"NPM","name":"@colors/colors","version":"1.6.0"},"publishedAt":null,"isDefault":true,"isDeprecated":true}]}"#;

const VERSION: &str = r#"{"versionKey":{"system":"NPM","name":"x","version":"1"},
 "links":[{"label":"SOURCE_REPO","url":"git+https://github.com/a/b.git"},{"label":"HOMEPAGE","url":"https://x.example"}],
 "relatedProjects":[{"projectKey":{"id":"github.com/a/b"},"relationProvenance":"UNVERIFIED_METADATA","relationType":"SOURCE_REPO"},
 {"projectKey":{"id":"github.com/a/issues"},"relationType":"ISSUE_TRACKER"}]}"#;

const LIST: &str = r#"[{"id":3421,"name":"rand","ecosystem":"cargo","repository_url":"https://github.com/rust-random/rand","namespace":null,"versions_count":103,
 "first_release_published_at":"2015-02-03T06:17:14.000Z","latest_release_published_at":"2026-02-10T08:00:00.000Z","latest_release_number":"0.10.0",
 "registry_url":"https://crates.example/crates/rand/","purl":"pkg:cargo/rand","status":null,"registry":{"name":"crates.example","url":"https://crates.example","ecosystem":"cargo","default":true}},
 {"id":7,"name":"rand","ecosystem":"debian","repository_url":"https://github.com/rust-random/rand","versions_count":1,"status":"removed","registry":{"name":"debian","default":true}}]"#;

#[test]
fn answers_are_read_as_they_are_documented() {
    let project: Project = serde_json::from_str::<ProjectVersions>(PROJECT)
        .unwrap()
        .into();
    assert_eq!(
        (project.rows, project.issue_trackers, project.bundled),
        (4, 1, 1)
    );
    let mapping = &project.packages[&("npm".to_owned(), "espree".to_owned())];
    assert_eq!(mapping.provenance.as_deref(), Some("SLSA_ATTESTATION"));
    assert_eq!(project.packages.len(), 1);
    assert!(!project.is_capped());

    let package: Package = serde_json::from_str::<PackageVersions>(PACKAGE)
        .unwrap()
        .into();
    assert_eq!(
        (package.count, package.version.as_deref()),
        (2, Some("1.6.0"))
    );
    assert_eq!(package.first, package.latest);
    assert!(package.first.is_some() && !package.deprecated);

    let version: VersionDetail = serde_json::from_str(VERSION).unwrap();
    let sources: Vec<String> = version.sources().iter().map(RepositoryUrl::key).collect();
    assert_eq!(sources, ["github.com/a/b"]);

    let (rows, odd) = serde_json::from_str::<Rows>(LIST).unwrap().read();
    assert_eq!((rows.len(), odd), (2, 0));
    let facts = merged(rows);
    assert_eq!(facts[0].version_count, Some(103));
    assert_eq!(facts[1].attributes.to_map()["status"], "removed");
    assert_eq!(facts[1].attributes.to_map()["redistributor"], true);
}

#[test]
fn exactly_as_many_rows_as_are_given_at_most_may_be_a_part() {
    let row =
        r#"{"versionKey":{"system":"NPM","name":"a","version":"1"},"relationType":"SOURCE_REPO"}"#;
    for (rows, capped) in [(CAP - 1, false), (CAP, true)] {
        let text = format!(r#"{{"versions":[{}]}}"#, vec![row; rows].join(","));
        let project: Project = serde_json::from_str::<ProjectVersions>(&text)
            .unwrap()
            .into();
        assert_eq!(project.is_capped(), capped);
    }
}

/// Where to cut, what to put there, and what to leave out.
fn mutated(text: &str, cuts: &[(prop::sample::Index, Vec<u8>, usize)]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (place, insert, drop) in cuts {
        let at = place.index(bytes.len().max(1)).min(bytes.len());
        let end = (at + drop).min(bytes.len());
        bytes.splice(at..end, insert.iter().copied());
    }
    bytes
}

fn cuts() -> impl Strategy<Value = Vec<(prop::sample::Index, Vec<u8>, usize)>> {
    let words = prop::sample::select(vec![
        &b"null"[..],
        b"\"\"",
        b"[]",
        b"{}",
        b"0",
        b"-1",
        b"1e999",
        b"\"\\u0000\"",
        b"\xff",
        b",",
        b"\"9999-99-99T00:00:00Z\"",
        b"9223372036854775808",
        b"true",
        b"\"",
        b"[[[[[[",
        b">",
    ]);
    let insert = words.prop_map(<[u8]>::to_vec);
    prop::collection::vec((any::<prop::sample::Index>(), insert, 0..12_usize), 1..4)
}

proptest! {
    #[test]
    fn mutated_projects_are_read_or_refused(cuts in cuts()) {
        if let Ok(answer) = serde_json::from_slice::<ProjectVersions>(&mutated(PROJECT, &cuts)) {
            let project = Project::from(answer);
            prop_assert!(project.packages.len() <= project.rows);
            for (ecosystem, name) in project.packages.keys() {
                prop_assert!(!name.is_empty() && !name.chars().any(char::is_control));
                prop_assert!(ecosystem.chars().all(|c| c.is_ascii_lowercase()));
            }
        }
    }

    #[test]
    fn mutated_packages_are_read_or_refused(cuts in cuts()) {
        if let Ok(answer) = serde_json::from_slice::<PackageVersions>(&mutated(PACKAGE, &cuts)) {
            let package = Package::from(answer);
            prop_assert!(package.first <= package.latest);
            prop_assert!(package.count <= 100);
        }
        if let Ok(answer) = serde_json::from_slice::<VersionDetail>(&mutated(VERSION, &cuts)) {
            prop_assert!(answer.sources().iter().all(|url| !url.is_local()));
        }
    }

    #[test]
    fn mutated_lists_are_read_or_counted(cuts in cuts()) {
        if let Ok(rows) = serde_json::from_slice::<Rows>(&mutated(LIST, &cuts)) {
            let all = rows.len();
            let (rows, odd) = rows.read();
            prop_assert_eq!(rows.len() + odd, all);
            for fact in merged(rows) {
                prop_assert!(!fact.package.is_empty() && !fact.ecosystem.is_empty());
                prop_assert!(fact.version_count.is_none_or(|count| count >= 0));
            }
        }
    }
}
