//! Which repositories a source should look at again.

use db::{Db, DbError, Statement};
use facts::distribution::source;

use crate::repositories::{COLUMNS, Page, Repository, read};

/// At most `limit` repositories after the id `after` that are neither archived nor gone; with
/// `missing` only those of which the source has nothing to tell: no package, and of the tree no
/// manifest.
pub async fn to_recheck(
    db: &Db,
    source: &str,
    missing: bool,
    after: i64,
    limit: usize,
) -> Result<Page<Repository>, DbError> {
    let limit = limit.max(1);
    let table = if source == source::MANIFESTS {
        "manifest"
    } else {
        "evidence"
    };
    let text = format!(
        "SELECT {COLUMNS} FROM repository r
         WHERE r.id > $1 AND NOT r.archived AND r.gone_at IS NULL
           AND (NOT $2 OR NOT EXISTS (SELECT 1 FROM {table} x
                WHERE x.repository = r.id AND x.source = $3 AND x.gone_at IS NULL))
         ORDER BY r.id LIMIT $4"
    );
    let statement = Statement::built(text)
        .bind(after)
        .bind(missing)
        .bind(source)
        .bind(limit + 1);
    let rows = db.fetch_all(statement).await?;
    let mut items: Vec<Repository> = rows.iter().map(read).collect::<Result<_, _>>()?;
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|last| last.id);
    Ok(Page { items, next })
}
