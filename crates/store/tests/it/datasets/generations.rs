//! Generations: published once, read whole, collected when nobody reads them.

use std::time::Duration;

use db::{Clock, Part, testing::both};
use store::{
    datasets::{self, Generation, Library, Manifest, Updated},
    dumps::{self, Range},
    objects::Objects,
    pypi,
};

use super::world::{World, file};

const PARTS: &[Part] = &[store::PART];

async fn published(world: &World) -> Manifest {
    match datasets::update(&world.objects, &world.shop())
        .await
        .unwrap()
    {
        Updated::Published { manifest, .. } => manifest,
        other => panic!("{other:?}"),
    }
}

fn library(world: &World) -> Library {
    let cache = world.place.path().join("cache");
    Library::new(world.objects.clone(), cache).patience(Duration::ZERO)
}

both! {
    const PARTS: &[Part] = PARTS;

    async fn what_is_dumped_can_be_looked_up(test: TestDb) {
        let mut world = World::new(&test);
        world.set(file("flask", "2.10", &["flask", "flask.cli"], &["Click>=8", "zope.interface"])).await;
        world.set(file("flask", "2.9", &["flask"], &[])).await;
        world.set(file("other-flask", "1.0", &["flask"], &["flask[x]; extra == 'y'"])).await;
        let dump = world.full_dump(&world.objects, 3).await.unwrap();
        assert_eq!((dump.range, dump.rows, dump.shards.len()), (Range { from: 0, to: 3 }, 3, 3));
        assert_eq!((dump.serials, dump.extractors), (Some((7, 7)), Some((1, 1))));
        let manifest = published(&world).await;
        assert_eq!((manifest.generation, manifest.up_to()), (1, 3));
        let library = library(&world);
        let generation = library.current().await.unwrap().unwrap();

        let found = generation.module("flask", 10).unwrap();
        let found: Vec<_> = found.iter().map(|one| (one.project.as_str(), one.versions.join(" "))).collect();
        assert_eq!(found, [("flask", "2.9 2.10".to_owned()), ("other-flask", "1.0".to_owned())]);
        assert!(generation.module("flas", 10).unwrap().is_empty());
        assert_eq!(generation.modules_like("flas", 9), ["flask", "flask.cli"]);
        assert_eq!(generation.similar_modules("flsak", 9).unwrap(), ["flask"]);

        let files = generation.files("Flask", None).unwrap();
        let versions: Vec<_> = files.iter().map(|file| file.record.version.as_str()).collect();
        assert_eq!(versions, ["2.9", "2.10"]);
        let files = generation.files("flask", Some("2.10.0")).unwrap();
        assert_eq!(files[0].record.requires_dist, ["Click>=8", "zope.interface"]);
        let dependents = generation.dependents("zope_interface", None, 10).unwrap();
        assert_eq!((dependents.len(), dependents[0].project.as_str()), (1, "flask"));
        assert_eq!(generation.dependents("flask", None, 10).unwrap()[0].project, "other-flask");

        let list = world.objects.get("datasets/input_lists/00001", 10_000).await.unwrap();
        let list = String::from_utf8(list.unwrap()).unwrap();
        assert_eq!(list.lines().count(), 3);
        let name = "/data_dumps/python_distribution_data/0-3/python_distribution_data0000.json.gz";
        assert!(list.lines().next().unwrap().ends_with(name), "{list}");

        // Yanks, removals and new contents are in the next one.
        let flask = file("flask", "2.9", &["flask"], &[]);
        world.set(store::dumps::DumpRow { yanked: Some(String::new()), ..flask }).await;
        let other = file("other-flask", "1.0", &["flask"], &[]);
        world.set(store::dumps::DumpRow { removed: true, ..other }).await;
        let dump = world.incremental(&world.objects).await.unwrap().unwrap();
        assert_eq!((dump.range, dump.rows, dump.shards.len()), (Range { from: 3, to: 5 }, 2, 1));
        assert_eq!(world.incremental(&world.objects).await.unwrap(), None);
        let manifest = published(&world).await;
        assert_eq!((manifest.generation, manifest.inputs.len()), (2, 2));
        // Who holds a generation keeps it; who asks anew gets the new one.
        assert_eq!(generation.module("flask", 10).unwrap().len(), 2);
        let generation = library.current().await.unwrap().unwrap();
        let found = generation.module("flask", 10).unwrap();
        assert_eq!((found.len(), found[0].versions.as_slice(), found[0].yanked.as_slice()),
            (1, ["2.10".to_owned()].as_slice(), ["2.9".to_owned()].as_slice()));
        assert!(generation.dependents("flask", None, 10).unwrap().is_empty());
        assert!(!generation.has_project("other-flask").unwrap());

        let again = datasets::update(&world.objects, &world.shop()).await.unwrap();
        assert!(matches!(again, Updated::Current(_)), "{again:?}");
    }

    async fn what_changes_during_a_full_dump_is_not_missing(test: TestDb) {
        let mut world = World::new(&test);
        for number in 0..20 {
            world.set(file(&format!("p{number}"), "1", &["m"], &[])).await;
        }
        let range = Range { from: 0, to: pypi::last_seq(&world.db).await.unwrap() };
        let scratch = world.place.path().join("scratch");
        let first = dumps::shard(&world.db, &world.objects, range, 0, 2, &scratch).await.unwrap();
        assert_eq!(first.rows, 10);
        // One of the first shard, which has been written, and one of the second.
        world.set(file("p3", "1", &["changed"], &[])).await;
        world.set(file("p15", "1", &["changed"], &[])).await;
        world.finish_full_dump(&world.objects, range, 2).await.unwrap();
        // The moment it counts, what follows counts as well.
        let chain = dumps::chain(&dumps::ranges(&world.objects).await.unwrap());
        assert_eq!(chain, [range, Range { from: 20, to: 22 }]);
        let manifest = published(&world).await;
        let found = manifest.files.iter().map(|(name, file)| (name.clone(), file.sha256.clone()));
        assert_eq!(world.expected(), found.collect());
    }
}

#[tokio::test]
async fn what_is_pinned_is_not_collected() {
    let test = db::testing::TestDb::sqlite(PARTS).await;
    let mut world = World::new(&test);
    world.set(file("a", "1", &["a"], &[])).await;
    world.full_dump(&world.objects, 1).await.unwrap();
    published(&world).await;
    let library = library(&world);
    let first = library.current().await.unwrap().unwrap();
    for version in ["2", "3", "4"] {
        world.set(file("a", version, &["a"], &[])).await;
        world.incremental(&world.objects).await.unwrap().unwrap();
        published(&world).await;
    }
    let later = Clock::system().now().plus(Duration::from_hours(3));
    let would = datasets::collect(&world.objects, 1, later, false)
        .await
        .unwrap();
    assert_eq!(would.generations, [2, 3]);
    let did = datasets::collect(&world.objects, 1, later, true)
        .await
        .unwrap();
    assert_eq!(would, did);
    assert_eq!(datasets::generations(&world.objects).await.unwrap(), [1, 4]);
    assert!(did.files > 0);
    // It could even be opened again.
    let cache = world.place.path().join("cache");
    let again = Generation::open(&world.objects, first.manifest.clone(), &cache)
        .await
        .unwrap();
    assert_eq!(again.module("a", 9).unwrap()[0].versions, ["1"]);
    drop((first, again));
    let current = library.current().await.unwrap().unwrap();
    assert_eq!(current.number(), 4);
    // A re-dump makes the older dumps superfluous once no generation needs them.
    world.full_dump(&world.objects, 2).await.unwrap();
    published(&world).await;
    library.current().await.unwrap();
    drop(current);
    let did = datasets::collect(&world.objects, 1, later, true)
        .await
        .unwrap();
    assert_eq!(did.generations, [1, 4]);
    // Each has two files, what is told of them, and the word of its dump; the full one its plan.
    assert_eq!(did.dump_files, 4 * 4 + 1);
    let ranges = dumps::ranges(&world.objects).await.unwrap();
    assert_eq!(ranges, [Range { from: 0, to: 4 }]);
    assert_eq!(
        library
            .current()
            .await
            .unwrap()
            .unwrap()
            .module("a", 9)
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn a_damaged_generation_is_refused_and_the_one_before_serves_on() {
    let test = db::testing::TestDb::sqlite(PARTS).await;
    let mut world = World::new(&test);
    world.set(file("a", "1", &["a"], &[])).await;
    world.full_dump(&world.objects, 1).await.unwrap();
    published(&world).await;
    let library = library(&world);
    assert_eq!(library.current().await.unwrap().unwrap().number(), 1);
    world.set(file("a", "2", &["a"], &[])).await;
    world.incremental(&world.objects).await.unwrap();
    let manifest = published(&world).await;
    let file = world
        .objects
        .local_file(&manifest.files["modules"].name)
        .unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.truncate(bytes.len() - 1);
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(library.current().await.unwrap().unwrap().number(), 1);
    let fresh = self::library(&world)
        .current()
        .await
        .unwrap_err()
        .to_string();
    assert!(fresh.contains("damaged"), "{fresh}");
    // An input that is not what its dump tells is refused as well.
    let dump = world
        .objects
        .local_file("data_dumps/python_distribution_data/1-2/python_distribution_data0000.json.gz");
    std::fs::write(dump.unwrap(), b"x").unwrap();
    let mut shop = world.shop();
    shop.anew = true;
    let error = datasets::update(&world.objects, &shop)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("1-2") && error.contains("SHA-256"),
        "{error}"
    );
}

#[tokio::test]
async fn without_a_full_dump_there_is_nothing_to_go_on_from() {
    let test = db::testing::TestDb::sqlite(PARTS).await;
    let world = World::new(&test);
    let error = world
        .incremental(&world.objects)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("no full dump"), "{error}");
    let error = datasets::update(&world.objects, &world.shop())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("no full dump"), "{error}");
    let empty = Objects::directory(world.place.path().join("empty")).unwrap();
    let library = Library::new(empty, world.place.path());
    assert!(library.current().await.unwrap().is_none());
}
