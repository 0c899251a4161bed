//! `gleaner mail classify`: JSON lines in, JSON lines out, one answer for each line that can be read.

use std::{
    collections::BTreeMap,
    io::{self, BufRead as _, Read as _},
};

use clap::{Args, ValueEnum};
use scan::mail::classify::{Classification, Mail, Rules};
use serde::Deserialize;

use crate::{
    error::{Exit, Failure, Result, codes},
    printer::Row,
    session::Session,
};

/// A line holds one mail, and a body may be large.
const MAX_LINE: u64 = 64 * 1024 * 1024;

/// Tell what each mail is: JSON lines on standard input, one answer per line
///
/// A line may have `subject`, `from`, `list_id`, `list_address`, `headers` (names to values) and
/// `body`; what `gleaner mail parse` prints can be passed on as it is.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner mail classify --system apache
  gleaner mail classify --system lore --format csv")]
pub(crate) struct ClassifyArgs {
    /// Whose rules hold
    #[arg(long, value_name = "SYSTEM")]
    system: System,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum System {
    /// Lists of the Apache Software Foundation
    Apache,
    /// Lists that work by patches, as those on lore.kernel.org
    Lore,
    /// Any other list
    Generic,
}

/// One line of the input; fields beside these are passed over.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line {
    subject: Option<String>,
    from: Option<String>,
    list_id: Option<String>,
    list_address: Option<String>,
    headers: Option<Headers>,
    body: Option<String>,
    has_patch: Option<bool>,
    in_patch_thread: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "headers are an object of names and values, or a list of pairs"
)]
enum Headers {
    ByName(BTreeMap<String, Values>),
    Pairs(Vec<(String, String)>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Values {
    One(String),
    Many(Vec<String>),
    Unknown(()),
}

impl Row for Classification {
    const COLUMNS: &'static [&'static str] = &["class", "rule", "source", "captures"];
}

pub(super) fn run(session: &Session, args: &ClassifyArgs) -> Result<Exit> {
    let rules = Rules::shipped(args.system.word()).map_err(|error| {
        Failure::new(&codes::DAMAGED, "the classification rules cannot be used").caused_by(&error)
    })?;
    let mut list = session.printer.list()?;
    let mut exit = Exit::Ok;
    let mut input = io::stdin().lock();
    let mut bytes = Vec::new();
    for number in 1_u64.. {
        bytes.clear();
        let read = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes);
        let read = read.map_err(|error| {
            Failure::new(&codes::FILE, "cannot read standard input").caused_by(&error)
        })?;
        if read == 0 {
            break;
        }
        let cut = read as u64 == MAX_LINE && !bytes.ends_with(b"\n");
        if cut {
            input.skip_until(b'\n').map_err(|error| {
                Failure::new(&codes::FILE, "cannot read standard input").caused_by(&error)
            })?;
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        match parse(&bytes, cut) {
            Ok(line) => list.push(&line.classified(rules))?,
            Err(failure) => {
                let failure = failure.at_line(number);
                session.printer.failure(&failure);
                exit = failure.exit();
            }
        }
    }
    list.finish()?;
    Ok(exit)
}

/// Why a line has no answer.
struct BadLine {
    cause: Option<serde_json::Error>,
    long: bool,
}

fn parse(bytes: &[u8], cut: bool) -> Result<Line, BadLine> {
    if cut {
        let (cause, long) = (None, true);
        return Err(BadLine { cause, long });
    }
    serde_json::from_slice(bytes).map_err(|error| BadLine {
        cause: Some(error),
        long: false,
    })
}

impl BadLine {
    fn at_line(&self, number: u64) -> Failure {
        let what = if self.long {
            format!("is longer than {MAX_LINE} bytes")
        } else {
            "is no mail in JSON".to_owned()
        };
        let failure = Failure::new(&codes::LINE, format!("line {number} of the input {what}"));
        let failure = match &self.cause {
            // Its own count of lines begins anew with each of ours.
            Some(cause) => {
                let text = cause.to_string().replace(" at line 1 column", " at column");
                failure.caused_by(&io::Error::other(text))
            }
            None => failure,
        };
        failure.hint("a line is one object, such as {\"subject\": \"[VOTE] Release 1.0\"}; `gleaner mail parse` prints such lines")
    }
}

impl Line {
    fn classified(self, rules: &Rules) -> Classification {
        let headers = self.headers.map(Headers::pairs).unwrap_or_default();
        rules.classify(&Mail {
            subject: self.subject.as_deref().unwrap_or_default(),
            from: self.from.as_deref().unwrap_or_default(),
            list_id: self.list_id.as_deref().unwrap_or_default(),
            list_address: self.list_address.as_deref().unwrap_or_default(),
            headers: &headers,
            body: self.body.as_deref().unwrap_or_default(),
            has_patch: self.has_patch.unwrap_or_default(),
            in_patch_thread: self.in_patch_thread.unwrap_or_default(),
        })
    }
}

impl Headers {
    fn pairs(self) -> Vec<(String, String)> {
        let by_name = match self {
            Self::Pairs(pairs) => return pairs,
            Self::ByName(by_name) => by_name,
        };
        let mut pairs = Vec::new();
        for (name, values) in by_name {
            match values {
                Values::One(value) => pairs.push((name, value)),
                Values::Many(values) => {
                    pairs.extend(values.into_iter().map(|value| (name.clone(), value)));
                }
                Values::Unknown(()) => {}
            }
        }
        pairs
    }
}

impl System {
    fn word(self) -> &'static str {
        match self {
            Self::Apache => "apache",
            Self::Lore => "lore",
            Self::Generic => "generic",
        }
    }
}
