//! What can go wrong with a database, one variant per thing a caller can do.

use std::borrow::Cow;

/// An error of the database layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DbError {
    /// Nobody answers, or the connection broke: try again later.
    #[error("cannot reach the database")]
    Unreachable(#[source] sqlx::Error),
    /// Another transaction was in the way (deadlock, serialisation, lock wait): run it again.
    #[error("the database asked for the transaction to be run again")]
    Conflict(#[source] sqlx::Error),
    /// No room left: make some.
    #[error("the disk that holds the database is full")]
    Full(#[source] sqlx::Error),
    /// The database or its directory cannot be written.
    #[error("the database cannot be written")]
    ReadOnly(#[source] sqlx::Error),
    /// The file is damaged or is no database.
    #[error("the database file is damaged or is not a database")]
    Corrupt(#[source] sqlx::Error),
    /// A constraint refused the data.
    #[error("the data breaks a rule of the schema")]
    Constraint(#[source] sqlx::Error),
    /// The address of the database makes no sense.
    #[error("`{url}` is no database address: {why}")]
    Address {
        /// The address, without its password.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The schema was written by a newer binary that no longer serves ours.
    #[error(
        "the database's schema is newer than this binary: {part} is at {found}, this binary knows {known}"
    )]
    NewerSchema {
        /// The part of the schema.
        part: String,
        /// The number of the newest migration in the database.
        found: i64,
        /// The number of the newest migration in the binary.
        known: i64,
    },
    /// The schema is older than the binary and nobody migrated it.
    #[error(
        "the database's schema is older than this binary: {part} is at {found}, {known} is needed"
    )]
    OlderSchema {
        /// The part of the schema.
        part: String,
        /// The number of the newest migration in the database.
        found: i64,
        /// The number of the newest migration in the binary.
        known: i64,
    },
    /// A value in the database is not what the program expects there.
    #[error("column `{column}` holds an unexpected value: {why}")]
    Value {
        /// Name of the column.
        column: String,
        /// What is wrong with it.
        why: String,
    },
    /// A pooler in between that was not noticed: say that there is one.
    #[error(
        "a prepared statement was lost or belongs to somebody else: there is a pooler in between"
    )]
    Pooler(#[source] sqlx::Error),
    /// Anything else: a mistake in a statement, most likely.
    #[error("the database refused a statement")]
    Statement(#[source] sqlx::Error),
}

impl DbError {
    /// Whether running the same transaction again may succeed at once.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict(_))
    }

    /// Whether the fault is the connection's, so that the outcome of a commit is unknown.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }
}

impl From<sqlx::Error> for DbError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => Self::Unreachable(error),
            sqlx::Error::Database(database) => {
                let code = database.code().unwrap_or(Cow::Borrowed(""));
                match classify(&code) {
                    Class::Unreachable => Self::Unreachable(error),
                    Class::Conflict => Self::Conflict(error),
                    Class::Full => Self::Full(error),
                    Class::ReadOnly => Self::ReadOnly(error),
                    Class::Corrupt => Self::Corrupt(error),
                    Class::Constraint => Self::Constraint(error),
                    Class::Pooler => Self::Pooler(error),
                    Class::Statement => Self::Statement(error),
                }
            }
            _ => Self::Statement(error),
        }
    }
}

enum Class {
    Unreachable,
    Conflict,
    Full,
    ReadOnly,
    Corrupt,
    Constraint,
    Pooler,
    Statement,
}

/// PostgreSQL's codes have five characters; SQLite's are numbers whose low byte is the class.
fn classify(code: &str) -> Class {
    if code.len() == 5 {
        return match code {
            "40001" | "40P01" | "55P03" => Class::Conflict,
            "53100" => Class::Full,
            "25006" => Class::ReadOnly,
            "XX001" | "XX002" => Class::Corrupt,
            // Connection exceptions, operator intervention, too many clients.
            _ if code.starts_with("08") || code.starts_with("57P") || code == "53300" => {
                Class::Unreachable
            }
            // No such role or database, wrong password: the address leads nowhere.
            _ if code.starts_with("28") || code == "3D000" => Class::Unreachable,
            _ if code.starts_with("23") => Class::Constraint,
            // No such prepared statement, or one too many of that name.
            "26000" | "42P05" => Class::Pooler,
            _ => Class::Statement,
        };
    }
    match code.parse::<u32>().map(|number| number & 0xff) {
        Ok(5 | 6) => Class::Conflict,      // SQLITE_BUSY, SQLITE_LOCKED
        Ok(8) => Class::ReadOnly,          // SQLITE_READONLY
        Ok(10 | 14) => Class::Unreachable, // SQLITE_IOERR, SQLITE_CANTOPEN
        Ok(11 | 26) => Class::Corrupt,     // SQLITE_CORRUPT, SQLITE_NOTADB
        Ok(13) => Class::Full,             // SQLITE_FULL
        Ok(19) => Class::Constraint,       // SQLITE_CONSTRAINT
        _ => Class::Statement,
    }
}
