//! More tags than a statement has parameters, and more retractions than a transaction may write.

use std::fmt::Write as _;

use db::testing::both;
use store::goindex;

use crate::{
    made::git,
    world::{PARTS, World},
};

/// A statement of PostgreSQL takes 65,535 parameters, which four columns of so many rows exceed.
const TAGS: usize = 16_500;

/// Gives the repository on the server tags, without a file and a push for each.
fn tag_in_bulk(world: &World, name: &str) {
    let bare = world.bare(name);
    git(&bare, &["pack-refs", "--all"]);
    let packed = bare.join("packed-refs");
    let known = std::fs::read_to_string(&packed).unwrap();
    let mut lines: Vec<(String, String)> = known
        .lines()
        .filter(|line| !line.starts_with(['#', '^']))
        .filter_map(|line| line.split_once(' '))
        .map(|(id, name)| (name.to_owned(), id.to_owned()))
        .collect();
    let head = lines[0].1.clone();
    lines.extend((0..TAGS).map(|n| (format!("refs/tags/v0.{n}.0"), head.clone())));
    lines.sort();
    let mut text = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
    for (name, id) in lines {
        let _ = writeln!(text, "{id} {name}");
    }
    std::fs::write(packed, text).unwrap();
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn a_repository_has_more_tags_than_a_statement_has_parameters(db: TestDb) {
        let mut world = World::new(&db).await;
        world.add("huge").await;
        world.commit("huge", &[("go.mod", "module example.com/huge\n")], &[]);
        tag_in_bulk(&world, "huge");
        world.look().await;
        let status = goindex::status(&db).await.unwrap();
        let count = i64::try_from(TAGS).unwrap();
        assert_eq!((status.versions, status.last_seq, status.waiting), (count, count, 0));
        assert_eq!(status.complete, 1);

        // All of them are taken back by one line.
        let text = "module example.com/huge\n\nretract [v0.0.0, v0.99999.0] // never again\n";
        let source = world.source_path("huge");
        std::fs::write(source.join("go.mod"), text).unwrap();
        git(source, &["commit", "-q", "-a", "-m", "Take all back"]);
        let bare = world.bare("huge");
        git(source, &["push", "-q", bare.to_str().unwrap(), "HEAD:refs/tags/v1.0.0"]);
        world.look().await;
        let versions = goindex::versions(&db, "example.com/huge", TAGS + 10).await.unwrap();
        let retracted = versions.iter().filter(|version| version.retracted).count();
        assert_eq!((versions.len(), retracted), (TAGS + 1, TAGS));
        assert_eq!(versions[7].retraction.as_deref(), Some("never again"));

        world.requests();
        world.look().await;
        assert_eq!(world.requests(), (1, 1, 0), "unchanged");
    }
}
