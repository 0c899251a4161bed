//! `distribution/names`: whose the declared names are.

use collect::distribution::names;
use db::{testing::both, transact};
use engine::RunError;
use facts::manifest::{Intent, ManifestFact};
use sim::{Fault, Rule};
use store::{
    declared_names::{self, Verdict},
    observed,
    sources::{Asked, Extent},
};

use crate::registry_world::{CADENCE, PARTS, World, depsdev, of_size};

const LINK: &str = "https://github.com/a/b";

impl World {
    /// The repository's manifests declare these now.
    async fn declares(&self, id: i64, names: &[(&str, &str)]) {
        let manifests: Vec<ManifestFact> = names
            .iter()
            .map(|(ecosystem, name)| ManifestFact {
                name: Some((*name).to_owned()),
                effective_name: Some((*name).to_owned()),
                intent: Intent::Yes,
                ..ManifestFact::new(format!("{ecosystem}/{name}"), *ecosystem)
            })
            .collect();
        let (manifests, now) = (&manifests, self.engine.clock().now());
        let written: Result<(), RunError> = transact!(self.engine.db(), |tx| {
            let asked = Asked {
                repository: id,
                source: "manifests",
                collector_version: 1,
                now,
            };
            observed::record_manifests(tx, &asked, manifests, Extent::Whole).await?;
            names::changed(tx, id, now).await
        });
        written.unwrap();
    }

    /// Each declared name with its verdict and the repository it belongs to.
    async fn verdicts(&self, id: i64) -> Vec<(String, Verdict, Option<String>)> {
        let all = declared_names::of(self.engine.db(), id).await.unwrap();
        all.into_iter()
            .map(|one| (one.name, one.verdict, one.linked_repository))
            .collect()
    }
}

fn verdict(
    name: &str,
    verdict: Verdict,
    linked: Option<&str>,
) -> (String, Verdict, Option<String>) {
    (name.to_owned(), verdict, linked.map(str::to_owned))
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn each_declared_name_is_absent_ours_or_anothers(db: TestDb) {
        let world = World::new(&db, of_size(0)).await;
        world.publish("npm", "@a/ours", LINK, 2);
        world.publish("npm", "taken", "https://github.com/x/y", 2);
        world.publish("pypi", "elsewhere", "https://codeberg.org/x/z", 2);
        world.publish("cargo", "silent", LINK, 1);
        let (ecosystem, package) = ("cargo".into(), "silent".into());
        world.happens(&sim::Registration::Link { ecosystem, package, link: None });
        let id = world.add(LINK, |_, _| None).await;
        world.declares(id, &[
            ("npm", "@a/ours"), ("npm", "free"), ("npm", "taken"), ("pypi", "Elsewhere"),
            ("cargo", "silent"), ("hex", "not asked for"),
        ]).await;
        world.run().await;
        assert_eq!(world.verdicts(id).await, [
            verdict("silent", Verdict::Other, None),
            verdict("@a/ours", Verdict::Ours, None),
            verdict("free", Verdict::Absent, None),
            verdict("taken", Verdict::Other, Some("https://github.com/x/y")),
            verdict("Elsewhere", Verdict::Other, Some("https://codeberg.org/x/z")),
        ]);
        assert_eq!(world.asked("deps.dev").len(), 9, "one for the name, one for its latest version");
    }

    async fn what_depsdev_listed_costs_nothing_and_changes_are_asked_for(db: TestDb) {
        let world = World::new(&db, of_size(0)).await;
        world.publish("pypi", "jaraco.context", LINK, 2);
        let id = world.add(LINK, depsdev).await;
        world.run().await;
        world.asked("deps.dev");
        world.declares(id, &[("pypi", "jaraco_context")]).await;
        world.run().await;
        assert_eq!(world.verdicts(id).await, [verdict("jaraco_context", Verdict::Ours, None)]);
        assert_eq!(world.asked("deps.dev"), []);

        // Another manifest: only its name is asked for, and what is gone is dropped.
        world.declares(id, &[("pypi", "jaraco_context"), ("pypi", "new")]).await;
        world.run().await;
        assert_eq!(world.asked("deps.dev").len(), 1);
        world.declares(id, &[("pypi", "new"), ("npm", "newer")]).await;
        world.run().await;
        assert_eq!(world.verdicts(id).await, [
            verdict("newer", Verdict::Absent, None),
            verdict("new", Verdict::Absent, None),
        ]);
        assert_eq!(world.asked("deps.dev").len(), 1, "what was learned today is not asked again");
    }

    async fn what_is_no_longer_listed_is_asked_for_at_once(db: TestDb) {
        let world = World::new(&db, of_size(0)).await;
        world.publish("npm", "one", LINK, 2);
        world.publish("npm", "two", LINK, 2);
        let id = world.add(LINK, depsdev).await;
        world.run().await;
        world.declares(id, &[("npm", "one"), ("npm", "two")]).await;
        world.run().await;
        world.remove("npm", "one");
        world.asked("deps.dev");
        world.run_now(depsdev(id, &LINK.parse().unwrap())).await;
        assert_eq!(world.verdicts(id).await, [
            verdict("one", Verdict::Absent, None),
            verdict("two", Verdict::Ours, None),
        ]);
        assert_eq!(world.asked("deps.dev").len(), 3, "the project, the package that is left, the name");
    }

    async fn a_former_name_is_ours_too(db: TestDb) {
        let world = World::new(&db, of_size(0)).await;
        world.publish("npm", "one", LINK, 1);
        let id = world.add(LINK, |_, _| None).await;
        world.rename(id, "https://github.com/a/renamed").await;
        world.declares(id, &[("npm", "one")]).await;
        world.run().await;
        assert_eq!(world.verdicts(id).await, [verdict("one", Verdict::Ours, None)]);
    }

    async fn a_link_that_may_be_an_old_address_is_unclear_unless_it_is_a_project_of_its_own(db: TestDb) {
        let world = World::new(&db, of_size(0)).await;
        // Transferred and renamed before anybody looked; copied to another host; a stranger's.
        world.publish("npm", "transferred", "https://github.com/former/b", 1);
        world.publish("npm", "renamed", "https://github.com/a/old-name", 1);
        world.publish("npm", "mirrored", "https://codeberg.org/a/b", 1);
        world.publish("npm", "taken", "https://github.com/elsewhere/b", 1);
        world.publish("npm", "foreign", "https://github.com/x/y", 1);
        let id = world.add(LINK, |_, _| None).await;
        world.declares(id, &[
            ("npm", "foreign"), ("npm", "mirrored"), ("npm", "renamed"), ("npm", "taken"),
            ("npm", "transferred"),
        ]).await;
        world.run().await;
        assert_eq!(world.verdicts(id).await, [
            verdict("foreign", Verdict::Other, Some("https://github.com/x/y")),
            verdict("mirrored", Verdict::Unclear, Some("https://codeberg.org/a/b")),
            verdict("renamed", Verdict::Unclear, Some("https://github.com/a/old-name")),
            verdict("taken", Verdict::Other, Some("https://github.com/elsewhere/b")),
            verdict("transferred", Verdict::Unclear, Some("https://github.com/former/b")),
        ]);
    }

    async fn what_could_not_be_asked_keeps_its_verdict(db: TestDb) {
        let world = World::new(&db, of_size(0)).await;
        world.publish("npm", "one", "https://github.com/x/y", 1);
        let id = world.add(LINK, |_, _| None).await;
        world.declares(id, &[("npm", "one"), ("cargo", "free")]).await;
        world.run().await;
        let before = declared_names::of(&db, id).await.unwrap();
        assert_eq!(before.len(), 2);

        world.remove("npm", "one");
        let rule = Rule::on("deps.dev", Fault::status(500)).path("NPM");
        let rule = world.server.plan().add(rule).unwrap();
        world.after(CADENCE).await;
        let after = declared_names::of(&db, id).await.unwrap();
        assert_eq!(after[1], before[1], "not asked: as it was");
        assert!(after[0].checked_at > before[0].checked_at);
        let view = world.unit(&format!("distribution/names:{id}")).await;
        assert_eq!((view.partials, view.strikes), (1, 0));

        world.server.plan().remove(rule);
        world.after(std::time::Duration::from_hours(1)).await;
        assert_eq!(world.verdicts(id).await[1], verdict("one", Verdict::Absent, None));
    }
}
