//! `gleaner mail stats`.

use clap::Args;
use store::mail::{self, ClassCount, Stats, WaitingList};

use crate::{
    error::{Exit, Result},
    printer::{Format, Row},
    session::Session,
};

/// Show figures of all mail
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner mail stats
  gleaner mail stats --format json")]
pub(crate) struct StatsArgs {}

impl Row for Stats {
    const COLUMNS: &'static [&'static str] = &[
        "lists",
        "scan_complete",
        "email_messages",
        "mirrors",
        "signalled_captured",
        "signalled_resolved",
        "sender_total",
        "sender_resolved",
        "sender_email_only",
        "threads",
        "series",
        "by_class",
        "waiting",
        "shadows",
        "skipped",
        "dead_letters",
        "incomplete_parts",
    ];
    const TABLE: &'static [&'static str] = &[
        "lists",
        "scan_complete",
        "email_messages",
        "mirrors",
        "signalled_captured",
        "signalled_resolved",
        "sender_total",
        "sender_resolved",
        "sender_email_only",
        "threads",
        "series",
        "shadows",
        "skipped",
        "dead_letters",
        "incomplete_parts",
    ];
}

impl Row for ClassCount {
    const COLUMNS: &'static [&'static str] = &["class", "messages"];
}

impl Row for WaitingList {
    const COLUMNS: &'static [&'static str] = &["list", "staged", "without_repository"];
}

pub(super) async fn run(session: &Session, _args: &StatsArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let stats = mail::stats(engine.db()).await?;
    let printer = &session.printer;
    printer.record(&stats)?;
    // Programs have got everything in one object; people read on.
    if printer.format() == Format::Table {
        if !stats.by_class.is_empty() {
            printer.rows(&stats.by_class)?;
        }
        if !stats.waiting.is_empty() {
            printer.rows(&stats.waiting)?;
        }
    }
    Ok(Exit::Ok)
}
