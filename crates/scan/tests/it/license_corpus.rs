//! Compares the scanner with what ScanCode says of the same files, where both lie beside the
//! checkout: answers in the shared corpora, files below the directory that `GLEANER_LICENSE_TREES`
//! names (`anyhow-1.0.103`, `flask-3.0.3`).
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the test reports figures, and fails by panicking"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use facts::license::Findings;
use scan::license::{
    expression, scan_file,
    tree::{TreeFile, settle},
};
use serde_json::Value;

/// A directory of the corpora, or nothing where they are not installed.
fn corpus(name: &str) -> Option<PathBuf> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|directory| directory.join("../shared/corpora").join(name))
        .find(|directory| directory.is_dir());
    if found.is_none() {
        println!("corpus {name} is not installed; nothing measured");
    }
    found
}

fn outputs(root: &Path) -> Vec<(String, Value)> {
    let mut all: Vec<(String, Value)> = std::fs::read_dir(root)
        .unwrap()
        .flatten()
        .filter(|entry| {
            entry
                .path()
                .extension()
                .is_some_and(|ending| ending == "json")
        })
        .map(|entry| {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, serde_json::from_str(&text).unwrap())
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// One reader serves both scanners, and their expressions are normal as they stand.
#[test]
fn real_output_is_read() {
    let Some(root) = corpus("scancode") else {
        return;
    };
    let (mut files, mut expressions) = (0, 0);
    for (name, output) in outputs(&root) {
        for file in output["files"].as_array().unwrap() {
            let findings: Findings = serde_json::from_value(file.clone())
                .unwrap_or_else(|error| panic!("{name}: {}: {error}", file["path"]));
            files += 1;
            assert_eq!(
                findings.copyrights.len(),
                file["copyrights"].as_array().map_or(0, Vec::len)
            );
            if let Some(spdx) = &findings.spdx {
                expressions += 1;
                assert!(!expression::identifiers(spdx).is_empty(), "{spdx}");
            }
        }
    }
    println!("{files} files and {expressions} expressions of real output are read");
}

/// What the files at hand are like: least shares of files that agree, of those in which either
/// finds something. ScanCode has tens of thousands of rules; the built-in scanner is for a first
/// look.
const LEAST_LICENSES: f64 = 0.75;
const LEAST_HOLDERS: f64 = 0.75;

#[test]
fn most_files_are_seen_as_scancode_sees_them() {
    let Some(root) = corpus("scancode") else {
        return;
    };
    let Some(trees) = std::env::var_os("GLEANER_LICENSE_TREES").map(PathBuf::from) else {
        println!("GLEANER_LICENSE_TREES names no trees; nothing measured");
        return;
    };
    let (mut licenses, mut holders, mut packages) =
        (Score::default(), Score::default(), Score::default());
    for (name, output) in outputs(&root) {
        let Some((tree, _)) = name.split_once(".scancode-") else {
            continue;
        };
        let top = trees.join(tree);
        if !top.is_dir() {
            println!("{} is not there", top.display());
            continue;
        }
        let found = scan_tree(&top);
        let expected: BTreeMap<&str, &Value> = output["files"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|file| file["type"] == "file")
            .filter_map(|file| Some((file["path"].as_str()?.split_once('/')?.1, file)))
            .collect();
        for (path, (spdx, findings)) in &found {
            let theirs = expected.get(path.as_str());
            let their_spdx =
                theirs.and_then(|file| file["detected_license_expression_spdx"].as_str());
            licenses.note(path, &operands(their_spdx), &operands(spdx.as_deref()));
            let names = |list: &Value, key: &str| -> BTreeSet<String> {
                let list = list.as_array().into_iter().flatten();
                list.filter_map(|one| one[key].as_str().map(str::to_lowercase))
                    .collect()
            };
            let their_holders = theirs.map(|file| names(&file["holders"], "holder"));
            let ours = findings
                .holders
                .iter()
                .map(|one| one.value.to_lowercase())
                .collect();
            holders.note(path, &their_holders.unwrap_or_default(), &ours);
            let their_packages = theirs.map(|file| names(&file["package_data"], "purl"));
            let ours = findings
                .purls()
                .into_iter()
                .map(|purl| purl.to_lowercase())
                .collect();
            packages.note(path, &their_packages.unwrap_or_default(), &ours);
        }
    }
    for (what, score) in [
        ("licenses", &licenses),
        ("holders", &holders),
        ("packages", &packages),
    ] {
        println!(
            "{what}: {} of {} files agree, {} of {} in which either finds something",
            score.all.0, score.all.1, score.telling.0, score.telling.1
        );
        for difference in &score.differences {
            println!("  {difference}");
        }
    }
    assert!(
        licenses.share() >= LEAST_LICENSES,
        "licenses agree in {}",
        licenses.share()
    );
    assert!(
        holders.share() >= LEAST_HOLDERS,
        "holders agree in {}",
        holders.share()
    );
}

#[derive(Default)]
struct Score {
    all: (usize, usize),
    telling: (usize, usize),
    differences: Vec<String>,
}

impl Score {
    fn note(&mut self, path: &str, theirs: &BTreeSet<String>, ours: &BTreeSet<String>) {
        let same = theirs == ours;
        self.all.1 += 1;
        self.all.0 += usize::from(same);
        if !theirs.is_empty() || !ours.is_empty() {
            self.telling.1 += 1;
            self.telling.0 += usize::from(same);
        }
        if !same {
            self.differences
                .push(format!("{path}: they {theirs:?}, we {ours:?}"));
        }
    }

    fn share(&self) -> f64 {
        self.telling.0 as f64 / self.telling.1.max(1) as f64
    }
}

fn operands(spdx: Option<&str>) -> BTreeSet<String> {
    expression::identifiers(spdx.unwrap_or_default())
        .into_iter()
        .collect()
}

fn scan_tree(top: &Path) -> BTreeMap<String, (Option<String>, Findings)> {
    let mut files: Vec<(String, Findings)> = Vec::new();
    let mut open = vec![top.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path
                    .strip_prefix(top)
                    .unwrap()
                    .to_string_lossy()
                    .into_owned();
                let findings = scan_file(&name, &std::fs::read(&path).unwrap());
                files.push((name, findings));
            }
        }
    }
    let list: Vec<TreeFile<'_>> = files
        .iter()
        .map(|(path, findings)| TreeFile { path, findings })
        .collect();
    let settled = settle(&list);
    let expressions: Vec<Option<String>> = files
        .iter()
        .enumerate()
        .map(|(at, (_, findings))| {
            let resolved = settled.resolved.get(&at).map(|one| one.spdx.clone());
            resolved.or_else(|| findings.spdx.clone())
        })
        .collect();
    files
        .into_iter()
        .zip(expressions)
        .map(|((path, findings), spdx)| (path, (spdx, findings)))
        .collect()
}
