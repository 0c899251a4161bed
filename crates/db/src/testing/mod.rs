//! Databases for tests: fresh, private, thrown away.
//!
//! Every storage and engine test runs on both engines from one text:
//!
//! ```ignore
//! db::testing::both! {
//!     const PARTS: &[db::Part] = &[engine::PART];
//!
//!     async fn a_unit_is_claimed_once(db: TestDb) { … }
//! }
//! ```
//!
//! PostgreSQL is a cluster that the test run starts itself (`cluster`): one
//! for the whole run when `GLEANER_TEST_POSTGRES` names it, else one for the
//! test process. A fresh database is copied from a template that has the
//! schema: 40 ms. There is no skipping: without server binaries the test fails
//! and says which command installs them.
//!
//! [`TestDb::pooler`] puts a private pgbouncer in front of one.

pub mod cluster;
mod faults;
pub mod pooler;
mod template;

pub(crate) use faults::lost_connection;
pub use faults::{CommitFault, CommitFaults};

use std::ops::Deref;

use crate::{Clock, Db, Part, Settings, migrate};
use pooler::Pooler;

/// A fresh database that is gone when the test ends.
#[derive(Debug)]
pub struct TestDb {
    db: Db,
    url: String,
    keep: Option<Keep>,
}

#[derive(Debug)]
enum Keep {
    Directory { _path: tempfile::TempDir },
    Database { name: String },
}

impl TestDb {
    /// SQLite in memory: the fastest, for one process only.
    pub async fn memory(parts: &[Part]) -> Self {
        Self::open("sqlite::memory:".into(), None, parts).await
    }

    /// SQLite in a file, as users have it.
    pub async fn sqlite(parts: &[Part]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let url = format!("sqlite:{}", directory.path().join("test.db").display());
        Self::open(url, Some(Keep::Directory { _path: directory }), parts).await
    }

    /// A PostgreSQL database of its own.
    pub async fn postgres(parts: &[Part]) -> Self {
        let (url, name) = template::fresh_database(parts).await;
        Self::open(url, Some(Keep::Database { name }), parts).await
    }

    /// A pooler of its own in front of this PostgreSQL database, in transaction mode, with at most
    /// `servers` connections to it.
    pub fn pooler(&self, servers: u32) -> Pooler {
        let options: sqlx::postgres::PgConnectOptions =
            self.url.parse().expect("the address of a PostgreSQL");
        let host = match options.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => options.get_host().to_owned(),
        };
        let server = format!(
            "host={host} port={} user={}",
            options.get_port(),
            options.get_username()
        );
        let database = options.get_database().expect("a database of its own");
        Pooler::start(&server, database, servers).unwrap_or_else(|error| {
            panic!(
                "cannot start a private pgbouncer: {error}\n\
                 `cargo xtask test` installs what is missing"
            )
        })
    }

    /// The address, for a second connection or another process.
    pub fn url(&self) -> &str {
        &self.url
    }

    async fn open(url: String, keep: Option<Keep>, parts: &[Part]) -> Self {
        let settings = Settings {
            max_connections: 8,
            ..Settings::default()
        };
        let db = Db::connect(&url, &settings)
            .await
            .unwrap_or_else(|error| panic!("cannot open {url}: {error:?}"));
        migrate(&db, parts, &Clock::system())
            .await
            .expect("the schema can be made");
        Self { db, url, keep }
    }
}

impl Deref for TestDb {
    type Target = Db;

    fn deref(&self) -> &Db {
        &self.db
    }
}

impl Drop for TestDb {
    fn drop(&mut self) {
        if let Some(Keep::Database { name }) = &self.keep {
            template::drop_database_later(name);
        }
    }
}

/// Makes two tests of one: `name::sqlite` and `name::postgres`.
#[macro_export]
macro_rules! both {
    (
        const PARTS: &[$part:ty] = $parts:expr;
        $($(#[$meta:meta])* async fn $name:ident($db:ident: TestDb) $body:block)*
    ) => {$(
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports, reason = "not every test needs all of its file's imports")]
            use super::*;

            async fn test($db: $crate::testing::TestDb) $body

            #[tokio::test]
            async fn sqlite() {
                test($crate::testing::TestDb::sqlite($parts).await).await;
            }

            #[tokio::test]
            async fn postgres() {
                test($crate::testing::TestDb::postgres($parts).await).await;
            }
        }
    )*};
}

pub use both;
