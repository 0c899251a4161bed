//! Adding repositories, one or many, as often as one likes.

use std::collections::HashMap;

use db::{Bulk, Db, DbError, Timestamp, Tx, sql, transact};
use facts::repository::RepositoryUrl;

use super::{Renamed, change, slug_key};
use crate::MAX_ROWS;

/// A repository to add, with what the giver knows about it.
#[derive(Clone, Debug)]
pub struct NewRepository {
    /// Where it is.
    pub url: RepositoryUrl,
    /// The forge's own number; finds a repository that was renamed meanwhile.
    pub forge_id: Option<String>,
    /// Whether its forge says that it is archived.
    pub archived: bool,
    /// Its default branch.
    pub default_branch: Option<String>,
}

impl From<RepositoryUrl> for NewRepository {
    fn from(url: RepositoryUrl) -> Self {
        Self {
            url,
            forge_id: None,
            archived: false,
            default_branch: None,
        }
    }
}

/// What became of an addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is new, under this id.
    Added(i64),
    /// It was there, perhaps under a former name.
    Already(i64),
}

impl Added {
    /// The repository's id.
    pub fn id(self) -> i64 {
        match self {
            Self::Added(id) | Self::Already(id) => id,
        }
    }

    /// Whether this addition made it.
    pub fn is_new(self) -> bool {
        matches!(self, Self::Added(_))
    }
}

/// Adds one repository.
pub async fn add(tx: &mut Tx, repository: NewRepository, now: Timestamp) -> Result<Added, DbError> {
    let added = add_batch(tx, &[repository], now).await?;
    Ok(added[0])
}

/// Adds any number in transactions of at most [`MAX_ROWS`]; answers in the order given.
pub async fn add_many(
    db: &Db,
    repositories: &[NewRepository],
    now: Timestamp,
) -> Result<Vec<Added>, DbError> {
    let mut added = Vec::with_capacity(repositories.len());
    for batch in repositories.chunks(MAX_ROWS) {
        let written: Result<Vec<Added>, DbError> =
            transact!(db, |tx| add_batch(tx, batch, now).await);
        added.extend(written?);
    }
    Ok(added)
}

/// Adds at most [`MAX_ROWS`] in the caller's transaction, so that their units can be enqueued in
/// the same; answers in the order given.
pub async fn add_batch(
    tx: &mut Tx,
    repositories: &[NewRepository],
    now: Timestamp,
) -> Result<Vec<Added>, DbError> {
    // The same repository twice in one batch is added once.
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut distinct: Vec<&NewRepository> = Vec::new();
    let mut place_of = Vec::with_capacity(repositories.len());
    for repository in repositories {
        let number = repository
            .forge_id
            .as_ref()
            .map(|number| format!("{}#{number}", repository.url.host()));
        let names = [Some(repository.url.key()), number];
        let before = names.iter().flatten().find_map(|name| places.get(name));
        let place = before.copied().unwrap_or(distinct.len());
        place_of.push((place, place == distinct.len()));
        if place == distinct.len() {
            distinct.push(repository);
        }
        for name in names.into_iter().flatten() {
            places.entry(name).or_insert(place);
        }
    }

    let mut found = look_up(tx, &distinct).await?;
    let mut known = HashMap::new();
    let mut fresh = Vec::new();
    let mut merged = HashMap::new();
    for (place, repository) in distinct.iter().enumerate() {
        let matches = found.remove(&place).unwrap_or_default();
        match settle(tx, repository, &matches, &mut merged, now).await? {
            Some(id) => drop(known.insert(place, Added::Already(id))),
            None => fresh.push(*repository),
        }
    }
    // One order for all writers, so that two of them cannot lock each other out.
    fresh.sort_by_cached_key(|repository| repository.url.key());
    let mut by_key = insert(tx, &fresh, now).await?;
    for (place, repository) in distinct.iter().enumerate() {
        if let Some(added) = by_key.remove(&repository.url.key()) {
            known.insert(place, added);
        }
    }
    place_of
        .into_iter()
        .map(|(place, first)| match known.get(&place) {
            Some(Added::Added(id)) if first => Ok(Added::Added(*id)),
            Some(added) => Ok(Added::Already(survivor(&merged, added.id()))),
            None => Err(DbError::Value {
                column: "key".into(),
                why: "a repository that was just written cannot be found".into(),
            }),
        })
        .collect()
}

/// A row that may be the repository to add.
struct Match {
    id: i64,
    key: String,
    forge_id: Option<String>,
    by: By,
}

/// By what it was found, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    ForgeId,
    Key,
    FormerKey,
}

async fn look_up(
    tx: &mut Tx,
    repositories: &[&NewRepository],
) -> Result<HashMap<usize, Vec<Match>>, DbError> {
    let rows = Bulk::new()
        .ints("place", 0..repositories.len() as i64)
        .texts("key", repositories.iter().map(|new| new.url.key()))
        .texts(
            "host",
            repositories.iter().map(|new| new.url.host().to_owned()),
        )
        .texts(
            "forge_id",
            repositories.iter().map(|new| new.forge_id.clone()),
        );
    let rows = tx
        .fetch_bulk(
            sql!(
                "WITH wanted AS (SELECT r.place, r.key, r.host, r.forge_id FROM {rows})
                 SELECT w.place, 'forge id' AS found_by, x.id, x.key, x.forge_id FROM wanted w
                   JOIN repository x ON x.host = w.host AND x.forge_id = w.forge_id
                 UNION ALL
                 SELECT w.place, 'key', x.id, x.key, x.forge_id FROM wanted w
                   JOIN repository x ON x.key = w.key
                 UNION ALL
                 SELECT w.place, 'former key', x.id, x.key, x.forge_id FROM wanted w
                   JOIN repository_name n ON n.key = w.key
                   JOIN repository x ON x.id = n.repository"
            ),
            rows,
        )
        .await?;
    let mut found: HashMap<usize, Vec<Match>> = HashMap::new();
    for row in rows {
        let place: i64 = row.get("place")?;
        found.entry(place as usize).or_default().push(Match {
            id: row.get("id")?,
            key: row.get("key")?,
            forge_id: row.get("forge_id")?,
            by: match row.get::<String>("found_by")?.as_str() {
                "forge id" => By::ForgeId,
                "key" => By::Key,
                _ => By::FormerKey,
            },
        });
    }
    for matches in found.values_mut() {
        matches.sort_by_key(|candidate| candidate.by);
    }
    Ok(found)
}

/// The entry that stands for another one since this batch merged them.
fn survivor(merged: &HashMap<i64, i64>, id: i64) -> i64 {
    std::iter::successors(Some(id), |id| merged.get(id).copied())
        .last()
        .unwrap_or(id)
}

/// Decides whether the repository is one of these; answers its id.
async fn settle(
    tx: &mut Tx,
    new: &NewRepository,
    matches: &[Match],
    merged: &mut HashMap<i64, i64>,
    now: Timestamp,
) -> Result<Option<i64>, DbError> {
    for candidate in matches {
        let found = survivor(merged, candidate.id);
        if candidate.by == By::ForgeId {
            if candidate.key != new.url.key()
                && let Renamed::Merged { id, dropped } =
                    change::rename(tx, found, &new.url, now).await?
            {
                merged.insert(dropped, id);
            }
            return Ok(Some(found));
        }
        match (&candidate.forge_id, &new.forge_id) {
            // Another repository bears the name today.
            (Some(old), Some(today)) if old != today => {
                if candidate.by == By::Key {
                    change::displace(tx, found, now).await?;
                }
            }
            (None, Some(today)) => {
                change::set_forge_id(tx, found, today).await?;
                return Ok(Some(found));
            }
            _ => return Ok(Some(found)),
        }
    }
    Ok(None)
}

async fn insert(
    tx: &mut Tx,
    fresh: &[&NewRepository],
    now: Timestamp,
) -> Result<HashMap<String, Added>, DbError> {
    let urls = || fresh.iter().map(|new| &new.url);
    let rows = Bulk::new()
        .texts("forge", urls().map(|url| url.forge().as_str().to_owned()))
        .texts("host", urls().map(|url| url.host().to_owned()))
        .texts("owner", urls().map(|url| url.owner().to_owned()))
        .texts("name", urls().map(|url| url.name().to_owned()))
        .texts("key", urls().map(RepositoryUrl::key))
        .texts("slug_key", urls().map(slug_key))
        .texts("name_key", urls().map(|url| url.name().to_lowercase()))
        .texts("forge_id", fresh.iter().map(|new| new.forge_id.clone()))
        .texts("url", urls().map(RepositoryUrl::url))
        .bools("local", urls().map(RepositoryUrl::is_local))
        .bools("archived", fresh.iter().map(|new| new.archived))
        .texts("branch", fresh.iter().map(|new| new.default_branch.clone()));
    // `WHERE TRUE` tells SQLite that ON begins no join.
    let inserted = tx
        .fetch_bulk(
            sql!(
                "INSERT INTO repository (forge, host, owner, name, key, slug_key, name_key,
                    forge_id, url, local, archived, default_branch, added_at)
                 SELECT r.forge, r.host, r.owner, r.name, r.key, r.slug_key, r.name_key,
                    r.forge_id, r.url, r.local, r.archived, r.branch, $1
                 FROM {rows} WHERE TRUE
                 ON CONFLICT (key) DO NOTHING RETURNING id, key",
                now
            ),
            rows,
        )
        .await?;
    let mut by_key = HashMap::new();
    for row in inserted {
        by_key.insert(row.get("key")?, Added::Added(row.get("id")?));
    }
    // Somebody else may have added the same between our look and our write.
    let lost: Vec<String> = urls()
        .map(RepositoryUrl::key)
        .filter(|key| !by_key.contains_key(key))
        .collect();
    let others = tx
        .fetch_bulk(
            sql!("SELECT x.id, x.key FROM {rows} JOIN repository x ON x.key = r.key"),
            Bulk::new().texts("key", lost),
        )
        .await?;
    for row in others {
        by_key.insert(row.get("key")?, Added::Already(row.get("id")?));
    }
    Ok(by_key)
}
