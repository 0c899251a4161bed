//! A second state of the world, for whoever must notice what becomes of packages.
//!
//! [`Turn::Later`] lets, by name and number alone, some publications be removed, deprecated, released
//! anew or linked elsewhere; new ones come; repositories take releases back, empty their shelf in
//! the forge's own registry, lose a manifest or move it. [`Turn::Back`] undoes all of it: what was
//! there before is there again, and what was new is gone. Deprecations and versions stay.

use jiff::Timestamp;

use super::{
    File, Forge, Repository, World, declared, files,
    publication::{Publication, Registration, Registries},
};
use crate::dice::fingerprint;

/// Which way the world goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// From the first state to the second.
    Later,
    /// From the second state to the first.
    Back,
}

/// Whom a package names as its source that has left its repository.
const ELSEWHERE: &str = "https://github.com/moved-out/";

impl World {
    /// Lets the other state come about.
    pub fn turn(&self, turn: Turn) {
        let now = self.clock.now();
        let mut state = self.state();
        let super::State {
            forges, registries, ..
        } = &mut *state;
        for publication in registries.all().cloned().collect::<Vec<_>>() {
            let link = original_link(forges, &publication);
            turn_publication(registries, &publication, link, turn, now);
        }
        for (host, forge) in forges {
            let public: Vec<Repository> = forge
                .repositories()
                .filter(|found| found.is_public() && !found.empty)
                .cloned()
                .collect();
            for repository in public {
                turn_repository(registries, host, forge, &repository, turn, now);
            }
        }
    }
}

/// Where a publication said to come from when the world began.
fn original_link(
    forges: &std::collections::BTreeMap<String, Forge>,
    publication: &Publication,
) -> Option<String> {
    let (host, id) = publication.owner.as_ref()?;
    let repository = forges.get(host)?.by_id(*id)?;
    Some(format!("https://{host}/{}", repository.path()))
}

fn turn_publication(
    registries: &mut Registries,
    one: &Publication,
    original: Option<String>,
    turn: Turn,
    now: Timestamp,
) {
    let (ecosystem, package) = (one.ecosystem.clone(), one.package.clone());
    let lot = fingerprint(format!("later {ecosystem}/{package}").as_bytes()) % 12;
    let change = match (lot, turn) {
        // What only came with the second state goes with it.
        _ if is_newcomer(&package) => return,
        (0 | 1, Turn::Later) => Registration::Remove { ecosystem, package },
        (0 | 1, Turn::Back) => Registration::Restore { ecosystem, package },
        (2, Turn::Later) => Registration::Deprecate { ecosystem, package },
        (3, Turn::Later) if original.is_some() && one.link == original => Registration::Link {
            link: Some(format!("{ELSEWHERE}{package}")),
            ecosystem,
            package,
        },
        (3, Turn::Back)
            if one
                .link
                .as_ref()
                .is_some_and(|link| link.starts_with(ELSEWHERE)) =>
        {
            Registration::Link {
                ecosystem,
                package,
                link: original,
            }
        }
        (4, Turn::Later) => Registration::Release {
            ecosystem,
            package,
            versions: 2,
        },
        _ => return,
    };
    // It is there: it was listed a moment ago.
    let _ = registries.apply(&change, now);
}

fn is_newcomer(package: &str) -> bool {
    package.ends_with(NEWCOMER)
}

/// The end of the names of what is published later.
const NEWCOMER: &str = "-later";

fn turn_repository(
    registries: &mut Registries,
    host: &str,
    forge: &mut Forge,
    repository: &Repository,
    turn: Turn,
    now: Timestamp,
) {
    let id = repository.id;
    let lot = fingerprint(format!("later {host} {id}").as_bytes()) % 12;
    let later = turn == Turn::Later;
    match lot {
        0 | 1 => {
            let (ecosystem, package) =
                ("npm".into(), format!("{}{NEWCOMER}", repository.first_name));
            let link = Some(format!("https://{host}/{}", repository.path()));
            let change = match (later, registries.get("npm", &package)) {
                (true, None) => Registration::Publish {
                    ecosystem,
                    package,
                    link,
                    versions: 1,
                },
                (true, Some(_)) => Registration::Restore { ecosystem, package },
                (false, _) => Registration::Remove { ecosystem, package },
            };
            let _ = registries.apply(&change, now);
        }
        2..=4 => forge.edit(id, |found| found.retracted = later),
        5..=7 => forge.edit(id, |found| found.unpackaged = later),
        8 | 9 if later => {
            let changed = files_later(repository, lot == 9);
            let _ = forge.plant(&id.to_string(), changed, now);
        }
        8 | 9 => forge.unplant(id, now),
        _ => {}
    }
}

/// The files without the first manifest, or with it in another place.
fn files_later(repository: &Repository, moves: bool) -> Vec<File> {
    let mut all = files(repository);
    let Some(first) = declared(repository).into_iter().next() else {
        return all;
    };
    let text = first.package.rsplit(':').next().unwrap_or_default();
    let at = all.iter().position(|file| {
        let above = file.path.rsplit_once('/').map_or("", |(above, _)| above);
        above == first.directory
            && String::from_utf8_lossy(&file.contents).contains(text)
            && file.path != "README.md"
    });
    let Some(at) = at else { return all };
    let mut manifest = all.remove(at);
    if moves {
        manifest.path = format!("moved/{}", manifest.path);
        all.push(manifest);
    }
    all
}
