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
    if preamble.name.is_none() || !preamble.has_version {
        return Err(ManifestError::NotAManifest("no Name and Version tags"));
    }
    let mut manifest = source.named(preamble.value(preamble.name.as_ref()));
    manifest.version = preamble.value(preamble.version.as_ref());
    manifest.doubt("distributions choose what they carry");
    Ok(manifest)
}

/// What stands before the first section.
#[derive(Default)]
struct Preamble<'a> {
    /// A tag's text, or nothing where it is given twice with different texts.
    name: Option<Option<&'a str>>,
    version: Option<Option<&'a str>>,
    has_version: bool,
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
                    merge(&mut preamble.name, value);
                } else if tag.eq_ignore_ascii_case("version") {
                    preamble.has_version = true;
                    merge(&mut preamble.version, value);
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

    fn value(&self, tag: Option<&Option<&str>>) -> Option<String> {
        self.expand((*tag?)?, 0)
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
            "name" => self.expand((*self.name.as_ref()?)?, depth + 1)?,
            "version" => self.expand((*self.version.as_ref()?)?, depth + 1)?,
            _ => self.expand((*self.macros.get(name)?)?, depth + 1)?,
        };
        let expanded = format!("{before}{value}{}", self.expand(after, depth + 1)?);
        (expanded.len() <= 512).then_some(expanded)
    }
}

fn merge<'a>(slot: &mut Option<Option<&'a str>>, value: &'a str) {
    *slot = match slot {
        None => Some(Some(value)),
        Some(Some(before)) if *before == value => return,
        Some(_) => Some(None),
    };
}
