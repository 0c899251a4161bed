//! Dumps and datasets of a Python index, from the command line.

use db::{Bulk, Clock, Db, DbError, Settings, Timestamp, migrate, sql, transact};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

fn run(home: &Sandbox, args: &[&str]) -> (i32, Vec<Value>, String) {
    let args = [&["--data", "data", "--format", "jsonl"], args].concat();
    let output = home.gleaner(&args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let told = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), rows.collect(), told)
}

/// Versions of one project, numbered as changes from `first` on.
async fn fill(home: &Sandbox, first: i64, versions: &[&str], modules: &str) {
    let url = format!("sqlite:{}", home.path("data/gleaner.db").display());
    let db = Db::connect(&url, &Settings::default()).await.unwrap();
    migrate(&db, &[engine::PART, store::PART], &Clock::system())
        .await
        .unwrap();
    let now = Timestamp::from_micros(1_700_000_000_000_000);
    let last = first + versions.len() as i64 - 1;
    let bulk = Bulk::new()
        .ints("seq", first..=last)
        .texts("version", versions.iter().map(|text| (*text).to_owned()));
    let bulk = &bulk;
    let filled: Result<(), DbError> = transact!(db, |tx| {
        let insert = sql!(
            "INSERT INTO pypi_files (change_seq, unnumbered, project, version, filename, kind, url,
                removed, quarantined, extracted, extractor_version, requires_dist, extras,
                import_names, modules, tags, warnings, first_seen, changed_at)
             SELECT r.seq, FALSE, 'fine-thing', r.version, 'fine_thing-' || r.version || '.tar.gz',
                'sdist', 'https://files.example.org/x', FALSE, FALSE, 'ok', 1, '[\"six>=1\"]', '[]',
                '[]', $2, '[]', '[]', $1, $1
             FROM {rows}",
            now,
            modules
        );
        tx.execute_bulk(insert, bulk.clone()).await?;
        tx.execute(sql!(
            "UPDATE pypi_index SET last_seq = $1 WHERE id = 1",
            last
        ))
        .await?;
        Ok(())
    });
    filled.unwrap();
    db.close().await;
}

#[tokio::test]
async fn an_index_is_dumped_built_looked_up_and_collected() {
    let home = Sandbox::new();
    let (code, _, told) = run(&home, &["pypi", "dump", "--full"]);
    assert!(code == 1 && told.contains("nothing to dump"), "{told}");
    let (code, _, told) = run(&home, &["pypi", "lookup", "module", "fine"]);
    assert!(code == 1 && told.contains("no such generation"), "{told}");

    fill(&home, 1, &["1.9", "1.10"], "[\"fine\", \"fine.more\"]").await;
    let (code, _, told) = run(&home, &["pypi", "dump"]);
    assert!(code == 1 && told.contains("no full dump"), "{told}");
    let full = [
        "pypi",
        "dump",
        "--full",
        "--shards",
        "3",
        "--concurrency",
        "2",
    ];
    let (code, rows, told) = run(&home, &full);
    assert_eq!(code, 0, "{told}");
    assert_eq!(rows.len(), 1, "{rows:?}");
    let row = &rows[0];
    assert_eq!(
        (&row["from"], &row["to"], &row["shards"], &row["rows"]),
        (&json!(0), &json!(2), &json!(3), &json!(2))
    );

    let (_, rows, _) = run(&home, &["pypi", "lookup", "module", "fine.more"]);
    assert_eq!(
        rows,
        [json!({
            "name": "fine.more", "project": "fine-thing", "latest": "1.10",
            "versions": ["1.9", "1.10"], "yanked": [], "data_version": 1,
        })]
    );
    let (code, _, told) = run(&home, &["pypi", "lookup", "module", "fyne"]);
    assert!(code == 1 && told.contains("there is fine"), "{told}");
    let (_, rows, _) = run(
        &home,
        &["pypi", "lookup", "deps", "Fine_Thing", "--version", "1.9"],
    );
    assert_eq!(rows[0]["requires_dist"], json!(["six>=1"]));
    let (_, rows, _) = run(&home, &["pypi", "lookup", "deps", "six", "--reverse"]);
    assert_eq!((rows.len(), &rows[0]["project"]), (1, &json!("fine-thing")));

    fill(&home, 3, &["2.0"], "[\"fine\"]").await;
    let (code, rows, told) = run(&home, &["pypi", "dump"]);
    assert_eq!(code, 0, "{told}");
    assert_eq!((&rows[0]["from"], &rows[0]["rows"]), (&json!(2), &json!(1)));
    let (_, rows, _) = run(&home, &["pypi", "dataset", "list"]);
    let told: Vec<_> = rows
        .iter()
        .map(|row| (&row["generation"], &row["up_to"]))
        .collect();
    assert_eq!(told, [(&json!(1), &json!(2)), (&json!(2), &json!(3))]);
    let (code, rows, _) = run(&home, &["pypi", "dataset", "verify"]);
    assert_eq!((code, rows.len()), (0, 3));
    assert!(rows.iter().all(|row| row["state"] == "ok"), "{rows:?}");
    let (_, rows, _) = run(
        &home,
        &["pypi", "dataset", "gc", "--keep", "1", "--dry-run"],
    );
    assert_eq!(rows[0]["generations"], json!([1]));

    // Built anew it is the same.
    let (code, rows, told) = run(&home, &["pypi", "dataset", "build", "--anew"]);
    assert_eq!((code, &rows[0]["generation"]), (0, &json!(3)), "{told}");
    let files = std::fs::read_dir(home.path("data/objects/datasets/files")).unwrap();
    assert_eq!(
        files.count(),
        6,
        "three of the first generation and three of the others"
    );

    let (_, rows, _) = run(&home, &["pypi", "dataset", "verify"]);
    let hash = rows[0]["sha256"].as_str().unwrap();
    let file = home.path("data/objects/datasets/files").join(hash);
    std::fs::write(file, b"x").unwrap();
    let (code, rows, _) = run(&home, &["pypi", "dataset", "verify"]);
    assert_eq!(code, 4);
    assert_eq!(rows[0]["state"], "damaged");
}
