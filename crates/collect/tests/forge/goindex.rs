//! `goindex/list`: every repository of an owner has its tags read, and nothing else is begun.

use std::{collections::BTreeSet, time::Duration};

use db::{Timestamp, sql, testing::both};
use sim::{
    Fault, ORGANISATION, OwnerKind, Rule,
    upstreams::{GitHub, GitHubLimits},
};
use store::{goindex, group_sources::Wanted};

use crate::{
    organisation::FORGES,
    world::{Eyes, PARTS, World, of_size},
};

/// Since when all listings are finished, as the view tells.
async fn finished(db: &db::Db) -> Option<Timestamp> {
    let row = db.fetch_one(sql!("SELECT indexing_finished FROM repo_indexing"));
    row.await.unwrap().get("indexing_finished").unwrap()
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn every_repository_of_an_owner_has_its_tags_read(db: TestDb) {
        let world = World::new(&db, of_size(16, 60), Eyes::Token).await;
        let known = world.server.world().public_repositories("github.com", ORGANISATION);
        let known = world.add(&format!("https://github.com/{}", known[0].path())).await;
        let mut expected = 0;
        for host in FORGES {
            world.follow(host, ORGANISATION, Wanted::default()).await;
            expected += world.server.world().public_repositories(host, ORGANISATION).len();
        }
        world.go_lists().await;
        let all = world.all(true).await;
        assert_eq!(all.len(), expected);
        assert!(all.iter().any(|one| one.archived), "archived ones have versions too");
        for one in &all {
            let unit = world.unit(&format!("goindex/tags:{}", one.id)).await;
            assert_eq!(unit.upstream.as_deref(), Some(one.host.as_str()));
            let scanned = world.state(&format!("test/scan:{}", one.id)).await;
            assert_eq!(scanned.is_some(), one.id == known, "{}", one.url);
        }
        let status = goindex::status(&db).await.unwrap();
        assert_eq!(status.repositories, i64::try_from(expected).unwrap());
        assert!(finished(&db).await.is_some());
    }

    async fn a_listing_that_was_cut_off_is_not_finished(db: TestDb) {
        let world = World::new(&db, of_size(16, 250), Eyes::Token).await;
        let fault = Rule::on("github.com", Fault::status(503)).requests(3..=200);
        let _ = world.server.plan().add(fault);
        world.follow("github.com", ORGANISATION, Wanted::default()).await;
        world.go_lists().await;
        assert_eq!(finished(&db).await, None);
    }

    async fn a_listing_that_a_limit_cuts_off_goes_on_where_it_was(db: TestDb) {
        let limits = GitHubLimits { per_hour: 12, ..GitHubLimits::default() };
        let config = of_size(8, 2_500).with(GitHub::public().with_limits(limits));
        let world = World::new(&db, config, Eyes::Token).await;
        world.follow(HOST, ORGANISATION, Wanted::default()).await;
        let mut windows = 0;
        while finished(&db).await.is_none() {
            let gone = world.all(true).await.iter().filter(|one| one.gone_at.is_some()).count();
            assert_eq!(gone, 0, "what was not listed yet is not gone");
            windows += 1;
            assert!(windows < 8, "it does not come to its end");
            world.go_lists().await;
            world.hand.advance(Duration::from_mins(61));
        }
        assert!(windows > 2, "{windows} windows of 12 requests");
        assert_eq!(listed(&world).await, truth(&world, |owner| owner == ORGANISATION));
        let counts = world.server.journal().counts(HOST);
        assert_eq!(counts.over_primary, 0, "nothing was asked beyond the limit");
        assert_eq!(counts.requests, 26, "the owner and each page once");
    }

    async fn an_enterprise_server_without_limits_is_listed_whole(db: TestDb) {
        let host = "github.example.org";
        let world = World::new(&db, of_size(30, 130), Eyes::Token).await;
        world.follow(host, "*", Wanted::default()).await;
        world.go_lists().await;
        assert!(finished(&db).await.is_some());
        let here = world.server.world();
        let public = here.repositories(host);
        let public = public.iter().filter(|one| one.is_public());
        let truth: BTreeSet<String> = public.map(|one| format!("https://{host}/{}", one.path())).collect();
        assert!(truth.len() > 150, "{}", truth.len());
        assert_eq!(listed(&world).await, truth);
        let limits = world.server.journal().requests(host);
        assert!(limits.iter().all(|one| one.limit.is_none()));
    }

    async fn everything_on_other_servers_is_listed_too(db: TestDb) {
        let world = World::new(&db, of_size(20, 70), Eyes::Token).await;
        for host in ["gitlab.example.org", "codeberg.org"] {
            world.follow(host, "*", Wanted::default()).await;
        }
        world.go_lists().await;
        assert!(finished(&db).await.is_some());
        let mut truth = BTreeSet::new();
        for host in ["gitlab.example.org", "codeberg.org"] {
            let all = world.server.world().repositories(host);
            let public = all.iter().filter(|one| one.is_public());
            truth.extend(public.map(|one| format!("https://{host}/{}", one.path())));
        }
        assert_eq!(listed(&world).await, truth);
    }

    async fn an_installation_lists_what_it_was_given(db: TestDb) {
        let world = World::new(&db, of_size(30, 230), Eyes::Token).await;
        world.follow(HOST, "@installation", Wanted::default()).await;
        world.go_lists().await;
        assert!(finished(&db).await.is_some());
        let organisations: BTreeSet<String> = world.server.world().look(HOST, |forge| {
            let all = forge.owners().filter(|owner| owner.kind == OwnerKind::Organisation);
            all.map(|owner| owner.path.clone()).collect()
        }).unwrap();
        assert_eq!(listed(&world).await, truth(&world, |owner| organisations.contains(owner)));
        let requests = world.server.journal().counts(HOST).requests;
        // There is no order of changes: every listing is a whole one.
        world.hand.advance(Duration::from_hours(24));
        world.go_lists().await;
        assert_eq!(world.server.journal().counts(HOST).requests, 2 * requests);
    }

    async fn a_search_is_asked_in_spans_that_show_everything(db: TestDb) {
        let world = World::new(&db, of_size(8, 2_500), Eyes::Token).await;
        let query = format!("?org:{ORGANISATION} fork:true");
        world.follow(HOST, &query, Wanted::default()).await;
        for _ in 0..6 {
            // Searches have a limit by the minute.
            world.go_lists().await;
            world.hand.advance(Duration::from_mins(2));
        }
        assert!(finished(&db).await.is_some());
        assert_eq!(listed(&world).await, truth(&world, |owner| owner == ORGANISATION));
        let asked = world.server.journal().requests(HOST);
        assert!(asked.iter().all(|one| one.path.starts_with("/search/")), "{asked:?}");
        assert!(asked.len() < 60, "{} requests", asked.len());
    }

    async fn a_search_that_gave_up_ends_nothing(db: TestDb) {
        let world = World::new(&db, of_size(8, 150), Eyes::Token).await;
        let body = r#"{"total_count":150,"incomplete_results":true,"items":[]}"#;
        let fault = Rule::on(HOST, Fault::WrongJson { body: Some(body.to_owned()) });
        let _ = world.server.plan().add(fault);
        let query = format!("?org:{ORGANISATION} fork:true");
        world.follow(HOST, &query, Wanted::default()).await;
        world.go_lists().await;
        assert_eq!(finished(&db).await, None);
        assert!(world.all(true).await.is_empty());
    }
}

const HOST: &str = "github.com";

/// Where what is known of the group is.
async fn listed(world: &World) -> BTreeSet<String> {
    world
        .all(true)
        .await
        .into_iter()
        .map(|one| one.url)
        .collect()
}

/// Where the public repositories of some owners are.
fn truth(world: &World, of: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let all = world.server.world().repositories(HOST);
    all.iter()
        .filter(|one| one.is_public() && of(&one.owner))
        .map(|one| format!("https://{HOST}/{}", one.path()))
        .collect()
}
