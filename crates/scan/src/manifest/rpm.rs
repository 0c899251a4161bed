//! `*.spec`: RPM packages.

use std::collections::HashMap;

use super::{Files, Format, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "rpm",
    files: &[Files::Ending(".spec")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let preamble = Preamble::read(&source.text);
    // Other tools have `.spec` files too; only RPM's has these tags.
    if preamble.name == Tag::Absent || preamble.version == Tag::Absent {
        return Err(ManifestError::NotAManifest("no Name and Version tags"));
    }
    let mut manifest = source.named(preamble.value(preamble.name));
    manifest.version = preamble.value(preamble.version);
    manifest.doubt("distributions choose what they carry");
    Ok(manifest)
}

/// What stands before the first section.
#[derive(Default)]
struct Preamble<'a> {
    name: Tag<'a>,
    version: Tag<'a>,
    macros: HashMap<&'a str, Option<&'a str>>,
}

impl<'a> Preamble<'a> {
    fn read(text: &'a str) -> Self {
        let mut preamble = Self::default();
        for line in text.lines() {
            let line = line.trim();
            if let Some(rest) = line.strip_prefix('%') {
                let word = rest.split([' ', '\t', '{', '(']).next().unwrap_or_default();
                match word {
                    "global" | "define" => preamble.define(rest[word.len()..].trim()),
                    "description" | "prep" | "build" | "install" | "package" | "files"
                    | "changelog" => break,
                    _ => {}
                }
            } else if let Some((tag, value)) = line.split_once(':') {
                let value = value.trim();
                if tag.eq_ignore_ascii_case("name") {
                    preamble.name.give(value);
                } else if tag.eq_ignore_ascii_case("version") {
                    preamble.version.give(value);
                }
            }
        }
        preamble
    }

    fn define(&mut self, definition: &'a str) {
        let Some((name, body)) = definition.split_once([' ', '\t']) else {
            return;
        };
        // With parameters it is a function, with a line's continuation a text.
        let constant = !name.contains('(') && !body.ends_with('\\');
        let body = constant.then_some(body.trim());
        self.macros
            .entry(name)
            .and_modify(|known| {
                if *known != body {
                    *known = None;
                }
            })
            .or_insert(body);
    }

    fn value(&self, tag: Tag<'_>) -> Option<String> {
        self.expand(tag.text()?, 0)
    }

    /// Replaces `%{name}` and `%name` by what this file defines; anything else is unknown.
    fn expand(&self, text: &str, depth: usize) -> Option<String> {
        if depth > 8 || text.len() > 512 {
            return None;
        }
        let Some((before, rest)) = text.split_once('%') else {
            return Some(text.to_owned());
        };
        let (name, after) = if let Some(braced) = rest.strip_prefix('{') {
            braced.split_once('}')?
        } else {
            let end = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .unwrap_or(rest.len());
            rest.split_at(end)
        };
        let value = match name {
            "name" => self.expand(self.name.text()?, depth + 1)?,
            "version" => self.expand(self.version.text()?, depth + 1)?,
            _ => self.expand((*self.macros.get(name)?)?, depth + 1)?,
        };
        let expanded = format!("{before}{value}{}", self.expand(after, depth + 1)?);
        (expanded.len() <= 512).then_some(expanded)
    }
}

/// What the preamble gives to a tag.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Tag<'a> {
    #[default]
    Absent,
    Text(&'a str),
    /// Different texts, as conditions choose between them.
    Unclear,
}

impl<'a> Tag<'a> {
    fn give(&mut self, value: &'a str) {
        *self = match *self {
            Self::Absent => Self::Text(value),
            Self::Text(before) if before == value => Self::Text(value),
            _ => Self::Unclear,
        };
    }

    fn text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}
