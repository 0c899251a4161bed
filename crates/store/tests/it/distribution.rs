//! Pairings, gaps, events, figures and the analysts' views, on both databases.

use db::{Db, Part, Timestamp, sql, testing::both};
use facts::{
    distribution::{Confidence, Gap, Grade, How, Pairing, Verdict},
    evidence::Evidence,
    manifest::{Intent, ManifestFact},
    repository::RepositoryUrl,
};
use store::{
    distribution::{
        self, EventFilter, EventPlace, GapFilter, events, expect_sources, gap_history, gaps,
        record_gaps, record_pairings,
    },
    observed::{record_evidence, record_manifests},
    repositories,
    sources::{self, Asked, Extent},
};

const PARTS: &[Part] = &[store::PART];

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(second * 1_000_000)
}

async fn repository(db: &Db, address: &str) -> i64 {
    let mut tx = db.begin().await.unwrap();
    let url = RepositoryUrl::parse(address).unwrap();
    let id = repositories::add(&mut tx, url.into(), at(0))
        .await
        .unwrap()
        .id();
    tx.commit().await.unwrap();
    id
}

fn asked(repository: i64, source: &str, second: i64) -> Asked<'_> {
    Asked {
        repository,
        source,
        collector_version: 1,
        now: at(second),
    }
}

/// What a source says is published, all of it.
async fn say(db: &Db, asked: Asked<'_>, packages: &[(&str, &str)]) {
    let facts: Vec<Evidence> = packages
        .iter()
        .map(|(ecosystem, package)| Evidence {
            ecosystem: (*ecosystem).into(),
            package: (*package).into(),
            ..Evidence::default()
        })
        .collect();
    let mut tx = db.begin().await.unwrap();
    record_evidence(&mut tx, &asked, &facts, Extent::Whole)
        .await
        .unwrap();
    tx.commit().await.unwrap();
}

async fn declare(db: &Db, asked: Asked<'_>, manifests: &[(&str, &str, &str)]) {
    let facts: Vec<ManifestFact> = manifests
        .iter()
        .map(|(path, kind, name)| ManifestFact {
            name: Some((*name).into()),
            intent: Intent::Yes,
            ..ManifestFact::new(*path, *kind)
        })
        .collect();
    let mut tx = db.begin().await.unwrap();
    record_manifests(&mut tx, &asked, &facts, Extent::Whole)
        .await
        .unwrap();
    tx.commit().await.unwrap();
}

async fn judge(db: &Db, repository: i64, second: i64, found: &[(Grade, &str)]) {
    let gaps: Vec<Gap> = found
        .iter()
        .map(|(grade, name)| Gap {
            ecosystem: "npm".into(),
            name: (*name).into(),
            grade: *grade,
            purl: Some(format!("pkg:npm/{name}")),
            path: (*grade != Grade::Undeclared).then(|| format!("{name}/package.json")),
            package: None,
            linked: None,
            reason: Some(format!("as of {second}")),
        })
        .collect();
    let mut tx = db.begin().await.unwrap();
    let asked = asked(repository, "pairing", second);
    record_gaps(&mut tx, &asked, &gaps, Extent::Whole)
        .await
        .unwrap();
    tx.commit().await.unwrap();
}

async fn told(db: &Db, filter: &GapFilter) -> Vec<String> {
    let page = gaps(db, filter, 100).await.unwrap();
    let told = page.items.iter().map(|kept| {
        format!(
            "{} {} {}",
            kept.repo,
            kept.gap.grade.as_str(),
            kept.gap.name
        )
    });
    told.collect()
}

both! {
    const PARTS: &[Part] = PARTS;

    async fn a_gap_has_a_grade_since_when_and_a_history(db: TestDb) {
        let id = repository(&db, "https://github.com/o/r").await;
        judge(&db, id, 1, &[(Grade::Unknown, "a"), (Grade::Undeclared, "b")]).await;
        judge(&db, id, 2, &[(Grade::Orphan, "a"), (Grade::Undeclared, "b")]).await;
        judge(&db, id, 3, &[(Grade::Orphan, "a")]).await;
        let open = gaps(&db, &GapFilter::default(), 10).await.unwrap().items;
        assert_eq!(open.len(), 1);
        // A new reason is no new state.
        assert_eq!((open[0].since, open[0].first_seen, open[0].last_seen), (at(2), at(1), at(3)));
        assert_eq!(open[0].gap.reason.as_deref(), Some("as of 3"));
        judge(&db, id, 4, &[]).await;
        assert!(told(&db, &GapFilter::default()).await.is_empty());
        judge(&db, id, 5, &[(Grade::Orphan, "a")]).await;
        let spans = gap_history(&db, id, "npm", "a").await.unwrap();
        let spans: Vec<_> = spans.iter()
            .map(|span| (span.fact.grade, Timestamp::from(span.seen_from), span.gone_at.map(Timestamp::from)))
            .collect();
        assert_eq!(spans, [
            (Grade::Unknown, at(1), None),
            (Grade::Orphan, at(2), Some(at(4))),
            (Grade::Orphan, at(5), None),
        ]);
        // Deriving is not asking: no source has answered.
        assert!(sources::states(&db, id).await.unwrap().is_empty());
    }

    async fn gaps_are_listed_by_grade_ecosystem_and_repository_page_by_page(db: TestDb) {
        let one = repository(&db, "https://github.com/o/one").await;
        let two = repository(&db, "https://github.com/o/two").await;
        judge(&db, one, 1, &[(Grade::Orphan, "a"), (Grade::NameConflict, "b"), (Grade::Undeclared, "c")]).await;
        judge(&db, two, 1, &[(Grade::Unknown, "d")]).await;
        assert_eq!(told(&db, &GapFilter { repository: Some(two), ..GapFilter::default() }).await, ["o/two unknown d"]);
        let strong = GapFilter { grades: vec![Grade::Orphan, Grade::NameConflict], ..GapFilter::default() };
        assert_eq!(told(&db, &strong).await, ["o/one orphan a", "o/one name-conflict b"]);
        let declared = GapFilter { declared: true, ..GapFilter::default() };
        assert_eq!(told(&db, &declared).await.len(), 3);
        assert!(told(&db, &GapFilter { ecosystem: Some("pypi".into()), ..GapFilter::default() }).await.is_empty());
        let mut filter = GapFilter::default();
        let mut seen = 0;
        loop {
            let page = gaps(&db, &filter, 3).await.unwrap();
            seen += page.items.len();
            filter.after = page.next;
            if page.next.is_none() { break; }
        }
        assert_eq!(seen, 4);
    }

    async fn packages_appear_are_removed_and_reappear_by_source(db: TestDb) {
        let id = repository(&db, "https://github.com/o/r").await;
        let one = [("npm", "foo")];
        say(&db, asked(id, "depsdev", 1), &one).await;
        say(&db, asked(id, "ecosystems", 2), &one).await;
        let mut tx = db.begin().await.unwrap();
        sources::could_not_answer(&mut tx, id, "ecosystems", "503", at(3)).await.unwrap();
        tx.commit().await.unwrap();
        say(&db, asked(id, "depsdev", 4), &[]).await;
        say(&db, asked(id, "depsdev", 5), &one).await;
        say(&db, asked(id, "depsdev", 6), &[]).await;
        say(&db, asked(id, "depsdev", 7), &one).await;
        say(&db, asked(id, "depsdev", 8), &[]).await;
        let (all, next) = events(&db, &EventFilter::default(), 100).await.unwrap();
        assert_eq!(next, None);
        let told: Vec<_> = all.iter()
            .map(|event| (event.observed_at, event.source.as_str(), event.event.as_str(), event.package.as_str()))
            .collect();
        assert_eq!(told, [
            (at(8), "depsdev", "removed", "foo"),
            (at(7), "depsdev", "reappeared", "foo"),
            (at(6), "depsdev", "removed", "foo"),
            (at(5), "depsdev", "reappeared", "foo"),
            (at(4), "depsdev", "removed", "foo"),
            (at(2), "ecosystems", "appeared", "foo"),
            (at(1), "depsdev", "appeared", "foo"),
        ]);
        // Page by page it is the same list.
        let mut filter = EventFilter::default();
        let mut pages = Vec::new();
        loop {
            let (page, next) = events(&db, &filter, 2).await.unwrap();
            pages.extend(page);
            let Some(next) = next else { break };
            filter.after = EventPlace::parse(&next.to_string());
            assert_eq!(filter.after, Some(next));
        }
        assert_eq!(pages, all);
        let removed = EventFilter { event: Some("removed".into()), since: Some(at(6)), source: Some("depsdev".into()), ..EventFilter::default() };
        assert_eq!(events(&db, &removed, 100).await.unwrap().0.len(), 2);
    }

    async fn a_source_that_says_removed_tells_of_a_removal(db: TestDb) {
        let id = repository(&db, "https://github.com/o/r").await;
        let told = async |second: i64, status: Option<&str>| {
            let attributes = match status {
                Some(status) => serde_json::json!({ "registry": "npm", "status": status }),
                None => serde_json::json!({ "registry": "npm" }),
            };
            let serde_json::Value::Object(attributes) = attributes else { unreachable!() };
            let fact = Evidence {
                ecosystem: "npm".into(),
                package: "foo".into(),
                attributes: attributes.into(),
                ..Evidence::default()
            };
            let mut tx = db.begin().await.unwrap();
            record_evidence(&mut tx, &asked(id, "ecosystems", second), &[fact], Extent::Whole).await.unwrap();
            tx.commit().await.unwrap();
        };
        told(1, None).await;
        told(2, Some("deprecated")).await;
        told(3, Some("removed")).await;
        // Its name for it is another now, and then it is no longer listed at all: removed it was before.
        told(4, Some("unpublished")).await;
        say(&db, asked(id, "ecosystems", 5), &[]).await;
        told(6, Some("removed")).await;
        told(7, Some("deprecated")).await;
        say(&db, asked(id, "ecosystems", 8), &[]).await;
        told(9, None).await;
        told(10, Some("removed")).await;
        let (all, _) = events(&db, &EventFilter::default(), 100).await.unwrap();
        let all: Vec<_> = all.iter().rev().map(|event| (event.observed_at, event.event.as_str())).collect();
        assert_eq!(all, [
            (at(1), "appeared"),
            (at(3), "removed"),
            (at(7), "reappeared"),
            (at(8), "removed"),
            (at(9), "reappeared"),
            (at(10), "removed"),
        ]);
    }

    async fn figures_count_repositories_and_not_rows(db: TestDb) {
        for (n, address) in ["https://github.com/o/a", "https://github.com/o/b", "https://github.com/o/c"].into_iter().enumerate() {
            let id = repository(&db, address).await;
            if n == 0 {
                say(&db, asked(id, "depsdev", 1), &[("npm", "x"), ("npm", "y")]).await;
                say(&db, asked(id, "ecosystems", 1), &[("npm", "x")]).await;
            }
            if n < 2 {
                say(&db, asked(id, "releases", 1), &[("deb", "z")]).await;
                declare(&db, asked(id, "manifests", 1), &[("package.json", "npm", "x"), ("a/package.json", "npm", "y")]).await;
                judge(&db, id, 2, &[(Grade::Orphan, "q"), (Grade::Orphan, "p")]).await;
            }
        }
        let gone = repository(&db, "https://github.com/o/archived").await;
        let mut tx = db.begin().await.unwrap();
        repositories::set_archived(&mut tx, gone, true).await.unwrap();
        tx.commit().await.unwrap();
        let stats = distribution::stats(&db).await.unwrap();
        assert_eq!((stats.total, stats.scanned, stats.with_registry, stats.with_manifest, stats.manifest_without_registry),
            (3, 2, 1, 2, 1));
        assert_eq!(stats.ecosystems.len(), 1);
        let npm = &stats.ecosystems[0];
        assert_eq!((npm.ecosystem.as_str(), npm.with_registry, npm.with_manifest, npm.packages), ("npm", 1, 2, 2));
        assert_eq!((stats.gaps[0].grade.as_str(), stats.gaps[0].gaps, stats.gaps[0].repositories), ("orphan", 4, 2));
    }

    async fn a_report_has_both_sides_and_what_ties_them(db: TestDb) {
        let id = repository(&db, "https://github.com/o/r").await;
        say(&db, asked(id, "depsdev", 1), &[("npm", "x")]).await;
        declare(&db, asked(id, "manifests", 1), &[("package.json", "npm", "x")]).await;
        let pairing = |confidence| Pairing {
            ecosystem: "npm".into(),
            package: "x".into(),
            purl: Some("pkg:npm/x".into()),
            path: "package.json".into(),
            directory: String::new(),
            how: How::Name,
            confidence,
        };
        for (second, confidence) in [(2, Confidence::Likely), (3, Confidence::Sure), (4, Confidence::Sure)] {
            let mut tx = db.begin().await.unwrap();
            record_pairings(&mut tx, &asked(id, "pairing", second), &[pairing(confidence)], Extent::Whole).await.unwrap();
            tx.commit().await.unwrap();
        }
        let report = distribution::report(&db, id, 10).await.unwrap().unwrap();
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["pairings"][0]["how"], "name");
        assert_eq!(json["pairings"][0]["confidence"], "sure");
        assert_eq!(json["pairings"][0]["changed_at"], "1970-01-01T00:00:03.000000Z");
        assert_eq!(json["evidence"][0]["package"], "x");
        assert_eq!(json["events"][0]["event"], "appeared");
        assert!(distribution::report(&db, 99, 10).await.unwrap().is_none());
        let rows = db.fetch_all(sql!("SELECT directory, how FROM repo_distribution_pairing")).await.unwrap();
        assert_eq!(rows.len(), 1);
        // All of it goes with its repository.
        judge(&db, id, 5, &[(Grade::Orphan, "a")]).await;
        judge(&db, id, 6, &[(Grade::Unknown, "a")]).await;
        assert!(repositories::remove(&db, id).await.unwrap());
        assert!(told(&db, &GapFilter::default()).await.is_empty());
    }

    async fn what_the_registry_says_of_names_is_read_back(db: TestDb) {
        let id = repository(&db, "https://github.com/o/r").await;
        let mut tx = db.begin().await.unwrap();
        tx.execute(sql!(
            "INSERT INTO declared_name (repository, ecosystem, name, verdict, linked_repository, checked_at)
             VALUES ($1, 'npm', 'a', 'other', 'https://github.com/x/y', $2)", id, at(1)
        )).await.unwrap();
        tx.commit().await.unwrap();
        let checks = distribution::name_checks(&db, id).await.unwrap();
        assert_eq!((checks[0].verdict, checks[0].linked.as_deref()), (Verdict::Other, Some("https://github.com/x/y")));
    }

    async fn the_repos_view_has_the_four_columns_of_a_scan(db: TestDb) {
        let id = repository(&db, "https://github.com/o/r").await;
        let columns = async || {
            let row = db.fetch_one(sql!(
                "SELECT distribution_last_run, distribution_failed_attempts, distribution_last_failed_at,
                    distribution_scan_complete FROM repos"
            )).await.unwrap();
            (
                row.get::<Option<Timestamp>>("distribution_last_run").unwrap(),
                row.get::<i64>("distribution_failed_attempts").unwrap(),
                row.get::<Option<Timestamp>>("distribution_last_failed_at").unwrap(),
                row.get::<Option<bool>>("distribution_scan_complete").unwrap(),
            )
        };
        assert_eq!(columns().await, (None, 0, None, None));
        let mut tx = db.begin().await.unwrap();
        expect_sources(&mut tx, id, &["depsdev".into(), "manifests".into()]).await.unwrap();
        tx.commit().await.unwrap();
        say(&db, asked(id, "depsdev", 1), &[]).await;
        // One that is switched on has not been asked.
        assert_eq!(columns().await, (Some(at(1)), 0, None, Some(false)));
        declare(&db, asked(id, "manifests", 2), &[]).await;
        assert_eq!(columns().await, (Some(at(2)), 0, None, Some(true)));
        for second in [3, 4] {
            let mut tx = db.begin().await.unwrap();
            sources::could_not_answer(&mut tx, id, "depsdev", "503", at(second)).await.unwrap();
            tx.commit().await.unwrap();
        }
        assert_eq!(columns().await, (Some(at(2)), 2, Some(at(4)), Some(false)));
        // A source that is not switched on is nobody's business.
        let mut tx = db.begin().await.unwrap();
        expect_sources(&mut tx, id, &["manifests".into()]).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(columns().await.3, Some(true));
        say(&db, asked(id, "depsdev", 5), &[]).await;
        assert_eq!(columns().await, (Some(at(5)), 0, Some(at(4)), Some(true)));
    }

    async fn the_analysts_own_questions_get_their_own_answers(db: TestDb) {
        let id = repository(&db, "https://github.com/mwaskom/seaborn").await;
        declare(&db, asked(id, "manifests", 1), &[("setup.py", "pypi", "seaborn"), ("js/package.json", "npm", "sea")]).await;
        for second in [2, 3] {
            say(&db, asked(id, "depsdev", second), &[("pypi", "seaborn")]).await;
        }
        // Gone for a while, as the registry's own answer says.
        say(&db, asked(id, "depsdev", 4), &[]).await;
        say(&db, asked(id, "depsdev", 5), &[("pypi", "seaborn")]).await;
        say(&db, asked(id, "releases", 5), &[("pypi", "seaborn")]).await;
        say(&db, asked(id, "packages", 5), &[("container", "seaborn")]).await;
        // When did pypi/seaborn first appear in deps.dev's view of this repository?
        let row = db.fetch_one(sql!(
            "SELECT MIN(data_collection_date) AS first FROM (
               SELECT repo_id, ecosystem, package_name, source, data_collection_date FROM repo_distribution_history
               UNION
               SELECT repo_id, ecosystem, package_name, source, data_collection_date FROM repo_distribution
             ) AS seen
             WHERE repo_id = $1 AND ecosystem = 'pypi' AND package_name = 'seaborn' AND source = 'deps.dev'", id
        )).await.unwrap();
        assert_eq!(row.get::<Timestamp>("first").unwrap(), at(2));
        let rows = db.fetch_all(sql!("SELECT source FROM repo_distribution ORDER BY source")).await.unwrap();
        let words: Vec<String> = rows.iter().map(|row| row.get("source").unwrap()).collect();
        assert_eq!(words, ["deps.dev", "github_packages", "github_release_asset"]);
        // Which manifests have no registry record?
        let candidates = distribution::orphan_candidates(&db, 10).await.unwrap();
        assert_eq!(candidates.len(), 1);
        assert_eq!((candidates[0].repo.as_str(), candidates[0].manifest_type.as_str(), candidates[0].package_name_declared.as_str()),
            ("mwaskom/seaborn", "npm", "sea"));
        judge(&db, id, 6, &[(Grade::Orphan, "sea")]).await;
        let row = db.fetch_one(sql!("SELECT repo, grade, name, since FROM repo_distribution_gap")).await.unwrap();
        assert_eq!((row.get::<String>("grade").unwrap(), row.get::<Timestamp>("since").unwrap()), ("orphan".into(), at(6)));
    }
}
