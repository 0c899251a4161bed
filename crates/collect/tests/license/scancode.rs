//! ScanCode itself, where it is installed (`GLEANER_SCANCODE` names its private place), and how a
//! place without it is told.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use collect::license::{Choice, Desk, Input, ScanCode, Scanned, Scanner as _, compare, stock};
use facts::license::Findings;

use crate::world::settings;

#[tokio::test(flavor = "multi_thread")]
async fn a_place_without_it_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let desk = Desk::new(settings(directory.path()));
    let broken = desk.named(Choice::ScanCode).await.unwrap_err();
    assert!(
        broken.to_string().contains("gleaner license setup"),
        "{broken}"
    );
    // "auto" falls back to what works.
    let scanner = desk.scanner().await.unwrap();
    assert_eq!(scanner.identity().tool, "builtin");
}

/// Our per-file answers, put together, equal a stock run over the whole tree.
#[tokio::test(flavor = "multi_thread")]
async fn warm_answers_equal_a_stock_run() {
    let Some(venv) = std::env::var_os("GLEANER_SCANCODE").map(PathBuf::from) else {
        println!("GLEANER_SCANCODE names no ScanCode; nothing compared");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let mut settings = settings(directory.path());
    settings.venv = venv;
    settings.processes = 1;
    let tree = match std::env::var_os("GLEANER_SCANCODE_TREE") {
        Some(tree) => PathBuf::from(tree),
        None => sample(directory.path()),
    };
    let scanner = ScanCode::open(&settings).await.unwrap();
    let files = read(&tree);
    let count = files.len();
    let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    let answers = scanner.scan(files).await.unwrap();
    let found = paths
        .into_iter()
        .zip(answers)
        .filter_map(|(path, answer)| match answer {
            Scanned::Done { findings, .. } if !findings.is_empty() => {
                // As the store keeps it.
                let text = serde_json::to_string(&findings).unwrap();
                Some((path, serde_json::from_str(&text).unwrap()))
            }
            _ => None,
        });
    let settling = scanner.settle(found.collect()).await;
    let ours: BTreeMap<String, Findings> = settling
        .files
        .into_iter()
        .enumerate()
        .map(|(at, (path, mut findings))| {
            if let Some(resolved) = settling.settled.resolved.get(&at) {
                findings.spdx = Some(resolved.spdx.clone());
            }
            (path, findings)
        })
        .collect();
    let theirs = stock(&settings, &tree).await.unwrap();
    let compared = compare(&ours, &theirs, count);
    println!("{count} files, {:.2} % equal", compared.share() * 100.0);
    for difference in &compared.differences {
        println!("  {difference:?}");
    }
    assert!(!theirs.is_empty());
    assert!(compared.share() >= 0.99, "{:?}", compared.differences);
}

/// A crate of ours with its licenses, and a file that leads to one.
fn sample(below: &Path) -> PathBuf {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tree = below.join("sample");
    for (from, to) in [
        ("LICENSE-MIT", "LICENSE-MIT"),
        ("LICENSE-APACHE", "LICENSE-APACHE"),
        ("LICENSE-MIT", "LICENSE"),
        ("crates/db/Cargo.toml", "Cargo.toml"),
        ("crates/db/src/lib.rs", "src/lib.rs"),
        ("crates/db/src/error.rs", "src/error.rs"),
        ("crates/db/src/clock.rs", "src/clock.rs"),
    ] {
        let place = tree.join(to);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::copy(top.join(from), place).unwrap();
    }
    let led = "/* Copyright (c) 2020 Example Corp.\n * Licensed under the MIT license. See LICENSE in the project root for license information. */\n";
    std::fs::write(tree.join("src/led.c"), led).unwrap();
    std::fs::write(
        tree.join("src/tagged.c"),
        "// SPDX-License-Identifier: GPL-2.0-or-later\n",
    )
    .unwrap();
    tree
}

fn read(top: &Path) -> Vec<Input> {
    let mut files = Vec::new();
    let mut open = vec![top.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                files.push(Input {
                    path: path
                        .strip_prefix(top)
                        .unwrap()
                        .to_string_lossy()
                        .into_owned(),
                    bytes: std::fs::read(&path).unwrap(),
                });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}
