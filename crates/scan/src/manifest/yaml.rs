//! YAML documents as a tree in which scalars keep their text.
//!
//! A typed reader would turn the version `1.10` into a number; here it stays as written. Aliases
//! stand for scalars only, so nothing can be multiplied by reference.

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{Event, Options, Parser};

use super::{ManifestError, Source, data};

/// One node of a document.
#[derive(Debug)]
pub(super) enum Yaml<'a> {
    Scalar(Cow<'a, str>),
    List(Vec<Yaml<'a>>),
    /// Entries in their order, keys as written; keys may repeat.
    Map(Vec<(Cow<'a, str>, Yaml<'a>)>),
}

/// The first document of a file, which must be a map.
pub(super) fn read<'a>(source: &'a Source<'_>) -> Result<Yaml<'a>, ManifestError> {
    read_text(&source.text)
}

pub(super) fn read_text(text: &str) -> Result<Yaml<'_>, ManifestError> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.flow_nesting_limit = 64;
    options.block_nesting_limit = 64;
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, _) = event.map_err(|e| data::malformed("YAML", &e))?;
        if matches!(event, Event::DocumentEnd) {
            break;
        }
        builder.take(event);
    }
    match builder.root {
        Some(root @ Yaml::Map(_)) => Ok(root),
        _ => Err(ManifestError::NotAManifest("the document is not a map")),
    }
}

impl<'a> Yaml<'a> {
    /// The value of a key. A key that is given twice has no value, unless both agree.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let mut found: Option<&Self> = None;
        for (_, value) in self.entries().iter().filter(|(name, _)| name == key) {
            match found {
                None => found = Some(value),
                Some(before) if before.scalar().is_some() && before.scalar() == value.scalar() => {}
                Some(_) => return None,
            }
        }
        found
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.entries().iter().any(|(name, _)| name == key)
    }

    pub(super) fn scalar(&self) -> Option<&str> {
        match self {
            Self::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// The text of a scalar member; an empty or null one is none.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        let text = self.get(key)?.scalar()?;
        (!matches!(text, "" | "~" | "null" | "Null" | "NULL")).then(|| text.to_owned())
    }

    pub(super) fn entries(&self) -> &[(Cow<'a, str>, Self)] {
        match self {
            Self::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(super) fn list(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }
}

/// Builds the tree without recursion.
#[derive(Default)]
struct Builder<'a> {
    root: Option<Yaml<'a>>,
    open: Vec<Open<'a>>,
    anchors: HashMap<usize, Cow<'a, str>>,
}

/// A collection that is not closed yet.
enum Open<'a> {
    List(Vec<Yaml<'a>>),
    Map {
        entries: Vec<(Cow<'a, str>, Yaml<'a>)>,
        key: Option<Cow<'a, str>>,
    },
}

impl<'a> Builder<'a> {
    fn take(&mut self, event: Event<'a>) {
        match event {
            Event::Scalar(text, _, anchor, _) => {
                if anchor != 0 {
                    self.anchors.insert(anchor, text.clone());
                }
                self.place(Yaml::Scalar(text));
            }
            Event::Alias(anchor) => {
                let text = self.anchors.get(&anchor).cloned().unwrap_or_default();
                self.place(Yaml::Scalar(text));
            }
            Event::SequenceStart(..) => self.open.push(Open::List(Vec::new())),
            Event::MappingStart(..) => {
                self.open.push(Open::Map {
                    entries: Vec::new(),
                    key: None,
                });
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List(items)) => self.place(Yaml::List(items)),
                Some(Open::Map { entries, .. }) => self.place(Yaml::Map(entries)),
                None => {}
            },
            _ => {}
        }
    }

    fn place(&mut self, node: Yaml<'a>) {
        match self.open.last_mut() {
            None => self.root = self.root.take().or(Some(node)),
            Some(Open::List(items)) => items.push(node),
            Some(Open::Map { entries, key }) => match key.take() {
                // A collection as a key is legal and never the key that is looked for.
                None => {
                    *key = Some(match node {
                        Yaml::Scalar(text) => text,
                        _ => Cow::Borrowed(""),
                    });
                }
                Some(key) => entries.push((key, node)),
            },
        }
    }
}
