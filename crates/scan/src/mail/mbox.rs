//! Splitting an mbox stream into messages.
//!
//! The format has no specification that its writers follow, so the splitter asks for evidence. A
//! line is a separator when it begins with `From `, stands after a blank line, carries a date as
//! `asctime` writes it and is followed by a header field; each missing piece must be made up for by
//! another (see [`Separator`]). Prose that begins with "From " therefore stays in its message.
//!
//! * **mboxo, mboxrd** escape such lines with `>`. One level is taken back, unless the line stands
//!   in the middle of a quotation of the same depth: then nobody added the `>`.
//! * **mboxcl, mboxcl2** carry `Content-Length`. It is believed only where a separator (or the end)
//!   stands exactly there, and given up for the rest of the file after a few lies.
//! * `git format-patch` output uses `From <commit> Mon Sep 17 00:00:00 2001`: a separator only in a
//!   file that begins with one, since such lines also come pasted in bodies.
//!
//! Memory is bounded by the largest message allowed; a longer one is cut, marked and skipped. The
//! time is linear in the input.

use std::borrow::Cow;
use std::io::{self, Read};

use jiff::Timestamp;
use memchr::{memchr, memmem, memrchr};

use super::date;

/// How much is read at once.
const CHUNK: usize = 256 * 1024;
/// A separator is judged by itself and the two lines behind it.
const LOOKAHEAD: usize = 8 * 1024;
/// After so many wrong `Content-Length` fields the file is not of that kind.
const MAX_LENGTH_LIES: u8 = 4;
const DEFAULT_MAX_MESSAGE: usize = 32 * 1024 * 1024;

/// One message of an mbox, without its separator and with `>From ` escapes taken back.
#[derive(Debug)]
pub struct MboxMessage<'a> {
    /// The separator line; absent for a file that begins with a header.
    pub envelope: Option<Envelope>,
    /// The message as it was before it was stored, as far as that can be known.
    pub bytes: Cow<'a, [u8]>,
    /// The message was longer than allowed and its end is missing.
    pub truncated: bool,
}

/// What a separator (`From_`) line says. Its date is a last resort only: writers disagree about the
/// zone, and some write 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The envelope sender as written, e.g. `dev-return-5233-…@…` or `MAILER-DAEMON`.
    pub sender: String,
    /// Absent where the line has none, or the placeholder of 1970-01-01.
    pub date: Option<Timestamp>,
}

/// Reads messages one after the other from an mbox, a single message file, or anything between.
#[derive(Debug)]
pub struct Splitter<R> {
    reader: R,
    max_message: usize,
    buffer: Vec<u8>,
    /// Where the next message (its separator, if any) begins in `buffer`.
    start: usize,
    at_eof: bool,
    begun: bool,
    /// The file consists of `git format-patch` output.
    git_series: bool,
    length_lies: u8,
}

/// Splits bytes or any reader with the default limit of 32 MiB for one message.
pub fn split<R: Read>(reader: R) -> Splitter<R> {
    Splitter::with_limit(reader, DEFAULT_MAX_MESSAGE)
}

impl<R: Read> Splitter<R> {
    /// `max_message` bounds the memory: longer messages are cut there and marked.
    pub fn with_limit(reader: R, max_message: usize) -> Self {
        Self {
            reader,
            max_message: max_message.max(LOOKAHEAD),
            buffer: Vec::new(),
            start: 0,
            at_eof: false,
            begun: false,
            git_series: false,
            length_lies: 0,
        }
    }

    /// The next message, or `None` at the end. An error of the reader ends the iteration for good:
    /// what follows could not be told from a new file.
    pub fn next_message(&mut self) -> io::Result<Option<MboxMessage<'_>>> {
        if !self.begun {
            self.begin()?;
        }
        self.compact();
        self.fill(LOOKAHEAD)?;
        if self.start >= self.buffer.len() {
            return Ok(None);
        }
        let (envelope, body_start) = self.take_envelope();
        let end = self.find_end(body_start)?;
        let next = end.next;
        let trimmed = trim_separator_blank(&self.buffer[body_start..end.at], envelope.is_some());
        let (from, to) = (body_start, body_start + trimmed);
        if end.truncated {
            // The kept part must survive the skipping of the rest.
            let kept = self.buffer[from..to].to_vec();
            self.start = next;
            self.skip_to_separator()?;
            return Ok(Some(MboxMessage {
                envelope,
                bytes: Cow::Owned(kept),
                truncated: true,
            }));
        }
        self.start = next;
        let raw = &self.buffer[from..to];
        let bytes = if end.counted && has_plain_from_line(raw) {
            Cow::Borrowed(raw)
        } else {
            unescape(raw)
        };
        Ok(Some(MboxMessage {
            envelope,
            bytes,
            truncated: false,
        }))
    }

    /// Skips a byte-order mark and blank lines, and looks what kind of file this is.
    fn begin(&mut self) -> io::Result<()> {
        self.begun = true;
        self.fill(LOOKAHEAD)?;
        if self.buffer.starts_with(b"\xef\xbb\xbf") {
            self.start = 3;
        }
        while matches!(self.buffer.get(self.start), Some(b'\n' | b'\r')) {
            self.start += 1;
            if self.buffer.len() - self.start < LOOKAHEAD {
                self.compact();
                self.fill(LOOKAHEAD)?;
            }
        }
        self.git_series = is_git_magic(line_at(&self.buffer, self.start));
        Ok(())
    }

    /// At a message's start: the separator line, if there is one, and where the message begins.
    fn take_envelope(&self) -> (Option<Envelope>, usize) {
        let line = line_at(&self.buffer, self.start);
        if !line.starts_with(b"From ") {
            return (None, self.start);
        }
        let after = (self.start + line.len() + 1).min(self.buffer.len());
        (Some(read_envelope(line)), after)
    }

    fn find_end(&mut self, body_start: usize) -> io::Result<End> {
        // From the line feed of the separator on, so that an empty message is seen as one.
        let mut scanned = body_start.saturating_sub(1);
        loop {
            if let Some(at) = memmem::find(&self.buffer[scanned..], b"\nFrom ") {
                let line_start = scanned + at + 1;
                self.fill_to(line_start + LOOKAHEAD)?;
                if self.is_separator(line_start, body_start) {
                    if let Some(counted) = self.end_by_length(body_start, line_start)? {
                        return Ok(counted);
                    }
                    return Ok(End::at(line_start));
                }
                scanned = line_start;
                continue;
            }
            if self.at_eof {
                return Ok(End::at(self.buffer.len()));
            }
            // The needle may lie across the border of two chunks.
            scanned = self.buffer.len().saturating_sub(5).max(scanned);
            if self.buffer.len() - body_start > self.max_message {
                let at = body_start + self.max_message;
                return Ok(End {
                    at,
                    next: scanned.max(at),
                    counted: false,
                    truncated: true,
                });
            }
            self.read_chunk()?;
        }
    }

    /// Where `Content-Length` says the message ends, if it reaches beyond the separator found and
    /// points at a separator or at the end of the file.
    fn end_by_length(&mut self, body_start: usize, found: usize) -> io::Result<Option<End>> {
        if self.length_lies >= MAX_LENGTH_LIES {
            return Ok(None);
        }
        let Some(text_start) = text_start(&self.buffer[body_start..found]) else {
            return Ok(None);
        };
        let Some(length) = content_length(&self.buffer[body_start..body_start + text_start]) else {
            return Ok(None);
        };
        let at = body_start + text_start + length;
        if at <= found || at - body_start > self.max_message {
            return Ok(None);
        }
        self.fill_to(at + LOOKAHEAD)?;
        if at <= self.buffer.len() {
            let mut next = at;
            while matches!(self.buffer.get(next), Some(b'\n' | b'\r')) && next < at + 4 {
                next += 1;
            }
            let fits = if next >= self.buffer.len() {
                self.at_eof
            } else {
                self.buffer[next - 1] == b'\n' && self.is_separator(next, body_start)
            };
            if fits {
                return Ok(Some(End {
                    at,
                    next,
                    counted: true,
                    truncated: false,
                }));
            }
        }
        self.length_lies += 1;
        Ok(None)
    }

    fn skip_to_separator(&mut self) -> io::Result<()> {
        let mut scanned = self.start.saturating_sub(1);
        loop {
            while let Some(at) = memmem::find(&self.buffer[scanned..], b"\nFrom ") {
                let line_start = scanned + at + 1;
                self.fill_to(line_start + LOOKAHEAD)?;
                if self.is_separator(line_start, 0) {
                    self.start = line_start;
                    return Ok(());
                }
                scanned = line_start;
            }
            if self.at_eof {
                self.start = self.buffer.len();
                return Ok(());
            }
            // Keep the line before a possible separator; the rest is of no use.
            self.start = self.buffer.len().saturating_sub(CHUNK).max(self.start);
            self.compact();
            scanned = self.buffer.len().saturating_sub(5);
            self.read_chunk()?;
        }
    }

    fn is_separator(&self, at: usize, body_start: usize) -> bool {
        let line = line_at(&self.buffer, at);
        if !line.starts_with(b"From ") || (is_git_magic(line) && !self.git_series) {
            return false;
        }
        let words = line[5..].trim_ascii();
        let before = &self.buffer[..at];
        Separator {
            dated: date::looks_like_asctime(&String::from_utf8_lossy(line)),
            lone_sender: !words.is_empty() && !words.iter().any(u8::is_ascii_whitespace),
            after_blank: at <= body_start
                || before.ends_with(b"\n\n")
                || before.ends_with(b"\n\r\n"),
            followed_by: Following::read(&self.buffer, at + line.len() + 1),
        }
        .holds()
    }

    /// Drops what was handed out once it is most of the buffer, so that each byte moves rarely.
    fn compact(&mut self) {
        let handed_out = self.start >= CHUNK && self.start >= self.buffer.len() / 2;
        if handed_out || self.start >= self.buffer.len() {
            self.buffer.drain(..self.start);
            self.start = 0;
            // One huge message must not hold its memory for the rest of the file.
            if self.buffer.capacity() > 16 * CHUNK && self.buffer.len() < CHUNK {
                self.buffer.shrink_to(2 * CHUNK);
            }
        }
    }

    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        self.fill_to(self.start + wanted)
    }

    fn fill_to(&mut self, position: usize) -> io::Result<()> {
        while self.buffer.len() < position && !self.at_eof {
            self.read_chunk()?;
        }
        Ok(())
    }

    fn read_chunk(&mut self) -> io::Result<()> {
        let read = self
            .reader
            .by_ref()
            .take(CHUNK as u64)
            .read_to_end(&mut self.buffer)?;
        self.at_eof |= read == 0;
        Ok(())
    }
}

/// The evidence for a line that begins with `From `.
struct Separator {
    dated: bool,
    /// Nothing but one word behind `From `: old writers left the date out.
    lone_sender: bool,
    after_blank: bool,
    followed_by: Following,
}

impl Separator {
    fn holds(&self) -> bool {
        match self.followed_by {
            // Some writers put no blank line between messages: then two fields must follow.
            Following::Fields { transport } => {
                self.dated || (self.lone_sender && self.after_blank && transport)
            }
            // Nothing is an empty header, or the end of the file.
            Following::OneField | Following::Nothing => self.dated && self.after_blank,
            Following::Prose => false,
        }
    }
}

/// What the two lines behind a possible separator are.
enum Following {
    /// Two header fields, or a field and its continuation.
    Fields {
        /// One of them is written by mail transport, not by people.
        transport: bool,
    },
    OneField,
    Nothing,
    Prose,
}

impl Following {
    fn read(buffer: &[u8], at: usize) -> Self {
        let first = line_at(buffer, at);
        // Some writers keep an older separator, escaped, as the first line.
        if first.starts_with(b">From ") {
            return Self::read(buffer, at + first.len() + 1);
        }
        let Some(name) = field_name(first) else {
            let blank = first.iter().all(u8::is_ascii_whitespace);
            return if blank { Self::Nothing } else { Self::Prose };
        };
        let second = line_at(buffer, at + first.len() + 1);
        let continued = second.starts_with(b" ") || second.starts_with(b"\t");
        match field_name(second) {
            Some(other) => Self::Fields {
                transport: is_transport_field(name) || is_transport_field(other),
            },
            None if continued => Self::Fields {
                transport: is_transport_field(name),
            },
            None => Self::OneField,
        }
    }
}

struct End {
    at: usize,
    next: usize,
    /// `Content-Length` decided.
    counted: bool,
    truncated: bool,
}

impl End {
    fn at(at: usize) -> Self {
        Self {
            at,
            next: at,
            counted: false,
            truncated: false,
        }
    }
}

/// The name of the header field on this line, if it is one.
pub(super) fn field_name(line: &[u8]) -> Option<&[u8]> {
    let colon = memchr(b':', &line[..line.len().min(200)])?;
    let name = line[..colon].trim_ascii_end();
    (!name.is_empty() && name.iter().all(u8::is_ascii_graphic)).then_some(name)
}

fn is_transport_field(name: &[u8]) -> bool {
    const FIELDS: [&str; 8] = [
        "Return-Path",
        "Received",
        "Delivered-To",
        "X-Original-To",
        "Message-ID",
        "Envelope-To",
        "Date",
        "List-Id",
    ];
    FIELDS
        .iter()
        .any(|field| field.as_bytes().eq_ignore_ascii_case(name))
}

fn read_envelope(line: &[u8]) -> Envelope {
    let text = String::from_utf8_lossy(&line[5..]);
    let text = text.trim();
    // `someone at example.org  Tue…` as Mailman writes it, else one word.
    let sender = match text.split_once(" at ") {
        Some((user, rest)) if !user.contains(' ') => {
            format!(
                "{user}@{}",
                rest.split_whitespace().next().unwrap_or_default()
            )
        }
        _ => text
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned(),
    };
    let dated = text.get(sender.len().min(text.len())..).unwrap_or_default();
    Envelope {
        date: date::parse(dated).filter(|at| at.as_second() > 24 * 3600),
        sender,
    }
}

/// `git format-patch` marks its files with the commit and this one date.
fn is_git_magic(line: &[u8]) -> bool {
    line.trim_ascii_end()
        .ends_with(b" Mon Sep 17 00:00:00 2001")
        && line
            .get(5..45)
            .is_some_and(|id| id.iter().all(u8::is_ascii_hexdigit))
}

fn line_at(buffer: &[u8], at: usize) -> &[u8] {
    let rest = buffer.get(at..).unwrap_or_default();
    let rest = &rest[..rest.len().min(LOOKAHEAD)];
    &rest[..memchr(b'\n', rest).unwrap_or(rest.len())]
}

/// Length without the blank line that writers put before the next separator.
fn trim_separator_blank(message: &[u8], from_mbox: bool) -> usize {
    if from_mbox && message.ends_with(b"\n\r\n") {
        message.len() - 2
    } else if from_mbox && message.ends_with(b"\n\n") {
        message.len() - 1
    } else {
        message.len()
    }
}

fn text_start(message: &[u8]) -> Option<usize> {
    let unix = memmem::find(message, b"\n\n").map(|at| at + 2);
    let dos = memmem::find(&message[..unix.unwrap_or(message.len())], b"\n\r\n");
    dos.map(|at| at + 3).or(unix)
}

fn content_length(header: &[u8]) -> Option<usize> {
    // Most archives have no such field; this search is much cheaper than reading the lines.
    memmem::find(header, b"-Length:").or_else(|| memmem::find(header, b"-length:"))?;
    header.split(|&b| b == b'\n').find_map(|line| {
        let name = field_name(line)?;
        if !name.eq_ignore_ascii_case(b"Content-Length") {
            return None;
        }
        let value = &line[memchr(b':', line)? + 1..];
        std::str::from_utf8(value).ok()?.trim().parse().ok()
    })
}

fn has_plain_from_line(message: &[u8]) -> bool {
    memmem::find(message, b"\nFrom ").is_some()
}

/// Takes back one `>` of each escaped line.
fn unescape(message: &[u8]) -> Cow<'_, [u8]> {
    let mut kept_until = 0;
    let mut unescaped: Option<Vec<u8>> = None;
    for at in memmem::find_iter(message, b">From") {
        let more = message[..at]
            .iter()
            .rev()
            .take_while(|&&b| b == b'>')
            .count();
        let line_start = at - more;
        let depth = more + 1;
        let escaped = (line_start == 0 || message[line_start - 1] == b'\n')
            && message.get(at + 5).is_none_or(u8::is_ascii_whitespace);
        if escaped && !inside_quotation(message, line_start, at, depth) {
            let target = unescaped.get_or_insert_with(|| Vec::with_capacity(message.len()));
            target.extend_from_slice(&message[kept_until..line_start]);
            kept_until = line_start + 1;
        }
    }
    match unescaped {
        Some(mut target) => {
            target.extend_from_slice(&message[kept_until..]);
            Cow::Owned(target)
        }
        None => Cow::Borrowed(message),
    }
}

/// Whether the lines before and after are quoted to the same depth. Other escaped lines prove
/// nothing: a list of lines that begin with "From " is escaped as a whole.
fn inside_quotation(message: &[u8], line_start: usize, at: usize, depth: usize) -> bool {
    let Some(previous_end) = line_start.checked_sub(1) else {
        return false;
    };
    let previous_start = memrchr(b'\n', &message[..previous_end]).map_or(0, |lf| lf + 1);
    let Some(lf) = memchr(b'\n', &message[at..]) else {
        return false;
    };
    let quoted = |line: &[u8]| quote_depth(line) == depth && !line[depth..].starts_with(b"From");
    quoted(&message[previous_start..]) && quoted(&message[at + lf + 1..])
}

fn quote_depth(line: &[u8]) -> usize {
    line.iter().take_while(|&&b| b == b'>').count()
}
