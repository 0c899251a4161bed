//! ScanCode itself, where it is installed (`GLEANER_SCANCODE` names its private place), and how a
//! place without it is told.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use collect::license::{
    Choice, Desk, Input, ScanCode, Scanned, Scanner as _, Settings, compare, stock,
};
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

/// Our per-file answers, put together, equal a stock run over the whole tree: a crate.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_warm_answers_equal_a_stock_run() {
    let directory = tempfile::tempdir().unwrap();
    let Some(settings) = with_scancode(directory.path()) else {
        return;
    };
    let tree = match std::env::var_os("GLEANER_SCANCODE_TREE") {
        Some(tree) => PathBuf::from(tree),
        None => sample(directory.path()),
    };
    equal(&settings, &tree).await;
}

/// The same on a Python sdist and on a C project, as their registry has them: minutes of CPU.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_larger_trees_equal_a_stock_run() {
    if std::env::var_os("GLEANER_LONG").is_none() {
        eprintln!("only a long run compares larger trees");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let Some(settings) = with_scancode(directory.path()) else {
        return;
    };
    for project in ["flask==3.0.3", "psutil==5.9.8"] {
        match sdist(&settings, directory.path(), project) {
            Ok(tree) => equal(&settings, &tree).await,
            Err(why) => eprintln!("{project} COULD NOT BE HAD, NOTHING WAS COMPARED: {why}"),
        }
    }
}

/// Settings with the ScanCode that `cargo xtask test` has set up; none, loudly, where there is none.
pub(crate) fn with_scancode(directory: &Path) -> Option<Settings> {
    let Some(venv) = std::env::var_os("GLEANER_SCANCODE").map(PathBuf::from) else {
        let why = std::env::var("GLEANER_NO_SCANCODE");
        let why = why.unwrap_or_else(|_| "GLEANER_SCANCODE names none".to_owned());
        eprintln!("NO SCANCODE, NOTHING WAS COMPARED: {why}; see CONTRIBUTING.md");
        return None;
    };
    let mut settings = settings(directory);
    settings.venv = venv;
    settings.processes = 2;
    Some(settings)
}

async fn equal(settings: &Settings, tree: &Path) {
    let scanner = ScanCode::open(settings).await.unwrap();
    let files = read(tree);
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
    drop(scanner);
    let theirs = stock(settings, tree).await.unwrap();
    let compared = compare(&ours, &theirs, count);
    eprintln!("{count} files, {:.2} % equal", compared.share() * 100.0);
    for difference in &compared.differences {
        eprintln!("  {difference:?}");
    }
    assert!(!theirs.is_empty());
    assert!(compared.share() >= 0.99, "{:?}", compared.differences);
    let packages = |all: &BTreeMap<String, Findings>| -> Vec<String> {
        all.values().flat_map(Findings::purls).collect()
    };
    assert!(!packages(&theirs).is_empty(), "a tree with a package");
}

/// A whole crate of ours with its licenses, and files that lead to one.
fn sample(below: &Path) -> PathBuf {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tree = below.join("sample");
    for file in read(&top.join("crates/facts")) {
        let place = tree.join(&file.path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, &file.bytes).unwrap();
    }
    for (from, to) in [
        ("LICENSE-MIT", "LICENSE-MIT"),
        ("LICENSE-APACHE", "LICENSE-APACHE"),
        ("LICENSE-MIT", "LICENSE"),
    ] {
        std::fs::copy(top.join(from), tree.join(to)).unwrap();
    }
    let led = "/* Copyright (c) 2020 Example Corp.\n * Licensed under the MIT license. See LICENSE in the project root for license information. */\n";
    std::fs::write(tree.join("src/led.c"), led).unwrap();
    let tagged = "// SPDX-License-Identifier: GPL-2.0-or-later\n";
    std::fs::write(tree.join("src/tagged.c"), tagged).unwrap();
    tree
}

/// The source of a Python project, by the ordinary client.
fn sdist(settings: &Settings, below: &Path, project: &str) -> Result<PathBuf, String> {
    let place = below.join(project);
    std::fs::create_dir(&place).unwrap();
    let python = collect::license::python_in(&settings.venv);
    let run = |words: &[&str]| {
        let mut command = std::process::Command::new(&python);
        let said = command.args(words).current_dir(&place).output();
        let said = said.map_err(|error| error.to_string())?;
        let complaint = String::from_utf8_lossy(&said.stderr).into_owned();
        said.status.success().then_some(()).ok_or(complaint)
    };
    run(&[
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-input",
        "--no-deps",
        "--no-binary",
        ":all:",
        project,
    ])?;
    let archive = read(&place).remove(0).path;
    run(&["-m", "tarfile", "-e", &archive, "."])?;
    Ok(place.join(archive.trim_end_matches(".tar.gz")))
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
