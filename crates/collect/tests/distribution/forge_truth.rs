//! What forges say is what is true, and it costs few questions.
#![expect(clippy::print_stdout, reason = "the test reports figures")]

use std::collections::BTreeSet;

use db::testing::both;
use sim::{Change, Repository};

use crate::at_forges::{AtForges, DAY, FORGES, PARTS, of_size};

pub(crate) type Names = BTreeSet<(String, String)>;

/// What a package's name is in the evidence of its forge's own registry.
pub(crate) fn packaged(host: &str, truth: &Repository) -> Names {
    let of_forge = |one: &sim::Packaged| match one.kind {
        // Images are in another registry of GitLab's.
        "container" if host.starts_with("gitlab") => None,
        "container" => Some(("docker".to_owned(), one.name.clone())),
        "npm" if host.starts_with("github") => {
            Some(("npm".to_owned(), format!("@meadow/{}", one.name)))
        }
        "maven" if host.starts_with("github") => {
            Some(("maven".to_owned(), one.name.replace(':', ".")))
        }
        kind => Some((kind.to_owned(), one.name.clone())),
    };
    let all = sim::packages(truth).into_iter();
    // GitLab knows the project of everything.
    all.filter(|one| one.linked || host.starts_with("gitlab"))
        .filter_map(|one| of_forge(&one))
        .collect()
}

/// What the files of the last hundred releases are.
pub(crate) fn released(truth: &Repository) -> Names {
    let mut names = Names::new();
    if sim::releases(truth).is_empty() {
        return names;
    }
    for one in sim::declared(truth) {
        if one.intent != "yes" {
            continue;
        }
        let (ecosystem, name) = match one.ecosystem {
            "maven" => ("maven", one.package.rsplit(':').next().unwrap().to_owned()),
            "pypi" => ("pypi", one.package.replace('-', "_")),
            // The package is one of Debian's, and the tarball is nobody's.
            "pub" => ("debian", one.package.replace('_', "-")),
            other => (other, one.package.clone()),
        };
        names.insert((ecosystem.to_owned(), name));
    }
    names
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn all_of_it_is_found_and_asked_for_once(db: TestDb) {
        let world = AtForges::new(&db, of_size(45)).await;
        let mut added = Vec::new();
        for host in FORGES {
            added.push((host, world.add_all(host).await));
        }
        world.run().await;
        // Tarballs that came before the manifests were read.
        world.after(DAY / 24).await;
        let mut first = Vec::new();
        for (host, added) in &added {
            first.push(calls(&world, host, added.len()));
            check(&world, host, added).await;
        }
        world.forget_requests();
        world.after(181 * DAY).await;
        for ((host, added), (first, first_packages)) in added.iter().zip(first) {
            let (second, second_packages) = calls(&world, host, added.len());
            check(&world, host, added).await;
            for (id, truth) in added {
                for kept in world.manifests(*id).await {
                    assert!(kept.changed_at == kept.first_seen && kept.gone_at.is_none(), "{truth:?}");
                    assert!(kept.last_seen > kept.first_seen);
                }
            }
            println!("{host}: {first:.2} calls for each repository, then {second:.2}; \
                      packages {first_packages} for the owner, then {second_packages}");
            assert!(first <= 6.0 && second <= 3.0, "{host}: {first} {second}");
            assert!(first_packages <= 6 && second_packages <= 6, "{host}: {first_packages}");
        }
    }

    async fn a_push_costs_what_it_changed(db: TestDb) {
        let world = AtForges::new(&db, of_size(40)).await;
        let mut added = Vec::new();
        for host in FORGES {
            let truth = world.member(host, |found| sim::declared(found).len() == 2);
            added.push((world.add(host, &truth.path()).await, host, truth));
        }
        world.run().await;
        world.forget_requests();
        world.hand.advance(DAY + std::time::Duration::from_secs(1));
        let mut before = Vec::new();
        for (id, host, truth) in &added {
            before.push(world.manifests(*id).await);
            world.server.world().apply(host, &Change::Push { repository: truth.path() }).unwrap();
        }
        let all: Vec<_> = added.iter().map(|(id, host, _)| (*id, *host)).collect();
        world.scan_now(&all).await;
        for ((id, host, _), before) in added.iter().zip(before) {
            let blobs = world.asked(host).into_iter().filter(|(path, _)| {
                path.contains("/blobs/") || path.ends_with("graphql")
            });
            // None if an equal manifest of another forge came first.
            assert!(blobs.count() <= 1, "{host}: one manifest changed");
            let after = world.manifests(*id).await;
            let changed = before.iter().zip(&after).filter(|(a, b)| a.fact != b.fact);
            assert_eq!(changed.count(), 1, "{host}");
        }
    }

    async fn without_a_token_packages_are_not_asked_for_where_that_is_vain(db: TestDb) {
        let world = AtForges::anonymous(&db, of_size(40)).await;
        for host in ["github.example.org", "codeberg.org"] {
            let truth = world.member(host, |found| !packaged(host, found).is_empty());
            let id = world.add(host, &truth.path()).await;
            world.run().await;
            let asked = world.asked(host);
            let packages = asked.iter().filter(|(path, _)| path.contains("/packages"));
            let state = world.source(id, "packages").await;
            if host == "codeberg.org" {
                assert_eq!(packages.count(), 1, "{asked:?}");
                assert!(state.complete);
            } else {
                assert_eq!(packages.count(), 0, "{asked:?}");
                assert!(!state.complete && state.last_answered.is_none());
                assert!(state.error.unwrap().contains("token"));
                let unit = world.unit(&format!("distribution/packages:{id}")).await;
                assert_eq!(unit.strikes, 0);
            }
            // Blobs are had one by one then.
            assert!(world.source(id, "manifests").await.complete, "{host}");
        }
    }
}

/// Calls for each repository without those for packages, and those. The question what became of a
/// repository is asked weekly by another round, and left out.
fn calls(world: &AtForges, host: &str, repositories: usize) -> (f64, usize) {
    let asked = world.asked(host);
    let packages = asked.iter().filter(|(path, _)| path.contains("/packages"));
    let packages = packages.count();
    let parts = ["/git/", "/repository/", "/releases", "graphql"];
    let rest = asked
        .iter()
        .filter(|(path, _)| parts.iter().any(|part| path.contains(part)));
    (rest.count() as f64 / repositories as f64, packages)
}

async fn check(world: &AtForges, host: &str, added: &[(i64, Repository)]) {
    for (id, truth) in added {
        let told: BTreeSet<_> = world
            .manifests(*id)
            .await
            .into_iter()
            .filter(|kept| kept.fact.place.as_str() == "ordinary" && kept.fact.name.is_some())
            .map(|kept| {
                let fact = kept.fact;
                let directory = fact.path.rsplit_once('/').map_or("", |(above, _)| above);
                (
                    fact.manifest_type,
                    fact.effective_name.unwrap(),
                    directory.to_owned(),
                    fact.intent.as_str(),
                )
            })
            .collect();
        let declared: BTreeSet<_> = sim::declared(truth)
            .into_iter()
            .map(|one| {
                (
                    one.ecosystem.to_owned(),
                    one.package,
                    one.directory,
                    one.intent,
                )
            })
            .collect();
        assert_eq!(told, declared, "{host} {}", truth.path());
        let manifests = world.source(*id, "manifests").await;
        assert!(manifests.complete, "{manifests:?}");

        let evidence = async |source: &str| -> Names {
            let all = world.evidence(*id, source).await.into_iter();
            let here = all.filter(|kept| kept.gone_at.is_none());
            here.map(|kept| (kept.fact.ecosystem, kept.fact.package))
                .collect()
        };
        assert_eq!(
            evidence("releases").await,
            released(truth),
            "{host} {truth:?}"
        );
        assert_eq!(
            evidence("packages").await,
            packaged(host, truth),
            "{host} {truth:?}"
        );
        for source in ["releases", "packages"] {
            let state = world.source(*id, source).await;
            assert!(state.complete, "{host} {source} {state:?}");
        }
    }
}
