//! The two tables of ARCHITECTURE.md: which room may see which, and which crates are reserved.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;

/// How the header of each table begins; the document may hold other tables.
const ROOMS: [&str; 2] = ["room", "may see"];
const RESERVED: [&str; 2] = ["crate", "reserved to"];

#[derive(Debug)]
pub(super) struct Tables {
    /// Room to the rooms it may see.
    pub(super) rooms: BTreeMap<String, Allowed>,
    /// Crate from outside to the rooms that may use it.
    pub(super) reserved: BTreeMap<String, Allowed>,
}

/// One row: what is allowed everywhere, and what in tests as well.
#[derive(Debug)]
pub(super) struct Allowed {
    always: BTreeSet<String>,
    in_tests: BTreeSet<String>,
}

impl Tables {
    pub(super) fn parse(document: &str) -> anyhow::Result<Self> {
        Ok(Self {
            rooms: table(document, ROOMS)?,
            reserved: table(document, RESERVED)?,
        })
    }

    /// Complaints about names in the tables that are no room of the workspace (any more).
    pub(super) fn unknown_rooms(&self, names: &BTreeSet<&str>) -> Vec<String> {
        let rows = self.rooms.keys();
        let cells = self.rooms.values().chain(self.reserved.values());
        rows.chain(cells.flat_map(|row| row.always.union(&row.in_tests)))
            .filter(|name| !names.contains(name.as_str()))
            .map(|name| format!("`{name}`: it stands in a table but is no room"))
            .collect()
    }
}

impl Allowed {
    pub(super) fn allows(&self, name: &str, in_tests: bool) -> bool {
        self.always.contains(name) || in_tests && self.in_tests.contains(name)
    }
}

/// The rows of the one table under this header.
fn table(document: &str, header: [&str; 2]) -> anyhow::Result<BTreeMap<String, Allowed>> {
    let kind = header[0];
    let is_header = |cells: &Vec<&str>| cells.starts_with(&header);
    let mut lines = document
        .lines()
        .map(cells)
        .skip_while(|line| !is_header(line));
    // The header itself and the rule below it.
    if lines.by_ref().take(2).count() < 2 {
        bail!("there is no table `| {} | …`", header.join(" | "));
    }
    let mut rows = BTreeMap::new();
    for row in lines.take_while(|cells| !cells.is_empty()) {
        let [name, always, in_tests] = row.as_slice() else {
            bail!("a row of the table `{kind}` has {} cells, not 3", row.len());
        };
        let mut name = names(name);
        let (Some(name), None) = (name.pop_first(), name.pop_first()) else {
            bail!("a row of the table `{kind}` must begin with one name in backticks");
        };
        let allowed = Allowed {
            always: names(always),
            in_tests: names(in_tests),
        };
        if rows.insert(name.clone(), allowed).is_some() {
            bail!("`{name}` has two rows in the table `{kind}`");
        }
    }
    Ok(rows)
}

/// The cells of a table's line; none for any other line.
fn cells(line: &str) -> Vec<&str> {
    let inner = line.trim().strip_prefix('|');
    inner
        .and_then(|inner| inner.strip_suffix('|'))
        .map(|inner| inner.split('|').map(str::trim).collect())
        .unwrap_or_default()
}

/// The words in backticks; all else is prose.
fn names(cell: &str) -> BTreeSet<String> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.map(str::to_owned).collect()
}
