//! What went wrong for others, and must not here: after each incident no evidence is lost, nothing
//! is called an orphan that is published, and nothing removed that is there.

use std::time::Duration;

use db::{Dialect, sql, testing::both};
use engine::State;
use sim::{Fault, File, Registration, Rule, upstreams};

use crate::whole_round::{CADENCE, DAY, PARTS, Round, Subject, of_size, package_json};

const GITHUB: &str = "github.com";
const NONE: &[&str] = &[];

/// A repository that declares and publishes `name` on npm, and all is told.
async fn published(round: &Round, name: &str) -> Subject {
    let subject = round.watch(GITHUB, vec![package_json("", name)]).await;
    round.publishes(&subject, "npm", name, 3);
    subject
}

both! {
    const PARTS: &[db::Part] = PARTS;

    /// deps.dev answers a project whose slashes were not encoded as if it were unknown.
    async fn a_wrong_encoding_that_looks_like_absence(db: TestDb) {
        let round = Round::new(&db, of_size(60)).await;
        let mangled = || {
            let body = Some("project not found".into());
            let fault = Fault::Status { status: 404, retry_after: None, body };
            Rule::on("deps.dev", fault).path(":packageversions")
        };
        // From the first question on: nothing is known yet that could contradict.
        let rule = round.fault(mangled());
        let first = published(&round, "clover").await;
        round.run().await;
        assert_eq!(round.gaps(&first).await, NONE, "its name was asked for, and is ours");
        round.mends(rule);
        round.ask_again(&[&first]).await;
        round.all_is_told(&[&first]).await;

        // We ask for one segment.
        let asked = round.server.journal().requests("deps.dev");
        let projects = asked.iter().filter(|one| one.path.contains(":packageversions"));
        for one in projects {
            let id = one.path.trim_start_matches("/v3/projects/");
            assert!(!id.contains('/') && id.to_lowercase().contains("github.com%2f"), "{}", one.path);
        }

        // Once something is known, "not found" is not believed.
        let known = round.known(&first).await;
        let rule = round.fault(mangled());
        round.hand.advance(CADENCE);
        round.ask_again(&[&first]).await;
        assert_eq!(round.known(&first).await, known);
        assert_eq!(round.removals().await, []);
        assert_eq!(round.gaps(&first).await, NONE);
        assert!(round.source(&first, "depsdev").await.error.is_some());
        round.mends(rule);
        round.after(Duration::from_hours(3)).await;
        round.all_is_told(&[&first]).await;
    }

    /// Both registry views fail from the middle of a pass on, and one package is really gone.
    async fn an_outage_during_a_pass(db: TestDb) {
        let round = Round::new(&db, of_size(200)).await;
        let mut subjects = Vec::new();
        for nth in 0..8 {
            subjects.push(published(&round, &format!("clover-{nth}")).await);
        }
        let all: Vec<&Subject> = subjects.iter().collect();
        round.run().await;
        round.all_is_told(&all).await;
        let mut known = Vec::new();
        for one in &all {
            assert_eq!(round.gaps(one).await, NONE, "{}", one.path);
            known.push(round.known(one).await);
        }
        let gone = Registration::Remove { ecosystem: "npm".into(), package: "clover-7".into() };
        let rules = [
            round.fault(Rule::on("deps.dev", Fault::status(503)).requests(6..=u64::MAX)),
            round.fault(Rule::on("ecosyste.ms", Fault::Reset)),
        ];
        round.happens(&gone);
        round.hand.advance(CADENCE);
        for _ in 0..4 {
            round.run().await;
            round.hand.advance(Duration::from_mins(20));
        }
        let mut unchanged = 0;
        for (one, known) in all.iter().zip(&known) {
            let now = round.known(one).await;
            unchanged += usize::from(now == *known);
            for gap in round.gaps(one).await {
                assert!(gap.starts_with("unknown ") || one.id == all[7].id, "{}: {gap}", one.path);
            }
            assert!(!round.source(one, "ecosystems").await.is_current());
        }
        assert!(unchanged >= 7, "only {unchanged} of 8 are as they were");
        let removed: Vec<String> = round.removals().await.into_iter().map(|one| one.package).collect();
        assert!(removed.iter().all(|name| name == "clover-7"), "{removed:?}");

        // Not half a year later, but as soon as they answer again.
        for rule in rules {
            round.mends(rule);
        }
        for _ in 0..4 {
            round.after(Duration::from_hours(1)).await;
        }
        round.all_is_told(&all).await;
        let removed: Vec<(i64, String)> = round.removals().await.into_iter()
            .map(|one| (one.repository, one.package)).collect();
        assert!(!removed.is_empty());
        assert!(removed.iter().all(|one| *one == (all[7].id, "clover-7".into())), "{removed:?}");
        assert_eq!(round.gaps(all[7]).await, ["orphan npm clover-7"], "that is true by now");
    }

    /// One repository fails for ever; it neither holds up the others nor runs hot.
    async fn a_permanently_failing_repository_beside_healthy_ones(db: TestDb) {
        let round = Round::new(&db, of_size(200)).await;
        let sick = published(&round, "nettle").await;
        let name = sick.path.rsplit('/').next().unwrap().to_owned();
        let rule = Rule::on("deps.dev", Fault::status(500)).path(&format!("(?i)%2f{name}:packageversions"));
        round.fault(rule);
        let mut healthy = Vec::new();
        for nth in 0..5 {
            healthy.push(published(&round, &format!("clover-{nth}")).await);
        }
        let all: Vec<&Subject> = healthy.iter().collect();
        round.run().await;
        round.all_is_told(&all).await;
        for one in &all {
            assert_eq!(round.gaps(one).await, NONE);
        }
        round.server.journal().clear();
        let mut parked = false;
        for _ in 0..40 {
            // Others are served meanwhile: so the fault is this unit's.
            round.hand.advance(Duration::from_hours(4));
            round.ask_again(&all[..1]).await;
            let unit = round.unit(&sick, "distribution/depsdev").await;
            parked = unit.state == State::Parked;
            if parked { break; }
        }
        assert!(parked, "{:?}", round.unit(&sick, "distribution/depsdev").await);
        let asked = round.server.journal().requests("deps.dev");
        let ours = format!("%2f{name}:packageversions").to_lowercase();
        let asked = asked.iter().filter(|one| one.path.to_lowercase().contains(&ours)).count();
        // Each run sends a request that fails a few times.
        assert!(asked <= 10 * 4, "{asked} questions about one that fails");
        // Its name is known to be its own, from the other direction; nothing is an orphan.
        for gap in round.gaps(&sick).await {
            assert!(gap.starts_with("unknown "), "{gap}");
        }
        assert_eq!(round.removals().await, []);
        for source in ["ecosystems", "releases", "packages", "manifests"] {
            assert!(round.source(&sick, source).await.is_current(), "{source}");
        }
        round.all_is_told(&all).await;
        // It comes back by itself, half a year later.
        round.server.plan().clear();
        round.after(CADENCE).await;
        round.after(DAY).await;
        assert!(round.source(&sick, "depsdev").await.is_current());
    }

    /// Everybody says "not modified" to somebody who has lost what was kept.
    async fn not_modified_after_the_cache_was_lost(db: TestDb) {
        let round = Round::new(&db, of_size(60)).await;
        let subject = published(&round, "clover").await;
        round.run().await;
        round.all_is_told(&[&subject]).await;
        let known = round.known(&subject).await;
        for text in ["DELETE FROM http_cache", "DELETE FROM manifest_blob", "DELETE FROM owner_packages"] {
            db.execute(sql!(text)).await.unwrap();
        }
        let rules: Vec<u64> = round.server.upstreams().map(str::to_owned).collect::<Vec<_>>().iter()
            .map(|name| round.fault(Rule::on(name, Fault::status(304)))).collect();
        round.hand.advance(CADENCE);
        round.ask_again(&[&subject]).await;
        assert_eq!(round.known(&subject).await, known);
        assert_eq!(round.removals().await, []);
        assert_eq!(round.gaps(&subject).await, NONE);
        for source in crate::whole_round::SOURCES {
            assert!(!round.source(&subject, source).await.is_current(), "{source}");
        }
        for rule in rules {
            round.mends(rule);
        }
        for _ in 0..3 {
            round.after(Duration::from_hours(2)).await;
        }
        round.all_is_told(&[&subject]).await;
        assert_eq!(round.known(&subject).await, known);
    }

    /// A tree that is refused is not an empty one, neither the first time nor later.
    async fn a_403_on_the_tree(db: TestDb) {
        let round = Round::new(&db, of_size(60)).await;
        let known = published(&round, "clover").await;
        round.run().await;
        round.all_is_told(&[&known]).await;
        let before = round.known(&known).await;
        let rule = round.fault(Rule::on(GITHUB, Fault::status(403)).path("/git/trees/"));
        // Something to tell, so that the tree is not the same as before.
        let files = vec![package_json("", "clover"), File::new("README.md", "more")];
        round.server.world().plant(GITHUB, &known.path, files).unwrap();
        let new = published(&round, "daisy").await;
        round.hand.advance(CADENCE);
        round.ask_again(&[&known]).await;
        assert_eq!(round.known(&known).await, before);
        assert_eq!(round.gaps(&known).await, NONE, "what was declared is still declared");
        assert_eq!(round.gaps(&new).await, ["unknown npm daisy"], "not `undeclared`");
        assert_eq!(round.removals().await, []);
        round.mends(rule);
        for _ in 0..3 {
            round.after(Duration::from_hours(2)).await;
        }
        round.all_is_told(&[&known, &new]).await;
        assert_eq!(round.gaps(&new).await, NONE);
    }

    /// Of a tree with more directories than are listed one by one, only a part is seen.
    async fn a_truncated_tree(db: TestDb) {
        const HOST: &str = "github.example.org";
        let config = of_size(60).with(upstreams::GitHub::enterprise(HOST).with_tree_entries(12));
        let round = Round::new(&db, config).await;
        let subject = round.watch(HOST, vec![package_json("zz", "clover")]).await;
        round.publishes(&subject, "npm", "clover", 2);
        round.publishes(&subject, "npm", "daisy", 2);
        round.run().await;
        assert_eq!(round.gaps(&subject).await, ["undeclared npm daisy"]);

        let mut many: Vec<File> = (0..120).map(|nth| package_json(&format!("dir-{nth:03}/deep"), &format!("part-{nth}"))).collect();
        many.push(package_json("zz", "clover"));
        many.push(package_json("zzz", "daisy"));
        round.server.world().plant(HOST, &subject.path, many).unwrap();
        round.hand.advance(CADENCE);
        round.ask_again(&[&subject]).await;
        let state = round.source(&subject, "manifests").await;
        assert!(!state.complete && state.error.unwrap().contains("truncated"));
        assert!(round.known(&subject).await.contains(&"manifest zz/package.json clover".to_owned()));
        for gap in round.gaps(&subject).await {
            assert!(gap.starts_with("unknown "), "{gap}: a manifest may lie where nobody looked");
        }
        assert_eq!(round.removals().await, []);
    }

    /// deps.dev gives 1,500 versions of a project and does not say that there are more.
    async fn a_list_that_is_cut_at_1500_rows(db: TestDb) {
        let round = Round::new(&db, of_size(60)).await;
        let files = vec![
            package_json("", "clover"),
            File::new("py/pyproject.toml", "[project]\nname = \"daisy\"\nversion = \"1\"\n"),
        ];
        let subject = round.watch(GITHUB, files).await;
        round.publishes(&subject, "npm", "clover", 3);
        round.publishes(&subject, "pypi", "daisy", 3);
        round.run().await;
        round.all_is_told(&[&subject]).await;
        assert_eq!(round.gaps(&subject).await, NONE);
        let more = Registration::Release { ecosystem: "npm".into(), package: "clover".into(), versions: 1_600 };
        round.happens(&more);
        round.hand.advance(CADENCE);
        round.ask_again(&[&subject]).await;
        let state = round.source(&subject, "depsdev").await;
        assert!(!state.complete && state.error.unwrap().contains("1,500"));
        let known = round.known(&subject).await;
        assert!(known.contains(&"depsdev npm/clover Some(1603)".to_owned()), "{known:?}");
        assert!(known.iter().any(|one| one.starts_with("depsdev pypi/daisy")), "{known:?}");
        assert_eq!(round.removals().await, []);
        assert_eq!(round.gaps(&subject).await, NONE);

        // Never seen whole: what was cut off is found by its name.
        let files = vec![
            package_json("", "poppy"),
            File::new("py/pyproject.toml", "[project]\nname = \"rose\"\nversion = \"1\"\n"),
        ];
        let large = round.watch(GITHUB, files).await;
        round.publishes(&large, "npm", "poppy", 1_600);
        round.publishes(&large, "pypi", "rose", 3);
        round.run().await;
        let known = round.known(&large).await;
        assert!(!known.iter().any(|one| one.starts_with("depsdev pypi/rose")), "{known:?}");
        assert_eq!(round.gaps(&large).await, NONE);
    }

    /// The database goes away while a large answer is half written, and then the process.
    async fn a_kill_in_the_middle_of_a_commit(db: TestDb) {
        let round = Round::new(&db, of_size(60)).await;
        // More than one transaction writes: the first piece is committed, the second is torn.
        let files = |count: usize| -> Vec<File> {
            (0..count).map(|nth| if nth < 20 {
                package_json(&format!("p{nth:04}"), &format!("clover-{nth:04}"))
            } else {
                let text = format!("{{\"name\": \"clover-{nth:04}\", \"private\": true}}");
                File::new(format!("p{nth:04}/package.json"), text)
            }).collect()
        };
        let subject = round.watch(GITHUB, files(20)).await;
        round.publishes(&subject, "npm", "clover-0003", 2);
        round.run().await;
        round.all_is_told(&[&subject]).await;
        let known = round.known(&subject).await;
        let gaps = round.gaps(&subject).await;
        assert_eq!(gaps.len(), 19);

        round.server.world().plant(GITHUB, &subject.path, files(2_000)).unwrap();
        tear(&db).await;
        round.hand.advance(CADENCE);
        round.ask_again(&[&subject]).await;
        let after = round.known(&subject).await;
        assert!(after.len() > known.len() && after.len() < 2_000, "{} rows: one piece", after.len());
        assert!(known.iter().all(|one| after.contains(one)), "nothing is lost");
        assert!(!round.source(&subject, "manifests").await.complete);
        assert!(!round.gaps(&subject).await.iter().any(|gap| gap.starts_with("undeclared")));
        assert_eq!(round.removals().await, []);

        mend(&db).await;
        for _ in 0..3 {
            round.after(Duration::from_hours(1)).await;
        }
        round.all_is_told(&[&subject]).await;
        let whole = round.known(&subject).await;
        let manifests = whole.iter().filter(|one| one.starts_with("manifest ")).count();
        assert_eq!(manifests, 2_000, "each once");
        assert_eq!(round.gaps(&subject).await, gaps);
        assert_eq!(round.removals().await, []);
    }
}

/// From now on the database fails in the middle of a statement that writes the last manifests.
async fn tear(db: &db::Db) {
    let texts: &[&str] = match db.dialect() {
        Dialect::Sqlite => &[
            "CREATE TRIGGER torn BEFORE INSERT ON manifest WHEN NEW.path LIKE 'p19%'
             BEGIN SELECT RAISE(ABORT, 'the disk is gone'); END",
        ],
        Dialect::Postgres => &[
            "CREATE FUNCTION torn() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'the disk is gone'; END $$",
            "CREATE TRIGGER torn BEFORE INSERT ON manifest FOR EACH ROW
             WHEN (NEW.path LIKE 'p19%') EXECUTE FUNCTION torn()",
        ],
    };
    for text in texts {
        db.execute(sql!(*text)).await.unwrap();
    }
}

async fn mend(db: &db::Db) {
    let text = match db.dialect() {
        Dialect::Sqlite => "DROP TRIGGER torn",
        Dialect::Postgres => "DROP TRIGGER torn ON manifest",
    };
    db.execute(sql!(text)).await.unwrap();
}
