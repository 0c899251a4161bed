//! Where a bench runs: fresh databases with the engine's schema, gone afterwards.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use db::{Clock, Db, Dialect, Part, Settings};
use engine::Engine;
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::cluster::Cluster;

/// As a careful operator would set it up: every commit is on disk when it is
/// answered. The rest keeps checkpoints and planning surprises out of the figures.
const SERVER: [&str; 9] = [
    "fsync=on",
    "full_page_writes=on",
    "synchronous_commit=on",
    "shared_buffers=1GB",
    "max_wal_size=8GB",
    "checkpoint_timeout=15min",
    "random_page_cost=1.1",
    "autovacuum_naptime=15s",
    "jit=off",
];

/// A place that can give any number of fresh databases.
#[derive(Debug)]
pub(crate) struct Place {
    address: Address,
    _keep: Option<Keep>,
}

#[derive(Debug)]
enum Address {
    Memory,
    /// Databases are files beside this one; it is never touched itself.
    Sqlite(PathBuf),
    /// Databases are created on this server.
    Postgres(String),
}

#[derive(Debug)]
enum Keep {
    Directory { _path: tempfile::TempDir },
    Cluster { _cluster: Cluster },
}

/// A fresh database. Call [`Fresh::remove`] when done.
#[derive(Debug)]
pub(crate) struct Fresh {
    pub(crate) engine: Engine,
    pub(crate) url: String,
    file: Option<PathBuf>,
    admin: Option<(String, String)>,
}

impl Place {
    /// The given place, or a temporary file and a private cluster.
    pub(crate) fn all(given: Option<&str>) -> anyhow::Result<Vec<Self>> {
        if let Some(url) = given {
            return Ok(vec![Self::given(url)]);
        }
        let sqlite = Self::temporary_file()?;
        let cluster = Cluster::start_with(&SERVER)?;
        let postgres = Self {
            address: Address::Postgres(cluster.url().to_owned()),
            _keep: Some(Keep::Cluster { _cluster: cluster }),
        };
        Ok(vec![sqlite, postgres])
    }

    /// The given place, or a temporary file.
    pub(crate) fn one(given: Option<&str>) -> anyhow::Result<Self> {
        if let Some(url) = given {
            return Ok(Self::given(url));
        }
        Self::temporary_file()
    }

    fn temporary_file() -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        Ok(Self {
            address: Address::Sqlite(directory.path().join("bench.db")),
            _keep: Some(Keep::Directory { _path: directory }),
        })
    }

    fn given(url: &str) -> Self {
        let address = match url.strip_prefix("sqlite:") {
            Some(":memory:") => Address::Memory,
            Some(path) => Address::Sqlite(path.strip_prefix("//").unwrap_or(path).into()),
            None => Address::Postgres(url.to_owned()),
        };
        Self {
            address,
            _keep: None,
        }
    }

    /// The word for figures.
    pub(crate) fn word(&self) -> &'static str {
        match self.address {
            Address::Memory | Address::Sqlite(_) => "sqlite",
            Address::Postgres(_) => "postgres",
        }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.address, Address::Postgres(_))
    }

    /// A fresh database with the engine's schema. Names must differ within a run.
    pub(crate) async fn fresh(&self, name: &str) -> anyhow::Result<Fresh> {
        self.fresh_with(name, &[engine::PART], Clock::system())
            .await
    }

    /// A fresh database with these parts of the schema, under this clock.
    pub(crate) async fn fresh_with(
        &self,
        name: &str,
        parts: &[Part],
        clock: Clock,
    ) -> anyhow::Result<Fresh> {
        let mut file = None;
        let mut admin = None;
        let url = match &self.address {
            Address::Memory => "sqlite::memory:".to_owned(),
            Address::Sqlite(path) => {
                let path = beside(path, name);
                remove_files(&path);
                let url = format!("sqlite:{}", path.display());
                file = Some(path);
                url
            }
            Address::Postgres(server) => {
                let name = format!("gleaner_bench_{}_{name}", std::process::id());
                on_server(server, &format!("CREATE DATABASE {name}")).await?;
                let url = with_database(server, &name);
                admin = Some((server.clone(), name));
                url
            }
        };
        let settings = Settings::default();
        let db = Db::connect(&url, &settings)
            .await
            .with_context(|| Db::redact(&url))?;
        db::migrate(&db, parts, &clock).await?;
        Ok(Fresh {
            engine: Engine::new(db, clock),
            url,
            file,
            admin,
        })
    }
}

impl Fresh {
    pub(crate) fn db(&self) -> &Db {
        self.engine.db()
    }

    /// What the database has written so far, in bytes: WAL on PostgreSQL, the
    /// size of the file and its WAL on SQLite. None in memory.
    pub(crate) async fn written(&self) -> anyhow::Result<Option<f64>> {
        match self.db().dialect() {
            Dialect::Postgres => {
                let row = self
                    .db()
                    .fetch_one(db::sql!(
                        "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS bytes"
                    ))
                    .await?;
                Ok(Some(row.get::<i64>("bytes")? as f64))
            }
            Dialect::Sqlite => Ok(self.file.as_ref().map(|file| {
                files(file)
                    .iter()
                    .filter_map(|file| std::fs::metadata(file).ok())
                    .map(|found| found.len() as f64)
                    .sum()
            })),
        }
    }

    /// Lets the planner know what is there, as autovacuum would do soon.
    pub(crate) async fn analyze(&self) -> anyhow::Result<()> {
        if self.db().dialect() == Dialect::Postgres {
            on_server(&self.url, "VACUUM ANALYZE").await?;
            on_server(&self.url, "CHECKPOINT").await?;
        }
        Ok(())
    }

    /// Removes the database.
    pub(crate) async fn remove(self) -> anyhow::Result<()> {
        self.db().close().await;
        if let Some(file) = &self.file {
            remove_files(file);
        }
        if let Some((server, name)) = &self.admin {
            on_server(
                server,
                &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"),
            )
            .await?;
        }
        Ok(())
    }
}

/// Runs a statement that will not be part of a transaction.
async fn on_server(url: &str, statement: &str) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect(url)
        .await
        .with_context(|| Db::redact(url))?;
    connection
        .execute(sqlx::AssertSqlSafe(statement.to_owned()))
        .await?;
    connection.close().await?;
    Ok(())
}

fn beside(path: &Path, name: &str) -> PathBuf {
    let mut file = path.as_os_str().to_owned();
    file.push(format!("-bench-{name}"));
    file.into()
}

fn files(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|suffix| {
        let mut file = path.as_os_str().to_owned();
        file.push(suffix);
        file.into()
    })
}

fn remove_files(path: &Path) {
    for file in files(path) {
        let _ = std::fs::remove_file(file);
    }
}

/// The same server, another database.
fn with_database(url: &str, name: &str) -> String {
    let (base, query) = match url.split_once('?') {
        Some((base, query)) => (base, format!("?{query}")),
        None => (url, String::new()),
    };
    let authority = base.find("://").map_or(0, |at| at + 3);
    let end = base[authority..]
        .find('/')
        .map_or(base.len(), |at| authority + at);
    format!("{}/{name}{query}", &base[..end])
}
