//! The walls between rooms: `cargo metadata` compared with the tables in ARCHITECTURE.md.
//!
//! The tables are the law and the document at once, so they cannot drift apart. Checked are direct
//! dependencies only: what a room gets handed by a room it may see is that room's interface.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};

use crate::steps;

mod tables;
#[cfg(test)]
mod tests;
mod workspace;

use tables::Tables;
use workspace::Room;

const DOCUMENT: &str = "ARCHITECTURE.md";

pub(crate) fn check() -> anyhow::Result<()> {
    let path = steps::root().join(DOCUMENT);
    let document = std::fs::read_to_string(path).context(DOCUMENT)?;
    let tables = Tables::parse(&document).context(DOCUMENT)?;
    let metadata = [
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
        "--offline",
    ];
    let rooms = workspace::parse(&steps::stdout(&mut steps::cargo(&metadata))?)?;

    let violations = violations(&tables, &rooms);
    if !violations.is_empty() {
        bail!("{DOCUMENT} does not allow:\n  {}", violations.join("\n  "));
    }
    eprintln!("walls hold between {} rooms", rooms.len());
    Ok(())
}

/// Every dependency that the tables do not allow, and every row that describes no room.
fn violations(tables: &Tables, rooms: &[Room]) -> Vec<String> {
    let names: BTreeSet<&str> = rooms.iter().map(|room| room.name.as_str()).collect();
    let mut found = tables.unknown_rooms(&names);
    for room in rooms {
        let Some(may_see) = tables.rooms.get(&room.name) else {
            found.push(format!("`{}`: it has no row among the rooms", room.name));
            continue;
        };
        for dependency in &room.dependencies {
            let (seen, in_tests) = (dependency.name.as_str(), dependency.in_tests);
            // A room's tests see the room itself, with its `testing` feature on.
            let inside = names.contains(seen);
            if inside && seen != room.name && !may_see.allows(seen, in_tests) {
                found.push(format!("`{}` sees `{seen}`{}", room.name, among(in_tests)));
            }
            if inside && dependency.testing && !in_tests {
                found.push(format!("`{}` ships `{seen}` with `testing`", room.name));
            }
            let reserved = tables.reserved.get(seen);
            if reserved.is_some_and(|to| !to.allows(&room.name, in_tests)) {
                found.push(format!("`{}` uses `{seen}`{}", room.name, among(in_tests)));
            }
        }
    }
    found
}

fn among(in_tests: bool) -> &'static str {
    if in_tests { " in its tests" } else { "" }
}
