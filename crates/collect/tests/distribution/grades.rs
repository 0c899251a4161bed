//! Every grade against what is true in the simulated world.

use std::collections::BTreeMap;

use db::testing::both;
use sim::Fate;
use store::distribution::{GapFilter, gaps};

use crate::whole_world::{PARTS, Watched, WholeWorld};

const FORGES: [&str; 3] = ["github.com", "gitlab.example.org", "codeberg.org"];

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn every_grade_is_true(db: TestDb) {
        let mut world = WholeWorld::new(&db, 60).await;
        world.watch_all(&FORGES).await;
        world.settle().await;
        let (server, engine, watched) = (&world.server, &world.engine, &world.watched);

        let mut wrong = Vec::new();
        let mut right: BTreeMap<String, usize> = BTreeMap::new();
        for Watched { host, id, truth } in watched {
            let filter = GapFilter { repository: Some(*id), ..GapFilter::default() };
            let found = gaps(engine.db(), &filter, 100).await.unwrap().items;
            let mut seen: BTreeMap<(String, String), (String, String)> = found.into_iter()
                .map(|kept| ((kept.gap.ecosystem.clone(), kept.gap.name.clone()), (kept.gap.grade.as_str().to_owned(), kept.gap.reason.unwrap_or_default())))
                .collect();
            for one in sim::declared(truth) {
                let fate = server.world().published(|all| all.fate(host, truth, &one));
                let in_forge = sim::packages(truth).iter().any(|packaged| packaged.name == one.package
                    && packaged.kind == one.ecosystem && (packaged.linked || host.starts_with("gitlab")));
                let expected = match fate {
                    _ if one.intent != "yes" || in_forge => None,
                    Fate::Published => None,
                    Fate::Renamed(_) => Some("name-differs"),
                    Fate::Taken(_) => Some("name-conflict"),
                    Fate::Silent => Some("unknown"),
                    Fate::Unpublished => Some("orphan"),
                };
                let got = seen.remove(&(one.ecosystem.to_owned(), one.package.clone()));
                let grade = got.as_ref().map(|(grade, _)| grade.as_str());
                if grade == expected {
                    *right.entry(expected.unwrap_or("none").to_owned()).or_default() += 1;
                } else {
                    wrong.push(format!("{host} {} {}/{}: {fate:?} in_forge={in_forge} expected {expected:?} got {got:?}", truth.path(), one.ecosystem, one.package));
                }
            }
            for (key, got) in seen {
                let extra = server.world().publication(&key.0, &key.1);
                if got.0 == "undeclared" && extra.is_some_and(|one| one.declared_as.is_none()) {
                    *right.entry("undeclared".to_owned()).or_default() += 1;
                } else {
                    wrong.push(format!("{host} {} {key:?}: unexpected {got:?}", truth.path()));
                }
            }
        }
        assert!(
            wrong.is_empty(),
            "right {right:?}, wrong {}:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
        // Every sort of truth is there.
        assert!(right.len() == 6 && right.values().all(|count| *count > 5), "{right:?}");
    }
}
