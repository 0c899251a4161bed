//! Random histories: what is built step by step equals, byte for byte, what is built at once, and
//! readers never notice that anything is going on.
//!
//! A history is drawn from a seed: files are added, removed, yanked, returned and read anew; dumps
//! and re-dumps are made, also while an update runs; processes die after any of their writes to
//! the object store; old generations are collected. `GLEANER_HISTORY=SEED` replays one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use db::{Clock, testing::TestDb};
use futures_util::StreamExt as _;
use store::{
    datasets::{self, Library, Updated},
    dumps::{self, DumpRow},
    objects::Objects,
};

use super::world::{World, file};

/// What the gate runs.
const HISTORIES: u64 = 50;
const STEPS: usize = 16;

/// A small generator, so that a history is the same wherever it is replayed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % sides
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn step_by_step_equals_at_once_and_readers_never_notice() {
    let one = std::env::var("GLEANER_HISTORY").ok();
    let long = std::env::var_os("GLEANER_LONG").is_some();
    let seeds = match one {
        Some(seed) => vec![seed.parse().unwrap()],
        None => (1..=if long { 1_000 } else { HISTORIES }).collect(),
    };
    let (mut generations, mut incremental, mut deaths, mut answers) = (0, 0, 0, 0);
    // Some at once: they wait for the disk more than they compute.
    let mut histories = futures_util::stream::iter(seeds)
        .map(history)
        .buffer_unordered(4);
    while let Some(told) = histories.next().await {
        generations += told.generations;
        incremental += told.incremental;
        deaths += told.deaths;
        answers += told.answers;
    }
    println!(
        "{generations} generations, {incremental} of them incremental, {deaths} processes died, \
         readers asked {answers} times"
    );
    assert!(generations > 0 && answers > 0);
}

#[derive(Debug, Default)]
struct Told {
    generations: u64,
    incremental: u64,
    deaths: u64,
    answers: u64,
}

async fn history(seed: u64) -> Told {
    let test = TestDb::memory(&[store::PART]).await;
    let mut world = World::new(&test);
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut told = Told::default();
    mark(&mut world, 0).await;
    world.full_dump(&world.objects, 2).await.unwrap();

    let ended = Arc::new(AtomicBool::new(false));
    let answers = Arc::new(AtomicU64::new(0));
    let readers: Vec<_> = (0..2)
        .map(|number| {
            let cache = world.place.path().join(format!("cache{number}"));
            let library = Library::new(world.objects.clone(), cache).patience(Duration::ZERO);
            tokio::spawn(read(library, ended.clone(), answers.clone()))
        })
        .collect();
    for step in 1..=STEPS {
        for _ in 0..=dice.roll(4) {
            change(&mut world, &mut dice).await;
        }
        mark(&mut world, step).await;
        act(&mut world, &mut dice, &mut told).await;
    }
    // At the end everybody lives, and everything that there is must be known.
    world.incremental(&world.objects).await.unwrap();
    update(&world, &world.objects, &mut told).await.unwrap();
    compare(&world, seed).await;
    rebuild(&world, seed).await;
    ended.store(true, Ordering::Relaxed);
    for reader in readers {
        reader
            .await
            .unwrap_or_else(|error| panic!("history {seed}: {error}"));
    }
    told.answers = answers.load(Ordering::Relaxed);
    told
}

/// One file changes, in one of the ways that files do.
async fn change(world: &mut World, dice: &mut Dice) {
    let project = format!("p{}", dice.roll(6));
    let version = format!("1.{}", dice.roll(4));
    let modules: Vec<String> = (0..dice.roll(4))
        .map(|_| format!("m{}", dice.roll(8)))
        .collect();
    let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
    let requires = [
        format!("p{}>=1", dice.roll(6)),
        format!("P_{} ; extra == 'x'", dice.roll(6)),
    ];
    let requires = &requires[..dice.roll(3) as usize];
    let requires: Vec<&str> = requires.iter().map(String::as_str).collect();
    let fresh = file(&project, &version, &modules, &requires);
    let known = world
        .model
        .get(&(fresh.project.clone(), fresh.filename.clone()));
    let known = known.cloned().unwrap_or_else(|| fresh.clone());
    world
        .set(match dice.roll(8) {
            0 => DumpRow {
                removed: true,
                ..known
            },
            1 => DumpRow {
                yanked: Some("bad".to_owned()),
                ..known
            },
            2 => DumpRow {
                yanked: None,
                removed: false,
                quarantined: false,
                ..known
            },
            3 => DumpRow {
                quarantined: true,
                ..known
            },
            4 => DumpRow {
                extractor: Some(2),
                ..fresh
            },
            _ => fresh,
        })
        .await;
}

/// All three datasets tell the same number, so that a reader can see whether they belong together.
async fn mark(world: &mut World, step: usize) {
    let version = step.to_string();
    let row = file("mark", &version, &["mark"], &["marked"]);
    let filename = "mark.whl".to_owned();
    world.set(DumpRow { filename, ..row }).await;
}

async fn act(world: &mut World, dice: &mut Dice, told: &mut Told) {
    let dying = match dice.roll(2) {
        0 => world.objects.clone(),
        _ => world.objects.dying_after(dice.roll(14) as i64),
    };
    let died = match dice.roll(7) {
        0 => world
            .full_dump(&dying, 1 + dice.roll(4) as u32)
            .await
            .is_err(),
        1 | 2 => world.incremental(&dying).await.is_err(),
        3 => update(world, &dying, told).await.is_err(),
        4 => {
            let dumped = world.incremental(&dying).await.is_err();
            dumped || update(world, &dying, told).await.is_err()
        }
        5 => {
            // A re-dump while an update runs, and then the next dump of an engine that knows of
            // neither.
            let shards = 1 + dice.roll(3) as u32;
            let objects = world.objects.clone();
            let (dumped, updated) = tokio::join!(
                world.full_dump(&dying, shards),
                update(world, &objects, told)
            );
            updated.unwrap();
            dumped.is_err()
        }
        _ => {
            let later = Clock::system().now().plus(Duration::from_hours(3));
            datasets::collect(&dying, 1, later, true).await.is_err()
        }
    };
    told.deaths += u64::from(died);
}

async fn update(
    world: &World,
    objects: &Objects,
    told: &mut Told,
) -> Result<(), datasets::DatasetError> {
    let updated = datasets::update(objects, &world.shop()).await?;
    if let Updated::Published { incremental, .. } = updated {
        told.generations += 1;
        told.incremental += u64::from(incremental);
    }
    Ok(())
}

/// The newest generation is what the model says, built at once from its rows.
async fn compare(world: &World, seed: u64) {
    let newest = datasets::newest(&world.objects).await.unwrap().unwrap();
    let end = store::pypi::last_seq(&world.db).await.unwrap();
    assert_eq!(newest.up_to(), end, "history {seed}");
    let files = newest.files.iter();
    let found = files.map(|(name, file)| (name.clone(), file.sha256.clone()));
    assert_eq!(world.expected(), found.collect(), "history {seed}");
    // Ranges from 0 without gap or overlap, and the list of inputs beside it.
    let ranges: Vec<_> = newest.inputs.iter().map(|input| input.range).collect();
    assert_eq!(ranges, dumps::chain(&ranges), "history {seed}");
    let list = format!("datasets/input_lists/{:05}", newest.generation);
    let list = world.objects.get(&list, 1 << 20).await.unwrap().unwrap();
    assert_eq!(
        String::from_utf8(list).unwrap(),
        newest.input_list(&world.objects)
    );
}

/// So is one that is built anew from all dumps, and one that is built from a re-dump.
async fn rebuild(world: &World, seed: u64) {
    for redump in [false, true] {
        if redump {
            world.full_dump(&world.objects, 3).await.unwrap();
        }
        let mut shop = world.shop();
        shop.anew = true;
        let updated = datasets::update(&world.objects, &shop).await.unwrap();
        assert!(
            matches!(
                updated,
                Updated::Published {
                    incremental: false,
                    ..
                }
            ),
            "history {seed}"
        );
        compare(world, seed).await;
    }
}

async fn read(library: Library, ended: Arc<AtomicBool>, answers: Arc<AtomicU64>) {
    let mut newest = 0;
    // Often enough to meet every generation; without a pause readers would leave builders no time.
    let mut pace = tokio::time::interval(Duration::from_millis(20));
    pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let is_last = ended.load(Ordering::Relaxed);
        if let Some(generation) = library.current().await.unwrap() {
            assert!(generation.number() >= newest, "it went back");
            newest = generation.number();
            let files = generation.files("mark", None).unwrap();
            let [file] = files.as_slice() else {
                panic!("{files:?}");
            };
            let version = std::slice::from_ref(&file.record.version);
            let modules = generation.module("mark", 9).unwrap();
            assert_eq!(modules[0].versions, version, "generation {newest}");
            let dependents = generation.dependents("marked", None, 9).unwrap();
            assert_eq!(dependents[0].versions, version, "generation {newest}");
            answers.fetch_add(1, Ordering::Relaxed);
        }
        if is_last {
            return;
        }
        pace.tick().await;
    }
}
