//! What forges say of repositories, and every change of it.
//!
//! A forge sees a repository ([`Seen`]): it is there, in some state ([`Sight`]), or it is not, in
//! one of two ways. [`observe`] compares that with what was known, brings the catalogue up to date
//! (name, number, archived, default branch, gone) and leaves an [`Event`] for each difference. What
//! a forge leaves unsaid changes nothing.

mod observe;

use db::{Bulk, Db, DbError, Row, Timestamp, Tx, sql};
use facts::repository::RepositoryUrl;
use serde::Serialize;

pub use observe::{Observed, observe};

/// How a forge sees a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It is there.
    Here(Box<Sight>),
    /// It is not there, or hidden from us: forges do not tell the two apart.
    Missing,
    /// It was taken down.
    Blocked,
}

/// A repository that is there. `None` is what the forge does not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The forge's own number.
    pub forge_id: String,
    /// Where it is now.
    pub url: RepositoryUrl,
    /// Read-only.
    pub archived: Option<bool>,
    /// What a clone checks out.
    pub default_branch: Option<String>,
    /// `public`, `internal` or `private`.
    pub visibility: Option<String>,
    /// Made from another one.
    pub fork: Option<bool>,
    /// Owner and name of that one.
    pub parent: Option<String>,
    /// Without a commit.
    pub empty: Option<bool>,
    /// The last push, or the last activity where the forge tells no better.
    pub pushed_at: Option<Timestamp>,
    /// It belongs to one person, and not to an organisation or a group.
    pub of_person: Option<bool>,
}

/// What is kept of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Metadata {
    /// `here`, `missing` (deleted or private) or `blocked` (taken down).
    pub presence: String,
    /// `public`, `internal` or `private`.
    pub visibility: Option<String>,
    /// Made from another one.
    pub fork: Option<bool>,
    /// Owner and name of that one.
    pub parent: Option<String>,
    /// Without a commit.
    pub empty: Option<bool>,
    /// The last push.
    pub pushed_at: Option<Timestamp>,
    /// It belongs to one person, and not to an organisation or a group.
    pub of_person: Option<bool>,
    /// Who said so.
    pub source: String,
    /// When it was last said.
    pub observed_at: Timestamp,
}

/// A change that was noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// `renamed`, `transferred`, `archived`, `unarchived`, `missing`, `blocked`, `returned`,
    /// `default-branch`, `visibility`, `fork`, `parent` or `empty`.
    pub what: String,
    /// Before.
    pub was: Option<String>,
    /// Since.
    pub became: Option<String>,
    /// Who noticed.
    pub source: String,
    /// When.
    pub observed_at: Timestamp,
}

/// What is kept of a repository.
pub async fn of(db: &Db, repository: i64) -> Result<Option<Metadata>, DbError> {
    let row = db
        .fetch_optional(sql!(
            "SELECT presence, visibility, fork, parent, empty, pushed_at, of_person, source,
                observed_at
             FROM repository_metadata WHERE repository = $1",
            repository
        ))
        .await?;
    row.as_ref().map(read).transpose()
}

/// The changes of a repository, oldest first.
pub async fn events(db: &Db, repository: i64) -> Result<Vec<Event>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT what, was, became, source, observed_at FROM repository_event
             WHERE repository = $1 ORDER BY id",
            repository
        ))
        .await?;
    let event = |row: &Row| {
        Ok(Event {
            what: row.get("what")?,
            was: row.get("was")?,
            became: row.get("became")?,
            source: row.get("source")?,
            observed_at: row.get("observed_at")?,
        })
    };
    rows.iter().map(event).collect()
}

/// Those of a forge's repositories that are known by number: the id of each, and whether the
/// forge says anything new. In the order given; `None` for one that is not known.
pub async fn recognise(
    tx: &mut Tx,
    host: &str,
    sights: &[&Sight],
) -> Result<Vec<Option<(i64, bool)>>, DbError> {
    let numbers = Bulk::new().ints("place", 0..sights.len() as i64).texts(
        "forge_id",
        sights.iter().map(|sight| sight.forge_id.clone()),
    );
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT r.place, x.id, x.url, x.archived, x.default_branch,
                    x.gone_at IS NOT NULL AS gone, m.presence, m.visibility, m.fork, m.parent,
                    m.empty, m.pushed_at, m.of_person, m.source, m.observed_at
                 FROM {rows} JOIN repository x ON x.host = $1 AND x.forge_id = r.forge_id
                 LEFT JOIN repository_metadata m ON m.repository = x.id",
                host
            ),
            numbers,
        )
        .await?;
    let mut known = vec![None; sights.len()];
    for row in &rows {
        let place = usize::try_from(row.get::<i64>("place")?).unwrap_or_default();
        let Some(sight) = sights.get(place) else {
            continue;
        };
        known[place] = Some((row.get("id")?, is_news(row, sight)?));
    }
    Ok(known)
}

/// Notes new repositories, of which there is nothing to compare with.
pub async fn first(
    tx: &mut Tx,
    seen: &[(i64, &Sight)],
    source: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    let of = || seen.iter().map(|(_, sight)| *sight);
    let rows = Bulk::new()
        .ints("id", seen.iter().map(|(id, _)| *id))
        .texts("visibility", of().map(|sight| sight.visibility.clone()))
        .bools("fork", of().map(|sight| sight.fork))
        .texts("parent", of().map(|sight| sight.parent.clone()))
        .bools("empty", of().map(|sight| sight.empty))
        .times("pushed_at", of().map(|sight| sight.pushed_at))
        .bools("of_person", of().map(|sight| sight.of_person));
    tx.execute_bulk(
        sql!(
            "INSERT INTO repository_metadata
                (repository, presence, visibility, fork, parent, empty, pushed_at, of_person, source,
                 observed_at)
             SELECT r.id, 'here', r.visibility, r.fork, r.parent, r.empty, r.pushed_at, r.of_person,
                 $1, $2
             FROM {rows} WHERE TRUE ON CONFLICT (repository) DO NOTHING",
            source,
            now
        ),
        rows,
    )
    .await?;
    Ok(())
}

/// Notes that repositories are as they were.
pub async fn unchanged(
    tx: &mut Tx,
    seen: &[(i64, &Sight)],
    source: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    let rows = Bulk::new()
        .ints("id", seen.iter().map(|(id, _)| *id))
        .times("pushed_at", seen.iter().map(|(_, sight)| sight.pushed_at));
    tx.execute_bulk(
        sql!(
            "UPDATE repository_metadata SET source = $1, observed_at = $2,
                pushed_at = COALESCE(r.pushed_at, repository_metadata.pushed_at)
             FROM {rows} WHERE repository_metadata.repository = r.id",
            source,
            now
        ),
        rows,
    )
    .await?;
    Ok(())
}

/// Whether a sight differs from what is known, the last push left aside.
fn is_news(row: &Row, sight: &Sight) -> Result<bool, DbError> {
    let gone: bool = row.get("gone")?;
    let text = |column| row.get::<Option<String>>(column);
    let presence = text("presence")?;
    Ok(gone
        || presence.as_deref() != Some("here")
        || row.get::<String>("url")? != sight.url.url()
        || differs(Some(row.get::<bool>("archived")?), sight.archived)
        || differs(
            text("default_branch")?.as_deref(),
            sight.default_branch.as_deref(),
        )
        || differs(text("visibility")?.as_deref(), sight.visibility.as_deref())
        || differs(row.get("fork")?, sight.fork)
        || differs(text("parent")?.as_deref(), sight.parent.as_deref())
        || differs(row.get("empty")?, sight.empty))
}

/// Whether something was said that is not what was known.
fn differs<T: PartialEq + Copy>(known: Option<T>, said: Option<T>) -> bool {
    said.is_some() && known != said
}

fn read(row: &Row) -> Result<Metadata, DbError> {
    Ok(Metadata {
        presence: row.get("presence")?,
        visibility: row.get("visibility")?,
        fork: row.get("fork")?,
        parent: row.get("parent")?,
        empty: row.get("empty")?,
        pushed_at: row.get("pushed_at")?,
        of_person: row.get("of_person")?,
        source: row.get("source")?,
        observed_at: row.get("observed_at")?,
    })
}
