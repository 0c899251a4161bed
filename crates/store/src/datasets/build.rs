//! Builds the datasets of a generation from those before it and new rows.
//!
//! There is one way to build, whether everything is new or little: rows are sorted by file, the
//! last row about a file wins, and the sorted rows are merged into what was there (nothing, for a
//! full build). A project that no row is about is copied without being unpacked. For every other
//! project all its files are at hand, those before and those after, so what it added to `modules`
//! and `dependents` before and adds now is known whole; where the two differ, the new value (or
//! nothing) is merged in. So a value depends on the files alone and not on how they came about, and
//! files are written from sorted keys by a writer that knows nothing else: building step by step
//! and building anew give the same bytes.

use std::{collections::BTreeMap, path::Path};

use super::{
    DatasetError, Datasets, Entries, Written,
    external_sort::{Item, Sorted, Sorter},
    reader::Entry,
    record::{Added, FileRecord, Versions, can_be_key, first, from_value, key, second, to_value},
    writer::Writer,
};
use crate::dumps::DumpRow;

/// The memory that sorting may take, in bytes, unless told otherwise.
pub const MEMORY: usize = 64 << 20;

/// Takes rows in any order.
#[derive(Debug)]
pub struct Builder {
    rows: Sorter,
    place: std::path::PathBuf,
    memory: usize,
    skipped: u64,
}

/// The files of a generation, not published yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Files of projects.
    pub depgraph: Written,
    /// Import names.
    pub modules: Written,
    /// Who requires whom.
    pub dependents: Written,
    /// Rows whose names cannot be keys.
    pub skipped: u64,
}

impl Built {
    /// The files with their names.
    pub fn files(&self) -> [(&'static str, &Written); 3] {
        [
            ("depgraph", &self.depgraph),
            ("modules", &self.modules),
            ("dependents", &self.dependents),
        ]
    }
}

impl Builder {
    /// Works in `place` with about `memory` bytes.
    pub fn new(place: &Path, memory: usize) -> Self {
        Self {
            rows: Sorter::new(place, memory),
            place: place.to_owned(),
            memory,
            skipped: 0,
        }
    }

    /// Adds a row.
    pub fn push(&mut self, row: DumpRow) -> Result<(), DatasetError> {
        if !can_be_key(&row.project) || !can_be_key(&row.filename) {
            self.skipped += 1;
            return Ok(());
        }
        let key = key(&row.project, &row.filename);
        let number = row.seq;
        // A file that is gone is a key without a value.
        let value = if row.is_there() {
            to_value(&FileRecord::from(row))?
        } else {
            Vec::new()
        };
        self.rows.push(Item { key, number, value })
    }

    /// Merges the rows into what was there before.
    pub fn finish(self, before: Option<&Datasets>) -> Result<Built, DatasetError> {
        let Self {
            rows,
            place,
            memory,
            skipped,
        } = self;
        let mut modules = Sorter::new(&place, memory);
        let mut dependents = Sorter::new(&place, memory);
        let depgraph = merge_projects(
            before.map(|before| before.depgraph.entries()),
            rows.finish()?,
            Writer::create(&place.join("depgraph"))?,
            &mut |project, before, after| {
                differ(project, &before.modules, &after.modules, &mut modules)?;
                differ(project, &before.requires, &after.requires, &mut dependents)
            },
        )?;
        let modules = merge(
            before.map(|before| before.modules.entries()),
            modules.finish()?,
            Writer::create(&place.join("modules"))?,
        )?;
        let dependents = merge(
            before.map(|before| before.dependents.entries()),
            dependents.finish()?,
            Writer::create(&place.join("dependents"))?,
        )?;
        Ok(Built {
            depgraph,
            modules,
            dependents,
            skipped,
        })
    }
}

/// Hands on what a project adds to another dataset, where it is not what it was.
fn differ(
    project: &str,
    before: &BTreeMap<String, Versions>,
    after: &BTreeMap<String, Versions>,
    changes: &mut Sorter,
) -> Result<(), DatasetError> {
    for (name, versions) in after {
        if before.get(name) != Some(versions) {
            let item = Item {
                key: key(name, project),
                number: 0,
                value: to_value(versions)?,
            };
            changes.push(item)?;
        }
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        let item = Item {
            key: key(name, project),
            number: 0,
            value: Vec::new(),
        };
        changes.push(item)?;
    }
    Ok(())
}

/// Merges changed values into old ones; a change without a value takes its key out.
fn merge(
    before: Option<Entries<'_>>,
    changes: Sorted,
    mut out: Writer,
) -> Result<Written, DatasetError> {
    let mut before = Before::new(before)?;
    let mut changes = Changes::new(changes)?;
    while let Some(change) = changes.take()? {
        while let Some((key, value)) = before.take_if(|key| key < &change.key)? {
            out.push(&key, &value)?;
        }
        before.take_if(|key| *key == change.key)?;
        if !change.value.is_empty() {
            out.push(&change.key, &change.value)?;
        }
    }
    while let Some((key, value)) = before.take_if(|_| true)? {
        out.push(&key, &value)?;
    }
    out.finish()
}

type Told<'t> = &'t mut dyn FnMut(&str, &Added, &Added) -> Result<(), DatasetError>;

/// The same for files of projects, with word of every project that has a change.
fn merge_projects(
    before: Option<Entries<'_>>,
    changes: Sorted,
    mut out: Writer,
    tell: Told<'_>,
) -> Result<Written, DatasetError> {
    let mut before = Before::new(before)?;
    let mut changes = Changes::new(changes)?;
    while let Some(change) = changes.take()? {
        let project = first(&change.key).to_owned();
        while let Some((key, value)) = before.take_if(|key| first(key) < project.as_slice())? {
            out.push(&key, &value)?;
        }
        let mut old = Vec::new();
        while let Some(entry) = before.take_if(|key| first(key) == project)? {
            old.push(entry);
        }
        let mut new: Vec<Item> = vec![change];
        while let Some(next) = changes.take_if(|key| first(key) == project)? {
            new.push(next);
        }
        let name = String::from_utf8_lossy(&project).into_owned();
        let was = records(old.iter().map(|(_, value)| value.as_slice()))?;
        let was = Added::by(was.iter());
        let files = overlay(old, new);
        let is = records(files.iter().map(|(_, value)| value.as_slice()))?;
        let is = Added::by(is.iter());
        for (key, value) in &files {
            // Whatever is written must be found again.
            second(key)?;
            out.push(key, value)?;
        }
        tell(&name, &was, &is)?;
    }
    while let Some((key, value)) = before.take_if(|_| true)? {
        out.push(&key, &value)?;
    }
    out.finish()
}

fn records<'v>(values: impl Iterator<Item = &'v [u8]>) -> Result<Vec<FileRecord>, DatasetError> {
    values.map(from_value).collect()
}

/// The files of a project after its changes, in order.
fn overlay(old: Vec<Entry>, new: Vec<Item>) -> Vec<Entry> {
    let mut files: BTreeMap<Vec<u8>, Vec<u8>> = old.into_iter().collect();
    for Item { key, value, .. } in new {
        if value.is_empty() {
            files.remove(&key);
        } else {
            files.insert(key, value);
        }
    }
    files.into_iter().collect()
}

/// Entries of a file, with a look at the next.
struct Before<'d> {
    entries: Option<Entries<'d>>,
    next: Option<Entry>,
}

impl<'d> Before<'d> {
    fn new(mut entries: Option<Entries<'d>>) -> Result<Self, DatasetError> {
        let next = match &mut entries {
            Some(entries) => entries.next()?,
            None => None,
        };
        Ok(Self { entries, next })
    }

    fn take_if(
        &mut self,
        wanted: impl Fn(&Vec<u8>) -> bool,
    ) -> Result<Option<Entry>, DatasetError> {
        if !self.next.as_ref().is_some_and(|(key, _)| wanted(key)) {
            return Ok(None);
        }
        let next = match &mut self.entries {
            Some(entries) => entries.next()?,
            None => None,
        };
        Ok(std::mem::replace(&mut self.next, next))
    }
}

/// Changes in order, with a look at the next.
struct Changes {
    items: Sorted,
    next: Option<Item>,
}

impl Changes {
    fn new(mut items: Sorted) -> Result<Self, DatasetError> {
        let next = items.next()?;
        Ok(Self { items, next })
    }

    fn take(&mut self) -> Result<Option<Item>, DatasetError> {
        self.take_if(|_| true)
    }

    fn take_if(&mut self, wanted: impl Fn(&[u8]) -> bool) -> Result<Option<Item>, DatasetError> {
        if !self.next.as_ref().is_some_and(|item| wanted(&item.key)) {
            return Ok(None);
        }
        let next = self.items.next()?;
        Ok(std::mem::replace(&mut self.next, next))
    }
}
