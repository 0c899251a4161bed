//! What the newest go.mod says of all versions, and which versions the go command would not list.

use std::collections::HashMap;

use db::{Bulk, Db, DbError, Timestamp, Tx, sql};

/// A version of a repository, as far as other versions decide about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnVersion {
    /// The module's path.
    pub path: String,
    /// Canonical.
    pub version: String,
    /// The tag.
    pub tag: String,
    /// The id of its go.mod.
    pub go_mod: Option<String>,
    /// The go command does not list it.
    pub hidden: bool,
    /// By the newest go.mod, with its reason.
    pub retracted: Option<Option<String>>,
    /// Its tag is no longer there.
    pub gone: bool,
}

/// A tag at the top of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopTag {
    /// Its name, which is a version.
    pub name: String,
    /// Whether there is a go.mod at the top.
    pub go_mod: bool,
}

/// What the newest go.mod of a module says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleChange {
    /// The module's path.
    pub path: String,
    /// The version whose go.mod it is.
    pub latest: String,
    /// Why the module should not be used any more.
    pub deprecated: Option<String>,
    /// Versions whose retraction changed: none, or with its reason.
    pub retractions: Vec<(String, Option<Option<String>>)>,
}

/// A version and whether it is to be hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncompatibleVersion {
    /// The module's path.
    pub path: String,
    /// With `+incompatible`.
    pub version: String,
    /// The go command does not list it.
    pub hidden: bool,
}

/// All versions that this repository has named first.
pub async fn own_versions(db: &Db, repository: i64) -> Result<Vec<OwnVersion>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT path, version, tag, go_mod, hidden, retracted, retraction,
                gone_at IS NOT NULL AS gone
             FROM go_version WHERE repository = $1 ORDER BY path, id",
            repository
        ))
        .await?;
    rows.iter()
        .map(|row| {
            let retracted: bool = row.get("retracted")?;
            let reason: Option<String> = row.get("retraction")?;
            Ok(OwnVersion {
                path: row.get("path")?,
                version: row.get("version")?,
                tag: row.get("tag")?,
                go_mod: row.get("go_mod")?,
                hidden: row.get("hidden")?,
                retracted: retracted.then_some(reason),
                gone: row.get("gone")?,
            })
        })
        .collect()
}

/// The tags at the top of a repository of which the tree was looked at.
pub async fn top_tags(db: &Db, repository: i64) -> Result<Vec<TopTag>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT name, top_go_mod FROM go_tag
             WHERE repository = $1 AND top_go_mod IS NOT NULL AND gone_at IS NULL
               AND name NOT LIKE '%/%'",
            repository
        ))
        .await?;
    rows.iter()
        .map(|row| {
            Ok(TopTag {
                name: row.get("name")?,
                go_mod: row.get("top_go_mod")?,
            })
        })
        .collect()
}

/// Writes down what changed about modules and hidden versions.
pub async fn settle(
    tx: &mut Tx,
    modules: &[ModuleChange],
    hidden: &[IncompatibleVersion],
    now: Timestamp,
) -> Result<(), DbError> {
    let bulk = Bulk::new()
        .texts("path", modules.iter().map(|one| one.path.clone()))
        .texts("latest", modules.iter().map(|one| one.latest.clone()))
        .texts(
            "deprecated",
            modules.iter().map(|one| one.deprecated.clone()),
        );
    if !bulk.is_empty() {
        let statement = sql!(
            "INSERT INTO go_module (path, latest, deprecated, changed_at)
             SELECT r.path, r.latest, r.deprecated, $1 FROM {rows} WHERE TRUE
             ON CONFLICT (path) DO UPDATE SET latest = excluded.latest,
                deprecated = excluded.deprecated, changed_at = excluded.changed_at
             WHERE go_module.latest <> excluded.latest
                OR go_module.deprecated IS DISTINCT FROM excluded.deprecated",
            now
        );
        tx.execute_bulk(statement, bulk).await?;
    }
    let retractions: Vec<(&String, &String, &Option<Option<String>>)> = modules
        .iter()
        .flat_map(|module| {
            let own = module.retractions.iter();
            own.map(|(version, retracted)| (&module.path, version, retracted))
        })
        .collect();
    if !retractions.is_empty() {
        let bulk = Bulk::new()
            .texts("path", retractions.iter().map(|one| one.0.clone()))
            .texts("version", retractions.iter().map(|one| one.1.clone()))
            .bools("retracted", retractions.iter().map(|one| one.2.is_some()))
            .texts(
                "retraction",
                retractions.iter().map(|one| one.2.clone().flatten()),
            );
        let statement = sql!(
            "UPDATE go_version SET retracted = r.retracted, retraction = r.retraction FROM {rows}
             WHERE go_version.path = r.path AND go_version.version = r.version"
        );
        tx.execute_bulk(statement, bulk).await?;
    }
    if !hidden.is_empty() {
        let bulk = Bulk::new()
            .texts("path", hidden.iter().map(|one| one.path.clone()))
            .texts("version", hidden.iter().map(|one| one.version.clone()))
            .bools("hidden", hidden.iter().map(|one| one.hidden));
        let statement = sql!(
            "UPDATE go_version SET hidden = r.hidden FROM {rows}
             WHERE go_version.path = r.path AND go_version.version = r.version"
        );
        tx.execute_bulk(statement, bulk).await?;
    }
    Ok(())
}

/// Those of the go.mod files that are kept. At most some hundreds at a time.
pub async fn contents(db: &Db, ids: &[&str]) -> Result<HashMap<String, Vec<u8>>, DbError> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let wanted = Bulk::new().texts("id", ids.iter().map(|id| (*id).to_owned()));
    let rows = db
        .fetch_bulk(
            sql!("SELECT m.id, m.body FROM {rows} JOIN go_mod m ON m.id = r.id"),
            wanted,
        )
        .await?;
    rows.iter()
        .map(|row| Ok((row.get("id")?, row.get("body")?)))
        .collect()
}

/// Keeps go.mod files for ever: they are small, and what they say of a version never changes.
pub async fn keep_contents(tx: &mut Tx, files: &[(String, Vec<u8>)]) -> Result<(), DbError> {
    if files.is_empty() {
        return Ok(());
    }
    let bulk = Bulk::new()
        .texts("id", files.iter().map(|(id, _)| id.clone()))
        .bytes("body", files.iter().map(|(_, body)| body.clone()));
    let statement = sql!(
        "INSERT INTO go_mod (id, body) SELECT r.id, r.body FROM {rows} WHERE TRUE
         ON CONFLICT (id) DO NOTHING"
    );
    tx.execute_bulk(statement, bulk).await?;
    Ok(())
}
