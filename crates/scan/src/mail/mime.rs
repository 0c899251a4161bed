//! The tree of MIME parts, walked without recursion and within limits.
//!
//! Hostile mail nests thousands of levels, declares boundaries that never come, or repeats one
//! boundary for all levels. The walk goes once over the lines with a stack of open boundaries: a
//! delimiter closes everything inside the part it belongs to, an open part ends with the message,
//! and beyond the limits the rest is one opaque part. Time is linear in the message.

use std::borrow::Cow;

use mail_parser::parsers::MessageStream;
use mail_parser::{ContentType, HeaderValue};
use memchr::memchr;

use super::header::{self, Header};
use super::transfer::Transfer;

const MAX_DEPTH: usize = 30;
const MAX_PARTS: usize = 1000;

/// One leaf of the tree: something with bytes.
#[derive(Debug)]
pub struct Part<'a> {
    /// `text/plain` in lower case; the default where the field is missing or broken.
    pub content_type: String,
    pub charset: Option<String>,
    pub file_name: Option<String>,
    /// `Content-Disposition: attachment`.
    pub is_attachment: bool,
    pub is_flowed: bool,
    pub deletes_space: bool,
    pub transfer: Transfer,
    /// Number of the closest `multipart/alternative` around it, with its place among the choices.
    pub alternative: Option<(usize, usize)>,
    /// Inside a `message/rfc822`: not the text of this message.
    pub is_nested: bool,
    /// As transported; see [`Part::decoded`].
    pub raw: &'a [u8],
}

impl Part<'_> {
    pub fn decoded(&self) -> Cow<'_, [u8]> {
        self.transfer.decode(self.raw)
    }

    pub fn is_text(&self, subtype: &str) -> bool {
        self.content_type.strip_prefix("text/") == Some(subtype)
    }
}

/// The leaves of a message whose header has been read already.
pub fn parts<'a>(header: &Header<'a>, text: &'a [u8]) -> Vec<Part<'a>> {
    let mut walk = Walk::default();
    walk.open(&Fields::read(header, false), text, None);
    walk.run();
    walk.parts.sort_by_key(|part| part.raw.as_ptr() as usize);
    walk.parts
}

#[derive(Default)]
struct Walk<'a> {
    parts: Vec<Part<'a>>,
    /// Bodies still to be looked into.
    open: Vec<Open<'a>>,
    alternatives: usize,
}

/// A composite body waiting to be cut, with what its children inherit.
struct Open<'a> {
    body: &'a [u8],
    kind: Composite,
    depth: usize,
    alternative: Option<(usize, usize)>,
    is_nested: bool,
}

enum Composite {
    Multipart {
        boundary: Vec<u8>,
        is_alternative: bool,
        is_digest: bool,
    },
    Message,
}

impl<'a> Walk<'a> {
    fn run(&mut self) {
        while let Some(open) = self.open.pop() {
            match &open.kind {
                Composite::Message => {
                    let (header, text) = Header::split(open.body);
                    let inherited = Open {
                        is_nested: true,
                        kind: Composite::Message,
                        ..open
                    };
                    self.open(&Fields::read(&header, false), text, Some(&inherited));
                }
                Composite::Multipart {
                    boundary,
                    is_alternative,
                    is_digest,
                } => {
                    let alternatives = self.alternatives;
                    self.alternatives += usize::from(*is_alternative);
                    for (choice, child) in cut(open.body, boundary).into_iter().enumerate() {
                        let (header, text) = Header::split(child);
                        let inherited = Open {
                            body: text,
                            kind: Composite::Message,
                            depth: open.depth,
                            alternative: if *is_alternative {
                                Some((alternatives, choice))
                            } else {
                                open.alternative
                            },
                            is_nested: open.is_nested,
                        };
                        self.open(&Fields::read(&header, *is_digest), text, Some(&inherited));
                    }
                }
            }
        }
    }

    /// Files a body as a leaf, or keeps it for cutting if it is composite.
    fn open(&mut self, fields: &Fields, body: &'a [u8], inside: Option<&Open<'a>>) {
        let depth = inside.map_or(0, |open| open.depth + 1);
        let alternative = inside.and_then(|open| open.alternative);
        let is_nested = inside.is_some_and(|open| open.is_nested);
        if self.parts.len() + self.open.len() >= MAX_PARTS {
            return;
        }
        let kind = if depth >= MAX_DEPTH {
            None
        } else if fields.content_type.starts_with("multipart/")
            && let Some(boundary) = &fields.boundary
            && contains_delimiter(body, boundary.as_bytes())
        {
            Some(Composite::Multipart {
                boundary: boundary.clone().into_bytes(),
                is_alternative: fields.content_type == "multipart/alternative",
                is_digest: fields.content_type == "multipart/digest",
            })
        } else if matches!(
            fields.content_type.as_str(),
            "message/rfc822" | "message/global"
        ) && fields.transfer == Transfer::Identity
        {
            // The message itself is listed as an attachment; its parts are walked as nested ones.
            self.parts.push(fields.part(body, alternative, is_nested));
            Some(Composite::Message)
        } else {
            None
        };
        match kind {
            Some(kind) => self.open.push(Open {
                body,
                kind,
                depth,
                alternative,
                is_nested,
            }),
            None => self.parts.push(fields.part(body, alternative, is_nested)),
        }
    }
}

/// What the header of a part says about it.
struct Fields {
    content_type: String,
    boundary: Option<String>,
    charset: Option<String>,
    file_name: Option<String>,
    is_attachment: bool,
    is_flowed: bool,
    deletes_space: bool,
    transfer: Transfer,
}

impl Fields {
    fn read(header: &Header<'_>, in_digest: bool) -> Self {
        let default = if in_digest {
            "message/rfc822"
        } else {
            "text/plain"
        };
        let mut fields = Self {
            content_type: default.to_owned(),
            boundary: None,
            charset: None,
            file_name: None,
            is_attachment: false,
            is_flowed: false,
            deletes_space: false,
            transfer: Transfer::Identity,
        };
        if let Some(raw) = header.raw("Content-Type") {
            fields.read_content_type(raw);
        }
        if let Some(raw) = header.raw("Content-Disposition")
            && let Some(disposition) = structured(raw)
        {
            fields.is_attachment = disposition.c_type.eq_ignore_ascii_case("attachment");
            if let Some(name) = disposition.attribute("filename") {
                fields.file_name = Some(header::decode_value(name.as_bytes()));
            }
        }
        if let Some(raw) = header.raw("Content-Transfer-Encoding") {
            fields.transfer = Transfer::from_field(&header::unfold(raw));
        }
        fields
    }

    fn read_content_type(&mut self, raw: &[u8]) {
        let Some(parsed) = structured(raw) else {
            return;
        };
        let subtype = parsed.c_subtype.as_deref().unwrap_or_default();
        let kind = parsed.c_type.to_ascii_lowercase();
        if kind == "text" && subtype.is_empty() {
            // `Content-Type: text` of old mailers.
        } else if kind.contains(|c: char| !c.is_ascii_graphic()) || kind.is_empty() {
            return;
        } else {
            self.content_type = format!("{kind}/{}", subtype.to_ascii_lowercase());
        }
        let attribute = |name: &str| parsed.attribute(name).map(str::to_owned);
        self.boundary = attribute("boundary").filter(|boundary| !boundary.is_empty());
        self.charset = attribute("charset");
        self.file_name = attribute("name").map(|name| header::decode_value(name.as_bytes()));
        self.is_flowed = attribute("format").is_some_and(|f| f.eq_ignore_ascii_case("flowed"));
        self.deletes_space = attribute("delsp").is_some_and(|d| d.eq_ignore_ascii_case("yes"));
    }

    fn part<'a>(
        &self,
        raw: &'a [u8],
        alternative: Option<(usize, usize)>,
        is_nested: bool,
    ) -> Part<'a> {
        Part {
            content_type: self.content_type.clone(),
            charset: self.charset.clone(),
            file_name: self.file_name.clone().filter(|name| !name.is_empty()),
            is_attachment: self.is_attachment,
            is_flowed: self.is_flowed,
            deletes_space: self.deletes_space,
            transfer: self.transfer,
            alternative,
            is_nested,
            raw,
        }
    }
}

/// Reads a value with parameters: RFC 2045 with the continuations and charsets of RFC 2231.
fn structured(raw: &[u8]) -> Option<ContentType<'static>> {
    let mut line = header::unfold(&raw[..raw.len().min(16 * 1024)]);
    line.push('\n');
    match MessageStream::new(line.as_bytes())
        .parse_content_type()
        .into_owned()
    {
        HeaderValue::ContentType(value) => Some(value),
        _ => None,
    }
}

/// The children of a multipart body. The preamble is dropped; a missing last delimiter is made up
/// for by the end of the body.
fn cut<'a>(body: &'a [u8], boundary: &[u8]) -> Vec<&'a [u8]> {
    let mut children = Vec::new();
    let mut child_start: Option<usize> = None;
    for (start, line) in lines(body) {
        let Some(closing) = delimiter(line, boundary) else {
            continue;
        };
        if let Some(from) = child_start {
            children.push(strip_line_end(&body[from.min(start)..start]));
        }
        child_start = (!closing).then_some(start + line.len());
        if closing || children.len() >= MAX_PARTS {
            return children;
        }
    }
    if let Some(from) = child_start {
        children.push(&body[from..]);
    }
    children
}

fn contains_delimiter(body: &[u8], boundary: &[u8]) -> bool {
    lines(body).any(|(_, line)| delimiter(line, boundary).is_some())
}

/// Lines that begin with `--`, each with its line end: only these can be delimiters.
fn lines(body: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let first = body.starts_with(b"--").then_some(0);
    let others = memchr::memmem::find_iter(body, b"\n--").map(|at| at + 1);
    first.into_iter().chain(others).map(|start| {
        let end = memchr(b'\n', &body[start..]).map_or(body.len(), |lf| start + lf + 1);
        (start, &body[start..end])
    })
}

/// `Some(true)` for the closing delimiter, `Some(false)` for the others. Blanks may follow.
fn delimiter(line: &[u8], boundary: &[u8]) -> Option<bool> {
    let rest = line
        .strip_prefix(b"--")?
        .strip_prefix(boundary)?
        .trim_ascii_end();
    match rest {
        b"" => Some(false),
        b"--" => Some(true),
        _ => None,
    }
}

/// The line end before a delimiter belongs to the delimiter.
fn strip_line_end(body: &[u8]) -> &[u8] {
    let body = body.strip_suffix(b"\n").unwrap_or(body);
    body.strip_suffix(b"\r").unwrap_or(body)
}
