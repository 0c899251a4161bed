//! Trees of real repositories, where the shared corpora lie beside the checkout: every manifest is
//! found at its depth, and the questions are counted.
#![expect(clippy::print_stdout, reason = "the test reports figures")]

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use db::testing::both;
use serde_json::Value;
use sim::File;

use crate::at_forges::{AtForges, FORGES, PARTS, of_size};

/// The corpus, or nothing where it is not installed.
fn corpus() -> Option<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|directory| directory.join("../shared/corpora/trees"))
        .find(|directory| directory.is_dir())
}

/// The manifests of each repository: path and declared name.
fn manifests(corpus: &Path) -> BTreeMap<String, Vec<(String, String)>> {
    let table = std::fs::read_to_string(corpus.join("manifests.tsv")).unwrap();
    let mut all: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for line in table.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let manifest = (columns[1].to_owned(), columns[4].to_owned());
        all.entry(columns[0].to_owned()).or_default().push(manifest);
    }
    all
}

/// A tree with contents that say what the table says; other files say nothing.
fn files(tree: &Path, manifests: &[(String, String)]) -> Vec<File> {
    let tree: Value = serde_json::from_slice(&std::fs::read(tree).unwrap()).unwrap();
    let entries = tree["tree"].as_array().unwrap().iter();
    let blobs = entries.filter(|entry| entry["type"] == "blob" && entry["mode"] != "120000");
    blobs
        .map(|entry| {
            let path = entry["path"].as_str().unwrap();
            let found = manifests.iter().find(|(manifest, _)| manifest == path);
            let text = found.map_or(String::new(), |(_, name)| contents(path, name));
            File::new(path, text)
        })
        .collect()
}

/// The shortest manifest of this kind and name. No two are equal, so none is fetched for another.
fn contents(path: &str, name: &str) -> String {
    let file = path.rsplit('/').next().unwrap();
    let text = match file {
        "Cargo.toml" if name.is_empty() => "[workspace]\n".to_owned(),
        "Cargo.toml" => format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\n"),
        "pyproject.toml" => format!("[project]\nname = \"{name}\"\n"),
        "Project.toml" | "JuliaProject.toml" => format!("name = \"{name}\"\n"),
        "package.json" => return format!("{{\"name\": \"{name}\", \"path\": \"{path}\"}}"),
        "pubspec.yaml" => format!("name: {name}\n"),
        "recipe.yaml" => format!("package:\n  name: {name}\n"),
        "DESCRIPTION" => return format!("Package: {name}\nTitle: {path}\n"),
        "pom.xml" => {
            return format!("<project><artifactId>{name}</artifactId><!-- {path} --></project>");
        }
        "setup.cfg" => format!("[metadata]\nname = {name}\n"),
        _ if file.ends_with("proj") => {
            return format!(
                "<Project><PropertyGroup><PackageId>{name}</PackageId></PropertyGroup><!-- {path} --></Project>"
            );
        }
        _ if file.ends_with("spec") => format!("Pod::Spec.new do |s|\n  s.name = '{name}'\nend\n"),
        _ => String::new(),
    };
    format!("{text}# {path}\n")
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn every_manifest_of_real_trees_is_found(db: TestDb) {
        let Some(corpus) = corpus() else {
            println!("the corpora are not beside this checkout");
            return;
        };
        let table = manifests(&corpus);
        let world = AtForges::new(&db, of_size(40)).await;
        for host in FORGES {
            let mut members = world.server.world().public_repositories(host, sim::ORGANISATION);
            members.retain(|found| !found.archived);
            for (name, expected) in &table {
                let tree = corpus.join(format!("{}.tree.json", name.replace('/', "+")));
                if !tree.is_file() {
                    continue;
                }
                let truth = members.pop().unwrap();
                let files = files(&tree, expected);
                let entries = files.len();
                world.server.world().plant(host, &truth.path(), files).unwrap();
                world.forget_requests();
                let id = world.add(host, &truth.path()).await;
                world.run().await;
                let asked = world.asked(host);
                let trees = asked.iter().filter(|(path, _)| path.contains("tree")).count();
                let blobs = asked.iter().filter(|(path, _)| {
                    path.contains("/blobs/") || path.ends_with("graphql")
                }).count();
                println!("{host} {name}: {entries} files, {} manifests; {trees} calls for the tree, \
                          {blobs} for contents", expected.len());
                assert!(world.source(id, "manifests").await.complete, "{host} {name}");
                let found = world.manifests(id).await;
                for (path, _) in expected {
                    // What only shares a name is no manifest, and is not told.
                    let told = found.iter().any(|kept| kept.fact.path == *path);
                    assert!(told || scan::manifest::recognise(path).is_some_and(|format| {
                        format.parse(path, contents(path, "").as_bytes()).is_err()
                    }), "{host} {name} {path}");
                }
                if host.starts_with("github") {
                    assert_eq!(trees, 1, "{name}");
                    assert!(blobs <= expected.len().div_ceil(50) + 4, "{name}: {blobs}");
                }
            }
        }
    }
}
