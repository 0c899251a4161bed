//! Settings: flags over the environment over the file over the defaults.
//!
//! Two steps, as with arguments: first what was written is read, key by key, each with the place it
//! came from ([`Config`]); then it becomes what the program means ([`Settings`]). The file is read
//! with positions, so that a complaint shows the line and a caret, and all complaints come at once.
//! Merging layers through a library was rejected: those lose the positions.
//!
//! Every key is one line in [`keys`], and from there come the example file, the environment
//! variables, `config show`, and the checks.

mod complaint;
mod deprecated;
mod example;
mod file;
mod keys;
mod nearest;
mod settings;
mod value;

use std::{
    fmt,
    path::{Path, PathBuf},
};

pub(crate) use deprecated::Deprecated;
pub(crate) use example::example;
pub(crate) use keys::{Key, SECTIONS, Section};
pub(crate) use settings::{Settings, Upstream};
pub(crate) use value::{Value, show_size};

use crate::{
    data_directory,
    error::{Failure, Result, codes},
};

/// What is said outside the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    /// `--config`.
    pub(crate) file: Option<PathBuf>,
    /// Section, key, the flag, and what was given.
    pub(crate) flags: Vec<(&'static str, &'static str, &'static str, String)>,
    /// The variables of the environment that are ours.
    pub(crate) environment: Vec<(String, String)>,
}

/// Every setting with its value and where that came from.
#[derive(Debug)]
pub(crate) struct Config {
    /// The file that was read, if any.
    pub(crate) file: Option<PathBuf>,
    /// In the order of the table of keys.
    pub(crate) entries: Vec<Entry>,
    /// What to tell the user though it is no error.
    pub(crate) warnings: Vec<String>,
}

/// One setting.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) address: Address,
    /// `None` when it has no default and nobody set it.
    pub(crate) value: Option<Value>,
    pub(crate) origin: Origin,
}

/// The full name of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) section: &'static Section,
    /// The `NAME` of `[pool.NAME]`.
    pub(crate) name: Option<String>,
    pub(crate) key: &'static Key,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File { path: PathBuf, line: usize },
    Environment(String),
    Flag(&'static str),
}

impl Config {
    /// Reads and overlays everything.
    pub(crate) fn load(overrides: &Overrides) -> Result<Self> {
        let mut config = Self {
            file: None,
            entries: defaults(),
            warnings: Vec::new(),
        };
        if let Some((path, text)) = find_file(overrides)? {
            let read = file::read(&path, &text, &file::Rules::product())?;
            read.entries.into_iter().for_each(|entry| config.set(entry));
            config.warnings = read.warnings;
            config.file = Some(path);
        }
        for section in SECTIONS.iter().filter(|section| !section.is_named()) {
            for key in section.keys {
                let variable = key.variable(section);
                let given = overrides.environment.iter().find(|(n, _)| *n == variable);
                if let Some((_, text)) = given.filter(|(_, text)| !text.is_empty()) {
                    config.overlay(section, key, text, Origin::Environment(variable))?;
                }
            }
        }
        for (section, key, flag, text) in &overrides.flags {
            if let Some((section, key)) = keys::find(section, key) {
                config.overlay(section, key, text, Origin::Flag(flag))?;
            }
        }
        Ok(config)
    }

    /// What it all means.
    pub(crate) fn settings(&self) -> Settings {
        Settings::from_config(self)
    }

    /// The value of a key, of the section with that name where it has one.
    pub(crate) fn get(&self, section: &str, name: Option<&str>, key: &str) -> Option<&Value> {
        self.entry(section, name, key)?.value.as_ref()
    }

    /// Where that value came from.
    pub(crate) fn origin(&self, section: &str, name: Option<&str>, key: &str) -> Option<&Origin> {
        Some(&self.entry(section, name, key)?.origin)
    }

    fn entry(&self, section: &str, name: Option<&str>, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| {
            let address = &entry.address;
            address.section.name == section
                && address.name.as_deref() == name
                && address.key.name == key
        })
    }

    fn set(&mut self, entry: Entry) {
        let same = |old: &&mut Entry| old.address == entry.address;
        match self.entries.iter_mut().find(same) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
    }

    fn overlay(
        &mut self,
        section: &'static Section,
        key: &'static Key,
        text: &str,
        origin: Origin,
    ) -> Result<()> {
        let value = key.kind.parse(text).map_err(|refusal| {
            let refusal = refusal.in_section(section, None);
            let message = format!("{origin}: {}", refusal.message);
            let failure = Failure::new(&codes::CONFIG_VALUE, message);
            refusal.hints.into_iter().fold(failure, Failure::hint)
        })?;
        self.set(Entry {
            address: Address {
                section,
                name: None,
                key,
            },
            value: Some(value),
            origin,
        });
        Ok(())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(
                f,
                "{}.{}.{}",
                self.section.name,
                value::bare_or_quoted(name),
                self.key.name
            ),
            None => write!(f, "{}.{}", self.section.name, self.key.name),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "file {}:{line}", path.display()),
            Self::Environment(variable) => write!(f, "environment {variable}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}

/// Our variables. One that is not UTF-8 cannot be a setting.
pub(crate) fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("GLEANER_"))
        .collect()
}

fn defaults() -> Vec<Entry> {
    let plain = SECTIONS.iter().filter(|section| !section.is_named());
    plain
        .flat_map(|section| section.keys.iter().map(move |key| (section, key)))
        .map(|(section, key)| Entry {
            address: Address {
                section,
                name: None,
                key,
            },
            value: key.default_value(),
            origin: Origin::Default,
        })
        .collect()
}

/// A named file must be there; the usual places need not have one.
fn find_file(overrides: &Overrides) -> Result<Option<(PathBuf, String)>> {
    let variable = overrides
        .environment
        .iter()
        .find(|(name, value)| name == "GLEANER_CONFIG" && !value.is_empty());
    let named = match (&overrides.file, variable) {
        (Some(path), _) => Some(path.clone()),
        (None, Some((_, path))) => Some(path.into()),
        (None, None) => None,
    };
    if let Some(path) = named {
        return read_text(&path).map(|text| Some((path, text)));
    }
    let usual = [
        Some(PathBuf::from("gleaner.toml")),
        data_directory::platform_config(),
    ];
    match usual.into_iter().flatten().find(|path| path.is_file()) {
        Some(path) => read_text(&path).map(|text| Some((path, text))),
        None => Ok(None),
    }
}

fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| {
        let message = format!("cannot read the configuration `{}`", path.display());
        Failure::new(&codes::CONFIG_MISSING, message)
            .caused_by(&error)
            .hint("`gleaner config example` prints a complete file to start from")
    })
}

#[cfg(test)]
mod tests;
