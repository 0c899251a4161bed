//! What the index holds, what happened to it, and what of that is already visible.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::{Contents, Offers};
use crate::dice::Dice;

/// All of an index.
#[derive(Debug)]
pub(super) struct Stock {
    pub(super) offers: Offers,
    pub(super) projects: BTreeMap<String, Project>,
    /// Visible lines, by serial.
    pub(super) journal: BTreeMap<u64, Line>,
    /// Lines whose transaction has not committed: they wait for so many others.
    late: VecDeque<(u32, u64, Line)>,
    /// The next so many lines are late.
    pub(super) make_late: u32,
    pub(super) serial: u64,
}

/// A line of the changelog.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) project: String,
    pub(super) version: Option<String>,
    pub(super) at: i64,
    pub(super) action: String,
}

/// A project.
#[derive(Clone, Debug, Default)]
pub(super) struct Project {
    pub(super) shown: String,
    /// `active`, `archived`, `quarantined`, `deprecated`.
    pub(super) status: String,
    pub(super) serial: u64,
    pub(super) files: BTreeMap<String, File>,
    /// Pages that caches still have, and how often they give them.
    pub(super) stale: Option<(Box<Project>, u32)>,
}

/// A file of a project.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) version: String,
    pub(super) form: Form,
    pub(super) sha256: String,
    pub(super) size: u64,
    pub(super) uploaded: Timestamp,
    pub(super) requires_python: Option<String>,
    pub(super) yanked: Option<String>,
    pub(super) metadata_sha256: Option<String>,
}

/// What a file is made of.
#[derive(Clone, Debug)]
pub(super) enum Form {
    Wheel(Box<Contents>),
    Egg(Box<Contents>),
    Sdist(Box<Contents>),
    /// Bytes of a test's own.
    Given(Vec<u8>),
}

impl Form {
    pub(super) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Wheel(contents) => contents.wheel(),
            Self::Egg(contents) => contents.egg(),
            Self::Sdist(contents) => contents.sdist(),
            Self::Given(bytes) => bytes.clone(),
        }
    }

    pub(super) fn contents(&self) -> Option<&Contents> {
        match self {
            Self::Wheel(contents) | Self::Egg(contents) | Self::Sdist(contents) => Some(contents),
            Self::Given(_) => None,
        }
    }
}

impl Default for Stock {
    fn default() -> Self {
        Self {
            offers: Offers::default(),
            projects: BTreeMap::new(),
            journal: BTreeMap::new(),
            late: VecDeque::new(),
            make_late: 0,
            // Nobody is to take a serial for a count.
            serial: 1_000,
        }
    }
}

impl Stock {
    pub(super) fn project(&mut self, name: &str) -> &mut Project {
        let key = normal(name);
        self.projects.entry(key).or_insert_with(|| Project {
            shown: name.to_owned(),
            status: "active".to_owned(),
            ..Project::default()
        })
    }

    /// Puts a file up.
    pub(super) fn upload(&mut self, name: &str, filename: &str, version: &str, form: Form) {
        let bytes = form.bytes();
        let contents = form.contents();
        let is_wheel = matches!(form, Form::Wheel(_));
        let serial = self.serial + 1;
        let file = File {
            version: version.to_owned(),
            sha256: hex(&bytes),
            size: bytes.len() as u64,
            uploaded: Timestamp::from_second(1_600_000_000 + serial as i64 * 60)
                .unwrap_or_default(),
            requires_python: contents.and_then(|one| one.requires_python.clone()),
            yanked: None,
            metadata_sha256: contents
                .filter(|_| is_wheel)
                .map(|one| hex(one.metadata().as_bytes())),
            form,
        };
        let project = self.project(name);
        project.files.insert(filename.to_owned(), file);
        self.happened(name, Some(version), &format!("add py3 file {filename}"));
    }

    /// Writes a line down and moves the project's serial on. A line that is late has its number
    /// before, and is seen after, those that come next.
    pub(super) fn happened(&mut self, name: &str, version: Option<&str>, action: &str) {
        self.serial += 1;
        let serial = self.serial;
        let line = Line {
            project: self
                .projects
                .get(&normal(name))
                .map_or_else(|| name.to_owned(), |project| project.shown.clone()),
            version: version.map(str::to_owned),
            at: 1_600_000_000 + serial as i64 * 60,
            action: action.to_owned(),
        };
        if let Some(project) = self.projects.get_mut(&normal(name)) {
            project.serial = serial;
        }
        if self.make_late > 0 {
            self.make_late -= 1;
            self.late.push_back((3, serial, line));
        } else {
            self.journal.insert(serial, line);
        }
        let mut still = VecDeque::new();
        for (left, number, line) in std::mem::take(&mut self.late) {
            if left == 0 {
                self.journal.insert(number, line);
            } else {
                still.push_back((left - 1, number, line));
            }
        }
        self.late = still;
    }

    /// All transactions commit.
    pub(super) fn settle(&mut self) {
        for (_, number, line) in std::mem::take(&mut self.late) {
            self.journal.insert(number, line);
        }
    }

    /// One change, as chance has it.
    pub(super) fn change(&mut self, dice: &mut Dice) {
        let names: Vec<&String> = self.projects.keys().collect();
        let chosen = names.get(dice.below(names.len().max(1) as u64) as usize);
        let Some(name) = chosen.map(|name| (*name).clone()) else {
            return;
        };
        let files: Vec<String> = self.projects[&name].files.keys().cloned().collect();
        let file = match files.len() {
            0 => None,
            count => files.get(dice.below(count as u64) as usize),
        };
        match (dice.below(20), file) {
            (0..=9, _) | (_, None) => {
                let version = format!("{}.{}", 5 + dice.below(40), self.serial);
                let tags = ["py3-none-any", "cp311-cp311-manylinux_2_17_x86_64"];
                match dice.below(5) {
                    0 => self.sdist(&name, &version),
                    1 => self.egg(&name, &version),
                    _ => self.wheel(&name, &version, dice.pick(&tags)),
                }
            }
            (10..=12, Some(file)) => self.remove_file(&name, file),
            (13..=15, Some(file)) => {
                let version = self.projects[&name].files[file].version.clone();
                self.yank(&name, &version, Some("broken"));
            }
            (16, Some(file)) => {
                let version = self.projects[&name].files[file].version.clone();
                self.yank(&name, &version, None);
            }
            (17, Some(_)) => {
                let status = match self.projects[&name].status.as_str() {
                    "quarantined" => "active",
                    _ => "quarantined",
                };
                self.set_status(&name, status);
            }
            (18, Some(_)) => self.remove_project(&name),
            (_, Some(_)) => {
                let fresh = format!("fresh-{}", self.serial);
                self.wheel(&fresh, "0.1", "py3-none-any");
            }
        }
    }

    pub(super) fn wheel(&mut self, name: &str, version: &str, tags: &str) {
        let contents = Contents::generated(name, version);
        let filename = format!("{}-{version}-{tags}.whl", name.replace(['-', '.'], "_"));
        self.upload(name, &filename, version, Form::Wheel(Box::new(contents)));
    }

    pub(super) fn egg(&mut self, name: &str, version: &str) {
        let contents = Contents::generated(name, version);
        let filename = format!("{}-{version}-py3.8.egg", name.replace(['-', '.'], "_"));
        self.upload(name, &filename, version, Form::Egg(Box::new(contents)));
    }

    pub(super) fn sdist(&mut self, name: &str, version: &str) {
        let contents = Contents::generated(name, version);
        let filename = format!("{name}-{version}.tar.gz");
        self.upload(name, &filename, version, Form::Sdist(Box::new(contents)));
    }

    pub(super) fn remove_file(&mut self, name: &str, filename: &str) {
        let gone = self.project(name).files.remove(filename);
        if let Some(gone) = gone {
            let action = format!("remove file {filename}");
            self.happened(name, Some(&gone.version), &action);
        }
    }

    /// No line for any of its files, as in life.
    pub(super) fn remove_project(&mut self, name: &str) {
        let key = normal(name);
        if let Some(gone) = self.projects.remove(&key) {
            self.happened(&gone.shown, None, "remove project");
        }
    }

    pub(super) fn yank(&mut self, name: &str, version: &str, reason: Option<&str>) {
        for file in self.project(name).files.values_mut() {
            if file.version == version {
                file.yanked = reason.map(str::to_owned);
            }
        }
        let action = match reason {
            Some(_) => "yank release",
            None => "unyank release",
        };
        self.happened(name, Some(version), action);
    }

    pub(super) fn set_status(&mut self, name: &str, status: &str) {
        let was = std::mem::replace(&mut self.project(name).status, status.to_owned());
        let action = match (was.as_str(), status) {
            (_, "quarantined") => "project quarantined",
            ("quarantined", _) => "project quarantine cleared",
            _ => "change status",
        };
        self.happened(name, None, action);
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    facts::hex::lower(Sha256::digest(bytes))
}

/// The one spelling of a name.
pub(super) fn normal(name: &str) -> String {
    let lower = name.to_lowercase().replace(['_', '.'], "-");
    let parts: Vec<&str> = lower.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-")
}
