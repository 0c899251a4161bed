//! Facts that last: what answers, parts of answers and outages leave behind, on both databases.

use db::{Db, Part, Timestamp, sql, testing::both};
use facts::{
    evidence::Evidence,
    manifest::{Intent, ManifestFact, Place},
    repository::RepositoryUrl,
};
use store::{
    observed::{
        self, Recorded, evidence_history, first_appearances, manifest_history, record_evidence,
        record_manifests,
    },
    repositories, show,
    sources::{self, Asked, Extent},
};

const PARTS: &[Part] = &[store::PART];

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

fn moment(second: i64) -> jiff::Timestamp {
    at(second).into()
}

async fn repository(db: &Db) -> i64 {
    let mut tx = db.begin().await.unwrap();
    let url = RepositoryUrl::parse("https://github.com/mwaskom/seaborn").unwrap();
    let id = repositories::add(&mut tx, url.into(), at(0))
        .await
        .unwrap()
        .id();
    tx.commit().await.unwrap();
    id
}

fn package(ecosystem: &str, name: &str, version: &str) -> Evidence {
    Evidence {
        ecosystem: ecosystem.into(),
        package: name.into(),
        version: Some(version.into()),
        version_count: Some(3),
        first_published_at: Some("2015-01-02T03:04:05.123456789Z".parse().unwrap()),
        attributes: r#"{"b":1,"a":[null]}"#.parse().unwrap(),
        ..Evidence::default()
    }
}

fn manifest(path: &str, name: Option<&str>) -> ManifestFact {
    ManifestFact {
        name: name.map(str::to_owned),
        effective_name: name.map(str::to_owned),
        intent: Intent::Yes,
        place: Place::Ordinary,
        ..ManifestFact::new(path, "npm")
    }
}

fn asked(repository: i64, source: &str, second: i64) -> Asked<'_> {
    Asked {
        repository,
        source,
        collector_version: 1,
        now: at(second),
    }
}

async fn say(db: &Db, asked: Asked<'_>, facts: &[Evidence], extent: Extent<'_>) -> Recorded {
    let mut tx = db.begin().await.unwrap();
    let recorded = record_evidence(&mut tx, &asked, facts, extent)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    recorded
}

async fn list(db: &Db, asked: Asked<'_>, facts: &[ManifestFact], extent: Extent<'_>) -> Recorded {
    let mut tx = db.begin().await.unwrap();
    let recorded = record_manifests(&mut tx, &asked, facts, extent)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    recorded
}

both! {
    const PARTS: &[Part] = PARTS;

    async fn an_answer_is_written_seen_again_changed_ended_and_returned(db: TestDb) {
        let id = repository(&db).await;
        let (one, two) = (package("pypi", "seaborn", "0.1"), package("conda", "seaborn", "0.1"));
        let ask = |second| asked(id, "deps.dev", second);
        assert_eq!(say(&db, ask(1), &[one.clone(), two.clone(), one.clone()], Extent::Whole).await,
            Recorded { new: 2, ..Recorded::default() });
        assert_eq!(say(&db, ask(2), &[one.clone(), two.clone()], Extent::Whole).await,
            Recorded { same: 2, ..Recorded::default() });
        let newer = package("pypi", "seaborn", "0.2");
        assert_eq!(say(&db, ask(3), &[newer.clone(), two.clone()], Extent::Whole).await,
            Recorded { same: 1, changed: 1, ..Recorded::default() });
        assert_eq!(say(&db, ask(4), std::slice::from_ref(&two), Extent::Whole).await,
            Recorded { same: 1, gone: 1, ..Recorded::default() });
        assert_eq!(say(&db, ask(5), std::slice::from_ref(&two), Extent::Whole).await,
            Recorded { same: 1, ..Recorded::default() });
        assert_eq!(say(&db, ask(6), &[newer.clone(), two.clone()], Extent::Whole).await,
            Recorded { same: 1, returned: 1, ..Recorded::default() });
        say(&db, ask(7), &[newer.clone(), two], Extent::Whole).await;

        let kept = observed::evidence(&db, id, false, 10).await.unwrap();
        assert_eq!(kept.len(), 2);
        assert_eq!(kept[1].fact.version.as_deref(), Some("0.2"));
        assert_eq!(kept[1].fact.attributes.as_str(), r#"{"a":[null],"b":1}"#);
        assert_eq!((kept[1].first_seen, kept[1].changed_at, kept[1].last_seen, kept[1].gone_at),
            (moment(1), moment(6), moment(7), None));

        let spans = evidence_history(&db, id, "deps.dev", "pypi", "seaborn").await.unwrap();
        let told: Vec<_> = spans.iter()
            .map(|span| (span.fact.version.as_deref().unwrap(), span.seen_from, span.seen_until, span.gone_at))
            .collect();
        assert_eq!(told, [
            ("0.1", moment(1), moment(2), None),
            ("0.2", moment(3), moment(3), Some(moment(4))),
            ("0.2", moment(6), moment(7), None),
        ]);
    }

    async fn an_outage_deletes_nothing(db: TestDb) {
        let id = repository(&db).await;
        say(&db, asked(id, "deps.dev", 1), &[package("pypi", "seaborn", "1")], Extent::Whole).await;
        let before = observed::evidence(&db, id, true, 10).await.unwrap();
        let mut tx = db.begin().await.unwrap();
        sources::could_not_answer(&mut tx, id, "deps.dev", "503", at(2)).await.unwrap();
        sources::could_not_answer(&mut tx, id, "ecosyste.ms", "no route", at(2)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(observed::evidence(&db, id, true, 10).await.unwrap(), before);
        let states = sources::states(&db, id).await.unwrap();
        let told: Vec<_> = states.iter()
            .map(|state| (state.source.as_str(), state.last_asked, state.last_answered, state.complete, state.error.as_deref()))
            .collect();
        assert_eq!(told, [
            ("deps.dev", at(2), Some(at(1)), true, Some("503")),
            ("ecosyste.ms", at(2), None, false, Some("no route")),
        ]);
        // An analyst sees that the last scan was not complete.
        assert_eq!(complete(&db).await, Some(false));
        say(&db, asked(id, "deps.dev", 3), &[], Extent::Whole).await;
        say(&db, asked(id, "ecosyste.ms", 3), &[], Extent::Whole).await;
        assert_eq!(complete(&db).await, Some(true));
    }

    async fn a_source_ends_only_its_own(db: TestDb) {
        let id = repository(&db).await;
        let fact = package("pypi", "seaborn", "1");
        say(&db, asked(id, "deps.dev", 1), std::slice::from_ref(&fact), Extent::Whole).await;
        say(&db, asked(id, "ecosyste.ms", 2), std::slice::from_ref(&fact), Extent::Whole).await;
        // Part of an answer ends nothing.
        assert_eq!(say(&db, asked(id, "deps.dev", 3), &[], Extent::Part("capped")).await, Recorded::default());
        assert_eq!(sources::states(&db, id).await.unwrap()[0].error.as_deref(), Some("capped"));
        assert_eq!(say(&db, asked(id, "deps.dev", 4), &[], Extent::Whole).await,
            Recorded { gone: 1, ..Recorded::default() });
        let there = observed::evidence(&db, id, false, 10).await.unwrap();
        assert_eq!(there.iter().map(|kept| kept.source.as_str()).collect::<Vec<_>>(), ["ecosyste.ms"]);
        let all = observed::evidence(&db, id, true, 10).await.unwrap();
        assert_eq!(all.iter().map(|kept| kept.gone_at).collect::<Vec<_>>(), [Some(moment(4)), None]);

        let first = first_appearances(&db, "pypi", "seaborn", Some("deps.dev"), Some(id)).await.unwrap();
        assert_eq!(first.len(), 1);
        assert_eq!((first[0].first_seen, first[0].gone_at), (at(1), Some(at(4))));
        assert_eq!(first_appearances(&db, "pypi", "seaborn", None, None).await.unwrap().len(), 2);
        assert!(first_appearances(&db, "npm", "seaborn", None, None).await.unwrap().is_empty());
    }

    async fn manifests_change_by_what_they_say_not_by_their_bytes(db: TestDb) {
        let id = repository(&db).await;
        let ask = |second| asked(id, "manifests", second);
        let broken = ManifestFact { error: Some("not well-formed JSON".into()), ..ManifestFact::new("b/package.json", "npm") };
        let first = ManifestFact { blob: Some("aa".into()), ..manifest("package.json", Some("seaborn")) };
        assert_eq!(list(&db, ask(1), &[first.clone(), broken.clone()], Extent::Whole).await,
            Recorded { new: 2, ..Recorded::default() });
        let touched = ManifestFact { blob: Some("bb".into()), ..first.clone() };
        assert_eq!(list(&db, ask(2), &[touched, broken], Extent::Whole).await,
            Recorded { same: 2, ..Recorded::default() });
        let denied = ManifestFact { intent: Intent::Denied, reason: Some("private".into()), place: Place::Test, ..first };
        assert_eq!(list(&db, ask(3), std::slice::from_ref(&denied), Extent::Whole).await,
            Recorded { changed: 1, gone: 1, ..Recorded::default() });
        let kept = observed::manifests(&db, id, false, 10).await.unwrap();
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].fact, denied);
        let spans = manifest_history(&db, id, "manifests", "package.json").await.unwrap();
        assert_eq!(spans.len(), 2);
        assert_eq!(spans[0].fact.blob.as_deref(), Some("bb"));
        assert_eq!((spans[0].seen_from, spans[0].seen_until), (moment(1), moment(2)));
        assert_eq!(observed::manifests(&db, id, true, 10).await.unwrap()[0].fact.error.as_deref(),
            Some("not well-formed JSON"));
    }

    async fn a_large_answer_is_written_in_parts(db: TestDb) {
        let id = repository(&db).await;
        let all: Vec<ManifestFact> = (0..7_000).map(|n| manifest(&format!("{n:05}/package.json"), None)).collect();
        for second in [1, 2] {
            let ask = asked(id, "manifests", second);
            // The second time the last thousand are missing.
            let all = if second == 1 { &all[..] } else { &all[..6_000] };
            let (last, parts) = (&all[5_000..], &all[..5_000]);
            list(&db, ask, parts, Extent::Part("being written")).await;
            let recorded = list(&db, ask, last, Extent::Whole).await;
            assert_eq!(recorded.gone, if second == 1 { 0 } else { 1_000 });
        }
        let overview = show::overview(&db, id, 100).await.unwrap().unwrap();
        assert_eq!((overview.manifest_count, overview.manifests.len()), (6_000, 100));
        assert!(overview.sources[0].complete);
        assert!(repositories::remove(&db, id).await.unwrap());
        let left = db.fetch_one(sql!("SELECT count(*) AS n FROM manifest")).await.unwrap();
        assert_eq!(left.get::<i64>("n").unwrap(), 0);
    }

    async fn an_overview_has_everything_in_one_piece(db: TestDb) {
        let id = repository(&db).await;
        say(&db, asked(id, "deps.dev", 1), &[package("pypi", "seaborn", "1")], Extent::Whole).await;
        list(&db, asked(id, "manifests", 2), &[manifest("package.json", Some("x"))], Extent::Whole).await;
        let overview = show::overview(&db, id, 100).await.unwrap().unwrap();
        let json = serde_json::to_value(&overview).unwrap();
        assert_eq!(json["url"], "https://github.com/mwaskom/seaborn");
        assert_eq!(json["added_at"], "1970-01-01T00:00:00.000000Z");
        assert_eq!(json["manifests"][0]["path"], "package.json");
        assert_eq!(json["manifests"][0]["intent"], "yes");
        assert_eq!(json["manifests"][0]["first_seen"], "1970-01-01T00:00:02.000000Z");
        assert_eq!(json["manifests"][0]["version"], serde_json::Value::Null);
        assert_eq!(json["evidence"][0]["attributes"]["b"], 1);
        assert_eq!(json["sources"][1]["source"], "manifests");
        assert!(show::overview(&db, 99, 1).await.unwrap().is_none());
        assert!(!repositories::remove(&db, 99).await.unwrap());
    }

    async fn an_analysts_queries_carry_over(db: TestDb) {
        let id = repository(&db).await;
        for second in [1, 2, 3] {
            say(&db, asked(id, "deps.dev", second), &[package("pypi", "seaborn", "1")], Extent::Whole).await;
        }
        say(&db, asked(id, "deps.dev", 4), &[package("pypi", "seaborn", "2")], Extent::Whole).await;
        list(&db, asked(id, "manifests", 4), &[manifest("package.json", Some("sea")),
            ManifestFact::new("js/package.json", "npm")], Extent::Whole).await;

        // Manifests without registry evidence.
        let rows = db.fetch_all(sql!(
            "SELECT r.repo_owner||'/'||r.repo_name AS repo, m.manifest_type, m.package_name_declared
             FROM repos r
             JOIN repo_distribution_manifest m USING (repo_id)
             LEFT JOIN repo_distribution d ON d.repo_id = m.repo_id AND d.ecosystem = m.manifest_type
             WHERE d.distribution_id IS NULL ORDER BY m.manifest_path"
        )).await.unwrap();
        let told: Vec<(String, String, String)> = rows.iter()
            .map(|row| (row.get("repo").unwrap(), row.get("manifest_type").unwrap(), row.get("package_name_declared").unwrap()))
            .collect();
        assert_eq!(told, [
            ("mwaskom/seaborn".into(), "npm".into(), String::new()),
            ("mwaskom/seaborn".into(), "npm".into(), "sea".into()),
        ]);

        // When did it first appear?
        let row = db.fetch_one(sql!(
            "SELECT MIN(data_collection_date) AS first, MAX(data_collection_date) AS last FROM (
               SELECT repo_id, ecosystem, package_name, source, data_collection_date FROM repo_distribution_history
               UNION ALL
               SELECT repo_id, ecosystem, package_name, source, data_collection_date FROM repo_distribution
             ) AS seen WHERE ecosystem = 'pypi' AND package_name = 'seaborn' AND source = 'deps.dev'"
        )).await.unwrap();
        assert_eq!((row.get::<Timestamp>("first").unwrap(), row.get::<Timestamp>("last").unwrap()), (at(1), at(4)));

        let row = db.fetch_one(sql!("SELECT * FROM repo_distribution")).await.unwrap();
        assert_eq!(row.get::<i64>("version_count").unwrap(), 3);
        assert_eq!(row.get::<String>("tool_source").unwrap(), "gleaner");
        assert_eq!(row.get::<String>("tool_version").unwrap(), "1");
        assert_eq!(row.get::<String>("extra").unwrap(), r#"{"a":[null],"b":1}"#);
        assert!(row.get::<Option<Timestamp>>("first_published_at").unwrap().is_some());

        // What is gone is in history only, with its first and last observation.
        list(&db, asked(id, "manifests", 5), &[manifest("package.json", Some("sea"))], Extent::Whole).await;
        list(&db, asked(id, "manifests", 6), &[], Extent::Whole).await;
        let rows = db.fetch_all(sql!(
            "SELECT manifest_path, data_collection_date FROM repo_distribution_manifest_history
             ORDER BY manifest_path, data_collection_date"
        )).await.unwrap();
        let told: Vec<(String, Timestamp)> = rows.iter()
            .map(|row| (row.get("manifest_path").unwrap(), row.get("data_collection_date").unwrap()))
            .collect();
        assert_eq!(told, [
            ("js/package.json".into(), at(4)),
            ("package.json".into(), at(4)),
            ("package.json".into(), at(5)),
        ]);
        assert!(db.fetch_all(sql!("SELECT * FROM repo_distribution_manifest")).await.unwrap().is_empty());
        let row = db.fetch_one(sql!("SELECT * FROM repos")).await.unwrap();
        assert_eq!(row.get::<String>("org_repo_name").unwrap(), "mwaskom/seaborn");
        assert_eq!(row.get::<Timestamp>("distribution_last_run").unwrap(), at(6));
        assert!(!row.get::<bool>("repo_archived").unwrap());
    }
}

async fn complete(db: &Db) -> Option<bool> {
    let row = db
        .fetch_one(sql!("SELECT distribution_scan_complete FROM repos"))
        .await
        .unwrap();
    row.get("distribution_scan_complete").unwrap()
}
