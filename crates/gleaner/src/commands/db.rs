//! `gleaner db`: the schema and the soundness of the database.

use ::db::{Clock, Db, Dialect, migrate, schema_state, sql};
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::{
    error::{Exit, Failure, Result, at_database},
    printer::Row,
    session::{PARTS, Session},
};

/// Bring the database up to date, and check it
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner db migrate
  gleaner db check")]
pub(crate) enum DbCommand {
    Migrate(MigrateArgs),
    Check(CheckArgs),
    #[command(hide = true)]
    Schema(SchemaArgs),
}

/// Bring the schema up to date; `serve` and `work` do so at their start
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner db migrate
  gleaner db migrate --database postgres://gleaner@localhost/gleaner")]
pub(crate) struct MigrateArgs {}

/// Check schema and soundness; exit code 1 when something is wrong
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner db check
  gleaner db check --database sqlite:gleaner.db --format json")]
pub(crate) struct CheckArgs {}

/// Print the schema as it is in the database
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner db schema
  gleaner db schema --database sqlite::memory: > schema.sqlite.sql")]
pub(crate) struct SchemaArgs {}

#[derive(Serialize)]
struct Verdict {
    check: String,
    ok: bool,
    detail: String,
}

impl Row for Verdict {
    const COLUMNS: &'static [&'static str] = &["check", "ok", "detail"];
}

pub(crate) async fn run(session: &Session, command: DbCommand) -> Result<Exit> {
    match command {
        DbCommand::Migrate(_) => bring_up(session).await,
        DbCommand::Check(_) => check(session).await,
        DbCommand::Schema(_) => {
            let (db, _) = session.open().await?;
            let schema = ::db::dump_schema(&db).await?;
            session.printer.text(&schema)?;
            Ok(Exit::Ok)
        }
    }
}

async fn bring_up(session: &Session) -> Result<Exit> {
    let db = session.connect().await?;
    let clock = Clock::system();
    let applied = async {
        db.discipline(&clock).await?;
        migrate(&db, PARTS, &clock).await
    };
    let url = session.database_url()?;
    let applied = applied.await.map_err(|error| at_database(&url, error))?;
    if applied.is_empty() {
        session.printer.note("the schema is up to date");
    }
    for step in applied {
        session.printer.note(&format!("applied {step}"));
    }
    db.close().await;
    Ok(Exit::Ok)
}

async fn check(session: &Session) -> Result<Exit> {
    let db = session.connect().await?;
    let mut checks = schema_checks(&db).await?;
    if db.dialect() == Dialect::Sqlite {
        checks.push(sqlite_soundness(&db).await);
    }
    let sound = checks.iter().all(|check| check.ok);
    session.printer.rows(&checks)?;
    Ok(if sound { Exit::Ok } else { Exit::Nothing })
}

async fn schema_checks(db: &Db) -> Result<Vec<Verdict>> {
    let states = schema_state(db, PARTS).await?;
    let check = |state: &::db::SchemaState| {
        let verdict = state.check().map_err(Failure::from);
        Verdict {
            check: format!("schema of {}", state.part),
            ok: verdict.is_ok(),
            detail: match verdict {
                Ok(()) => format!("at {}", state.found),
                Err(failure) => match failure.first_hint() {
                    Some(hint) => format!("{}; {hint}", failure.message()),
                    None => failure.message().to_owned(),
                },
            },
        }
    };
    Ok(states.iter().map(check).collect())
}

/// SQLite reads every page and index; PostgreSQL has its own tools for this.
async fn sqlite_soundness(db: &Db) -> Verdict {
    let verdicts = async {
        let mut words = Vec::new();
        for (pragma, column) in [
            (sql!("PRAGMA integrity_check(20)"), "integrity_check"),
            (sql!("PRAGMA foreign_key_check"), "table"),
        ] {
            for row in db.fetch_all(pragma).await? {
                let word: String = row.get(column)?;
                if word != "ok" {
                    words.push(word);
                }
            }
        }
        Ok::<_, ::db::DbError>(words)
    };
    let (ok, detail) = match verdicts.await {
        Ok(words) if words.is_empty() => (true, "every page and index is sound".to_owned()),
        Ok(words) => (false, words.join("; ")),
        Err(error) => (false, error.to_string()),
    };
    Verdict {
        check: "soundness".into(),
        ok,
        detail,
    }
}
