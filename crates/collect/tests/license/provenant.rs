//! A process that is fed batches, played by a script: it lies with its exit code, dies of some
//! files and leaves its output half written.

use std::os::unix::fs::PermissionsExt as _;

use collect::license::{Input, Provenant, Scanned, Scanner as _};

use crate::world::settings;

/// Writes what Provenant would, for files whose contents tell their license; dies of "poison".
const SCRIPT: &str = r#"#!/usr/bin/env python3
import json, os, sys
if sys.argv[1] == "--version":
    print("provenant 1.0.16"); sys.exit(0)
out = sys.argv[sys.argv.index("--json") + 1]
top = sys.argv[-1]
files = []
for directory, _, names in os.walk(top):
    for name in names:
        place = os.path.join(directory, name)
        text = open(place).read()
        if "poison" in text:
            open(out, "w").write('{"headers": [')
            os.kill(os.getpid(), 9)
        slow = ["Timeout while reading (> 0.00s)"] if "slow" in text else []
        files.append({"path": os.path.relpath(place, top), "type": "file",
            "detected_license_expression_spdx": text.strip() or None, "scan_errors": slow,
            "unknown_field": {}})
json.dump({"headers": [{"end_timestamp": "2026-01-01"}], "files": files}, open(out, "w"))
sys.exit(0)
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_dies_is_halved_until_the_culprit_is_alone() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("provenant");
    std::fs::write(&program, SCRIPT).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut settings = settings(directory.path());
    settings.provenant = program;
    let scanner = Provenant::open(&settings).await.unwrap();
    assert_eq!(scanner.identity().title(), "provenant 1.0.16");

    let texts = ["MIT", "ISC", "poison", "", "slow", "Zlib", "MIT", "0BSD"];
    let files: Vec<Input> = texts
        .iter()
        .enumerate()
        .map(|(number, text)| Input {
            // The same name twice, as in two repositories.
            path: format!("src/{}.c", number % 3),
            bytes: text.as_bytes().to_vec(),
        })
        .collect();
    let answers = scanner.scan(files).await.unwrap();
    for (text, answer) in texts.iter().zip(&answers) {
        match answer {
            Scanned::Done { findings, .. } => {
                assert_eq!(findings.spdx.as_deref().unwrap_or(""), *text);
            }
            Scanned::Failed { why, .. } => {
                assert!(["poison", "slow"].contains(text), "{text}: {why}");
            }
        }
    }
    let left: Vec<_> = std::fs::read_dir(&settings.directory).unwrap().collect();
    assert!(left.is_empty(), "batches are gone: {left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_not_there_is_broken() {
    let directory = tempfile::tempdir().unwrap();
    let mut settings = settings(directory.path());
    settings.provenant = directory.path().join("nowhere");
    assert!(Provenant::open(&settings).await.is_err());
}
