//! Writing down what tags name, and what becomes of tags.

use db::{Bulk, Db, DbError, Timestamp, Tx, sql};

/// A tag as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownTag {
    /// Without `refs/tags/`.
    pub name: String,
    /// What it leads to.
    pub object: String,
    /// Why it is no version, in a word.
    pub rejection: Option<String>,
    /// It was no longer there.
    pub gone: bool,
}

/// A tag that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTag {
    /// Without `refs/tags/`.
    pub name: String,
    /// The commit; none for a tag of something else.
    pub commit: Option<String>,
    /// What it leads to.
    pub object: String,
    /// The commit's own time.
    pub committed_at: Option<Timestamp>,
    /// Whether there is a go.mod at the top; none where nobody looked.
    pub top_go_mod: Option<bool>,
    /// Why it is no version: a word, and the whole reason.
    pub rejection: Option<(&'static str, String)>,
}

/// A module version that a tag names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewVersion {
    /// The module's path.
    pub path: String,
    /// Canonical, with `+incompatible` where Go demands it.
    pub version: String,
    /// The tag.
    pub tag: String,
    /// Where the tag leads.
    pub commit: String,
    /// Of the module in the repository; empty at the top.
    pub directory: String,
    /// The id of its go.mod; none where it has none.
    pub go_mod: Option<String>,
    /// `known`, `vanity` or `vanity-subdirectory`.
    pub origin: &'static str,
    /// The path that leads to the repository.
    pub root: String,
    /// The commit's own time.
    pub committed_at: Option<Timestamp>,
}

/// From now on the tags of these repositories are read. At most [`crate::MAX_ROWS`].
pub async fn enter(tx: &mut Tx, repositories: &[i64], now: Timestamp) -> Result<u64, DbError> {
    let ids = Bulk::new().ints("id", repositories.iter().copied());
    let statement = sql!(
        "INSERT INTO go_repository (repository, added_at)
         SELECT DISTINCT x.id, $1 FROM {rows} JOIN repository x ON x.id = r.id WHERE TRUE
         ON CONFLICT (repository) DO NOTHING",
        now
    );
    tx.execute_bulk(statement, ids).await
}

/// The tags of these repositories are no longer read. What is known of them stays, and what they
/// have published stays in the feed.
pub async fn leave(tx: &mut Tx, repositories: &[i64]) -> Result<u64, DbError> {
    let ids = Bulk::new().ints("id", repositories.iter().copied());
    let statement = sql!("DELETE FROM go_repository WHERE repository IN (SELECT r.id FROM {rows})");
    tx.execute_bulk(statement, ids).await
}

/// The repositories that came by this source and by no other of its group.
pub async fn only_from(tx: &mut Tx, source: i64) -> Result<Vec<i64>, DbError> {
    let rows = tx
        .fetch_all(sql!(
            "SELECT m.repository FROM repo_group_source_member m
             WHERE m.source = $1 AND NOT EXISTS (
                SELECT 1 FROM repo_group_source_member o
                JOIN repo_group_source s ON s.id = o.source
                JOIN repo_group_source own ON own.id = $1
                WHERE o.repository = m.repository AND s.repo_group = own.repo_group AND s.id <> $1)
             ORDER BY m.repository",
            source
        ))
        .await?;
    rows.iter().map(|row| row.get("repository")).collect()
}

/// The digest of all tags as they were last read to their end.
pub async fn ref_digest(db: &Db, repository: i64) -> Result<Option<String>, DbError> {
    let row = db
        .fetch_optional(sql!(
            "SELECT ref_digest FROM go_repository WHERE repository = $1",
            repository
        ))
        .await?;
    Ok(row.map(|row| row.get("ref_digest")).transpose()?.flatten())
}

/// A run begins.
pub async fn began(tx: &mut Tx, repository: i64, now: Timestamp) -> Result<(), DbError> {
    enter(tx, &[repository], now).await?;
    tx.execute(sql!(
        "UPDATE go_repository SET began_at = $2 WHERE repository = $1",
        repository,
        now
    ))
    .await?;
    Ok(())
}

/// A run has read everything there is, a repository without tags included.
pub async fn finished(
    tx: &mut Tx,
    repository: i64,
    digest: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE go_repository SET ref_digest = $2, finished_at = $3 WHERE repository = $1",
        repository,
        digest,
        now
    ))
    .await?;
    Ok(())
}

/// The tags of these repositories, or of all, are to be looked at again even if none has changed.
pub async fn forget_digest(tx: &mut Tx, repository: Option<i64>) -> Result<Vec<i64>, DbError> {
    let rows = tx
        .fetch_all(sql!(
            "UPDATE go_repository SET ref_digest = NULL
             WHERE $1 IS NULL OR repository = $1 RETURNING repository",
            repository
        ))
        .await?;
    rows.iter().map(|row| row.get("repository")).collect()
}

/// The listing of an owner begins.
pub async fn listing_began(tx: &mut Tx, source: i64, now: Timestamp) -> Result<(), DbError> {
    tx.execute(sql!(
        "INSERT INTO go_listing (source, began_at)
         SELECT s.id, $2 FROM repo_group_source s WHERE s.id = $1
         ON CONFLICT (source) DO UPDATE SET began_at = excluded.began_at",
        source,
        now
    ))
    .await?;
    Ok(())
}

/// The listing of an owner has come to its end.
pub async fn listing_finished(tx: &mut Tx, source: i64, now: Timestamp) -> Result<(), DbError> {
    tx.execute(sql!(
        "UPDATE go_listing SET finished_at = $2 WHERE source = $1",
        source,
        now
    ))
    .await?;
    Ok(())
}

/// All tags of a repository that were ever seen.
pub async fn known_tags(db: &Db, repository: i64) -> Result<Vec<KnownTag>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT name, object_id, rejection, gone_at IS NOT NULL AS gone
             FROM go_tag WHERE repository = $1",
            repository
        ))
        .await?;
    rows.iter()
        .map(|row| {
            Ok(KnownTag {
                name: row.get("name")?,
                object: row.get("object_id")?,
                rejection: row.get("rejection")?,
                gone: row.get("gone")?,
            })
        })
        .collect()
}

/// Writes down tags that were read, with the versions they name; a tag that named nothing before
/// and leads elsewhere now is taken as it is now. `+incompatible` versions stay hidden until
/// [`super::settle`] says otherwise. A version that another repository named first stays its own,
/// and the claim becomes an event.
pub async fn record(
    tx: &mut Tx,
    repository: i64,
    tags: &[NewTag],
    versions: &[NewVersion],
    now: Timestamp,
) -> Result<(), DbError> {
    let bulk = Bulk::new()
        .texts("name", tags.iter().map(|tag| tag.name.clone()))
        .texts("commit_id", tags.iter().map(|tag| tag.commit.clone()))
        .texts("object_id", tags.iter().map(|tag| tag.object.clone()))
        .times("committed_at", tags.iter().map(|tag| tag.committed_at))
        .bools("top_go_mod", tags.iter().map(|tag| tag.top_go_mod))
        .texts(
            "rejection",
            tags.iter()
                .map(|tag| tag.rejection.as_ref().map(|(word, _)| (*word).to_owned())),
        )
        .texts(
            "detail",
            tags.iter()
                .map(|tag| tag.rejection.as_ref().map(|(_, why)| why.clone())),
        );
    let statement = sql!(
        "INSERT INTO go_tag (repository, name, commit_id, object_id, committed_at, top_go_mod,
            rejection, detail, first_seen)
         SELECT $1, r.name, r.commit_id, r.object_id, r.committed_at, r.top_go_mod,
            r.rejection, r.detail, $2
         FROM {rows} WHERE TRUE
         ON CONFLICT (repository, name) DO UPDATE SET commit_id = excluded.commit_id,
            object_id = excluded.object_id, committed_at = excluded.committed_at,
            top_go_mod = excluded.top_go_mod, rejection = excluded.rejection,
            detail = excluded.detail, gone_at = NULL
         WHERE go_tag.rejection IS NOT NULL",
        repository,
        now
    );
    tx.execute_bulk(statement, bulk).await?;
    record_versions(tx, repository, versions, now).await
}

async fn record_versions(
    tx: &mut Tx,
    repository: i64,
    versions: &[NewVersion],
    now: Timestamp,
) -> Result<(), DbError> {
    if versions.is_empty() {
        return Ok(());
    }
    let text = |field: fn(&NewVersion) -> String| versions.iter().map(field).collect::<Vec<_>>();
    let bulk = Bulk::new()
        .texts("path", text(|one| one.path.clone()))
        .texts("version", text(|one| one.version.clone()))
        .texts("tag", text(|one| one.tag.clone()))
        .texts("commit_id", text(|one| one.commit.clone()))
        .texts("directory", text(|one| one.directory.clone()))
        .texts("go_mod", versions.iter().map(|one| one.go_mod.clone()))
        .texts("origin", text(|one| one.origin.to_owned()))
        .texts("root", text(|one| one.root.clone()))
        .times("committed_at", versions.iter().map(|one| one.committed_at))
        .bools(
            "hidden",
            versions
                .iter()
                .map(|one| one.version.ends_with("+incompatible")),
        );
    let statement = sql!(
        "INSERT INTO go_version (path, version, repository, tag, commit_id, directory, go_mod,
            origin, root, committed_at, found_at, hidden, retracted)
         SELECT r.path, r.version, $1, r.tag, r.commit_id, r.directory, r.go_mod,
            r.origin, r.root, r.committed_at, $2, r.hidden, FALSE
         FROM {rows} WHERE TRUE
         ON CONFLICT (path, version) DO UPDATE SET repository = excluded.repository
         WHERE go_version.repository IS NULL",
        repository,
        now
    );
    tx.execute_bulk(statement, bulk.clone()).await?;
    let claimed = sql!(
        "INSERT INTO go_event (repository, tag, what, was, became, observed_at)
         SELECT $1, r.tag, 'claimed', CAST(v.repository AS TEXT), r.path || '@' || r.version, $2
         FROM {rows} JOIN go_version v ON v.path = r.path AND v.version = r.version
         WHERE v.repository <> $1
           AND NOT EXISTS (SELECT 1 FROM go_event e WHERE e.repository = $1 AND e.tag = r.tag
               AND e.what = 'claimed' AND e.became = r.path || '@' || r.version)",
        repository,
        now
    );
    tx.execute_bulk(claimed, bulk).await?;
    Ok(())
}

/// These tags lead elsewhere now: names, and what they lead to. The versions stay as they are.
pub async fn moved(
    tx: &mut Tx,
    repository: i64,
    tags: &[(String, String)],
    now: Timestamp,
) -> Result<(), DbError> {
    let bulk = || {
        Bulk::new()
            .texts("name", tags.iter().map(|(name, _)| name.clone()))
            .texts("object_id", tags.iter().map(|(_, object)| object.clone()))
    };
    let event = sql!(
        "INSERT INTO go_event (repository, tag, what, was, became, observed_at)
         SELECT $1, t.name, 'moved', t.object_id, r.object_id, $2
         FROM {rows} JOIN go_tag t ON t.repository = $1 AND t.name = r.name
         WHERE t.object_id <> r.object_id",
        repository,
        now
    );
    tx.execute_bulk(event, bulk()).await?;
    let statement = sql!(
        "UPDATE go_tag SET object_id = r.object_id, moved_at = $2 FROM {rows}
         WHERE go_tag.repository = $1 AND go_tag.name = r.name
           AND go_tag.object_id <> r.object_id",
        repository,
        now
    );
    tx.execute_bulk(statement, bulk()).await?;
    Ok(())
}

/// These tags are no longer there: what they named is no longer available.
pub async fn vanished(
    tx: &mut Tx,
    repository: i64,
    tags: &[String],
    now: Timestamp,
) -> Result<(), DbError> {
    presence(tx, repository, tags, Some(now), now).await
}

/// These tags are there again.
pub async fn returned(
    tx: &mut Tx,
    repository: i64,
    tags: &[String],
    now: Timestamp,
) -> Result<(), DbError> {
    presence(tx, repository, tags, None, now).await
}

async fn presence(
    tx: &mut Tx,
    repository: i64,
    tags: &[String],
    gone_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), DbError> {
    if tags.is_empty() {
        return Ok(());
    }
    let gone = gone_at.is_some();
    let what = if gone { "vanished" } else { "returned" };
    let bulk = || Bulk::new().texts("name", tags.iter().cloned());
    // Tags that name nothing come and go as they like.
    let event = sql!(
        "INSERT INTO go_event (repository, tag, what, was, became, observed_at)
         SELECT $1, t.name, $2, t.object_id, NULL, $3
         FROM {rows} JOIN go_tag t ON t.repository = $1 AND t.name = r.name
         WHERE (t.gone_at IS NULL) = $4 AND t.rejection IS NULL",
        repository,
        what,
        now,
        gone
    );
    tx.execute_bulk(event, bulk()).await?;
    let statement = sql!(
        "UPDATE go_tag SET gone_at = $2 FROM {rows}
         WHERE go_tag.repository = $1 AND go_tag.name = r.name",
        repository,
        gone_at
    );
    tx.execute_bulk(statement, bulk()).await?;
    let statement = sql!(
        "UPDATE go_version SET gone_at = $2 FROM {rows}
         WHERE go_version.repository = $1 AND go_version.tag = r.name",
        repository,
        gone_at
    );
    tx.execute_bulk(statement, bulk()).await?;
    let statement = sql!(
        "UPDATE go_feed SET available = $2 WHERE seq IN (
            SELECT v.seq FROM {rows} JOIN go_version v ON v.repository = $1 AND v.tag = r.name
            WHERE v.seq IS NOT NULL)",
        repository,
        !gone
    );
    tx.execute_bulk(statement, bulk()).await?;
    Ok(())
}
