//! `gleaner doctor`: looks at the surroundings, a line each, with the fix where one is needed.

mod upstreams;

use std::{process::Stdio, time::Duration};

use ::db::{Clock, Db, Dialect, schema_state};
use clap::Args;
use serde::Serialize;

use crate::{
    config::show_size,
    data_directory,
    error::{Exit, Failure, Result},
    printer::Row,
    rounds,
    session::{PARTS, Session},
};

/// Hosts whose clocks differ by more than this give puzzling logs, though the database's time rules.
const MOST_SKEW: Duration = Duration::from_secs(2);

/// How long a tool may take to tell its version.
const TOOL_TIMEOUT: Duration = Duration::from_secs(10);

/// Check the surroundings: configuration, disk, database, upstreams, tokens, git
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner doctor
  gleaner doctor --database postgres://gleaner@localhost/gleaner")]
pub(crate) struct DoctorArgs {}

#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    ok: bool,
    detail: String,
    fix: Option<String>,
}

impl Row for Finding {
    const COLUMNS: &'static [&'static str] = &["check", "ok", "detail", "fix"];
}

impl Finding {
    fn fine(check: &'static str, detail: impl Into<String>) -> Self {
        Self {
            check,
            ok: true,
            detail: detail.into(),
            fix: None,
        }
    }

    fn wrong(check: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            check,
            ok: false,
            detail: detail.into(),
            fix: Some(fix.into()),
        }
    }

    fn failed(check: &'static str, failure: &Failure) -> Self {
        let fix = failure.first_hint().unwrap_or("`gleaner help errors`");
        Self::wrong(check, failure.message(), fix)
    }
}

pub(crate) async fn run(session: &Session, _: DoctorArgs) -> Result<Exit> {
    let mut findings = Vec::new();
    match session.settings() {
        Err(failure) => {
            // The whole complaint with its carets is worth more than one line of a table.
            session.printer.failure(&failure);
            findings.push(Finding::failed("configuration", &failure));
        }
        Ok(settings) => {
            findings.push(configuration(session)?);
            findings.push(disk(session, settings.database.min_free));
            findings.extend(database(session).await);
            findings.extend(upstreams::look(settings).await);
        }
    }
    for name in rounds::tools() {
        findings.push(tool(name).await);
    }
    let well = findings.iter().all(|finding| finding.ok);
    session.printer.rows(&findings)?;
    Ok(if well { Exit::Ok } else { Exit::Nothing })
}

fn configuration(session: &Session) -> Result<Finding> {
    let detail = match &session.config(None)?.file {
        Some(path) => path.display().to_string(),
        None => "no file, the defaults hold".to_owned(),
    };
    Ok(Finding::fine("configuration", detail))
}

fn disk(session: &Session, least: u64) -> Finding {
    let directory = match session.data_directory() {
        Ok(directory) => directory,
        Err(failure) => return Finding::failed("disk", &failure),
    };
    if let Err(failure) = data_directory::prepare(&directory) {
        return Finding::failed("disk", &failure);
    }
    let shown = directory.display();
    match data_directory::free_bytes(&directory) {
        None => Finding::fine("disk", format!("{shown} can be written")),
        Some(free) if free >= least => {
            Finding::fine("disk", format!("{shown} has {} MiB free", free >> 20))
        }
        Some(free) => Finding::wrong(
            "disk",
            format!(
                "{shown} has only {} MiB free, less than {}",
                free >> 20,
                show_size(least)
            ),
            "make room, or lower `min_free` under `[database]`",
        ),
    }
}

async fn database(session: &Session) -> Vec<Finding> {
    let db = match session.connect().await {
        Ok(db) => db,
        Err(failure) => return vec![Finding::failed("database", &failure)],
    };
    let url = session.database_url().unwrap_or_default();
    vec![
        Finding::fine("database", Db::redact(&url)),
        schema(&db).await,
        clock(&db).await,
    ]
}

async fn schema(db: &Db) -> Finding {
    let states = match schema_state(db, PARTS).await {
        Ok(states) => states,
        Err(error) => return Finding::failed("schema", &error.into()),
    };
    for state in &states {
        if let Err(error) = state.check() {
            return Finding::failed("schema", &error.into());
        }
    }
    let parts = states
        .iter()
        .map(|state| format!("{} at {}", state.part, state.found));
    Finding::fine("schema", parts.collect::<Vec<_>>().join(", "))
}

async fn clock(db: &Db) -> Finding {
    if db.dialect() == Dialect::Sqlite {
        return Finding::fine("clock", "SQLite goes by this host's clock");
    }
    match db.discipline(&Clock::system()).await {
        Err(error) => Finding::failed("clock", &error.into()),
        Ok(behind) => {
            let behind = behind.unwrap_or(0);
            let detail = format!("{} ms behind the database", behind / 1000);
            if Duration::from_micros(behind.unsigned_abs()) <= MOST_SKEW {
                Finding::fine("clock", detail)
            } else {
                Finding::wrong(
                    "clock",
                    detail,
                    "switch on time synchronisation (NTP) on both hosts",
                )
            }
        }
    }
}

async fn tool(name: &'static str) -> Finding {
    let version = tokio::process::Command::new(name)
        .arg("--version")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let install = format!("install {name} and make sure that it is in PATH");
    match tokio::time::timeout(TOOL_TIMEOUT, version).await {
        Ok(Ok(output)) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            Finding::fine(name, text.lines().next().unwrap_or_default().trim())
        }
        Ok(Ok(output)) => Finding::wrong(name, format!("ended with {}", output.status), install),
        Ok(Err(error)) => Finding::wrong(name, error.to_string(), install),
        Err(_) => Finding::wrong(name, "does not answer", install),
    }
}
