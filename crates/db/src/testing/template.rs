//! Fresh PostgreSQL databases, copied from a template that has the schema.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash as _, Hasher as _},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use super::cluster::Cluster;
use crate::{Clock, Db, Part, Settings, migrate, sql};

/// Address of the maintenance database of the run's cluster.
fn maintenance_url() -> &'static str {
    static SHARED: OnceLock<(String, Option<Cluster>)> = OnceLock::new();
    &SHARED
        .get_or_init(|| {
            if let Ok(url) = std::env::var("GLEANER_TEST_POSTGRES") {
                return (url, None);
            }
            let cluster = Cluster::start().unwrap_or_else(|error| {
                panic!(
                    "cannot start a private PostgreSQL: {error}\n\
                     `cargo xtask test` installs what is missing"
                )
            });
            (cluster.url().to_owned(), Some(cluster))
        })
        .0
}

/// A new database with the schema of `parts`: its address and name.
pub(super) async fn fresh_database(parts: &[Part]) -> (String, String) {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let admin = connect(maintenance_url()).await;
    let template = template(&admin, parts).await;
    // Numbers of processes come round again while the cluster stands.
    let name = format!(
        "t_{}_{}_{}",
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed),
        Clock::system().now().as_micros()
    );
    create(&admin, &name, Some(&template)).await;
    admin.close().await;
    (url_of(&name), name)
}

/// Dropping takes 180 ms and the cluster is thrown away as a whole, so a
/// finished test's database stays unless the disk would mind: it does not, at
/// 8 MB each. Named here so that the decision has a place.
pub(super) fn drop_database_later(_name: &str) {}

async fn template(admin: &Db, parts: &[Part]) -> String {
    let mut hasher = DefaultHasher::new();
    for part in parts {
        part.name.hash(&mut hasher);
        for migration in part.migrations {
            migration.sql.hash(&mut hasher);
        }
    }
    let name = format!("template_{:016x}", hasher.finish());
    // Only one of the test processes makes it; the others wait here.
    let mut tx = admin.begin().await.expect("begin");
    tx.execute(sql!("SELECT pg_advisory_xact_lock(77)"))
        .await
        .expect("lock");
    let there = tx
        .fetch_optional(sql!(
            "SELECT 1 AS n FROM pg_database WHERE datname = $1",
            &name
        ))
        .await
        .expect("look for the template");
    if there.is_none() {
        let draft = format!("{name}_draft");
        let second = connect(maintenance_url()).await;
        statement(&second, format!("DROP DATABASE IF EXISTS {draft}")).await;
        create(&second, &draft, None).await;
        let db = connect(&url_of(&draft)).await;
        migrate(&db, parts, &Clock::system())
            .await
            .expect("the schema can be made");
        db.close().await;
        // Renamed when complete: a killed test run leaves a draft, never half a template.
        statement(&second, format!("ALTER DATABASE {draft} RENAME TO {name}")).await;
        second.close().await;
    }
    tx.commit().await.expect("commit");
    name
}

async fn create(admin: &Db, name: &str, template: Option<&str>) {
    let template = template.map_or(String::new(), |template| {
        format!(" TEMPLATE {template} STRATEGY FILE_COPY")
    });
    // PostgreSQL 14 does not know the strategy; it has no other.
    let text = format!("CREATE DATABASE {name}{template}");
    if try_statement(admin, text.clone()).await.is_err() {
        statement(admin, text.replace(" STRATEGY FILE_COPY", "")).await;
    }
}

async fn statement(db: &Db, text: String) {
    try_statement(db, text.clone())
        .await
        .unwrap_or_else(|error| panic!("`{text}` failed: {error:?}"));
}

/// Outside a transaction: databases can be made and dropped there only.
async fn try_statement(db: &Db, text: String) -> Result<(), crate::DbError> {
    db.fetch_all(crate::Statement::built(text)).await.map(drop)
}

async fn connect(url: &str) -> Db {
    let settings = Settings {
        max_connections: 2,
        ..Settings::default()
    };
    Db::connect(url, &settings)
        .await
        .unwrap_or_else(|error| panic!("cannot reach the test cluster at {url}: {error:?}"))
}

fn url_of(name: &str) -> String {
    let url = maintenance_url();
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let base = base.rsplit_once('/').map_or(base, |(base, _)| base);
    format!("{base}/{name}?{query}")
}
