//! Measures every manifest parser on the shared corpora, where these lie beside the checkout.
#![expect(clippy::print_stdout, reason = "the test reports figures")]

use std::path::{Path, PathBuf};

use scan::manifest::{Place, place, recognise};

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

#[test]
fn no_wrong_name_and_nearly_every_expected_one() {
    let Some(root) = corpus("manifests") else {
        return;
    };
    let table = std::fs::read_to_string(root.join("expected.tsv")).unwrap();
    let (mut exact, mut empty, mut missing, mut wrong) = (0, 0, Vec::new(), Vec::new());
    for row in table.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let [path, manifest_type, name, effective, ..] = columns.as_slice() else {
            panic!("short row: {row}");
        };
        let bytes = std::fs::read(root.join(path)).unwrap();
        let format = recognise(path).unwrap_or_else(|| panic!("{path} is not recognised"));
        assert_eq!(format.manifest_type(), *manifest_type, "{path}");
        let manifest = format.parse(path, &bytes).ok();
        for (column, expected, found) in [
            (
                "name",
                *name,
                manifest.as_ref().and_then(|m| m.name.clone()),
            ),
            (
                "effective_name",
                *effective,
                manifest.as_ref().and_then(|m| m.effective_name.clone()),
            ),
        ] {
            let found = found.unwrap_or_default();
            let line = format!("{path}: {column} {found:?}, expected {expected:?}");
            if found == expected {
                if found.is_empty() {
                    empty += 1;
                } else {
                    exact += 1;
                }
            } else if found.is_empty() {
                missing.push(line);
            } else {
                wrong.push(line);
            }
        }
    }
    println!(
        "manifests: {exact} exact, {empty} rightly empty, {} missing, {} wrong",
        missing.len(),
        wrong.len()
    );
    for line in wrong.iter().chain(&missing) {
        println!("  {line}");
    }
    assert!(wrong.is_empty(), "wrong names: {wrong:#?}");
    assert!(
        exact * 100 >= (exact + missing.len()) * 98,
        "missing names: {missing:#?}"
    );
}

#[test]
fn every_manifest_of_the_trees_is_recognised_at_its_depth() {
    let Some(root) = corpus("trees") else { return };
    let table = std::fs::read_to_string(root.join("manifests.tsv")).unwrap();
    let (mut rows, mut ordinary) = (0, 0);
    for row in table.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let [_, path, _, manifest_type, ..] = columns.as_slice() else {
            panic!("short row: {row}");
        };
        let found = recognise(path).map(scan::manifest::Format::manifest_type);
        // Where the table leaves the type open, being recognised is enough.
        assert!(found.is_some(), "{path}");
        assert!(
            manifest_type.is_empty() || found == Some(*manifest_type),
            "{path}: {found:?}"
        );
        rows += 1;
        ordinary += usize::from(place(path) == Place::Ordinary);
    }
    println!("trees: {rows} manifests recognised, {ordinary} in ordinary places");
}

#[test]
fn speed_over_the_corpus() {
    let Some(root) = corpus("manifests") else {
        return;
    };
    let table = std::fs::read_to_string(root.join("expected.tsv")).expect("the table");
    let files: Vec<(&str, Vec<u8>)> = table
        .lines()
        .skip(1)
        .filter_map(|row| row.split('\t').next())
        .map(|path| (path, std::fs::read(root.join(path)).expect("a file")))
        .collect();
    // The best of several rounds: what the code can do when nobody disturbs it.
    let best = (0..5)
        .map(|_| {
            let started = std::time::Instant::now();
            for (path, bytes) in &files {
                let parsed = recognise(path).map(|format| format.parse(path, bytes));
                std::hint::black_box(parsed.is_some());
            }
            started.elapsed()
        })
        .min()
        .expect("some rounds");
    let rate = files.len() as f64 / best.as_secs_f64();
    println!("manifests: {rate:.0} files/s on one core");
}
