//! Every format and edge case: what each file under `testdata/manifest` must say.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use scan::manifest::{ManifestError, recognise};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/manifest")
}

fn table() -> String {
    std::fs::read_to_string(root().join("expected.tsv")).expect("the table of expectations")
}

#[test]
fn every_fixture_says_what_is_expected() {
    let mut failures = Vec::new();
    for row in table().lines().skip(1) {
        let (path, expected) = row.split_once('\t').expect("at least two columns");
        let bytes = std::fs::read(root().join(path)).expect("a fixture");
        let found = describe(path, &bytes);
        if found != expected {
            failures.push(format!("{path}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The columns of the table for one file; `-` stands for nothing.
fn describe(path: &str, bytes: &[u8]) -> String {
    let Some(format) = recognise(path) else {
        return "not recognised".to_owned();
    };
    let manifest = match format.parse(path, bytes) {
        Ok(manifest) => manifest,
        Err(ManifestError::Malformed { .. }) => return "malformed\t-\t-\t-\t-\t-\t-".to_owned(),
        Err(ManifestError::NotAManifest(_)) => {
            return "not-a-manifest\t-\t-\t-\t-\t-\t-".to_owned();
        }
        Err(other) => return other.to_string(),
    };
    let text = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    [
        "manifest".to_owned(),
        text(manifest.name),
        text(manifest.effective_name),
        text(manifest.version),
        manifest.intent.as_str().to_owned(),
        text(manifest.reason),
        text(manifest.repository),
    ]
    .join("\t")
}

#[test]
fn line_endings_change_nothing() {
    for row in table().lines().skip(1) {
        let (path, _) = row.split_once('\t').expect("at least two columns");
        let bytes = std::fs::read(root().join(path)).expect("a fixture");
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        let windows = text.replace("\r\n", "\n").replace('\n', "\r\n");
        assert_eq!(
            describe(path, windows.as_bytes()),
            describe(path, text.as_bytes()),
            "{path}"
        );
    }
}

#[test]
fn every_ecosystem_has_fixtures() {
    let covered: BTreeSet<&str> = table()
        .lines()
        .skip(1)
        .filter_map(|row| recognise(row.split('\t').next()?))
        .map(scan::manifest::Format::manifest_type)
        .collect();
    let words = "actions ansible arch bazel cargo clojars cocoapods composer conan conda cran \
                 debian deno dub elm gleam go hackage helm hex jsr julia luarocks maven nimble npm \
                 nuget opam pub pypi rpm rubygems swiftpm vcpkg zig";
    assert_eq!(covered, words.split_whitespace().collect());
}

#[test]
fn further_names_identifiers_and_places_are_kept() {
    let parse = |path: &str| {
        let bytes = std::fs::read(root().join(path)).expect("a fixture");
        let format = recognise(path).expect("a known name");
        format.parse(path, &bytes).expect("a manifest")
    };
    assert_eq!(
        parse("debian/plain/debian/control").outputs,
        ["bin-one", "bin-two"]
    );
    assert_eq!(parse("conda/outputs/meta.yaml").outputs, ["multi-dev"]);
    assert_eq!(parse("conda/outputs/recipe.yaml").outputs, ["one"]);
    assert_eq!(parse("arch/split/PKGBUILD").outputs, ["one", "two"]);
    assert_eq!(
        parse("npm/plain/package.json").directory.as_deref(),
        Some("packages/left")
    );
    assert_eq!(
        parse("julia/plain/Project.toml").uuid.as_deref(),
        Some("7876af07-990d-54b4-ab0e-23690620f79a")
    );
}
