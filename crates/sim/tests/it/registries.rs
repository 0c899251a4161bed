//! deps.dev and ecosyste.ms, and the publications that they tell of.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sim::{
    EPOCH, Fate, Publication, Registration, Server, World, WorldClock, WorldSize,
    upstreams::{DepsDev, Ecosystems, EcosystemsLimits},
};

use crate::client::{client, config, get, header, json as body, walk, world_of};

const DEPS: &str = "deps.dev";
const ECOSYSTEMS: &str = "ecosyste.ms";
const LINK: &str = "https://github.com/Some/Thing";

fn publish(server: &Server, ecosystem: &str, package: &str, versions: u32) {
    let change = Registration::Publish {
        ecosystem: ecosystem.to_owned(),
        package: package.to_owned(),
        link: Some(LINK.to_owned()),
        versions,
    };
    server.world().register(&change).unwrap();
}

#[test]
fn publications_follow_from_the_seed_and_are_of_every_sort() {
    let size = WorldSize {
        repositories: 400,
        organisation: 0,
    };
    let world = |seed| {
        let forges = sim::upstreams::all();
        let forges = forges
            .iter()
            .filter_map(|one| Some((one.name().to_owned(), one.forge()?)));
        let forges: Vec<_> = forges.collect();
        World::new(seed, size, WorldClock::standing(EPOCH), forges)
    };
    let all =
        |world: &World| -> Vec<Publication> { world.published(|all| all.all().cloned().collect()) };
    assert_eq!(all(&world(3)), all(&world(3)));
    assert_ne!(all(&world(3)), all(&world(4)));

    let world = world(3);
    let publications = all(&world);
    let some = |wanted: fn(&Publication) -> bool| publications.iter().any(wanted);
    assert!(some(|one| one.declared_as.as_ref() == Some(&one.package)));
    assert!(some(|one| one
        .declared_as
        .as_ref()
        .is_some_and(|name| *name != one.package)));
    assert!(some(|one| one.owner.is_some() && one.declared_as.is_none()));
    assert!(some(|one| one.owner.is_some() && one.link.is_none()));
    assert!(some(|one| one
        .link
        .as_ref()
        .is_some_and(|link| link.contains("/elsewhere/"))));
    assert!(some(|one| one.tracker.is_some() && one.link.is_none()));
    assert!(some(|one| one.provenance == "SLSA_ATTESTATION"));
    assert!(some(|one| one.deprecated) && some(|one| !one.carried_by.is_empty()));
    let mut fates = [0; 5];
    for repository in world.repositories("github.com") {
        for declared in sim::declared(&repository) {
            let fate = world.published(|all| all.fate("github.com", &repository, &declared));
            let place = match fate {
                Fate::Published => 0,
                Fate::Renamed(_) => 1,
                Fate::Taken(_) => 2,
                Fate::Silent => 3,
                Fate::Unpublished => 4,
            };
            fates[place] += usize::from(repository.is_public() && declared.intent == "yes");
        }
    }
    assert!(
        fates.iter().all(|count| *count > 5) && fates[0] > 150,
        "{fates:?}"
    );
}

#[tokio::test]
async fn a_project_is_one_segment_and_anything_else_is_not_found() {
    let server = world_of(0).await;
    publish(&server, "npm", "@some/thing", 2);
    let ask = async |path: &str| get(&server, DEPS, path).await;
    let right = ask("/v3/projects/github.com%2Fsome%2FTHING:packageversions").await;
    assert_eq!(right.status(), 200);
    let rows = body(right).await;
    // Two of its own, and a copy of another package that lies within.
    assert_eq!(rows["versions"].as_array().unwrap().len(), 3);
    assert_eq!(rows["versions"][0]["versionKey"]["name"], "@some/thing");
    assert_eq!(
        rows["versions"][2]["versionKey"]["name"],
        "@some/thing>1.0.0>left-pad"
    );
    assert_eq!(rows["versions"][0]["relationType"], "SOURCE_REPO");
    for wrong in [
        "/v3/projects/github.com/some/thing:packageversions",
        "/v3/projects/github.com%2Fsome/thing:packageversions",
        "/v3/projects/github.com%252Fsome%252Fthing:packageversions",
        "/v3/projects/github.com%2Fsome%2Fthing%3Apackageversions",
        "/v3/projects/some%2Fthing:packageversions",
        "/v3/projects/github.com%2Fsome%2Fother:packageversions",
        "/v3/systems/NPM/packages/@some/thing",
        "/v3/systems/NPM/packages/nothing",
    ] {
        let answer = ask(wrong).await;
        assert_eq!(answer.status(), 404, "{wrong}");
        assert!(
            header(&answer, "content-type")
                .unwrap()
                .starts_with("text/plain")
        );
    }
    assert_eq!(ask("/v3/systems/HEX/packages/x").await.status(), 400);
    let package = body(ask("/v3/systems/npm/packages/%40some%2Fthing").await).await;
    assert_eq!(
        package["packageKey"],
        json!({ "system": "NPM", "name": "@some/thing" })
    );
    assert_eq!(package["versions"][1]["isDefault"], true);
    let version = "/v3/systems/NPM/packages/%40some%2Fthing/versions/1.0.1";
    let version = body(ask(version).await).await;
    assert_eq!(
        version["relatedProjects"][0]["projectKey"]["id"],
        "github.com/some/thing"
    );
}

#[tokio::test]
async fn a_project_gives_so_many_versions_and_no_word_about_more() {
    let server = Server::start(config(0)).await.unwrap();
    publish(&server, "npm", "a", 1_499);
    publish(&server, "npm", "b", 20);
    let path = "/v3/projects/github.com%2Fsome%2Fthing:packageversions";
    let rows = body(get(&server, DEPS, path).await).await;
    assert_eq!(rows["versions"].as_array().unwrap().len(), 1_500);
    assert_eq!(rows.as_object().unwrap().len(), 1);
    let server = Server::start(config(0).with(DepsDev::new().with_cap(3)))
        .await
        .unwrap();
    publish(&server, "npm", "a", 9);
    let rows = body(get(&server, DEPS, path).await).await;
    assert_eq!(rows["versions"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn look_ups_are_paged_tagged_and_empty_where_nothing_is_known() {
    let server = world_of(0).await;
    for nth in 0..250 {
        publish(&server, "npm", &format!("p-{nth}"), 1);
    }
    let path = "/packages/lookup?repository_url=https://github.com/SOME/thing";
    let (ids, pages) = walk(&server, ECOSYSTEMS, path).await;
    assert_eq!((ids.len(), pages), (250, 3));
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 250);
    let page = get(&server, ECOSYSTEMS, &format!("{path}&per_page=5000&page=1")).await;
    assert_eq!(header(&page, "page-items"), Some("250"));
    assert_eq!(header(&page, "current-page"), Some("1"));
    assert!(header(&page, "etag").is_some() && header(&page, "link").is_none());
    for nothing in [
        "https://github.com/some/thing.git",
        "https://github.com/some/other",
    ] {
        let path = format!("/packages/lookup?repository_url={nothing}");
        assert_eq!(body(get(&server, ECOSYSTEMS, &path).await).await, json!([]));
    }
}

#[tokio::test]
async fn bulk_look_ups_are_cut_without_a_word() {
    let limits = EcosystemsLimits {
        bulk: 10,
        ..EcosystemsLimits::default()
    };
    let doubles = Ecosystems::new().with_limits(limits);
    let server = Server::start(config(0).with(doubles)).await.unwrap();
    for nth in 0..12 {
        publish(&server, "hex", &format!("p-{nth}"), 1);
    }
    let url = format!(
        "{}/packages/bulk_lookup",
        server.base_url(ECOSYSTEMS).unwrap()
    );
    let ask = json!({ "repository_urls": [LINK, "https://github.com/x/y"] });
    let request = client()
        .post(url)
        .header("content-type", "application/json");
    let rows = body(request.body(ask.to_string()).send().await.unwrap()).await;
    assert_eq!(rows.as_array().unwrap().len(), 10);
}

#[tokio::test]
async fn those_who_say_who_they_are_have_a_larger_limit() {
    let limits = EcosystemsLimits {
        anonymous: 1,
        polite: 2,
        ..EcosystemsLimits::default()
    };
    let doubles = Ecosystems::new().with_limits(limits);
    let server = Server::start(config(0).with(doubles)).await.unwrap();
    let status = async |query: &str| {
        let path = format!("/packages/lookup?repository_url={LINK}{query}");
        get(&server, ECOSYSTEMS, &path).await.status().as_u16()
    };
    assert_eq!([status("").await, status("").await], [200, 429]);
    let polite = "&mailto=me@example.org";
    assert_eq!(
        [
            status(polite).await,
            status(polite).await,
            status(polite).await
        ],
        [200, 200, 429]
    );
    server.clock().advance(std::time::Duration::from_hours(1));
    assert_eq!(status("").await, 200);
}

#[tokio::test]
async fn what_is_removed_is_gone_from_one_view_and_marked_in_the_other() {
    let server = world_of(0).await;
    publish(&server, "pypi", "Some_Thing", 1);
    let root = format!("http://{}/__sim/registry", server.address());
    let change = async |value: Value| {
        let request = client()
            .post(&root)
            .header("content-type", "application/json");
        let answer = request.body(value.to_string()).send().await.unwrap();
        answer.status().as_u16()
    };
    let depsdev = async || {
        let path = "/v3/systems/PYPI/packages/some.thing";
        get(&server, DEPS, path).await.status().as_u16()
    };
    let status = async || {
        let path = format!("/packages/lookup?repository_url={LINK}");
        body(get(&server, ECOSYSTEMS, &path).await).await[0]["status"].clone()
    };
    assert_eq!((depsdev().await, status().await), (200, Value::Null));
    let remove = json!({ "change": "remove", "ecosystem": "pypi", "package": "some-thing" });
    assert_eq!(change(remove).await, 204);
    assert_eq!((depsdev().await, status().await), (404, json!("removed")));
    let restore = json!({ "change": "restore", "ecosystem": "pypi", "package": "some-thing" });
    assert_eq!(change(restore).await, 204);
    assert_eq!((depsdev().await, status().await), (200, Value::Null));
    let nothing = json!({ "change": "remove", "ecosystem": "pypi", "package": "nothing" });
    assert_eq!(change(nothing).await, 400);
    let listed = body(client().get(&root).send().await.unwrap()).await;
    let listed = listed.as_array().unwrap();
    assert!(listed.iter().any(|one| one["package"] == "Some_Thing"));
}
