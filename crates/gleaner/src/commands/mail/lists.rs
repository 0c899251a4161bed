//! Lists, their messages, single messages, and mail that could not be written.

use clap::Args;
use store::mail::{self, DeadLetter, Hit, KeptList, MessageView};

use crate::{
    error::{Exit, Failure, Result, codes},
    printer::Row,
    session::Session,
};

/// Rows that are read at once; lists are written as they are read.
const PAGE: usize = 1000;

/// List the lists, and how far each was read
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner mail list
  gleaner mail list --format json")]
pub(crate) struct ListArgs {}

/// List the messages of a list, newest first
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner mail messages dev@maven.apache.org
  gleaner mail messages dev@maven.apache.org --limit 20")]
pub(crate) struct MessagesArgs {
    /// The list's address or number
    list: String,
    /// The most to list
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
}

/// Show a message by its Message-ID
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner mail show 20171201.1234@example.org
  gleaner mail show 20171201.1234@example.org --format json")]
pub(crate) struct ShowArgs {
    /// The id, with or without angle brackets
    message_id: String,
}

/// List mail that could not be written; its bytes are kept
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner mail dead
  gleaner mail dead --format json")]
pub(crate) struct DeadArgs {}

impl Row for KeptList {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "address",
        "archive",
        "system",
        "base",
        "inbox",
        "repo_group",
        "repository",
        "messages",
        "staged",
        "skipped",
        "dead",
        "began_at",
        "finished_at",
        "failures",
        "failure",
    ];
    const TABLE: &'static [&'static str] = &[
        "id",
        "address",
        "archive",
        "system",
        "messages",
        "staged",
        "dead",
        "finished_at",
        "failure",
    ];
}

impl Row for Hit {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "message_id",
        "sent_at",
        "sender_email",
        "subject",
        "class",
        "thread",
    ];
    const TABLE: &'static [&'static str] =
        &["sent_at", "sender_email", "subject", "class", "message_id"];
}

impl Row for MessageView {
    const COLUMNS: &'static [&'static str] = &[
        "message_id",
        "subject",
        "from",
        "sent_at",
        "lists",
        "class",
        "rule",
        "source",
        "external_key",
        "signalled_url",
        "thread",
        "has_patch",
        "projected",
        "body",
    ];
}

impl Row for DeadLetter {
    const COLUMNS: &'static [&'static str] = &[
        "copy",
        "list",
        "part",
        "digest",
        "size",
        "failure",
        "staged_at",
    ];
}

pub(super) async fn lists(session: &Session, _args: &ListArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let mut list = session.printer.list()?;
    let mut after = 0;
    loop {
        let page = mail::lists(engine.db(), after, PAGE).await?;
        for one in &page {
            list.push(one)?;
        }
        match page.last() {
            Some(last) if page.len() == PAGE => after = last.id,
            _ => break,
        }
    }
    list.finish()?;
    Ok(Exit::Ok)
}

pub(super) async fn messages(session: &Session, args: &MessagesArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let lists = find(engine.db(), &args.list).await?;
    let mut list = session.printer.list()?;
    let mut left = args.limit;
    for one in lists {
        let mut before = None;
        while left > 0 {
            let size = left.min(PAGE);
            let page = mail::in_list(engine.db(), one.id, before, size).await?;
            for (_, hit) in &page {
                list.push(hit)?;
            }
            left -= page.len();
            before = page.last().map(|(place, _)| *place);
            if page.len() < size {
                break;
            }
        }
    }
    list.finish()?;
    Ok(Exit::Ok)
}

pub(super) async fn show(session: &Session, args: &ShowArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let id = bare(&args.message_id);
    let views = mail::by_message_id(engine.db(), id).await?;
    match views.as_slice() {
        [] => Err(Failure::new(
            &codes::NOT_FOUND,
            format!("there is no message `{id}`"),
        )),
        [one] => {
            session.printer.record(one)?;
            Ok(Exit::Ok)
        }
        several => {
            session.printer.rows(several)?;
            Ok(Exit::Ok)
        }
    }
}

pub(super) async fn dead(session: &Session, _args: &DeadArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let mut list = session.printer.list()?;
    let mut after = 0;
    loop {
        let page = mail::dead_letters(engine.db(), after, PAGE).await?;
        for one in &page {
            list.push(one)?;
        }
        match page.last() {
            Some(last) if page.len() == PAGE => after = last.copy,
            _ => break,
        }
    }
    list.finish()?;
    Ok(Exit::Ok)
}

/// Lists by address or number.
pub(super) async fn find(db: &::db::Db, text: &str) -> Result<Vec<KeptList>> {
    let found = match text.parse::<i64>() {
        Ok(id) => mail::by_id(db, id).await?.into_iter().collect(),
        Err(_) => mail::find(db, text).await?,
    };
    if found.is_empty() {
        return Err(
            Failure::new(&codes::NOT_FOUND, format!("there is no list `{text}`"))
                .hint("`gleaner mail list` tells which there are"),
        );
    }
    Ok(found)
}

/// An id without its brackets.
pub(super) fn bare(id: &str) -> &str {
    id.trim().trim_start_matches('<').trim_end_matches('>')
}
