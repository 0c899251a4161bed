//! `gleaner mail parse`: one line per message, as they come; memory is bounded by one message.

use std::{
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use clap::Args;
use scan::mail::{self, Hint, ParsedMessage, mbox};
use serde::Serialize;

use super::archive::{self, Archive, Source};
use crate::{
    error::{Exit, Failure, Result, codes},
    printer::{List, Row},
    session::Session,
};

/// Longer messages are cut here and marked.
const MAX_MESSAGE: u64 = 32 * 1024 * 1024;

/// Read messages from mbox files (plain or gzip), maildirs and single files
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner mail parse dev.mbox 2017-12.mbox.gz one.eml --format jsonl
  gleaner mail parse Maildir")]
pub(crate) struct ParseArgs {
    /// Files, in the order in which they are shown; directories are walked; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Serialize)]
struct MessageRow {
    file: String,
    /// The place in the file.
    index: u64,
    #[serde(flatten)]
    message: ParsedMessage,
    /// The message is longer than is read, and its end is missing.
    truncated: bool,
}

impl Row for MessageRow {
    const COLUMNS: &'static [&'static str] = &[
        "file",
        "index",
        "message_id",
        "subject",
        "from",
        "sender_email",
        "date",
        "in_reply_to",
        "references",
        "list_id",
        "body",
        "has_patch",
        "attachments",
        "truncated",
    ];
    const TABLE: &'static [&'static str] = &[
        "file",
        "index",
        "date",
        "sender_email",
        "subject",
        "has_patch",
    ];
}

pub(super) fn run(session: &Session, args: &ParseArgs) -> Result<Exit> {
    let mut list = session.printer.list()?;
    let mut exit = Exit::Ok;
    // One bad file is told and does not hide the others.
    let mut complain = |failure: &Failure| {
        session.printer.failure(failure);
        if exit == Exit::Ok {
            exit = failure.exit();
        }
    };
    for path in &args.files {
        let mut sources = Vec::new();
        if path.is_dir() {
            archive::walk(path, &mut sources, &mut |path, error| {
                complain(&Failure::unreadable(path, error));
            });
        } else {
            let path = path.clone();
            sources.push(Source { path, found: false });
        }
        for source in &sources {
            match read(session, source, &mut list) {
                Ok(()) => {}
                Err(Problem::Input(failure)) => complain(&failure),
                Err(Problem::Output(failure)) => return Err(failure),
            }
        }
    }
    list.finish()?;
    Ok(exit)
}

/// What ends one file, and what ends everything.
enum Problem {
    Input(Failure),
    Output(Failure),
}

fn read(session: &Session, source: &Source, list: &mut List<MessageRow>) -> Result<(), Problem> {
    let input = |error: io::Error| Problem::Input(unreadable(&source.path, &error));
    let archive = source.open().map_err(input)?;
    let file = shown(&source.path);
    if archive.strange {
        if source.found {
            session.printer.note(&format!("`{file}` holds no mail"));
            return Ok(());
        }
        session.printer.warning(&format!(
            "`{file}` begins neither with a separator nor with a header field"
        ));
    }
    let mut index = 0;
    let mut push = |message: ParsedMessage, truncated: bool| {
        let row = MessageRow {
            file: file.clone(),
            index,
            message,
            truncated,
        };
        index += 1;
        list.push(&row).map_err(Problem::Output)
    };
    if archive.single {
        let (bytes, truncated) = whole(archive).map_err(input)?;
        return push(mail::parse(&bytes, Hint::default()), truncated);
    }
    let mut splitter = mbox::split(archive.reader);
    while let Some(raw) = splitter.next_message().map_err(input)? {
        let envelope = raw.envelope.as_ref();
        push(mail::parse(&raw.bytes, Hint { envelope }), raw.truncated)?;
    }
    Ok(())
}

pub(super) fn whole(archive: Archive) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    let limit = MAX_MESSAGE + 1;
    archive.reader.take(limit).read_to_end(&mut bytes)?;
    let truncated = bytes.len() as u64 > MAX_MESSAGE;
    if truncated {
        bytes.pop();
    }
    Ok((bytes, truncated))
}

/// A file that is not there is the user's mistake; one that is damaged is a matter of data.
pub(super) fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let damaged = matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    );
    if !damaged {
        return Failure::unreadable(path, error);
    }
    let message = format!("`{}` is damaged, and was read up to there", shown(path));
    Failure::new(&codes::DAMAGED, message)
        .caused_by(error)
        .hint("fetch the file again; what was read before is above")
}

fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.replace(std::path::MAIN_SEPARATOR, "/")
}
