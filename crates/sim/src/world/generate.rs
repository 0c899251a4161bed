//! A forge's first inhabitants, by seed.
//!
//! Repository number i is the same in a small world and in a large one.

use jiff::{SignedDuration, Timestamp};

use super::{Forge, ForgeKind, OwnerKind, Presence, Repository, WorldSize};
use crate::dice::{Dice, fingerprint};

/// The organisation that every forge has, of the size the configuration says.
/// All of its repositories are there and public to begin with, so that a whole
/// listing has exactly that many.
pub const ORGANISATION: &str = "meadow";

/// 2026-01-01: what is generated lies before, so clocks start from here on.
pub const EPOCH: Timestamp = Timestamp::constant(1_767_225_600, 0);

const FIRST: [&str; 16] = [
    "alder", "bracken", "clover", "dock", "elder", "furze", "gorse", "hazel", "ivy", "juncus",
    "knapweed", "linden", "madder", "nettle", "oxlip", "poplar",
];
const SECOND: [&str; 12] = [
    "parser", "queue", "client", "router", "cache", "schema", "toolkit", "logger", "index",
    "bridge", "codec", "shell",
];
const LANGUAGES: [&str; 8] = [
    "Rust",
    "Go",
    "Python",
    "JavaScript",
    "TypeScript",
    "Java",
    "C",
    "Ruby",
];
/// Repositories of one ordinary owner.
const PER_OWNER: usize = 8;

pub(super) fn forge(seed: u64, host: &str, kind: ForgeKind, size: WorldSize) -> Forge {
    let seed = seed ^ fingerprint(host.as_bytes());
    let mut forge = Forge::new(kind);
    for index in 0..size.repositories {
        inhabitant(&mut forge, &mut dice(seed, index as u64), index);
    }
    settle_organisation(&mut forge, kind);
    for index in 0..size.organisation {
        let mut dice = dice(seed, (1 << 40) + index as u64);
        member(&mut forge, &mut dice, index);
    }
    forge
}

/// A repository made while the world runs.
pub(super) fn newborn(id: u64, owner: String, name: String, now: Timestamp) -> Repository {
    Repository {
        id,
        owner,
        description: format!("{name}, just planted"),
        first_name: name.clone(),
        name,
        language: Some("Rust"),
        default_branch: "main".to_owned(),
        archived: false,
        private: false,
        empty: false,
        presence: Presence::Here,
        retracted: false,
        unpackaged: false,
        fork_of: None,
        stars: 0,
        created_at: now,
        pushed_at: now,
        updated_at: now,
    }
}

fn dice(seed: u64, index: u64) -> Dice {
    Dice(seed ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn inhabitant(forge: &mut Forge, dice: &mut Dice, index: usize) {
    let number = index / PER_OWNER;
    let kind = if number.is_multiple_of(2) {
        OwnerKind::Organisation
    } else {
        OwnerKind::User
    };
    let top = format!("{}-{number}", FIRST[number % FIRST.len()]);
    forge.settle(&top, kind, 1_000 + number as u64 * 2);
    let nested = forge.kind == ForgeKind::Nested && kind == OwnerKind::Organisation;
    let owner = if nested && index % PER_OWNER >= PER_OWNER / 2 {
        let group = format!("{top}/tools");
        forge.settle(&group, kind, 1_001 + number as u64 * 2);
        group
    } else {
        top
    };

    let mut repository = grown(dice, 10_000 + index as u64 * 7, owner, index);
    match dice.below(100) {
        0..=3 => repository.private = true,
        4..=5 => repository.presence = Presence::Deleted,
        6 => repository.presence = Presence::Blocked,
        7..=10 if repository.presence == Presence::Here => {
            let former = format!("{}/old-{}", repository.owner, repository.name);
            forge.remember(&former, repository.id);
        }
        _ => {}
    }
    if dice.below(12) == 0 {
        let parent = forge.repositories().rfind(|found| found.is_public());
        repository.fork_of = parent.map(|found| found.id);
    }
    forge.insert(repository);
}

fn settle_organisation(forge: &mut Forge, kind: ForgeKind) {
    forge.settle(ORGANISATION, OwnerKind::Organisation, 901);
    if kind == ForgeKind::Nested {
        forge.settle("meadow/tools", OwnerKind::Organisation, 902);
        forge.settle("meadow/tools/hand", OwnerKind::Organisation, 903);
    }
}

fn member(forge: &mut Forge, dice: &mut Dice, index: usize) {
    let owner = match (forge.kind, index % 8) {
        (ForgeKind::Nested, 0 | 1) => "meadow/tools",
        (ForgeKind::Nested, 2) => "meadow/tools/hand",
        _ => ORGANISATION,
    };
    let repository = grown(
        dice,
        100_000_000 + index as u64 * 7,
        owner.to_owned(),
        index,
    );
    forge.insert(repository);
}

/// A repository that is there, with a past.
fn grown(dice: &mut Dice, first_id: u64, owner: String, index: usize) -> Repository {
    let id = first_id + dice.below(7);
    let name = format!("{}-{}-{index}", dice.pick(&FIRST), dice.pick(&SECOND));
    let created_at = ago(365 * 24 * 3600 + dice.below(12 * 365 * 24 * 3600));
    let pushed_at = between(created_at, EPOCH, dice);
    let empty = dice.below(50) == 0;
    let pushed_at = if empty { created_at } else { pushed_at };
    Repository {
        id,
        owner,
        description: format!("A {} of the meadow", dice.pick(&SECOND)),
        first_name: name.clone(),
        name,
        language: (!empty).then(|| dice.pick(&LANGUAGES)),
        default_branch: ["main", "main", "main", "master", "trunk"][dice.below(5) as usize]
            .to_owned(),
        archived: !empty && dice.below(10) == 0,
        private: false,
        empty,
        presence: Presence::Here,
        retracted: false,
        unpackaged: false,
        fork_of: None,
        stars: dice.below(40) * dice.below(40),
        created_at,
        pushed_at,
        updated_at: between(pushed_at, EPOCH, dice),
    }
}

fn ago(seconds: u64) -> Timestamp {
    EPOCH - SignedDuration::from_secs(seconds as i64)
}

fn between(from: Timestamp, to: Timestamp, dice: &mut Dice) -> Timestamp {
    let span = (to.as_second() - from.as_second()).max(1) as u64;
    from + SignedDuration::from_secs(dice.below(span) as i64)
}
