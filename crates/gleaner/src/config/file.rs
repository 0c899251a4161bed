//! Reads the file, with the place of everything, and collects all complaints about it.

use std::{ops::Range, path::Path};

use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use super::{
    Address, Deprecated, Entry, Origin,
    complaint::{self, Complaint},
    deprecated::{self, Stage},
    keys::{self, Key, SECTIONS, Section},
    nearest::nearest,
    value::bare_or_quoted,
};
use crate::error::{Result, codes};

/// What changes from version to version, apart from the keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) deprecated: &'static [Deprecated],
    pub(super) version: (u64, u64),
}

impl Rules {
    pub(super) fn product() -> Self {
        Self {
            deprecated: deprecated::DEPRECATED,
            version: deprecated::this_version(),
        }
    }
}

/// What the file says.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) entries: Vec<Entry>,
    pub(super) warnings: Vec<String>,
}

pub(super) fn read(path: &Path, text: &str, rules: &Rules) -> Result<Read> {
    let document = DeTable::parse(text).map_err(|error| {
        let complaint = Complaint {
            code: &codes::CONFIG_SYNTAX,
            title: "this is not TOML".into(),
            span: error.span().unwrap_or(0..0),
            label: error.message().to_owned(),
            hints: Vec::new(),
        };
        complaint::failure(path, text, vec![complaint])
    })?;
    let mut reader = Reader {
        path,
        text,
        rules,
        entries: Vec::new(),
        warnings: Vec::new(),
        complaints: Vec::new(),
    };
    for (name, value) in document.get_ref() {
        reader.section(name, value);
    }
    if !reader.complaints.is_empty() {
        return Err(complaint::failure(path, text, reader.complaints));
    }
    Ok(Read {
        entries: reader.entries,
        warnings: reader.warnings,
    })
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    rules: &'a Rules,
    entries: Vec<Entry>,
    warnings: Vec<String>,
    complaints: Vec<Complaint>,
}

type Name<'a> = Spanned<DeString<'a>>;
type Item<'a> = Spanned<DeValue<'a>>;

impl Reader<'_> {
    fn section(&mut self, name: &Name<'_>, value: &Item<'_>) {
        let Some(section) = SECTIONS
            .iter()
            .find(|known| known.name == name.get_ref().as_ref())
        else {
            return self.unknown_section(name, value);
        };
        let Some(table) = value.get_ref().as_table() else {
            let title = format!("`{}` is a section", section.name);
            let hint = format!("write `[{}]` on a line of its own", section.name);
            return self.complain(title, name.span(), "", vec![hint]);
        };
        if !section.is_named() {
            return self.keys(section, None, table);
        }
        for (inner, value) in table {
            if let Some(table) = value.get_ref().as_table() {
                self.keys(section, Some(inner.get_ref()), table);
                continue;
            }
            let title = format!("`[{}]` needs a name", section.name);
            let example = bare_or_quoted(section.example_name.unwrap_or("NAME"));
            let hint = format!("write `[{}.{example}]`", section.name);
            self.complain(title, inner.span(), "", vec![hint]);
        }
    }

    fn keys(&mut self, section: &'static Section, name: Option<&str>, table: &DeTable<'_>) {
        for (written, value) in table {
            let word: &str = written.get_ref();
            match section.keys.iter().find(|known| known.name == word) {
                Some(key) => self.value(section, name, key, value),
                None => match self.replaced(section, word) {
                    Some(old) => self.deprecated(old, written, value, table),
                    None => self.unknown_key(section, name, written, value),
                },
            }
        }
    }

    fn value(
        &mut self,
        section: &'static Section,
        name: Option<&str>,
        key: &'static Key,
        value: &Item<'_>,
    ) {
        let address = Address {
            section,
            name: name.map(str::to_owned),
            key,
        };
        match key.kind.read(value.get_ref()) {
            Ok(read) => self.entries.push(Entry {
                address,
                value: Some(read),
                origin: Origin::File {
                    path: self.path.to_owned(),
                    line: self.line(value.span().start),
                },
            }),
            Err(refusal) => {
                let refusal = refusal.in_section(section, name);
                self.complaints.push(Complaint {
                    code: &codes::CONFIG_VALUE,
                    title: format!("`{address}` cannot be that"),
                    span: value.span(),
                    label: refusal.message,
                    hints: refusal.hints,
                });
            }
        }
    }

    fn replaced(&self, section: &Section, word: &str) -> Option<&'static Deprecated> {
        let old = format!("{}.{word}", section.name);
        self.rules.deprecated.iter().find(|entry| entry.old == old)
    }

    fn deprecated(
        &mut self,
        old: &'static Deprecated,
        written: &Name<'_>,
        value: &Item<'_>,
        beside: &DeTable<'_>,
    ) {
        let (section, key) = old.replacement;
        let instead = format!("use `{key}` under `[{section}]` instead of `{}`", old.old);
        let refused = old.stage(self.rules.version) == Stage::Refused;
        if refused || beside.contains_key(key) {
            let title = if refused {
                format!("`{}` has been replaced", old.old)
            } else {
                format!("`{}` and its replacement are both set", old.old)
            };
            self.complaints.push(Complaint {
                code: &codes::CONFIG_DEPRECATED,
                title,
                span: written.span(),
                label: String::new(),
                hints: vec![instead],
            });
            return;
        }
        let (major, minor) = old.refused_since();
        let place = format!(
            "{}:{}",
            self.path.display(),
            self.line(written.span().start)
        );
        self.warnings.push(format!(
            "{place}: {instead}; version {major}.{minor} will refuse it"
        ));
        if let Some((section, key)) = keys::find(section, key) {
            self.value(section, None, key, value);
        }
    }

    fn unknown_section(&mut self, name: &Name<'_>, value: &Item<'_>) {
        let word: &str = name.get_ref();
        let section = value.get_ref().is_table();
        // A key above the first section, or a section's name misspelt.
        let home = SECTIONS
            .iter()
            .find(|known| !section && known.keys.iter().any(|key| key.name == word));
        let mut hints = Vec::new();
        if let Some(home) = home {
            hints.push(format!("`{word}` belongs under `[{}]`", home.name));
        } else if let Some(meant) = nearest(word, SECTIONS.iter().map(|known| known.name)) {
            hints.push(format!("did you mean `[{meant}]`?"));
        } else {
            let known: Vec<&str> = SECTIONS.iter().map(|known| known.name).collect();
            hints.push(format!("the sections are {}", known.join(", ")));
        }
        let title = if section {
            format!("there is no section `{word}`")
        } else {
            format!("there is no setting `{word}` outside of a section")
        };
        self.complain(title, name.span(), "unknown", hints);
    }

    fn unknown_key(
        &mut self,
        section: &'static Section,
        name: Option<&str>,
        written: &Name<'_>,
        value: &Item<'_>,
    ) {
        let word: &str = written.get_ref();
        let mut hints = Vec::new();
        if let Some(name) = name
            && value.get_ref().is_table()
        {
            // `[upstream.github.com]` is three levels to TOML.
            hints.push(format!(
                "a name with dots stands in quotes: `[{}.\"{name}.{word}\"]`",
                section.name
            ));
        } else if let Some(meant) = nearest(word, section.keys.iter().map(|key| key.name)) {
            hints.push(format!("did you mean `{meant}`?"));
        } else if let Some(home) = SECTIONS
            .iter()
            .find(|other| other.keys.iter().any(|key| key.name == word))
        {
            hints.push(format!("`{word}` belongs under `[{}]`", home.name));
        } else if section.keys.is_empty() {
            hints.push(format!("`[{}]` has no settings", section.name));
        } else {
            let known: Vec<&str> = section.keys.iter().map(|key| key.name).collect();
            hints.push(format!("`[{}]` knows {}", section.name, known.join(", ")));
        }
        let place = match name {
            Some(name) => format!("{}.{}", section.name, bare_or_quoted(name)),
            None => section.name.to_owned(),
        };
        let title = format!("there is no setting `{word}` under `[{place}]`");
        self.complain(title, written.span(), "unknown", hints);
    }

    fn complain(&mut self, title: String, span: Range<usize>, label: &str, hints: Vec<String>) {
        self.complaints.push(Complaint {
            code: &codes::CONFIG_KEY,
            title,
            span,
            label: label.to_owned(),
            hints,
        });
    }

    fn line(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or(self.text);
        before.matches('\n').count() + 1
    }
}
