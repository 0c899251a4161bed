//! Issues and pull requests as forges tell them, and the repositories that are asked for them.

use std::collections::HashSet;

use db::{Bulk, DbError, Row, Timestamp, Tx, sql};

use super::issues;

/// An issue or a pull request of a forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewIssue {
    /// `issue` or `pull`.
    pub kind: &'static str,
    /// The forge's own number of it.
    pub platform_id: i64,
    /// The number that people see.
    pub number: i64,
    pub node_id: Option<String>,
    pub title: String,
    /// `open` or `closed`.
    pub state: &'static str,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    pub closed_at: Option<Timestamp>,
}

/// A repository whose forge is to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub repository: i64,
    pub host: String,
}

/// Writes down what a forge told of a repository's issues, with the keys in their titles; what was
/// made for those keys from mail becomes theirs. Answers how many are new or changed.
pub async fn record_issues(
    tx: &mut Tx,
    repository: i64,
    host: &str,
    told: &[NewIssue],
    now: Timestamp,
) -> Result<usize, DbError> {
    if told.is_empty() {
        return Ok(0);
    }
    super::write::take_turn(tx).await?;
    // One statement must not meet an issue twice.
    let mut met = HashSet::new();
    let told: Vec<&NewIssue> = told
        .iter()
        .filter(|one| met.insert((one.kind, one.platform_id)))
        .collect();
    let rows = tx
        .fetch_bulk(
            sql!(
                "INSERT INTO forge_issue (repository, kind, platform_id, number, node_id, title,
                    state, created_at, updated_at, closed_at, data_source, comments, observed_at)
                 SELECT $1, r.kind, r.platform_id, r.number, r.node_id, r.title, r.state,
                    r.created_at, r.updated_at, r.closed_at, $2, 0, $3 FROM {rows} WHERE TRUE
                 ON CONFLICT (repository, kind, platform_id) DO UPDATE SET
                    number = excluded.number, node_id = excluded.node_id, title = excluded.title,
                    state = excluded.state, created_at = excluded.created_at,
                    updated_at = excluded.updated_at, closed_at = excluded.closed_at,
                    data_source = excluded.data_source, observed_at = excluded.observed_at
                 WHERE forge_issue.updated_at IS DISTINCT FROM excluded.updated_at
                    OR forge_issue.title <> excluded.title OR forge_issue.state <> excluded.state
                    OR forge_issue.node_id IS DISTINCT FROM excluded.node_id
                 RETURNING id",
                repository,
                host,
                now
            ),
            Bulk::new()
                .texts("kind", told.iter().map(|one| one.kind.to_owned()))
                .ints("platform_id", told.iter().map(|one| one.platform_id))
                .ints("number", told.iter().map(|one| one.number))
                .texts("node_id", told.iter().map(|one| one.node_id.clone()))
                .texts("title", told.iter().map(|one| one.title.clone()))
                .texts("state", told.iter().map(|one| one.state.to_owned()))
                .times("created_at", told.iter().map(|one| one.created_at))
                .times("updated_at", told.iter().map(|one| one.updated_at))
                .times("closed_at", told.iter().map(|one| one.closed_at)),
        )
        .await?;
    let ids: Vec<i64> = rows
        .iter()
        .map(|row| row.get("id"))
        .collect::<Result<_, _>>()?;
    issues::give_keys(tx, Some(&ids)).await?;
    Ok(ids.len())
}

/// A forge told all there was.
pub async fn activity_answered(
    tx: &mut Tx,
    repository: i64,
    now: Timestamp,
) -> Result<(), DbError> {
    tx.execute(sql!(
        "INSERT INTO forge_activity (repository, wanted_at, answered_at) VALUES ($1, $2, $2)
         ON CONFLICT (repository) DO UPDATE SET answered_at = excluded.answered_at",
        repository,
        now
    ))
    .await
    .map(drop)
}

/// Repositories that mail concerns and whose forge is not asked for issues yet, or was last wanted to
/// be before a time, since somebody may have called it off meanwhile; at most `limit`. From now on
/// they count as wanted. What is archived is asked for once.
pub async fn concerned(
    tx: &mut Tx,
    limit: usize,
    before: Timestamp,
    now: Timestamp,
) -> Result<Vec<Wanted>, DbError> {
    let rows = tx
        .fetch_all(sql!(
            "SELECT x.id, x.host FROM repository x
             WHERE x.forge IN ('github', 'gitlab', 'gitea')
               AND NOT EXISTS (SELECT 1 FROM forge_activity a
                WHERE a.repository = x.id AND (x.archived OR a.wanted_at > $2))
               AND (EXISTS (SELECT 1 FROM mail_list l WHERE l.repository = x.id)
                OR EXISTS (SELECT 1 FROM repo_group_member g JOIN mail_list l
                    ON l.repo_group = g.repo_group WHERE g.repository = x.id)
                OR EXISTS (SELECT 1 FROM mail_message m WHERE m.signalled_repository = x.id))
             ORDER BY x.id LIMIT $1",
            limit,
            before
        ))
        .await?;
    let read = |row: &Row| {
        Ok(Wanted {
            repository: row.get("id")?,
            host: row.get("host")?,
        })
    };
    let wanted: Vec<Wanted> = rows.iter().map(read).collect::<Result<_, DbError>>()?;
    tx.execute_bulk(
        sql!(
            "INSERT INTO forge_activity (repository, wanted_at)
             SELECT r.repository, $1 FROM {rows} WHERE TRUE
             ON CONFLICT (repository) DO UPDATE SET wanted_at = excluded.wanted_at",
            now
        ),
        Bulk::new().ints("repository", wanted.iter().map(|one| one.repository)),
    )
    .await?;
    Ok(wanted)
}

/// Whether there is any mail that could wait for an issue.
pub async fn has_lists(tx: &mut Tx) -> Result<bool, DbError> {
    let row = tx
        .fetch_optional(sql!("SELECT id FROM mail_list LIMIT 1"))
        .await?;
    Ok(row.is_some())
}
