//! Figures of all mail, for the command line and the web.

use db::{Db, DbError, sql};
use serde::Serialize;

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    pub lists: i64,
    /// Lists of which all was read at least once.
    pub scan_complete: i64,
    pub email_messages: i64,
    pub mirrors: i64,
    /// Messages that name a repository, and those whose repository is known.
    pub signalled_captured: i64,
    pub signalled_resolved: i64,
    /// People who wrote, those of them who turned out to be a known contributor, and those of whom
    /// only the address is known.
    pub sender_total: i64,
    pub sender_resolved: i64,
    pub sender_email_only: i64,
    pub threads: i64,
    pub series: i64,
    pub by_class: Vec<ClassCount>,
    /// Lists whose mail waits: for a resolver, or for a repository to be projected to.
    pub waiting: Vec<WaitingList>,
    /// Made issues whose key stands in the title of a native one. Must be 0.
    pub shadows: i64,
    pub skipped: i64,
    pub dead_letters: i64,
    /// Months and epochs of which fewer mails came than their archive counts.
    pub incomplete_parts: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClassCount {
    pub class: String,
    pub messages: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingList {
    pub list: String,
    /// Copies that wait for the resolver.
    pub staged: i64,
    /// Whether there is no repository to project its mail to.
    pub without_repository: bool,
}

/// Counts everything.
pub async fn stats(db: &Db) -> Result<Stats, DbError> {
    let row = db
        .fetch_one(sql!(
            "SELECT (SELECT COUNT(*) FROM mail_list) AS lists,
                (SELECT COUNT(*) FROM mail_list WHERE finished_at IS NOT NULL) AS complete,
                (SELECT COUNT(*) FROM mail_message) AS messages,
                (SELECT COUNT(*) FROM mail_message WHERE class IN ('github_mirror', 'commit_notify')) AS mirrors,
                (SELECT COUNT(*) FROM mail_message WHERE signalled_url IS NOT NULL) AS captured,
                (SELECT COUNT(*) FROM mail_message WHERE signalled_repository IS NOT NULL) AS resolved,
                (SELECT COUNT(*) FROM mail_sender WHERE NOT automation) AS senders,
                (SELECT COUNT(*) FROM mail_sender WHERE contributor IS NOT NULL
                    AND identity <> 'email-only') AS known,
                (SELECT COUNT(*) FROM mail_sender WHERE identity = 'email-only') AS email_only,
                (SELECT COUNT(*) FROM mail_thread) AS threads,
                (SELECT COUNT(*) FROM mail_series) AS series,
                (SELECT COUNT(*) FROM mail_copy WHERE state = 'skipped') AS skipped,
                (SELECT COUNT(*) FROM mail_copy WHERE state = 'dead') AS dead,
                (SELECT COUNT(*) FROM mail_part WHERE state = 'incomplete') AS incomplete"
        ))
        .await?;
    let shadows = db
        .fetch_one(sql!(
            "SELECT COUNT(*) AS shadows FROM forge_issue s
             WHERE s.platform_id < 0 AND EXISTS (SELECT 1 FROM forge_issue i
                WHERE i.repository = s.repository AND i.platform_id >= 0 AND i.kind = 'issue'
                  AND i.title LIKE '%[' || s.external_key || ']%')"
        ))
        .await?;
    let rows = db
        .fetch_all(sql!(
            "SELECT class, COUNT(*) AS messages FROM mail_message GROUP BY class ORDER BY class"
        ))
        .await?;
    let by_class = rows
        .iter()
        .map(|row| {
            Ok(ClassCount {
                class: row.get("class")?,
                messages: row.get("messages")?,
            })
        })
        .collect::<Result<_, DbError>>()?;
    let rows = db
        .fetch_all(sql!(
            "SELECT w.address, w.staged, w.lonely FROM (
                SELECT l.id, l.address,
                    (SELECT COUNT(*) FROM mail_copy c WHERE c.list = l.id AND c.state = 'staged') AS staged,
                    l.system = 'apache' AND l.repository IS NULL AND NOT EXISTS (
                        SELECT 1 FROM repo_group_member g WHERE g.repo_group = l.repo_group) AS lonely
                FROM mail_list l) AS w
             WHERE w.staged > 0 OR w.lonely ORDER BY w.address, w.id LIMIT 1000"
        ))
        .await?;
    let waiting = rows
        .iter()
        .map(|row| {
            Ok(WaitingList {
                list: row.get("address")?,
                staged: row.get("staged")?,
                without_repository: row.get("lonely")?,
            })
        })
        .collect::<Result<_, DbError>>()?;
    Ok(Stats {
        lists: row.get("lists")?,
        scan_complete: row.get("complete")?,
        email_messages: row.get("messages")?,
        mirrors: row.get("mirrors")?,
        signalled_captured: row.get("captured")?,
        signalled_resolved: row.get("resolved")?,
        sender_total: row.get("senders")?,
        sender_resolved: row.get("known")?,
        sender_email_only: row.get("email_only")?,
        threads: row.get("threads")?,
        series: row.get("series")?,
        by_class,
        waiting,
        shadows: shadows.get("shadows")?,
        skipped: row.get("skipped")?,
        dead_letters: row.get("dead")?,
        incomplete_parts: row.get("incomplete")?,
    })
}
