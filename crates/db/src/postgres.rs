//! PostgreSQL, straight or through a pooler.
//!
//! A pooler in transaction mode lends a server connection for one transaction
//! only. What is left in a session (prepared statements, settings, LISTEN,
//! session locks) is then left with somebody else, and two rounds outside a
//! transaction may end at two servers. So through a pooler
//!
//! * every statement, a plain read too, runs in an explicit transaction;
//! * statements are prepared without a name, each time anew;
//! * settings are made for the transaction only;
//! * nobody listens: signals are hints, and polling does the work.
//!
//! What that costs (debug build, two busy cores, four slots, one unit at a time
//! with a fact each, pgbouncer 1.18, two rounds each): 480 units/s straight,
//! 290 to 410 when the same server is treated as if pooled, 220 to 290 through a
//! pooler with three servers, 240 to 340 with sixteen.
//!
//! **How a pooler is noticed.** A setting of our own invention goes along with
//! the startup message. A server takes it and shows it; poolers either refuse
//! parameters they do not know or drop them, since they cannot give each client
//! its own. That is certain in one round, where comparing backends of several
//! connections would be a guess. Straight connections carry the setting always:
//! should a pooler take the server's place later, they are refused instead of
//! running somebody else's prepared statement.

use std::{str::FromStr as _, time::Duration};

use sqlx::{
    Connection as _, PgConnection, PgPool, Row as _, Transaction,
    postgres::{PgConnectOptions, PgPoolOptions, PgRow},
};

use crate::{
    DbError, Settings, Statement, connect::without_password, statement::postgres_arguments,
};

/// Our own setting, by which a server is told from a pooler.
const STRAIGHT: &str = "gleaner.straight";

/// A forgotten transaction pins the vacuum horizon, which makes the claim many
/// times slower (17 x measured) until it ends.
const FORGOTTEN: &str = "idle_in_transaction_session_timeout";
const BEGIN_POOLED: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '60s'";

/// The pool, and what stands behind it.
#[derive(Debug)]
pub(crate) struct Postgres {
    pool: PgPool,
    /// Whether a pooler in transaction mode may be in between.
    pooled: bool,
}

impl Postgres {
    /// Connects once, to learn what is wrong and what is in between.
    pub(crate) async fn open(url: &str, settings: &Settings) -> Result<Self, DbError> {
        let plain = PgConnectOptions::from_str(url)
            .map_err(|error| DbError::Address {
                url: without_password(url),
                why: error.to_string(),
            })?
            .application_name("gleaner")
            // The driver's wish, which poolers refuse; values travel in binary anyway.
            .extra_float_digits(None);
        let straight = plain
            .clone()
            .options([(STRAIGHT, "on"), (FORGOTTEN, "60s")]);
        let pooled = if settings.statement_cache {
            is_pooled(&straight, &plain, settings.timeout).await?
        } else {
            first_connection(&plain, settings.timeout).await?;
            true
        };
        if pooled {
            tracing::debug!("through a pooler: one transaction for each statement, no signals");
        }
        let pool = PgPoolOptions::new()
            .max_connections(settings.max_connections)
            .acquire_timeout(settings.timeout)
            .test_before_acquire(false)
            .connect_lazy_with(if pooled { plain } else { straight });
        Ok(Self { pool, pooled })
    }

    pub(crate) fn pool(&self) -> &PgPool {
        &self.pool
    }

    pub(crate) fn is_pooled(&self) -> bool {
        self.pooled
    }

    pub(crate) async fn begin(&self) -> Result<Transaction<'static, sqlx::Postgres>, DbError> {
        Ok(if self.pooled {
            self.pool.begin_with(BEGIN_POOLED).await?
        } else {
            self.pool.begin().await?
        })
    }

    pub(crate) async fn fetch_all(&self, statement: Statement) -> Result<Vec<PgRow>, DbError> {
        let args = postgres_arguments(statement.args)?;
        let query = sqlx::query_with(statement.text, args).persistent(!self.pooled);
        if !self.pooled {
            return Ok(query.fetch_all(&self.pool).await?);
        }
        let mut tx = self.begin().await?;
        let rows = query.fetch_all(&mut *tx).await?;
        tx.commit().await?;
        Ok(rows)
    }
}

async fn is_pooled(
    straight: &PgConnectOptions,
    plain: &PgConnectOptions,
    patience: Duration,
) -> Result<bool, DbError> {
    match first_connection(straight, patience).await {
        Ok(shown) => Ok(shown.as_deref() != Some("on")),
        Err(DbError::Unreachable(sqlx::Error::Database(refusal)))
            if !leads_nowhere(&refusal.code().unwrap_or_default()) =>
        {
            first_connection(plain, patience).await.map(|_| true)
        }
        Err(error) => Err(error),
    }
}

/// Whether it is user, password or database that is wrong, or the server that
/// has no room or time: without our settings it would be the same.
fn leads_nowhere(code: &str) -> bool {
    ["28", "3D", "53", "57"]
        .iter()
        .any(|class| code.starts_with(class))
}

/// One connection, to learn what is wrong: the pool would try again until its
/// patience ends, and then only say that it ended. Returns our own setting as
/// the other side shows it.
async fn first_connection(
    options: &PgConnectOptions,
    patience: Duration,
) -> Result<Option<String>, DbError> {
    let ask = async {
        let mut connection = PgConnection::connect_with(options).await?;
        let row = sqlx::raw_sql("SELECT current_setting('gleaner.straight', true)")
            .fetch_one(&mut connection)
            .await?;
        // Whether it says goodbye properly is of no interest.
        let _ = connection.close().await;
        row.try_get(0)
    };
    let error = match tokio::time::timeout(patience, ask).await {
        Ok(Ok(shown)) => return Ok(shown),
        Ok(Err(error)) => error,
        Err(_) => sqlx::Error::PoolTimedOut,
    };
    Err(match DbError::from(error) {
        // Whatever refuses a first connection, the address leads nowhere.
        DbError::Statement(source) => DbError::Unreachable(source),
        other => other,
    })
}
