//! SQLite: one connection that writes, some that read, and transactions of the former.

use futures_util::TryStreamExt as _;
use sqlx::{
    Either, Executor as _, SqlStr, SqliteConnection, SqlitePool,
    sqlite::{
        SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
    },
};
use tokio::runtime::Handle;

use crate::{
    DbError, Settings, Statement,
    statement::sqlite_arguments,
    write_queue::{Turn, WriteQueue},
};

/// Pages in the log before they are brought into the file. The default of 1,000 means an fsync for
/// every 4 MB that is written, most of which is written again soon.
const PAGES_IN_LOG: &str = "4000";
/// What the log is cut down to when it has grown beyond.
const LOG_SHRINKS_TO: &str = "67108864";

/// A database in a file, or in memory.
#[derive(Debug)]
pub(crate) struct Sqlite {
    writer: WriteQueue,
    /// Readers do not wait for the writer under WAL. In memory there is only the one connection.
    reader: Option<SqlitePool>,
}

impl Sqlite {
    pub(crate) async fn open(path: &str, settings: &Settings) -> Result<Self, DbError> {
        let in_memory = path == ":memory:";
        let mut options = SqliteConnectOptions::new()
            .foreign_keys(true)
            .busy_timeout(settings.timeout)
            // Statements are few and long-lived, but some travel in several companies.
            .statement_cache_capacity(500)
            .pragma("temp_store", "memory")
            // As PostgreSQL has it: a pattern means the letters it has.
            .pragma("case_sensitive_like", "on")
            .pragma("cache_size", "-16000")
            // Rows come over a channel from the connection's thread; with the
            // default of 50 a batch makes the two threads wait for each other.
            .row_buffer_size(1_000);
        options = if in_memory {
            options.in_memory(true)
        } else {
            options
                .filename(path)
                .create_if_missing(true)
                .journal_mode(SqliteJournalMode::Wal)
                .pragma("wal_autocheckpoint", PAGES_IN_LOG)
                .pragma("journal_size_limit", LOG_SHRINKS_TO)
        };
        options = options.synchronous(if settings.sync_every_commit {
            SqliteSynchronous::Full
        } else {
            SqliteSynchronous::Normal
        });
        let writer = WriteQueue::new(options.clone());
        // Whether it can be opened at all is to be known now.
        writer.wait(false).await.connection().await?;
        let reader = (!in_memory).then(|| {
            SqlitePoolOptions::new()
                .acquire_timeout(settings.timeout.max(std::time::Duration::from_mins(1)))
                .idle_timeout(None)
                .max_lifetime(None)
                .test_before_acquire(false)
                .max_connections(settings.max_connections.clamp(1, 8))
                .connect_lazy_with(options.pragma("query_only", "on"))
        });
        Ok(Self { writer, reader })
    }

    pub(crate) async fn fetch_all(&self, statement: Statement) -> Result<Vec<SqliteRow>, DbError> {
        let query = sqlx::query_with(statement.text, sqlite_arguments(statement.args)?);
        if let Some(reader) = &self.reader {
            return Ok(query.fetch_all(reader).await?);
        }
        let mut turn = self.writer.wait(false).await;
        Ok(query.fetch_all(turn.connection().await?).await?)
    }

    pub(crate) async fn begin(&self, urgent: bool) -> Writing {
        Writing::new(self.writer.wait(urgent).await)
    }

    /// Open connections and how many of them are idle.
    pub(crate) fn connections(&self) -> (u32, usize) {
        let (readers, idle) = self
            .reader
            .as_ref()
            .map_or((0, 0), |pool| (pool.size(), pool.num_idle()));
        (readers + 1, idle + usize::from(self.writer.is_resting()))
    }

    pub(crate) async fn close(&self) {
        if let Some(reader) = &self.reader {
            reader.close().await;
        }
        self.writer.close().await;
    }
}

/// A transaction. Whoever drops it without a commit has it rolled back before the next one begins.
///
/// Each message to the connection's thread and back takes 100 us on a machine with two cores, ten
/// times as long as many a statement. So what nobody waits for, its beginning among it, travels with
/// the next statement that somebody does wait for, or with the commit.
#[derive(Debug)]
pub(crate) struct Writing {
    /// None when it is over.
    turn: Option<Turn>,
    unsent: Vec<Statement>,
    begun: bool,
}

impl Writing {
    fn new(turn: Turn) -> Self {
        // IMMEDIATE: take the write lock now, or a transaction that read
        // first could find at its first write that it must start anew.
        let begin = Statement::new("BEGIN IMMEDIATE");
        Self {
            turn: Some(turn),
            unsent: vec![begin],
            begun: false,
        }
    }

    /// To be run before the next statement, and to return nothing.
    pub(crate) fn later(&mut self, statement: Statement) {
        self.unsent.push(statement);
    }

    /// Runs a statement, and all that came before it. Returns its rows, or how many it touched.
    pub(crate) async fn run(&mut self, last: Statement) -> Result<(Vec<SqliteRow>, u64), DbError> {
        let mut all = std::mem::take(&mut self.unsent);
        all.push(last);
        let Statement { text, args } = Statement::together(all);
        let arguments = sqlite_arguments(args)?;
        self.begun = true;
        let query = sqlx::query_with(text, arguments);
        let mut answers = self.connection().await?.fetch_many(query);
        let (mut rows, mut touched) = (Vec::new(), 0);
        while let Some(answer) = answers.try_next().await? {
            match answer {
                Either::Left(done) => touched = done.rows_affected(),
                Either::Right(row) => rows.push(row),
            }
        }
        Ok((rows, touched))
    }

    /// Runs statements without arguments.
    pub(crate) async fn script(&mut self, text: SqlStr) -> Result<(), DbError> {
        if let Some(last) = self.unsent.pop() {
            self.run(last).await?;
        }
        let connection = self.connection().await?;
        sqlx::raw_sql(text).execute(connection).await?;
        Ok(())
    }

    pub(crate) async fn commit(mut self) -> Result<(), DbError> {
        // It has only begun to begin.
        if self.begun || self.unsent.len() > 1 {
            self.run(Statement::new("COMMIT")).await?;
        }
        self.turn = None;
        Ok(())
    }

    pub(crate) async fn rollback(mut self) -> Result<(), DbError> {
        self.unsent.clear();
        if self.begun {
            self.run(Statement::new("ROLLBACK")).await?;
        }
        self.turn = None;
        Ok(())
    }

    async fn connection(&mut self) -> Result<&mut SqliteConnection, DbError> {
        match &mut self.turn {
            Some(turn) => Ok(turn.connection().await?),
            None => Err(DbError::Unreachable(sqlx::Error::PoolClosed)),
        }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        let Some(mut turn) = self.turn.take() else {
            return;
        };
        if !self.begun {
            return;
        }
        // Should it come to nothing, the connection is closed, which rolls back as well.
        let connection = turn.take();
        if let (Some(mut connection), Ok(runtime)) = (connection, Handle::try_current()) {
            runtime.spawn(async move {
                let undone = sqlx::query("ROLLBACK").execute(&mut connection).await;
                // It has ended by itself if the disk was full, or never begun.
                if undone.is_ok() || is_idle(&mut connection).await {
                    turn.put(connection);
                }
            });
        }
    }
}

/// Whether no transaction is open: only then can one begin.
async fn is_idle(connection: &mut SqliteConnection) -> bool {
    let begun = sqlx::query("BEGIN").execute(&mut *connection).await;
    begun.is_ok() && sqlx::query("ROLLBACK").execute(connection).await.is_ok()
}
