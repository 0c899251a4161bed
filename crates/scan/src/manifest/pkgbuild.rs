//! `PKGBUILD`: Arch Linux packages. A shell script of which only plain assignments are read.

use std::collections::HashMap;

use super::{Files, Format, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "arch",
    files: &[Files::Named("PKGBUILD")],
    parse,
};

/// Packages that are kept of one script.
const MAX_OUTPUTS: usize = 256;

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let script = Script::read(&source.text);
    let names = script.words("pkgname");
    let base = script.words("pkgbase");
    if !script.has("pkgname") {
        return Err(ManifestError::NotAManifest("no pkgname"));
    }
    let mut manifest = source.empty();
    match (base.as_deref(), names) {
        (Some([base]), Some(names)) => {
            manifest.name = Some(base.clone());
            manifest.outputs = names;
        }
        (None, Some(names)) if !script.has("pkgbase") => {
            // Without a base, the first package gives its name to the whole.
            manifest.name = names.first().cloned();
            manifest.outputs = if names.len() > 1 { names } else { Vec::new() };
        }
        (Some([base]), None) => manifest.name = Some(base.clone()),
        _ => {}
    }
    manifest.version = script
        .words("pkgver")
        .and_then(|words| words.into_iter().next());
    manifest.doubt("distributions choose what they carry");
    Ok(manifest)
}

/// The assignments at the start of lines; nothing where a name is assigned twice.
struct Script<'a> {
    assigned: HashMap<&'a str, Option<&'a str>>,
}

impl<'a> Script<'a> {
    fn read(text: &'a str) -> Self {
        let mut assigned = HashMap::new();
        let mut offset = 0;
        while offset < text.len() {
            let rest = &text[offset..];
            let line_length = rest.find('\n').map_or(rest.len(), |at| at + 1);
            let line = &rest[..line_length];
            let mut length = line_length;
            if let Some((name, _)) = line.split_once('=')
                && is_name(name)
            {
                let value = &rest[name.len() + 1..];
                let end = if value.starts_with('(') {
                    value.find(')').map_or(value.len(), |at| at + 1)
                } else {
                    word_end(value)
                };
                assigned
                    .entry(name)
                    .and_modify(|value| *value = None)
                    .or_insert(Some(&value[..end]));
                length = length.max(name.len() + 1 + end);
            }
            offset += length;
        }
        Self { assigned }
    }

    fn has(&self, name: &str) -> bool {
        self.assigned.contains_key(name)
    }

    /// The words of a value: one, or those of an array.
    fn words(&self, name: &str) -> Option<Vec<String>> {
        let value = (*self.assigned.get(name)?)?;
        let Some(list) = value
            .strip_prefix('(')
            .and_then(|list| list.strip_suffix(')'))
        else {
            return Some(vec![self.expand(value, 0)?]);
        };
        let mut words = Vec::new();
        for line in list.lines() {
            let mut rest = line.trim_start();
            while !rest.is_empty() && !rest.starts_with('#') && words.len() < MAX_OUTPUTS {
                let end = word_end(rest);
                if end == 0 {
                    return None;
                }
                words.push(self.expand(&rest[..end], 0)?);
                rest = rest[end..].trim_start();
            }
        }
        Some(words)
    }

    /// A shell word without its quotes, with variables of this file put in.
    fn expand(&self, word: &str, depth: usize) -> Option<String> {
        // Few variables per word and few steps from one to the next: chains stay cheap.
        if depth > 4 || word.len() > 512 || word.matches('$').count() > 4 {
            return None;
        }
        let mut text = String::new();
        let mut quote = None;
        let mut rest = word;
        while let Some(char) = rest.chars().next() {
            rest = &rest[char.len_utf8()..];
            match (char, quote) {
                ('\'' | '"', None) => quote = Some(char),
                (_, Some(open)) if char == open => quote = None,
                ('$', None | Some('"')) => {
                    let (name, after) = variable(rest)?;
                    rest = after;
                    text.push_str(&self.expand((*self.assigned.get(name)?)?, depth + 1)?);
                }
                ('`' | '\\', None | Some('"'))
                | ('(' | ')' | ';' | '&' | '|' | '{' | '*' | '?', None) => return None,
                _ => text.push(char),
            }
            if text.len() > 512 {
                return None;
            }
        }
        quote.is_none().then_some(text)
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `name` or `{name}` after a dollar sign, and what follows.
fn variable(rest: &str) -> Option<(&str, &str)> {
    if let Some(braced) = rest.strip_prefix('{') {
        return braced.split_once('}').filter(|(name, _)| is_name(name));
    }
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(rest.len());
    (end > 0).then(|| rest.split_at(end))
}

/// Where a shell word ends: at white space outside of quotes.
fn word_end(text: &str) -> usize {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (byte, quote) {
            (b'\'' | b'"', None) => quote = Some(byte),
            (_, Some(open)) if byte == open => quote = None,
            (b'\n', _) | (b' ' | b'\t' | b'\r' | b';' | b'#', None) => return at,
            _ => {}
        }
    }
    text.len()
}
