//! XML documents as a tree of elements.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::{ManifestError, Source, data};

/// Deeper documents are refused; real manifests stay under twenty levels.
const MAX_DEPTH: usize = 128;

/// An element, without its namespace.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    attributes: Vec<(String, String)>,
    /// The text directly inside, trimmed.
    pub(super) text: String,
    pub(super) children: Vec<Element>,
}

/// The root element of a file.
pub(super) fn read(source: &Source<'_>) -> Result<Element, ManifestError> {
    let mut reader = Reader::from_str(&source.text);
    let mut open: Vec<Element> = Vec::new();
    let mut root = None;
    loop {
        let closed = match reader
            .read_event()
            .map_err(|e| data::malformed("XML", &e))?
        {
            Event::Start(start) => {
                if open.len() >= MAX_DEPTH {
                    return Err(data::malformed("XML", &"elements are nested too deeply"));
                }
                if open.is_empty() && root.is_some() {
                    return Err(data::malformed(
                        "XML",
                        &"there is more than one root element",
                    ));
                }
                open.push(element(&start)?);
                continue;
            }
            Event::Empty(start) => element(&start)?,
            Event::End(_) => match open.pop() {
                Some(mut element) => {
                    element.text = element.text.trim().to_owned();
                    element
                }
                None => continue,
            },
            Event::Text(text) => {
                if let Some(element) = open.last_mut() {
                    element.text.push_str(&text);
                } else if !text.trim().is_empty() {
                    return Err(data::malformed(
                        "XML",
                        &"there is text outside of the root element",
                    ));
                }
                continue;
            }
            Event::CData(text) => {
                if let Some(element) = open.last_mut() {
                    element.text.push_str(&text);
                }
                continue;
            }
            Event::GeneralRef(reference) => {
                if let Some(element) = open.last_mut() {
                    let character = reference.resolve_char_ref().ok().flatten();
                    let known = character.or_else(|| predefined(&reference));
                    // What a document type would define is not followed: the text is then unusable.
                    element
                        .text
                        .push(known.unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                continue;
            }
            Event::Eof => break,
            _ => continue,
        };
        match open.last_mut() {
            Some(parent) => parent.children.push(closed),
            None if root.is_none() => root = Some(closed),
            None => {
                return Err(data::malformed(
                    "XML",
                    &"there is more than one root element",
                ));
            }
        }
    }
    if !open.is_empty() {
        return Err(data::malformed(
            "XML",
            &"the document ends inside an element",
        ));
    }
    root.ok_or_else(|| data::malformed("XML", &"there is no root element"))
}

impl Element {
    pub(super) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    pub(super) fn children_named(&self, name: &str) -> impl Iterator<Item = &Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The text of a child, unless it is empty.
    pub(super) fn text_of(&self, name: &str) -> Option<String> {
        self.child(name)
            .map(|child| child.text.clone())
            .filter(|text| !text.is_empty())
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

fn element(start: &BytesStart<'_>) -> Result<Element, ManifestError> {
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|e| data::malformed("XML", &e))?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        attributes.push((
            attribute.key.local_name().as_ref().to_owned(),
            // An entity of the document's own makes the value unusable, not the document.
            value.map_or_else(
                |_| char::REPLACEMENT_CHARACTER.to_string(),
                std::borrow::Cow::into_owned,
            ),
        ));
    }
    Ok(Element {
        name: start.local_name().as_ref().to_owned(),
        attributes,
        ..Element::default()
    })
}

fn predefined(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => return None,
    })
}
