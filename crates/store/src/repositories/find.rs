//! Finding a repository by whatever a person calls it.

use db::{Db, DbError, IntoArg, Statement, sql};
use facts::repository::RepositoryUrl;

use super::{COLUMNS, Repository, read};

/// How many are listed when a word fits several.
const MAX_SEVERAL: usize = 20;

/// What a word fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// One repository.
    One(Box<Repository>),
    /// Several, the first 20 of them: the person has to choose.
    Several(Vec<Repository>),
}

/// Finds by id, address, `owner/name` or name; by former names where no present one fits.
pub async fn find(db: &Db, text: &str) -> Result<Found, DbError> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let found = match text.parse() {
            Ok(id) => by_id(db, id).await?,
            Err(_) => None,
        };
        return Ok(one(found.into_iter().collect()));
    }
    if let Ok(url) = RepositoryUrl::parse(text)
        && let Some(found) = by_url(db, &url).await?
    {
        return Ok(Found::One(Box::new(found)));
    }
    // What looks like a host may be an owner with a dot in its name.
    let key = text.trim_matches('/').to_lowercase();
    for place in [
        "FROM repository r WHERE r.slug_key = $1",
        "FROM repository r WHERE r.name_key = $1",
        "FROM repository_name n JOIN repository r ON r.id = n.repository WHERE n.slug_key = $1",
    ] {
        let found = several(db, place, key.as_str()).await?;
        if !found.is_empty() {
            return Ok(one(found));
        }
    }
    Ok(Found::Nothing)
}

/// The repository of an id.
pub async fn by_id(db: &Db, id: i64) -> Result<Option<Repository>, DbError> {
    let found = several(db, "FROM repository r WHERE r.id = $1", id).await?;
    Ok(found.into_iter().next())
}

/// The repository at an address: the one that is there now, else the one that was.
pub async fn by_url(db: &Db, url: &RepositoryUrl) -> Result<Option<Repository>, DbError> {
    let key = url.key();
    for place in [
        "FROM repository r WHERE r.key = $1",
        "FROM repository_name n JOIN repository r ON r.id = n.repository WHERE n.key = $1",
    ] {
        let found = several(db, place, key.as_str()).await?;
        if let Some(found) = found.into_iter().next() {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The repository that its forge knows by this number.
pub async fn by_forge_id(
    db: &Db,
    host: &str,
    forge_id: &str,
) -> Result<Option<Repository>, DbError> {
    let row = db
        .fetch_optional(sql!(
            "SELECT id FROM repository WHERE host = $1 AND forge_id = $2",
            host,
            forge_id
        ))
        .await?;
    match row {
        Some(row) => by_id(db, row.get("id")?).await,
        None => Ok(None),
    }
}

/// The addresses a repository had before, the last one first.
pub async fn former_names(db: &Db, id: i64) -> Result<Vec<String>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT url FROM repository_name WHERE repository = $1 ORDER BY until DESC, key",
            id
        ))
        .await?;
    rows.iter().map(|row| row.get("url")).collect()
}

async fn several(
    db: &Db,
    from: &'static str,
    what: impl IntoArg,
) -> Result<Vec<Repository>, DbError> {
    let text = format!("SELECT {COLUMNS} {from} ORDER BY r.id LIMIT {MAX_SEVERAL}");
    let rows = db.fetch_all(Statement::built(text).bind(what)).await?;
    rows.iter().map(read).collect()
}

fn one(mut found: Vec<Repository>) -> Found {
    match found.len() {
        0 => Found::Nothing,
        1 => Found::One(Box::new(found.remove(0))),
        _ => Found::Several(found),
    }
}
