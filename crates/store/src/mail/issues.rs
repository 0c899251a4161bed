//! Issues that mail tells of: found, made, taken over.
//!
//! A tracker's mail names an issue by its key. If a forge's issue of the repository has the key, or
//! carries it in brackets in its title, the mail belongs to that one; else an issue is made for it,
//! under a negative number that follows from the key, so that two who make it make the same. When a
//! forge's own issue turns up later, it takes over key, mail and comments, and the made one goes.

use std::collections::HashMap;

use db::{Bulk, DbError, Row, Timestamp, Tx, sql};

/// The text that made issues have in `data_source`.
const TRACKER: &str = "JIRA";

/// An issue that mail names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Named {
    pub(super) repository: i64,
    pub(super) key: String,
}

/// The issues by their keys; those that are not there are made.
pub(super) async fn ensure(
    tx: &mut Tx,
    named: &[Named],
    now: Timestamp,
) -> Result<HashMap<Named, i64>, DbError> {
    let mut found = by_key(tx, named).await?;
    let missing: Vec<&Named> = named
        .iter()
        .filter(|one| !found.contains_key(*one))
        .collect();
    if missing.is_empty() {
        return Ok(found);
    }
    let rows = Bulk::new()
        .ints("repository", missing.iter().map(|one| one.repository))
        .texts("key", missing.iter().map(|one| one.key.clone()))
        .ints("platform_id", missing.iter().map(|one| made_id(&one.key)))
        .ints("number", missing.iter().map(|one| number(&one.key)));
    tx.execute_bulk(
        sql!(
            "INSERT INTO forge_issue (repository, kind, platform_id, number, title, state,
                external_key, data_source, comments, observed_at)
             SELECT r.repository, 'issue', r.platform_id, r.number, r.key, 'open', r.key, $2, 0, $1
             FROM {rows} WHERE TRUE ON CONFLICT DO NOTHING",
            now,
            TRACKER
        ),
        rows,
    )
    .await?;
    let made: Vec<Named> = missing.into_iter().cloned().collect();
    found.extend(by_key(tx, &made).await?);
    Ok(found)
}

async fn by_key(tx: &mut Tx, named: &[Named]) -> Result<HashMap<Named, i64>, DbError> {
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT i.id, i.repository, i.external_key FROM {rows}
                 JOIN forge_issue i ON i.repository = r.repository AND i.external_key = r.key"
            ),
            Bulk::new()
                .ints("repository", named.iter().map(|one| one.repository))
                .texts("key", named.iter().map(|one| one.key.clone())),
        )
        .await?;
    let read = |row: &Row| {
        let named = Named {
            repository: row.get("repository")?,
            key: row.get("external_key")?,
        };
        Ok((named, row.get("id")?))
    };
    rows.iter().map(read).collect()
}

/// Gives issues of forges the keys in their titles, and lets them take over what was made for those
/// keys; answers how many got one. A key that another issue of a forge has stays there.
pub async fn backfill_keys(tx: &mut Tx) -> Result<u64, DbError> {
    give_keys(tx, None).await
}

/// Likewise, of these issues or of all. Pull requests bear the key of the issue they are for: it is
/// not theirs.
pub(super) async fn give_keys(tx: &mut Tx, among: Option<&[i64]>) -> Result<u64, DbError> {
    let rows = match among {
        Some(ids) => {
            tx.fetch_bulk(
                sql!(
                    "SELECT i.id, i.repository, i.title FROM forge_issue i
                     WHERE i.id IN (SELECT r.id FROM {rows}) AND i.kind = 'issue'
                       AND i.platform_id >= 0 AND i.external_key IS NULL
                       AND i.title LIKE '%[%-%]%'
                     ORDER BY i.repository, i.number, i.id"
                ),
                Bulk::new().ints("id", ids.iter().copied()),
            )
            .await?
        }
        None => {
            tx.fetch_all(sql!(
                "SELECT id, repository, title FROM forge_issue
                 WHERE kind = 'issue' AND platform_id >= 0 AND external_key IS NULL
                   AND title LIKE '%[%-%]%'
                 ORDER BY repository, number, id"
            ))
            .await?
        }
    };
    let mut wanted: Vec<(Named, i64)> = Vec::new();
    for row in &rows {
        let title: String = row.get("title")?;
        if let Some(key) = key_in_title(&title) {
            let repository = row.get("repository")?;
            wanted.push((Named { repository, key }, row.get("id")?));
        }
    }
    // The oldest of several issues with one key has it.
    wanted.sort_by(|one, other| one.0.cmp(&other.0));
    wanted.dedup_by(|later, first| later.0 == first.0);
    let named: Vec<Named> = wanted.iter().map(|(named, _)| named.clone()).collect();
    let holders = by_key(tx, &named).await?;
    let mut given = 0;
    for (named, native) in wanted {
        if let Some(holder) = holders.get(&named)
            && !take_over(tx, *holder, native).await?
        {
            continue;
        }
        given += tx
            .execute(sql!(
                "UPDATE forge_issue SET external_key = $2 WHERE id = $1 AND external_key IS NULL
                   AND NOT EXISTS (SELECT 1 FROM forge_issue o
                    WHERE o.repository = forge_issue.repository AND o.external_key = $2)",
                native,
                named.key
            ))
            .await?;
    }
    Ok(given)
}

/// Moves mail and comments of a made issue to a forge's own; false if it is not a made one.
async fn take_over(tx: &mut Tx, made: i64, native: i64) -> Result<bool, DbError> {
    let row = tx
        .fetch_optional(sql!(
            "SELECT id FROM forge_issue WHERE id = $1 AND platform_id < 0",
            made
        ))
        .await?;
    if row.is_none() {
        return Ok(false);
    }
    tx.execute(sql!(
        "INSERT INTO forge_issue_comment (issue, message)
         SELECT $2, c.message FROM forge_issue_comment c WHERE c.issue = $1
         ON CONFLICT DO NOTHING",
        made,
        native
    ))
    .await?;
    tx.execute(sql!(
        "UPDATE mail_message SET issue = $2 WHERE issue = $1",
        made,
        native
    ))
    .await?;
    tx.execute(sql!("DELETE FROM forge_issue WHERE id = $1", made))
        .await?;
    refresh(tx, &[native]).await?;
    Ok(true)
}

/// Counts the comments of issues, and tells of made ones what their mail says last.
pub(super) async fn refresh(tx: &mut Tx, issues: &[i64]) -> Result<(), DbError> {
    if issues.is_empty() {
        return Ok(());
    }
    let ids = || Bulk::new().ints("id", issues.iter().copied());
    tx.execute_bulk(
        sql!(
            "UPDATE forge_issue SET comments =
                (SELECT COUNT(*) FROM forge_issue_comment c WHERE c.issue = forge_issue.id)
             WHERE id IN (SELECT r.id FROM {rows})"
        ),
        ids(),
    )
    .await?;
    forget_untold(tx, issues).await?;
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT i.id, i.external_key, m.subject, m.action, m.sent_at, s.contributor,
                    COALESCE(s.automation, TRUE) AS automation
                 FROM forge_issue i JOIN mail_message m ON m.issue = i.id
                 LEFT JOIN mail_sender s ON s.id = m.sender
                 WHERE i.id IN (SELECT r.id FROM {rows}) AND i.platform_id < 0
                   AND m.class = 'issue_event'
                 ORDER BY i.id, m.sent_at IS NULL, m.sent_at, m.message_id"
            ),
            ids(),
        )
        .await?;
    let mut told: Vec<Told> = Vec::new();
    for row in &rows {
        let id: i64 = row.get("id")?;
        if told.last().is_none_or(|last| last.id != id) {
            told.push(Told::new(id));
        }
        if let Some(last) = told.last_mut() {
            last.hear(row)?;
        }
    }
    tx.execute_bulk(
        sql!(
            "UPDATE forge_issue SET title = r.title, state = r.state, created_at = r.created_at,
                updated_at = r.updated_at, closed_at = r.closed_at, reporter = r.reporter
             FROM {rows} WHERE forge_issue.id = r.id"
        ),
        Bulk::new()
            .ints("id", told.iter().map(|one| one.id))
            .texts("title", told.iter().map(|one| one.title.clone()))
            .texts(
                "state",
                told.iter()
                    .map(|one| if one.closed { "closed" } else { "open" }.to_owned()),
            )
            .times("created_at", told.iter().map(|one| one.created_at))
            .times("updated_at", told.iter().map(|one| one.updated_at))
            .times("closed_at", told.iter().map(|one| one.closed_at))
            .ints("reporter", told.iter().map(|one| one.reporter)),
    )
    .await
    .map(drop)
}

/// Removes made issues that no mail tells of any more; mail that had come along is looked at again.
async fn forget_untold(tx: &mut Tx, issues: &[i64]) -> Result<(), DbError> {
    let rows = tx
        .fetch_bulk(
            sql!(
                "DELETE FROM forge_issue WHERE id IN (SELECT r.id FROM {rows}) AND platform_id < 0
                   AND NOT EXISTS (SELECT 1 FROM mail_message m WHERE m.issue = forge_issue.id
                    AND m.class = 'issue_event' AND m.external_key = forge_issue.external_key)
                 RETURNING id"
            ),
            Bulk::new().ints("id", issues.iter().copied()),
        )
        .await?;
    if rows.is_empty() {
        return Ok(());
    }
    let gone: Vec<i64> = rows
        .iter()
        .map(|row| row.get("id"))
        .collect::<Result<_, _>>()?;
    tx.execute_bulk(
        sql!(
            "UPDATE mail_message SET issue = NULL, projected = NULL
             WHERE issue IN (SELECT r.id FROM {rows})"
        ),
        Bulk::new().ints("id", gone),
    )
    .await
    .map(drop)
}

/// What the mail of a made issue says of it.
struct Told {
    id: i64,
    title: String,
    closed: bool,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    closed_at: Option<Timestamp>,
    reporter: Option<i64>,
}

impl Told {
    fn new(id: i64) -> Self {
        Self {
            id,
            title: String::new(),
            closed: false,
            created_at: None,
            updated_at: None,
            closed_at: None,
            reporter: None,
        }
    }

    /// Hears the next mail, in the order of time.
    fn hear(&mut self, row: &Row) -> Result<(), DbError> {
        let at: Option<Timestamp> = row.get("sent_at")?;
        let action: Option<String> = row.get("action")?;
        let action = action.unwrap_or_default().to_ascii_lowercase();
        if self.title.is_empty() {
            let key: Option<String> = row.get("external_key")?;
            let subject: Option<String> = row.get("subject")?;
            self.title = title(&subject.unwrap_or_default(), &key.unwrap_or_default());
            self.created_at = at;
            if !row.get::<bool>("automation")? {
                self.reporter = row.get("contributor")?;
            }
        }
        self.updated_at = at.or(self.updated_at);
        match action.as_str() {
            "resolved" | "closed" => {
                if !self.closed {
                    self.closed_at = at;
                }
                self.closed = true;
            }
            "reopened" | "created" | "new" => {
                self.closed = false;
                self.closed_at = None;
            }
            _ => {}
        }
        Ok(())
    }
}

/// What stands behind the key in a subject.
fn title(subject: &str, key: &str) -> String {
    let rest = subject
        .find(&format!("({key})"))
        .map_or(subject, |at| &subject[at + key.len() + 2..]);
    let rest = rest.trim();
    if rest.is_empty() { key } else { rest }.to_owned()
}

/// The key in brackets of a title: `[KAFKA-12] text`.
fn key_in_title(title: &str) -> Option<String> {
    let mut rest = title;
    while let Some(open) = rest.find('[') {
        rest = &rest[open + 1..];
        let close = rest.find(']')?;
        let word = &rest[..close];
        if let Some((project, number)) = word.rsplit_once('-') {
            let sound = project.len() >= 2
                && project.starts_with(|c: char| c.is_ascii_uppercase())
                && project
                    .bytes()
                    .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
                && !number.is_empty()
                && number.len() <= 9
                && number.bytes().all(|byte| byte.is_ascii_digit());
            if sound {
                return Some(word.to_owned());
            }
        }
        rest = &rest[close..];
    }
    None
}

/// The number of a made issue: negative, and always the same for a key (FNV-1a).
fn made_id(key: &str) -> i64 {
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let positive = i64::try_from(hash >> 1).unwrap_or(i64::MAX).max(1);
    -positive
}

fn number(key: &str) -> i64 {
    let digits = key.rsplit('-').next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_titles_are_read() {
        assert_eq!(key_in_title("[KAFKA-12] Gate").as_deref(), Some("KAFKA-12"));
        assert_eq!(
            key_in_title("Fix [core] [MNG-7] x").as_deref(),
            Some("MNG-7")
        );
        for none in [
            "",
            "[core] x",
            "[a-1]",
            "KAFKA-12 x",
            "[KAFKA-]",
            "[X",
            "[UTF-8x]",
        ] {
            assert_eq!(key_in_title(none), None, "{none}");
        }
        assert_eq!(
            title("[jira] [Created] (K-1) Gate stays open", "K-1"),
            "Gate stays open"
        );
        assert_eq!(title("[jira] [Created] (K-1)", "K-1"), "K-1");
        assert!(made_id("KAFKA-1") < 0 && made_id("KAFKA-1") != made_id("KAFKA-2"));
        assert_eq!(number("KAFKA-12"), 12);
    }
}
