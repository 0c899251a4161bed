//! The two pools, and reading through them.

use std::{sync::Arc, time::Duration};

use crate::{
    Clock, DbError, Row, Statement, Timestamp, Tx, Wakes, bulk, postgres::Postgres, sqlite::Sqlite,
};

/// A database, either of the two. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Db(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    pools: Pools,
    wakes: Wakes,
    #[cfg(feature = "testing")]
    faults: crate::testing::CommitFaults,
    #[cfg(feature = "testing")]
    statements: std::sync::atomic::AtomicU64,
}

#[derive(Debug)]
pub(crate) enum Pools {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// Which SQL is spoken. Only three things fork by it: see the crate's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite, in the process.
    Sqlite,
    /// PostgreSQL, 14 or newer.
    Postgres,
}

impl Dialect {
    /// The locking clause of a claim. SQLite's transactions that write are
    /// alone anyway, and it does not know the words.
    pub fn skip_locked(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => "FOR UPDATE SKIP LOCKED",
        }
    }

    /// The locking clause of rows that are read to be changed.
    pub fn for_update(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => "FOR UPDATE",
        }
    }

    /// The word as it stands in addresses and figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// How to connect. The defaults are right for one process on one machine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Connections that one process may hold (PostgreSQL), or readers (SQLite).
    pub max_connections: u32,
    /// How long to wait for a connection, and on SQLite for a writer of another process.
    pub timeout: Duration,
    /// `false` keeps nothing on the server between two transactions, as behind a pooler in
    /// transaction mode. Such a pooler is noticed, so this is for one that is not.
    pub statement_cache: bool,
    /// SQLite only: fsync at every commit. Without it a power cut may lose the
    /// last commits (never consistency); a crash of the process loses nothing.
    pub sync_every_commit: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_connections: 16,
            timeout: Duration::from_secs(10),
            statement_cache: true,
            sync_every_commit: false,
        }
    }
}

impl Db {
    /// Opens `sqlite:PATH`, `sqlite::memory:` or `postgres://…`.
    pub async fn connect(url: &str, settings: &Settings) -> Result<Self, DbError> {
        let pools = if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            Pools::Sqlite(Sqlite::open(path, settings).await?)
        } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            Pools::Postgres(Postgres::open(url, settings).await?)
        } else {
            return Err(DbError::Address {
                url: without_password(url),
                why: "it starts with neither `sqlite:` nor `postgres://`".into(),
            });
        };
        Ok(Self(Arc::new(Shared {
            pools,
            wakes: Wakes::default(),
            #[cfg(feature = "testing")]
            faults: crate::testing::CommitFaults::default(),
            #[cfg(feature = "testing")]
            statements: std::sync::atomic::AtomicU64::new(0),
        })))
    }

    /// Which SQL this database speaks.
    pub fn dialect(&self) -> Dialect {
        match self.pools() {
            Pools::Sqlite(_) => Dialect::Sqlite,
            Pools::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Whether a pooler stands between us and PostgreSQL: then nothing is kept on the server
    /// between two transactions, and there are no signals from other processes.
    pub fn is_pooled(&self) -> bool {
        matches!(self.pools(), Pools::Postgres(postgres) if postgres.is_pooled())
    }

    /// Begins a transaction that writes. On SQLite it waits its turn.
    pub async fn begin(&self) -> Result<Tx, DbError> {
        Tx::begin(self, false).await
    }

    /// Begins a transaction that goes before all others in this process's queue:
    /// for heartbeats, and for nothing else.
    pub async fn begin_urgent(&self) -> Result<Tx, DbError> {
        Tx::begin(self, true).await
    }

    /// One statement that writes, in a transaction of its own. Returns the rows touched.
    pub async fn execute(&self, statement: Statement) -> Result<u64, DbError> {
        let mut tx = self.begin().await?;
        let touched = tx.execute(statement).await?;
        tx.commit().await?;
        Ok(touched)
    }

    /// All rows of a query.
    pub async fn fetch_all(&self, statement: Statement) -> Result<Vec<Row>, DbError> {
        #[cfg(feature = "testing")]
        self.count_statement();
        match self.pools() {
            Pools::Sqlite(sqlite) => {
                let rows = sqlite.fetch_all(statement).await?;
                Ok(rows.into_iter().map(Row::Sqlite).collect())
            }
            Pools::Postgres(postgres) => {
                let rows = postgres.fetch_all(statement).await?;
                Ok(rows.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    /// All rows of a query that has `{rows}` in it; see [`Bulk`](crate::Bulk).
    pub async fn fetch_bulk(
        &self,
        statement: Statement,
        rows: crate::Bulk,
    ) -> Result<Vec<Row>, DbError> {
        self.fetch_all(bulk::join(self.dialect(), statement, rows))
            .await
    }

    /// The first row, if there is one.
    pub async fn fetch_optional(&self, statement: Statement) -> Result<Option<Row>, DbError> {
        Ok(self.fetch_all(statement).await?.into_iter().next())
    }

    /// The one row that must be there.
    pub async fn fetch_one(&self, statement: Statement) -> Result<Row, DbError> {
        self.fetch_optional(statement)
            .await?
            .ok_or(DbError::Statement(sqlx::Error::RowNotFound))
    }

    /// Signals between those who enqueue and those who wait for work.
    pub fn wakes(&self) -> &Wakes {
        &self.0.wakes
    }

    /// Hears the signals of other processes until dropped. Only PostgreSQL has
    /// any; with a pooler in between there are none, and polling does the work.
    pub async fn listen(&self) {
        match self.pools() {
            Pools::Sqlite(_) => std::future::pending().await,
            Pools::Postgres(postgres) if postgres.is_pooled() => std::future::pending().await,
            Pools::Postgres(postgres) => self.wakes().listen(postgres.pool()).await,
        }
    }

    /// Reads the database's clock and lets `clock` follow it; returns what the
    /// host is behind, in microseconds. SQLite has no clock but the host's.
    pub async fn discipline(&self, clock: &Clock) -> Result<Option<i64>, DbError> {
        if self.dialect() == Dialect::Sqlite {
            return Ok(None);
        }
        let before = clock.now();
        let row = self
            .fetch_one(crate::sql!("SELECT clock_timestamp() AS now"))
            .await?;
        let theirs: Timestamp = row.get("now")?;
        Ok(clock.discipline(before, theirs, clock.now()))
    }

    /// Open connections and how many of them are idle.
    pub fn connections(&self) -> (u32, usize) {
        match self.pools() {
            Pools::Sqlite(sqlite) => sqlite.connections(),
            Pools::Postgres(postgres) => (postgres.pool().size(), postgres.pool().num_idle()),
        }
    }

    /// Waits until all connections are closed; on SQLite this folds the WAL back.
    pub async fn close(&self) {
        match self.pools() {
            Pools::Sqlite(sqlite) => sqlite.close().await,
            Pools::Postgres(postgres) => postgres.pool().close().await,
        }
    }

    /// Lets a test decide what happens at each commit.
    #[cfg(feature = "testing")]
    pub fn commit_faults(&self) -> &crate::testing::CommitFaults {
        &self.0.faults
    }

    /// How many statements were sent through this handle and its clones.
    #[cfg(feature = "testing")]
    pub fn statements(&self) -> u64 {
        self.0.statements.load(std::sync::atomic::Ordering::Relaxed)
    }

    #[cfg(feature = "testing")]
    pub(crate) fn count_statement(&self) {
        self.0
            .statements
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    pub(crate) fn pools(&self) -> &Pools {
        &self.0.pools
    }
}

/// The address with the password struck out, fit for messages and logs.
pub(crate) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, tail) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let shown = match authority.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split_once(':').map_or(user, |(name, _)| name);
            format!("{user}@{host}")
        }
        None => authority.to_owned(),
    };
    // A password may also stand in the query part.
    let tail = match tail.split_once('?') {
        Some((path, query)) => {
            let kept: Vec<&str> = query
                .split('&')
                .filter(|pair| !pair.starts_with("password"))
                .collect();
            if kept.is_empty() {
                path.to_owned()
            } else {
                format!("{path}?{}", kept.join("&"))
            }
        }
        None => tail.to_owned(),
    };
    format!("{scheme}://{shown}{tail}")
}

impl Db {
    /// An address without its password, fit for messages and logs.
    pub fn redact(url: &str) -> String {
        without_password(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_in_any_message() {
        for (given, shown) in [
            ("postgres://u:secret@h:5/d", "postgres://u@h:5/d"),
            (
                "postgres://u:p%40ss@h/d?sslmode=require&password=x",
                "postgres://u@h/d?sslmode=require",
            ),
            ("postgres://h/d?password=x", "postgres://h/d"),
            ("sqlite:/a/b.db", "sqlite:/a/b.db"),
        ] {
            assert_eq!(Db::redact(given), shown);
        }
    }

    #[tokio::test]
    async fn a_strange_address_is_refused_with_the_two_that_work() {
        let error = Db::connect("mysql://u:secret@h/d", &Settings::default())
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "`mysql://u@h/d` is no database address: it starts with neither `sqlite:` nor `postgres://`"
        );
    }
}
