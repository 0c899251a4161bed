//! Answers of an index's changelog, in XML-RPC.
//!
//! Only what is asked for is read: one number, or a list of lines of five values each. A fault is a
//! value, since it tells whether the index refuses the question or only its haste.

use quick_xml::{Reader, events::Event};

/// What the index answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangelogAnswer {
    /// The newest serial.
    Serial(u64),
    /// What happened, in the order of the answer.
    Lines(Vec<ChangelogLine>),
    /// It would not say.
    Fault { code: i64, text: String },
}

/// One line of the changelog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangelogLine {
    /// As the index spells it.
    pub project: String,
    pub version: Option<String>,
    pub action: String,
    pub serial: u64,
}

/// Why an answer is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangelogFault {
    #[error("the changelog is broken XML: {0}")]
    Xml(String),
    #[error("the answer is not one of a changelog")]
    NotAChangelog,
    #[error("the changelog has more than {MAX_LINES} lines in one answer")]
    TooManyLines,
}

/// Indexes give a twentieth of this.
const MAX_LINES: usize = 1_000_000;
const MAX_DEPTH: usize = 40;

impl ChangelogAnswer {
    /// Reads an answer.
    pub fn parse(bytes: &[u8]) -> Result<Self, ChangelogFault> {
        let text = String::from_utf8_lossy(bytes);
        let mut reader = Reader::from_str(&text);
        let mut reading = Reading::default();
        loop {
            let event = reader.read_event();
            match event.map_err(|error| ChangelogFault::Xml(error.to_string()))? {
                Event::Start(start) => reading.open(start.local_name().as_ref())?,
                Event::Empty(start) if start.local_name().as_ref() == "nil" => {
                    reading.scalar(None);
                }
                Event::Text(text) => reading.text.push_str(&text),
                Event::CData(text) => reading.text.push_str(&text),
                Event::GeneralRef(reference) => {
                    let character = reference.resolve_char_ref().ok().flatten();
                    let known = character.or_else(|| predefined(&reference));
                    reading
                        .text
                        .push(known.unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                Event::End(end) => reading.close(end.local_name().as_ref())?,
                Event::Eof => break,
                _ => {}
            }
        }
        reading.done()
    }
}

/// Where the reader is.
#[derive(Default)]
struct Reading {
    open: Vec<String>,
    arrays: usize,
    text: String,
    /// The value that is open has been taken.
    taken: bool,
    row: Vec<Option<String>>,
    lines: Vec<ChangelogLine>,
    /// Values outside of any array.
    alone: Vec<Option<String>>,
    answered: bool,
    fault: bool,
    list: bool,
}

impl Reading {
    fn open(&mut self, name: &str) -> Result<(), ChangelogFault> {
        if self.open.len() >= MAX_DEPTH {
            return Err(ChangelogFault::NotAChangelog);
        }
        match name {
            "methodResponse" => self.answered = true,
            "fault" => self.fault = true,
            "value" => self.taken = false,
            "array" => {
                self.arrays += 1;
                self.list = true;
                self.row.clear();
            }
            _ => {}
        }
        self.text.clear();
        self.open.push(name.to_owned());
        Ok(())
    }

    fn close(&mut self, name: &str) -> Result<(), ChangelogFault> {
        self.open.pop();
        let text = std::mem::take(&mut self.text);
        match name {
            "int" | "i4" | "i8" | "string" | "boolean" | "double" => self.scalar(Some(text)),
            "nil" => self.scalar(None),
            // A value without a type is a string.
            "value" if !self.taken => self.scalar(Some(text)),
            "array" => {
                if self.arrays == 2 {
                    self.line()?;
                }
                self.arrays = self.arrays.saturating_sub(1);
                self.taken = true;
            }
            "struct" | "member" => self.taken = true,
            _ => {}
        }
        Ok(())
    }

    fn scalar(&mut self, value: Option<String>) {
        self.taken = true;
        match self.arrays {
            0 => self.alone.push(value),
            _ => self.row.push(value),
        }
    }

    fn line(&mut self) -> Result<(), ChangelogFault> {
        let row = std::mem::take(&mut self.row);
        let [project, version, _at, action, serial] =
            <[Option<String>; 5]>::try_from(row).map_err(|_| ChangelogFault::NotAChangelog)?;
        let serial = serial.and_then(|text| text.trim().parse().ok());
        let (Some(project), Some(serial)) = (project, serial) else {
            return Err(ChangelogFault::NotAChangelog);
        };
        if self.lines.len() >= MAX_LINES {
            return Err(ChangelogFault::TooManyLines);
        }
        self.lines.push(ChangelogLine {
            project,
            version: version.filter(|version| !version.is_empty()),
            action: action.unwrap_or_default(),
            serial,
        });
        Ok(())
    }

    fn done(self) -> Result<ChangelogAnswer, ChangelogFault> {
        let number = |value: &Option<String>| value.as_ref()?.trim().parse::<i64>().ok();
        if !self.answered || !self.open.is_empty() {
            return Err(ChangelogFault::NotAChangelog);
        }
        if self.fault {
            let text = self.alone.iter().rev().flatten();
            let mut text = text.filter(|text| text.trim().parse::<i64>().is_err());
            return Ok(ChangelogAnswer::Fault {
                code: self.alone.iter().find_map(number).unwrap_or_default(),
                text: text.next().cloned().unwrap_or_default(),
            });
        }
        if self.list {
            return Ok(ChangelogAnswer::Lines(self.lines));
        }
        let serial = match self.alone.as_slice() {
            [one] => number(one).and_then(|number| u64::try_from(number).ok()),
            _ => None,
        };
        serial
            .map(ChangelogAnswer::Serial)
            .ok_or(ChangelogFault::NotAChangelog)
    }
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
