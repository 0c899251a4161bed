//! Both databases hold the same: table by table, column by column.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::BTreeSet;

use db::{Db, Dialect, sql, testing::TestDb};

const PARTS: &[db::Part] = &[engine::PART, store::PART];

#[tokio::test]
async fn both_dialects_have_the_same_tables_views_and_columns() {
    let (sqlite, postgres) = (TestDb::sqlite(PARTS).await, TestDb::postgres(PARTS).await);
    let (sqlite, postgres) = (columns(&sqlite).await, columns(&postgres).await);
    assert!(sqlite.len() > 100, "{}", sqlite.len());
    // Full text is each database's own affair.
    let only = sqlite.symmetric_difference(&postgres);
    let only: Vec<_> = only
        .filter(|(place, _)| !place.starts_with("mail_search"))
        .collect();
    assert!(only.is_empty(), "on one side only: {only:?}");
}

async fn columns(db: &Db) -> BTreeSet<(String, String)> {
    let statement = match db.dialect() {
        Dialect::Sqlite => sql!(
            "SELECT m.name AS place, c.name AS name FROM sqlite_master m, pragma_table_xinfo(m.name) c
             WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%'"
        ),
        Dialect::Postgres => sql!(
            "SELECT table_name::text AS place, column_name::text AS name
             FROM information_schema.columns WHERE table_schema = current_schema()"
        ),
    };
    let rows = db.fetch_all(statement).await.unwrap();
    rows.iter()
        .map(|row| (row.get("place").unwrap(), row.get("name").unwrap()))
        .collect()
}
