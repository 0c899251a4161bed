//! What a database error means to the user.

use db::{Db, DbError};

use super::{Code, Failure, codes};
use crate::data_directory;

impl From<DbError> for Failure {
    fn from(error: DbError) -> Self {
        let (code, hint) = classify(&error);
        let failure = Self::new(code, error.to_string());
        let failure = match std::error::Error::source(&error) {
            Some(source) => failure.caused_by(source),
            None => failure,
        };
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// As `From<DbError>`, with the address in the message; for a file on this machine, the machine is
/// asked what stands in the way, since SQLite says the same of a missing directory and a full disk.
pub(crate) fn at_database(url: &str, error: DbError) -> Failure {
    let vague = matches!(
        error,
        DbError::Unreachable(_) | DbError::ReadOnly(_) | DbError::Full(_)
    );
    if let Some(path) = url.strip_prefix("sqlite:")
        && vague
        && let Some(failure) = local_obstacle(path, &error)
    {
        return failure;
    }
    if let DbError::Unreachable(source) = &error {
        return Failure::new(
            &codes::DB_UNREACHABLE,
            format!("cannot reach the database at {}", Db::redact(url)),
        )
        .caused_by(source)
        .hint(if source.to_string().contains("startup parameter") {
            "the pooler refuses `options`: take them out of the address (and out of PGOPTIONS)"
        } else {
            "is the server running, and are host, user and password right?"
        })
        .hint("without `--database` the data lives in SQLite in the data directory");
    }
    error.into()
}

/// The same words whichever of SQLite's files could not grow.
const FULL: &str = "the disk that holds the database is full";

fn local_obstacle(path: &str, error: &DbError) -> Option<Failure> {
    let directory = &data_directory::of_file(path);
    let cause = std::error::Error::source(error).unwrap_or(error);
    if !directory.is_dir() {
        let message = format!("there is no directory `{}`", directory.display());
        return Some(
            Failure::new(&codes::NOT_WRITABLE, message)
                .caused_by(cause)
                .hint("create it, or name another file with `--database sqlite:PATH`"),
        );
    }
    if let Err(refusal) = data_directory::writable(directory) {
        return Some(data_directory::not_writable(directory, &refusal));
    }
    if matches!(error, DbError::Full(_)) || data_directory::is_full(directory) {
        return Some(
            Failure::new(&codes::FULL, FULL)
                .caused_by(cause)
                .hint(data_directory::MAKE_ROOM),
        );
    }
    None
}

fn classify(error: &DbError) -> (&'static Code, Option<&'static str>) {
    match error {
        DbError::Unreachable(_) => (
            &codes::DB_UNREACHABLE,
            Some("`gleaner doctor` looks closer"),
        ),
        DbError::Conflict(_) => (&codes::DB_BUSY, Some("nothing was changed: run it again")),
        DbError::Full(_) => (&codes::FULL, Some(data_directory::MAKE_ROOM)),
        DbError::ReadOnly(_) => (
            &codes::NOT_WRITABLE,
            Some("the database refuses to be written: check its permissions"),
        ),
        DbError::Corrupt(_) => (
            &codes::DB_CORRUPT,
            Some("is it the right file? If it is, copy it before anything else"),
        ),
        DbError::Address { .. } => (
            &codes::DB_ADDRESS,
            Some("write `sqlite:PATH` or `postgres://USER@HOST/NAME`"),
        ),
        DbError::NewerSchema { .. } => (
            &codes::DB_NEWER_SCHEMA,
            Some("install the newer gleaner, or name another database with `--database`"),
        ),
        DbError::OlderSchema { .. } => (
            &codes::DB_OLDER_SCHEMA,
            Some("`gleaner db migrate` brings it up"),
        ),
        DbError::Pooler(_) => (
            &codes::DB_UNREACHABLE,
            Some(
                "set `statement_cache = false` under `[database]`: then nothing is kept on the server",
            ),
        ),
        _ => (&codes::DB_DATA, None),
    }
}

impl From<engine::EnqueueError> for Failure {
    fn from(error: engine::EnqueueError) -> Self {
        match error {
            engine::EnqueueError::Database(error) => error.into(),
            other => Self::new(&codes::DB_DATA, "the work cannot be enqueued").caused_by(&other),
        }
    }
}
