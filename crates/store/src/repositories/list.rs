//! Listing repositories, page by page.

use db::{Db, DbError, Statement};

use super::{COLUMNS, Repository, read};

/// Which repositories to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// On this host.
    pub host: Option<String>,
    /// Of this owner, groups within it included.
    pub owner: Option<String>,
    /// With this text in owner or name, in any case.
    pub text: Option<String>,
    /// Members of this group.
    pub group: Option<i64>,
    /// Archived or not.
    pub archived: Option<bool>,
    /// Gone from their forge or not.
    pub gone: Option<bool>,
    /// After this id.
    pub after: Option<i64>,
}

/// Some of a list, and where it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What is on this page.
    pub items: Vec<T>,
    /// Pass it as `after` for the next page; none on the last.
    pub next: Option<i64>,
}

/// At most `limit` repositories in the order of their ids.
pub async fn list(db: &Db, filter: &Filter, limit: usize) -> Result<Page<Repository>, DbError> {
    let limit = limit.max(1);
    let text = format!(
        "SELECT {COLUMNS} FROM repository r
         WHERE r.id > $1
           AND ($2 IS NULL OR r.host = $2)
           AND ($3 IS NULL OR r.slug_key LIKE $3 ESCAPE '!')
           AND ($4 IS NULL OR r.slug_key LIKE $4 ESCAPE '!')
           AND ($5 IS NULL OR EXISTS (SELECT 1 FROM repo_group_member m
                                      WHERE m.repository = r.id AND m.repo_group = $5))
           AND ($6 IS NULL OR r.archived = $6)
           AND ($7 IS NULL OR (r.gone_at IS NOT NULL) = $7)
         ORDER BY r.id LIMIT $8"
    );
    let of_owner = |owner: &String| format!("{}/%", like(owner.trim_matches('/')));
    let with_text = |part: &String| format!("%{}%", like(part));
    let statement = Statement::built(text)
        .bind(filter.after.unwrap_or(0))
        .bind(filter.host.as_ref().map(|host| host.to_lowercase()))
        .bind(filter.owner.as_ref().map(of_owner))
        .bind(filter.text.as_ref().map(with_text))
        .bind(filter.group)
        .bind(filter.archived)
        .bind(filter.gone)
        .bind(limit + 1);

    let rows = db.fetch_all(statement).await?;
    let mut items: Vec<Repository> = rows.iter().map(read).collect::<Result<_, _>>()?;
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|last| last.id);
    Ok(Page { items, next })
}

/// The text as it stands, for a pattern with `!` as its escape.
fn like(text: &str) -> String {
    text.to_lowercase()
        .replace('!', "!!")
        .replace('%', "!%")
        .replace('_', "!_")
}
