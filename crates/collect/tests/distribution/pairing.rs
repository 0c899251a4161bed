//! From answers of sources to pairings and gaps, through the engine.

use std::time::Duration;

use collect::{
    collector::Registered,
    distribution::pairing::{self, Pairing, SwitchedOn},
};
use db::{
    Clock, FakeClock, Part, Timestamp, sql,
    testing::{TestDb, both},
};
use engine::{Engine, Timing, Worker};
use facts::{
    evidence::Evidence,
    manifest::{Intent, ManifestFact},
    repository::RepositoryUrl,
};
use store::{
    distribution::{GapFilter, gaps, pairings},
    observed::{record_evidence, record_manifests},
    repositories,
    sources::{self, Asked, Extent},
};
use tokio_util::sync::CancellationToken;

const PARTS: &[Part] = &[engine::PART, store::PART];

/// One repository, its sources played by hand, and a worker that judges.
struct Desk {
    engine: Engine,
    hand: FakeClock,
    id: i64,
    switched_on: SwitchedOn,
}

impl Desk {
    async fn of(db: &TestDb, address: &str) -> Self {
        let (clock, hand) = Clock::fake(Timestamp::from_micros(1_000_000));
        let engine = Engine::new((**db).clone(), clock);
        let mut tx = engine.db().begin().await.unwrap();
        let url = RepositoryUrl::parse(address).unwrap();
        let now = engine.clock().now();
        let id = repositories::add(&mut tx, url.into(), now)
            .await
            .unwrap()
            .id();
        tx.commit().await.unwrap();
        Self {
            engine,
            hand,
            id,
            switched_on: SwitchedOn::default(),
        }
    }

    fn asked<'s>(&self, source: &'s str) -> Asked<'s> {
        self.hand.advance(Duration::from_secs(1));
        Asked {
            repository: self.id,
            source,
            collector_version: 1,
            now: self.engine.clock().now(),
        }
    }

    /// A source answers, and lets the repository be judged in the same transaction.
    async fn says(&self, source: &str, packages: &[(&str, &str)], extent: Extent<'_>) {
        let facts: Vec<Evidence> = packages
            .iter()
            .map(|(ecosystem, package)| Evidence {
                ecosystem: (*ecosystem).into(),
                package: (*package).into(),
                ..Evidence::default()
            })
            .collect();
        let asked = self.asked(source);
        let mut tx = self.engine.db().begin().await.unwrap();
        record_evidence(&mut tx, &asked, &facts, extent)
            .await
            .unwrap();
        pairing::wake(&mut tx, self.id, asked.now).await.unwrap();
        tx.commit().await.unwrap();
        self.run().await;
    }

    async fn declares(&self, names: &[&str], extent: Extent<'_>) {
        let facts: Vec<ManifestFact> = names
            .iter()
            .map(|name| ManifestFact {
                name: Some((*name).into()),
                effective_name: Some((*name).into()),
                intent: Intent::Yes,
                ..ManifestFact::new(format!("{name}/Cargo.toml"), "cargo")
            })
            .collect();
        let asked = self.asked("manifests");
        let mut tx = self.engine.db().begin().await.unwrap();
        record_manifests(&mut tx, &asked, &facts, extent)
            .await
            .unwrap();
        pairing::wake(&mut tx, self.id, asked.now).await.unwrap();
        tx.commit().await.unwrap();
        self.run().await;
    }

    async fn fails(&self, source: &str) {
        let asked = self.asked(source);
        let mut tx = self.engine.db().begin().await.unwrap();
        sources::could_not_answer(&mut tx, self.id, source, "503", asked.now)
            .await
            .unwrap();
        pairing::wake_after_failure(&mut tx, self.id, source, asked.now)
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }

    /// The registry was asked for a declared name.
    async fn checks(&self, name: &str, verdict: &str, linked: Option<&str>) {
        let asked = self.asked("depsdev");
        let mut tx = self.engine.db().begin().await.unwrap();
        tx.execute(sql!(
            "INSERT INTO declared_name (repository, ecosystem, name, verdict, linked_repository, checked_at)
             VALUES ($1, 'cargo', $2, $3, $4, $5)",
            self.id, name, verdict, linked, asked.now
        )).await.unwrap();
        pairing::wake(&mut tx, self.id, asked.now).await.unwrap();
        tx.commit().await.unwrap();
        self.run().await;
    }

    async fn rest_answers(&self) {
        for source in ["ecosystems", "releases", "packages"] {
            self.says(source, &[], Extent::Whole).await;
        }
    }

    async fn run(&self) {
        let pairing = Registered::new(Pairing::new(self.switched_on));
        let worker = Worker::new(self.engine.clone())
            .boxed_kind(pairing.kind, pairing.handler)
            .timing(Timing {
                poll: Duration::from_millis(20),
                grace: Duration::from_millis(50),
                ..Timing::default()
            });
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        let mut work = std::pin::pin!(worker.run_until_idle(CancellationToken::new()));
        loop {
            tokio::select! {
                done = &mut work => return drop(done.unwrap()),
                _ = ticks.tick() => self.hand.advance(Duration::from_millis(5)),
            }
        }
    }

    async fn gaps(&self) -> Vec<String> {
        let page = gaps(self.engine.db(), &GapFilter::default(), 10_000)
            .await
            .unwrap();
        let told = page
            .items
            .iter()
            .map(|kept| format!("{} {}", kept.gap.grade.as_str(), kept.gap.name));
        told.collect()
    }

    async fn complete(&self) -> Option<bool> {
        let row = self
            .engine
            .db()
            .fetch_one(sql!("SELECT distribution_scan_complete AS c FROM repos"))
            .await
            .unwrap();
        row.get("c").unwrap()
    }
}

const GITHUB: &str = "https://github.com/o/r";

both! {
    const PARTS: &[Part] = PARTS;

    async fn a_repository_is_judged_when_all_have_answered_and_again_with_every_answer(db: TestDb) {
        let desk = Desk::of(&db, GITHUB).await;
        desk.declares(&["a", "b"], Extent::Whole).await;
        desk.checks("b", "absent", None).await;
        desk.says("depsdev", &[("cargo", "a")], Extent::Whole).await;
        // Some have not been asked yet: nothing is said before they are.
        assert!(desk.gaps().await.is_empty());
        desk.rest_answers().await;
        assert_eq!(desk.gaps().await, ["orphan b"]);
        assert_eq!(desk.complete().await, Some(true));
        let paired = pairings(&db, desk.id, 10).await.unwrap();
        assert_eq!((paired[0].fact.package.as_str(), paired[0].fact.path.as_str()), ("a", "a/Cargo.toml"));

        desk.says("ecosystems", &[("cargo", "b")], Extent::Whole).await;
        assert!(desk.gaps().await.is_empty());
        // It is removed again, and one source tells only a part.
        desk.says("ecosystems", &[], Extent::Whole).await;
        assert_eq!(desk.gaps().await, ["orphan b"]);
        desk.says("depsdev", &[("cargo", "a")], Extent::Part("capped")).await;
        assert_eq!(desk.gaps().await, ["unknown b"]);
        assert_eq!(desk.complete().await, Some(false));
        desk.declares(&[], Extent::Whole).await;
        assert_eq!(desk.gaps().await, ["undeclared a"]);
    }

    async fn an_outage_makes_no_orphan_and_ends_none(db: TestDb) {
        let desk = Desk::of(&db, GITHUB).await;
        desk.fails("depsdev").await;
        desk.declares(&["a"], Extent::Whole).await;
        desk.rest_answers().await;
        assert_eq!(desk.gaps().await, ["unknown a"]);
        desk.says("depsdev", &[], Extent::Whole).await;
        // The name itself has not been asked for: that is waited for, and then told.
        desk.hand.advance(Duration::from_hours(1));
        desk.says("packages", &[], Extent::Whole).await;
        assert_eq!(desk.gaps().await, ["unknown a"]);
        desk.checks("a", "absent", None).await;
        assert_eq!(desk.gaps().await, ["orphan a"]);
        // A later outage changes nothing that was known.
        desk.fails("depsdev").await;
        desk.run().await;
        assert_eq!(desk.gaps().await, ["orphan a"]);
        // What is declared only now has never been asked about.
        desk.declares(&["a", "c"], Extent::Whole).await;
        assert_eq!(desk.gaps().await, ["unknown a", "unknown c"]);
    }

    async fn sources_that_are_never_asked_are_waited_for_and_then_unknown(db: TestDb) {
        let desk = Desk::of(&db, GITHUB).await;
        desk.declares(&["a"], Extent::Whole).await;
        assert!(desk.gaps().await.is_empty());
        // One fails at first, after a while: that is news.
        desk.hand.advance(Duration::from_hours(1));
        desk.fails("depsdev").await;
        desk.run().await;
        assert_eq!(desk.gaps().await, ["unknown a"]);
        // On this machine there is nobody to wait for, and nobody who could know.
        let switched_on = SwitchedOn { depsdev: false, ecosystems: false, releases: false, packages: false, ..SwitchedOn::default() };
        let desk = Desk { switched_on, ..desk };
        desk.declares(&["a", "b"], Extent::Whole).await;
        assert_eq!(desk.gaps().await, ["unknown a", "unknown b"]);
        assert_eq!(desk.complete().await, Some(true));
    }

    async fn a_name_of_a_former_address_is_no_conflict(db: TestDb) {
        let desk = Desk::of(&db, GITHUB).await;
        let mut tx = db.begin().await.unwrap();
        let new = RepositoryUrl::parse("https://github.com/newer/r").unwrap();
        repositories::rename(&mut tx, desk.id, &new, Timestamp::from_micros(2_000_000)).await.unwrap();
        tx.commit().await.unwrap();
        desk.declares(&["a", "b"], Extent::Whole).await;
        desk.says("depsdev", &[], Extent::Whole).await;
        desk.rest_answers().await;
        desk.checks("a", "other", Some("https://github.com/O/R.git")).await;
        desk.checks("b", "other", Some("https://github.com/somebody/else")).await;
        assert_eq!(desk.gaps().await, ["name-conflict b"]);
    }

    async fn without_a_cross_check_only_one_of_two_is_waited_for(db: TestDb) {
        let mut desk = Desk::of(&db, GITHUB).await;
        desk.switched_on.cross_check = false;
        desk.declares(&["a", "b"], Extent::Whole).await;
        desk.checks("b", "absent", None).await;
        desk.says("releases", &[], Extent::Whole).await;
        desk.says("packages", &[], Extent::Whole).await;
        desk.says("depsdev", &[("cargo", "a")], Extent::Whole).await;
        assert_eq!(desk.gaps().await, ["orphan b"]);
    }

    async fn thousands_of_gaps_are_written_in_pieces(db: TestDb) {
        let desk = Desk::of(&db, GITHUB).await;
        desk.hand.advance(Duration::from_hours(2));
        let names: Vec<String> = (0..4_000).map(|n| format!("p{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        desk.declares(&names, Extent::Whole).await;
        assert_eq!(desk.gaps().await.len(), 4_000);
        desk.declares(&names[..10], Extent::Whole).await;
        assert_eq!(desk.gaps().await.len(), 10);
    }
}
