//! Answers are kept once, results replace each other at once, and history stays.

use db::{Db, DbError, Part, Timestamp, sql, testing::both, transact};
use facts::{
    license::{Findings, Line, ScannerIdentity},
    repository::RepositoryUrl,
};
use store::{
    license::{self, Again, Answer, FileFilter, FileKey, NewFile, NewResult, NewTally, State},
    repositories,
};

const PARTS: &[Part] = &[store::PART];

fn day(number: i64) -> Timestamp {
    Timestamp::from_micros(number * 24 * 3_600_000_000)
}

fn identity(version: &str) -> ScannerIdentity {
    ScannerIdentity {
        tool: "scancode".to_owned(),
        version: version.to_owned(),
        options: String::new(),
    }
}

fn key(blob: &str) -> FileKey {
    FileKey {
        blob: blob.to_owned(),
        name_class: "*.c".to_owned(),
    }
}

fn answer(blob: &str, state: State, spdx: Option<&str>) -> Answer {
    Answer {
        key: key(blob),
        state,
        findings: Findings {
            spdx: spdx.map(str::to_owned),
            holders: spdx
                .map(|_| Line {
                    value: "Jane".to_owned(),
                    start_line: 1,
                    end_line: 1,
                })
                .into_iter()
                .collect(),
            size: Some(7),
            ..Findings::default()
        },
        elapsed_ms: 5,
    }
}

async fn keep(db: &Db, version: &str, answers: &[Answer], now: Timestamp) -> i64 {
    let identity = identity(version);
    let (identity, answers) = (&identity, answers);
    let number: Result<i64, DbError> = transact!(db, |tx| {
        let number = license::scanner(tx, identity, now).await?;
        license::keep(tx, number, answers, now).await?;
        Ok(number)
    });
    number.unwrap()
}

async fn repository(db: &Db) -> i64 {
    let url = RepositoryUrl::parse("https://github.com/meadow/lark").unwrap();
    let url = &url;
    let id: Result<i64, DbError> = transact!(db, |tx| {
        Ok(repositories::add(tx, url.clone().into(), day(1))
            .await?
            .id())
    });
    id.unwrap()
}

fn result(repository: i64, scanner: i64, commit: &str) -> NewResult {
    NewResult {
        repository,
        scanner,
        commit: commit.to_owned(),
        tree: format!("tree-{commit}"),
        mode: "files",
        began_at: day(1),
        files: 3,
        files_found: 1,
        files_scanned: 2,
        files_failed: 1,
        bytes_scanned: 14,
        skipped: None,
        told_apart: None,
        primary_spdx: Some("MIT".to_owned()),
        primary_from: Some("license-file".to_owned()),
    }
}

async fn write(db: &Db, new: &NewResult, answer: i64, publish: bool, now: Timestamp) {
    let file = |path: &str, answer: Option<i64>, problem: Option<(&'static str, String)>| NewFile {
        path: path.to_owned(),
        blob: "a".to_owned(),
        answer,
        spdx: None,
        spdx_from: None,
        place: "ordinary",
        problem,
    };
    let files = vec![
        file("LICENSE", Some(answer), None),
        file("big.c", None, Some(("too-large", "why".to_owned()))),
    ];
    let tally = NewTally {
        what: "license",
        value: "MIT".to_owned(),
        files: 1,
        osi_approved: Some(true),
    };
    let (files, tallies) = (&files, &[tally]);
    let done: Result<(), DbError> = transact!(db, |tx| {
        license::discard_staged(tx, new.repository).await?;
        license::begin(tx, new, now).await?;
        license::add_files(tx, new.repository, files).await?;
        license::add_tallies(tx, new.repository, tallies).await?;
        if publish {
            license::make_current(tx, new.repository, now).await?;
        }
        Ok(())
    });
    done.unwrap();
}

async fn count(db: &Db, view: &'static str) -> i64 {
    let text = match view {
        "scans" => "SELECT COUNT(*) AS n FROM scancode_scans",
        "scans_history" => "SELECT COUNT(*) AS n FROM scancode_scans_history",
        "files" => "SELECT COUNT(*) AS n FROM scancode_file_results",
        _ => "SELECT COUNT(*) AS n FROM scancode_file_results_history",
    };
    db.fetch_one(sql!(text)).await.unwrap().get("n").unwrap()
}

both! {
    const PARTS: &[Part] = PARTS;

    async fn the_first_answer_stays_unless_it_was_cut_short(db: TestDb) {
        let first = [
            answer("a", State::Found, Some("MIT")),
            answer("b", State::Nothing, None),
            answer("c", State::Degraded, None),
            answer("d", State::Failed, None),
        ];
        let number = keep(&db, "1", &first, day(1)).await;
        let known = license::known(&db, number, &[key("a"), key("b"), key("c"), key("d"), key("e")]).await.unwrap();
        assert_eq!(known.len(), 3, "what was cut short is not known: {known:?}");
        assert_eq!(known[&key("b")].state, State::Nothing);

        keep(&db, "1", &[answer("a", State::Found, Some("ISC")), answer("c", State::Found, Some("ISC"))], day(2)).await;
        let said = license::answers(&db, number, &[key("a"), key("b"), key("c")]).await.unwrap();
        assert_eq!(said[&key("a")].1.spdx.as_deref(), Some("MIT"));
        assert_eq!(said[&key("c")].1.spdx.as_deref(), Some("ISC"));
        assert!(!said.contains_key(&key("b")), "nothing says nothing");
        assert_eq!(said[&key("a")].1.holders[0].value, "Jane");

        let other = license::scanner_number(&db, &identity("2")).await.unwrap();
        assert_eq!(other, None);
        let other = keep(&db, "2", &[], day(3)).await;
        assert!(license::known(&db, other, &[key("a")]).await.unwrap().is_empty());
    }

    async fn a_result_is_seen_when_it_is_whole_and_stays_as_history(db: TestDb) {
        let id = repository(&db).await;
        let number = keep(&db, "1", &[answer("a", State::Found, Some("MIT"))], day(1)).await;
        let known = license::known(&db, number, &[key("a")]).await.unwrap();
        let row = known[&key("a")].id;
        write(&db, &result(id, number, "one"), row, false, day(2)).await;
        assert!(license::current(&db, id).await.unwrap().is_none(), "staged is not seen");
        write(&db, &result(id, number, "one"), row, true, day(3)).await;
        let one = license::current(&db, id).await.unwrap().unwrap();
        assert_eq!((one.commit.as_str(), one.last_run), ("one", day(3)));
        write(&db, &result(id, number, "two"), row, true, day(4)).await;
        let head = license::head(&db, id).await.unwrap().unwrap();
        assert_eq!((head.commit.as_str(), head.again), ("two", None));
        assert_eq!(count(&db, "scans").await, 1);
        assert_eq!(count(&db, "scans_history").await, 1);
        assert_eq!((count(&db, "files").await, count(&db, "files_history").await), (2, 2));

        let current = license::current(&db, id).await.unwrap().unwrap();
        let all = FileFilter { limit: 10, ..FileFilter::default() };
        let files = license::files(&db, current.id, &all).await.unwrap();
        assert_eq!(files[0].spdx.as_deref(), Some("MIT"));
        assert_eq!(files[1].problem.as_deref(), Some("too-large"));
        let some = FileFilter { problems: true, ..all.clone() };
        assert_eq!(license::files(&db, current.id, &some).await.unwrap().len(), 1);
        let some = FileFilter { license: Some("IT".to_owned()), ..all.clone() };
        assert_eq!(license::files(&db, current.id, &some).await.unwrap().len(), 1);
        let some = FileFilter { after: Some("LICENSE".to_owned()), ..all };
        assert_eq!(license::files(&db, current.id, &some).await.unwrap()[0].path, "big.c");

        let row = db.fetch_one(sql!("SELECT scancode_last_run, scancode_version FROM repos WHERE repo_id = $1", id)).await.unwrap();
        assert_eq!(row.get::<Timestamp>("scancode_last_run").unwrap(), day(4));
        assert_eq!(row.get::<String>("scancode_version").unwrap(), "1");
    }

    async fn a_rescan_is_marked_by_repository_version_or_all(db: TestDb) {
        let id = repository(&db).await;
        let number = keep(&db, "1", &[answer("a", State::Found, Some("MIT"))], day(1)).await;
        let row = license::known(&db, number, &[key("a")]).await.unwrap()[&key("a")].id;
        write(&db, &result(id, number, "one"), row, true, day(2)).await;
        for (repository, version, hit) in [(Some(id), None, 1), (Some(id + 1), None, 0), (None, Some("1"), 1), (None, Some("9"), 0), (None, None, 1)] {
            let marked: Result<Vec<i64>, DbError> = transact!(db, |tx| license::again(tx, repository, version, Again::Tree).await);
            assert_eq!(marked.unwrap().len(), hit);
        }
        assert_eq!(license::head(&db, id).await.unwrap().unwrap().again, Some(Again::Tree));
        assert_eq!(count(&db, "scans").await, 1, "what is known stays visible");
    }
}
