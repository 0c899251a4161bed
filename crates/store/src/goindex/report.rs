//! Reading the Go index back, for people and for the API.

use db::{Db, DbError, Row, Timestamp, sql};
use serde::Serialize;

/// Figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Repositories whose tags are read.
    pub repositories: i64,
    /// Those of which everything has been read at least once.
    pub complete: i64,
    /// Tags that are there.
    pub tags: i64,
    /// Those of them that are no version.
    pub rejected: i64,
    /// Modules with a version.
    pub modules: i64,
    /// Versions of them.
    pub versions: i64,
    /// Versions that are not in the feed yet.
    pub waiting: i64,
    /// The number of the feed's last line.
    pub last_seq: i64,
    /// When it was published.
    pub last_published: Option<Timestamp>,
    /// Tags that moved, vanished, came back, or claim what is another's.
    pub events: i64,
}

/// A module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Module {
    /// Its path.
    pub path: String,
    /// The version whose go.mod speaks for it.
    pub latest: String,
    /// Why it should not be used any more.
    pub deprecated: Option<String>,
    /// How many versions it has.
    pub versions: i64,
}

/// A version of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Version {
    /// Canonical.
    pub version: String,
    /// The number of its line in the feed.
    pub seq: Option<i64>,
    /// When that was published.
    pub published_at: Option<Timestamp>,
    /// The commit's own time.
    pub committed_at: Option<Timestamp>,
    /// Owner and name.
    pub repository: Option<String>,
    /// The repository's address.
    pub url: Option<String>,
    /// The tag.
    pub tag: String,
    /// What the tag led to when it was first seen.
    pub commit: String,
    /// Of the module in the repository; empty at the top.
    pub directory: String,
    /// `known`, `vanity` or `vanity-subdirectory`.
    pub origin: String,
    /// By the newest go.mod.
    pub retracted: bool,
    /// With its reason.
    pub retraction: Option<String>,
    /// An `+incompatible` version that the go command does not list.
    pub hidden: bool,
    /// When the tag was seen to lead elsewhere.
    pub moved_at: Option<Timestamp>,
    /// When the tag was no longer there.
    pub gone_at: Option<Timestamp>,
}

/// A tag that is no version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rejected {
    /// For the next page.
    pub id: i64,
    /// Owner and name.
    pub repository: String,
    /// The tag.
    pub tag: String,
    /// In a word.
    pub reason: String,
    /// In full.
    pub detail: Option<String>,
    /// When it was first seen.
    pub first_seen: Timestamp,
}

/// Something that happened to a tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// For the next page.
    pub id: i64,
    /// When it was seen.
    pub observed_at: Timestamp,
    /// `moved`, `vanished`, `returned` or `claimed`.
    pub event: String,
    /// Owner and name.
    pub repository: String,
    /// The tag.
    pub tag: String,
    /// What it led to; for a claim, the number of the repository that has the version.
    pub was: Option<String>,
    /// What it leads to; for a claim, the version.
    pub became: Option<String>,
}

/// Figures about everything.
pub async fn status(db: &Db) -> Result<Status, DbError> {
    let row = db
        .fetch_one(sql!(
            "SELECT (SELECT COUNT(*) FROM go_repository) AS repositories,
                (SELECT COUNT(*) FROM go_repository WHERE finished_at IS NOT NULL) AS complete,
                (SELECT COUNT(*) FROM go_tag WHERE gone_at IS NULL) AS tags,
                (SELECT COUNT(*) FROM go_tag WHERE rejection IS NOT NULL AND gone_at IS NULL)
                    AS rejected,
                (SELECT COUNT(*) FROM go_module) AS modules,
                (SELECT COUNT(*) FROM go_version) AS versions,
                (SELECT COUNT(*) FROM go_version
                 WHERE seq IS NULL AND NOT hidden AND gone_at IS NULL) AS waiting,
                COALESCE((SELECT MAX(seq) FROM go_feed), 0) AS last_seq,
                (SELECT MAX(published_at) FROM go_feed) AS last_published,
                (SELECT COUNT(*) FROM go_event) AS events"
        ))
        .await?;
    Ok(Status {
        repositories: row.get("repositories")?,
        complete: row.get("complete")?,
        tags: row.get("tags")?,
        rejected: row.get("rejected")?,
        modules: row.get("modules")?,
        versions: row.get("versions")?,
        waiting: row.get("waiting")?,
        last_seq: row.get("last_seq")?,
        last_published: row.get("last_published")?,
        events: row.get("events")?,
    })
}

/// At most `limit` modules in the order of their paths, behind one, with a text in their path.
pub async fn modules(
    db: &Db,
    prefix: Option<&str>,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Module>, DbError> {
    let prefix = prefix.unwrap_or_default();
    let rows = db
        .fetch_all(sql!(
            "SELECT m.path, m.latest, m.deprecated,
                (SELECT COUNT(*) FROM go_version v WHERE v.path = m.path AND NOT v.hidden)
                    AS versions
             FROM go_module m
             WHERE m.path > $1 AND m.path >= $2 AND m.path < $3 ORDER BY m.path LIMIT $4",
            after.unwrap_or_default(),
            prefix,
            format!("{prefix}\u{10ffff}"),
            limit
        ))
        .await?;
    rows.iter().map(read_module).collect()
}

/// The module of a path.
pub async fn module(db: &Db, path: &str) -> Result<Option<Module>, DbError> {
    let row = db
        .fetch_optional(sql!(
            "SELECT m.path, m.latest, m.deprecated,
                (SELECT COUNT(*) FROM go_version v WHERE v.path = m.path AND NOT v.hidden)
                    AS versions
             FROM go_module m WHERE m.path = $1",
            path
        ))
        .await?;
    row.as_ref().map(read_module).transpose()
}

/// At most `limit` versions of a module, in the order they were found.
pub async fn versions(db: &Db, path: &str, limit: usize) -> Result<Vec<Version>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT v.version, v.seq, f.published_at, v.committed_at, v.tag, v.commit_id,
                v.directory, v.origin, v.retracted, v.retraction, v.hidden, v.gone_at, t.moved_at,
                r.url, CASE WHEN r.owner = '' THEN r.name ELSE r.owner || '/' || r.name END AS repo
             FROM go_version v
             LEFT JOIN go_feed f ON f.seq = v.seq
             LEFT JOIN repository r ON r.id = v.repository
             LEFT JOIN go_tag t ON t.repository = v.repository AND t.name = v.tag
             WHERE v.path = $1 ORDER BY v.id LIMIT $2",
            path,
            limit
        ))
        .await?;
    rows.iter()
        .map(|row| {
            Ok(Version {
                version: row.get("version")?,
                seq: row.get("seq")?,
                published_at: row.get("published_at")?,
                committed_at: row.get("committed_at")?,
                repository: row.get("repo")?,
                url: row.get("url")?,
                tag: row.get("tag")?,
                commit: row.get("commit_id")?,
                directory: row.get("directory")?,
                origin: row.get("origin")?,
                retracted: row.get("retracted")?,
                retraction: row.get("retraction")?,
                hidden: row.get("hidden")?,
                moved_at: row.get("moved_at")?,
                gone_at: row.get("gone_at")?,
            })
        })
        .collect()
}

/// At most `limit` tags that are no version, behind an id, for one reason or all.
pub async fn rejected(
    db: &Db,
    reason: Option<&str>,
    after: i64,
    limit: usize,
) -> Result<Vec<Rejected>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT t.id, t.name, t.rejection, t.detail, t.first_seen,
                CASE WHEN r.owner = '' THEN r.name ELSE r.owner || '/' || r.name END AS repo
             FROM go_tag t JOIN repository r ON r.id = t.repository
             WHERE t.rejection IS NOT NULL AND t.gone_at IS NULL AND t.id > $1
               AND ($2 IS NULL OR t.rejection = $2)
             ORDER BY t.id LIMIT $3",
            after,
            reason,
            limit
        ))
        .await?;
    rows.iter()
        .map(|row| {
            Ok(Rejected {
                id: row.get("id")?,
                repository: row.get("repo")?,
                tag: row.get("name")?,
                reason: row.get("rejection")?,
                detail: row.get("detail")?,
                first_seen: row.get("first_seen")?,
            })
        })
        .collect()
}

/// At most `limit` events in the order they were seen, behind an id.
pub async fn events(db: &Db, after: i64, limit: usize) -> Result<Vec<Event>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT e.id, e.observed_at, e.what, e.tag, e.was, e.became,
                CASE WHEN r.owner = '' THEN r.name ELSE r.owner || '/' || r.name END AS repo
             FROM go_event e JOIN repository r ON r.id = e.repository
             WHERE e.id > $1 ORDER BY e.id LIMIT $2",
            after,
            limit
        ))
        .await?;
    rows.iter()
        .map(|row| {
            Ok(Event {
                id: row.get("id")?,
                observed_at: row.get("observed_at")?,
                event: row.get("what")?,
                repository: row.get("repo")?,
                tag: row.get("tag")?,
                was: row.get("was")?,
                became: row.get("became")?,
            })
        })
        .collect()
}

fn read_module(row: &Row) -> Result<Module, DbError> {
    Ok(Module {
        path: row.get("path")?,
        latest: row.get("latest")?,
        deprecated: row.get("deprecated")?,
        versions: row.get("versions")?,
    })
}
