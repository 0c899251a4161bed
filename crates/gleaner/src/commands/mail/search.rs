//! `gleaner mail search` and `gleaner mail thread`.

use clap::Args;
use store::mail::{self, ThreadEntry};

use super::lists::{bare, find};
use crate::{
    error::{Exit, Failure, Result, codes},
    printer::Row,
    session::Session,
};

/// Find messages by their words: all must be there, "phrases" in quotes
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner mail search release candidate
  gleaner mail search checksum --list dev@maven.apache.org --limit 20")]
pub(crate) struct SearchArgs {
    /// Words of the subject, the sender or the text
    #[arg(required = true, value_name = "WORD")]
    words: Vec<String>,
    /// Only on this list: its address or number
    #[arg(long, value_name = "LIST")]
    list: Option<String>,
    /// The most to list
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

/// Show the thread that a message is in
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner mail thread 20171201.1234@example.org
  gleaner mail thread 20171201.1234@example.org --format jsonl")]
pub(crate) struct ThreadArgs {
    /// The id of any of its messages, with or without angle brackets
    message_id: String,
}

impl Row for ThreadEntry {
    const COLUMNS: &'static [&'static str] = &[
        "depth",
        "message_id",
        "parent",
        "seen",
        "sent_at",
        "sender_email",
        "subject",
        "class",
    ];
    const TABLE: &'static [&'static str] = &[
        "depth",
        "sent_at",
        "sender_email",
        "subject",
        "class",
        "message_id",
    ];
}

pub(super) async fn search(session: &Session, args: &SearchArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let list = match &args.list {
        Some(text) => find(engine.db(), text).await?.first().map(|list| list.id),
        None => None,
    };
    let query = args.words.join(" ");
    let hits = mail::search(engine.db(), &query, list, None, args.limit).await?;
    session.printer.rows(&hits)?;
    Ok(if hits.is_empty() {
        Exit::Nothing
    } else {
        Exit::Ok
    })
}

pub(super) async fn thread(session: &Session, args: &ThreadArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let id = bare(&args.message_id);
    let Some(thread) = mail::thread_of(engine.db(), id).await? else {
        let message = format!("no message is, or names, `{id}`");
        return Err(Failure::new(&codes::NOT_FOUND, message));
    };
    session.printer.rows(&thread.entries)?;
    Ok(Exit::Ok)
}
