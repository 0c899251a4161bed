//! A write transaction on either database.

use std::time::Duration;

use sqlx::{Postgres, SqlSafeStr as _, Transaction};

use crate::{
    Bulk, Db, DbError, Dialect, Row, Statement, bulk, connect::Pools, sqlite::Writing,
    statement::postgres_arguments,
};

/// A transaction that may write. Dropped without [`Tx::commit`], it never happened.
#[derive(Debug)]
pub struct Tx {
    inner: Inner,
    db: Db,
    /// Ring at commit, so that waiting workers look at once.
    wake: bool,
}

#[derive(Debug)]
enum Inner {
    Sqlite(Writing),
    Postgres(Transaction<'static, Postgres>),
}

/// Errors that a transaction's work may end with: they know a conflict when they see one.
pub trait Transact: From<DbError> {
    /// Whether the transaction should simply be run again.
    fn is_conflict(&self) -> bool;
}

impl Transact for DbError {
    fn is_conflict(&self) -> bool {
        Self::is_conflict(self)
    }
}

impl Tx {
    pub(crate) async fn begin(db: &Db, urgent: bool) -> Result<Self, DbError> {
        let inner = match db.pools() {
            Pools::Sqlite(sqlite) => Inner::Sqlite(sqlite.begin(urgent).await),
            Pools::Postgres(postgres) => Inner::Postgres(postgres.begin().await?),
        };
        Ok(Self {
            inner,
            db: db.clone(),
            wake: false,
        })
    }

    /// Makes it so.
    pub async fn commit(mut self) -> Result<(), DbError> {
        #[cfg(feature = "testing")]
        let fault = self.db.commit_faults().next();
        #[cfg(feature = "testing")]
        if fault == Some(crate::testing::CommitFault::Before) {
            return Err(crate::testing::lost_connection());
        }
        if self.wake
            && let Inner::Postgres(tx) = &mut self.inner
        {
            self.db.wakes().notify_others(tx).await?;
        }
        match self.inner {
            Inner::Sqlite(tx) => tx.commit().await?,
            Inner::Postgres(tx) => tx.commit().await?,
        }
        if self.wake {
            self.db.wakes().ring();
        }
        #[cfg(feature = "testing")]
        if fault == Some(crate::testing::CommitFault::After) {
            return Err(crate::testing::lost_connection());
        }
        Ok(())
    }

    /// Gives up; the same as dropping, but waits until it is done.
    pub async fn rollback(self) -> Result<(), DbError> {
        match self.inner {
            Inner::Sqlite(tx) => tx.rollback().await?,
            Inner::Postgres(tx) => tx.rollback().await?,
        }
        Ok(())
    }

    /// Which SQL this transaction speaks.
    pub fn dialect(&self) -> Dialect {
        self.db.dialect()
    }

    /// Work has become ready in this transaction: whoever waits for some is told at the commit.
    pub fn wake(&mut self) {
        self.wake = true;
    }

    /// Runs a statement; returns the number of rows touched.
    pub async fn execute(&mut self, statement: Statement) -> Result<u64, DbError> {
        #[cfg(feature = "testing")]
        self.db.count_statement();
        match &mut self.inner {
            Inner::Sqlite(tx) => Ok(tx.run(statement).await?.1),
            Inner::Postgres(tx) => {
                let args = postgres_arguments(statement.args)?;
                let done = sqlx::query_with(statement.text, args)
                    .persistent(!self.db.is_pooled())
                    .execute(&mut **tx)
                    .await?;
                Ok(done.rows_affected())
            }
        }
    }

    /// Runs a statement whose effect is all that is wanted. On SQLite it is sent with the next one,
    /// or with the commit; an error is then theirs.
    pub async fn later(&mut self, statement: Statement) -> Result<(), DbError> {
        match &mut self.inner {
            Inner::Sqlite(tx) => {
                #[cfg(feature = "testing")]
                self.db.count_statement();
                tx.later(statement);
                Ok(())
            }
            Inner::Postgres(_) => self.execute(statement).await.map(drop),
        }
    }

    /// Runs a statement and returns its rows.
    pub async fn fetch_all(&mut self, statement: Statement) -> Result<Vec<Row>, DbError> {
        #[cfg(feature = "testing")]
        self.db.count_statement();
        match &mut self.inner {
            Inner::Sqlite(tx) => {
                let (rows, _) = tx.run(statement).await?;
                Ok(rows.into_iter().map(Row::Sqlite).collect())
            }
            Inner::Postgres(tx) => {
                let args = postgres_arguments(statement.args)?;
                let rows = sqlx::query_with(statement.text, args)
                    .persistent(!self.db.is_pooled())
                    .fetch_all(&mut **tx)
                    .await?;
                Ok(rows.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    /// The first row, if there is one.
    pub async fn fetch_optional(&mut self, statement: Statement) -> Result<Option<Row>, DbError> {
        Ok(self.fetch_all(statement).await?.into_iter().next())
    }

    /// The one row that must be there.
    pub async fn fetch_one(&mut self, statement: Statement) -> Result<Row, DbError> {
        self.fetch_optional(statement)
            .await?
            .ok_or(DbError::Statement(sqlx::Error::RowNotFound))
    }

    /// Runs a statement that has `{rows}` in it; see [`Bulk`].
    pub async fn execute_bulk(&mut self, statement: Statement, rows: Bulk) -> Result<u64, DbError> {
        if rows.is_empty() {
            return Ok(0);
        }
        let statement = bulk::join(self.dialect(), statement, rows);
        self.execute(statement).await
    }

    /// As [`Tx::later`], for a statement that has `{rows}` in it.
    pub async fn later_bulk(&mut self, statement: Statement, rows: Bulk) -> Result<(), DbError> {
        if rows.is_empty() {
            return Ok(());
        }
        let statement = bulk::join(self.dialect(), statement, rows);
        self.later(statement).await
    }

    /// Runs a statement that has `{rows}` in it and returns its rows.
    pub async fn fetch_bulk(
        &mut self,
        statement: Statement,
        rows: Bulk,
    ) -> Result<Vec<Row>, DbError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let statement = bulk::join(self.dialect(), statement, rows);
        self.fetch_all(statement).await
    }

    /// Runs several statements without arguments: DDL.
    pub async fn script(&mut self, text: String) -> Result<(), DbError> {
        let text = sqlx::AssertSqlSafe(text).into_sql_str();
        match &mut self.inner {
            Inner::Sqlite(tx) => tx.script(text).await?,
            Inner::Postgres(tx) => sqlx::raw_sql(text).execute(&mut **tx).await.map(drop)?,
        }
        Ok(())
    }

    /// Marks a place to come back to: what follows can be undone by itself, so
    /// that one bad unit does not spoil a batch.
    pub async fn savepoint(&mut self) -> Result<(), DbError> {
        self.execute(Statement::new("SAVEPOINT place"))
            .await
            .map(drop)
    }

    /// Keeps what was written since [`Tx::savepoint`].
    pub async fn keep(&mut self) -> Result<(), DbError> {
        self.execute(Statement::new("RELEASE SAVEPOINT place"))
            .await
            .map(drop)
    }

    /// Undoes what was written since [`Tx::savepoint`].
    pub async fn undo(&mut self) -> Result<(), DbError> {
        self.execute(Statement::new("ROLLBACK TO SAVEPOINT place"))
            .await?;
        self.keep().await
    }
}

/// Runs a block in a transaction and commits; does so again, at most eight
/// times, when the database reports a conflict. The block may therefore run
/// more than once and must not change anything but the transaction.
///
/// ```ignore
/// let touched = transact!(db, |tx| {
///     tx.execute(sql!("UPDATE t SET n = n + 1")).await
/// })?;
/// ```
///
/// A macro, because a closure that borrows both its surroundings and the
/// transaction cannot promise to be `Send` in today's Rust.
#[macro_export]
macro_rules! transact {
    ($db:expr, |$tx:ident| $work:expr) => {{
        let mut conflicts = $crate::Conflicts::default();
        loop {
            let mut transaction = match $db.begin().await {
                Ok(transaction) => transaction,
                Err(error) => break Err(::core::convert::From::from(error)),
            };
            let result = async {
                let $tx = &mut transaction;
                $work
            }
            .await;
            match result {
                Ok(value) => match transaction.commit().await {
                    Ok(()) => break Ok(value),
                    Err(error) if error.is_conflict() && conflicts.again().await => {}
                    Err(error) => break Err(::core::convert::From::from(error)),
                },
                Err(error) => {
                    drop(transaction);
                    if !($crate::Transact::is_conflict(&error) && conflicts.again().await) {
                        break Err(error);
                    }
                }
            }
        }
    }};
}

/// Counts conflicts, and rests a little longer after each.
#[derive(Debug, Default)]
pub struct Conflicts(u32);

impl Conflicts {
    /// Whether to try once more; rests first.
    pub async fn again(&mut self) -> bool {
        self.0 += 1;
        if self.0 > 8 {
            return false;
        }
        tracing::debug!(conflicts = self.0, "transaction conflict, running it again");
        tokio::time::sleep(Duration::from_millis(1 << self.0)).await;
        true
    }
}
