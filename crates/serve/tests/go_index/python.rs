//! What the datasets of a Python index know, over HTTP.

use std::{path::Path, time::Duration};

use db::testing::TestDb;
use serde_json::{Value, json};
use store::{
    datasets::{Builder, Input, Library, Published, publish},
    dumps::{DumpRow, Range},
    objects::Objects,
};

use crate::site::{Answer, Site};

const PARTS: &[db::Part] = &[engine::PART, store::PART];

fn file(project: &str, version: &str, modules: &[&str], requires: &[&str]) -> DumpRow {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    DumpRow {
        filename: format!("{project}-{version}.tar.gz"),
        project: project.to_owned(),
        version: version.to_owned(),
        dist_type: "sdist".to_owned(),
        modules: texts(modules),
        requires_dist: texts(requires),
        extracted: "ok".to_owned(),
        ..DumpRow::default()
    }
}

/// Publishes a generation of these files.
async fn generation(objects: &Objects, place: &Path, files: &[DumpRow], after: u64) {
    let mut builder = Builder::new(place, 1 << 20);
    for file in files {
        builder.push(file.clone()).unwrap();
    }
    let built = builder.finish(None).unwrap();
    let input = Input {
        range: Range { from: 0, to: 7 },
        rows: 3,
        files: vec![("dump".to_owned(), "00".to_owned())],
        serials: Some((1, 9)),
        extractors: Some((1, 1)),
    };
    let published = publish(objects, &built, vec![input], after).await.unwrap();
    assert!(matches!(published, Published::As(_)));
}

fn body(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

#[tokio::test]
async fn import_names_and_requirements_are_told_with_the_version_of_the_data() {
    let db = TestDb::memory(PARTS).await;
    let place = tempfile::tempdir().unwrap();
    let objects = Objects::directory(place.path().join("objects")).unwrap();
    let library = Library::new(objects.clone(), place.path()).patience(Duration::ZERO);
    let site = Site::with(&db, Some(library)).await;

    let early = site.get("/api/v1/pypi/modules/yaml", &[]).await;
    assert_eq!(early.status, 404);
    assert!(early.text().contains("no datasets yet"), "{}", early.text());

    let files = [
        file("pyyaml", "5.10", &["yaml", "_yaml"], &[]),
        file("pyyaml", "5.9", &["yaml"], &[]),
        file(
            "ruamel",
            "1",
            &["yaml"],
            &["PyYAML>=5", "six ; extra == 'x'"],
        ),
    ];
    generation(&objects, place.path(), &files, 0).await;

    let answer = site.get("/api/v1/pypi/modules/yaml", &[]).await;
    let told = body(&answer);
    assert_eq!(
        told["data"],
        json!([
            { "project": "pyyaml", "versions": ["5.9", "5.10"], "yanked": [] },
            { "project": "ruamel", "versions": ["1"], "yanked": [] },
        ])
    );
    assert_eq!(told["meta"]["data_version"], 1);
    assert_eq!(told["meta"]["up_to"], 7);
    let tag = answer.header("etag").unwrap().to_owned();
    let again = site
        .get("/api/v1/pypi/modules/yaml", &[("If-None-Match", &tag)])
        .await;
    assert_eq!(again.status, 304);
    assert_eq!(site.get("/api/v1/pypi/modules/yam", &[]).await.status, 404);
    let names = body(&site.get("/api/v1/pypi/modules?prefix=y", &[]).await);
    assert_eq!(names["data"], json!(["yaml"]));
    let names = body(&site.get("/api/v1/pypi/modules?similar=yamll", &[]).await);
    // The nearest first.
    assert_eq!(names["data"], json!(["yaml", "_yaml"]));

    let typed = [("Content-Type", "application/json")];
    let question = r#"{"modules": ["yaml", "nothing"]}"#;
    let answer = site
        .post("/api/v1/pypi/distributions", &typed, question)
        .await;
    let told = body(&answer);
    assert_eq!(told["data_version"], 1);
    assert_eq!(told["results"]["nothing"], json!([]));
    assert_eq!(
        told["results"]["yaml"][0],
        json!({ "name": "pyyaml", "version": "5.9" })
    );
    assert_eq!(told["results"]["yaml"].as_array().unwrap().len(), 3);
    let many = json!({ "modules": vec!["a"; 101] }).to_string();
    for wrong in [
        r#"{"modules": []}"#,
        r#"{"modules": [" a"]}"#,
        "{}",
        "x",
        &many,
    ] {
        let answer = site.post("/api/v1/pypi/distributions", &typed, wrong).await;
        assert_eq!(answer.status, 400, "{wrong}");
    }

    let project = "/api/v1/pypi/projects/Ruamel";
    for path in [
        "/dependencies",
        "/releases/1.0/dependencies",
        "/releases/1/artifacts/ruamel-1.tar.gz/dependencies",
    ] {
        let told = body(&site.get(&format!("{project}{path}"), &[]).await);
        let requires = json!(["PyYAML>=5", "six ; extra == 'x'"]);
        assert_eq!(told["data"][0]["requires_dist"], requires, "{path}");
        assert_eq!(told["meta"]["data_version"], 1);
    }
    for path in [
        "/releases/2/dependencies",
        "/releases/1/artifacts/x/dependencies",
    ] {
        assert_eq!(site.get(&format!("{project}{path}"), &[]).await.status, 404);
    }
    let told = body(
        &site
            .get("/api/v1/pypi/projects/pyyaml/dependents", &[])
            .await,
    );
    assert_eq!(told["data"][0]["project"], "ruamel");
    let told = body(&site.get("/api/v1/pypi/datasets", &[]).await);
    assert_eq!(told["data"]["serials"], json!([1, 9]));

    // The next generation is served as soon as it is there.
    generation(&objects, place.path(), &files[..1], 1).await;
    let told = body(&site.get("/api/v1/pypi/modules/yaml", &[]).await);
    assert_eq!(
        (
            &told["meta"]["data_version"],
            told["data"].as_array().unwrap().len()
        ),
        (&json!(2), 1)
    );
}

#[tokio::test]
async fn dependents_come_in_pages() {
    let db = TestDb::memory(PARTS).await;
    let place = tempfile::tempdir().unwrap();
    let objects = Objects::directory(place.path().join("objects")).unwrap();
    let files: Vec<DumpRow> = (0..5)
        .map(|number| file(&format!("p{number}"), "1", &[], &["six"]))
        .collect();
    generation(&objects, place.path(), &files, 0).await;
    let site = Site::with(&db, Some(Library::new(objects, place.path()))).await;
    let mut next = Some("/api/v1/pypi/projects/six/dependents?limit=2".to_owned());
    let mut found = Vec::new();
    while let Some(path) = next {
        let answer = site.get(&path, &[]).await;
        let told = body(&answer);
        let page = told["data"].as_array().unwrap().clone();
        found.extend(
            page.iter()
                .map(|one| one["project"].as_str().unwrap().to_owned()),
        );
        let link = answer.header("link");
        next = link.map(|link| {
            link.trim_start_matches('<')
                .split('>')
                .next()
                .unwrap()
                .to_owned()
        });
    }
    assert_eq!(found, ["p0", "p1", "p2", "p3", "p4"]);
}
