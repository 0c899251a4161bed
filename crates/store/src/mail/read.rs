//! Reading messages, threads and lists back.

use std::collections::{HashMap, HashSet};

use db::{Db, DbError, Row, Timestamp, sql};
use serde::Serialize;
use serde_json::Value;

/// The most entries of a thread that are shown.
const MOST_ENTRIES: usize = 20_000;

/// A message with all that is known of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MessageView {
    pub id: i64,
    pub message_id: String,
    pub subject: Option<String>,
    pub from: Option<String>,
    pub sender_email: Option<String>,
    pub contributor: Option<i64>,
    pub sent_at: Option<Timestamp>,
    pub date_source: String,
    pub in_reply_to: Option<String>,
    pub references: Value,
    /// The addresses of the lists it is on.
    pub lists: Vec<String>,
    pub list_id: Option<String>,
    pub class: String,
    pub rule: String,
    pub source: String,
    pub captures: Value,
    pub external_key: Option<String>,
    pub signalled_url: Option<String>,
    pub signalled_repository: Option<i64>,
    pub has_patch: bool,
    pub patch_files: Option<i64>,
    pub patch_insertions: Option<i64>,
    pub patch_deletions: Option<i64>,
    pub patch_paths: Value,
    pub trailers: Value,
    pub attachments: Value,
    /// The id of the thread's root.
    pub thread: Option<String>,
    pub projected: Option<String>,
    /// None where only the rest is kept.
    pub body: Option<String>,
    /// How the body is cut: kind, beginning and end in bytes.
    pub spans: Value,
}

/// A place in a list that is read by date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessagePlace {
    pub sent_at: Timestamp,
    pub id: i64,
}

impl std::fmt::Display for MessagePlace {
    /// As it stands in a cursor: microseconds and a number.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.sent_at.as_micros(), self.id)
    }
}

impl std::str::FromStr for MessagePlace {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (micros, id) = text.split_once('.').unwrap_or((text, ""));
        Ok(Self {
            sent_at: Timestamp::from_micros(micros.parse()?),
            id: id.parse()?,
        })
    }
}

/// One entry of a thread, in the order in which they are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadEntry {
    pub depth: usize,
    pub message_id: String,
    pub parent: Option<String>,
    /// False for a message that only others name.
    pub seen: bool,
    pub sent_at: Option<Timestamp>,
    pub sender_email: Option<String>,
    pub subject: Option<String>,
    pub class: Option<String>,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadView {
    /// The id of its root.
    pub thread: String,
    pub subject: Option<String>,
    pub messages: i64,
    pub has_patch: bool,
    pub first_at: Option<Timestamp>,
    pub last_at: Option<Timestamp>,
    /// Empty in lists of threads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<ThreadEntry>,
}

/// The bytes of a message as an archive holds them.
#[derive(Clone, Debug)]
pub struct Copy {
    pub message_id: String,
    pub list: String,
    pub digest: String,
    /// Compressed.
    pub raw: Vec<u8>,
}

/// The messages with this id: one, unless somebody used an id twice.
pub async fn by_message_id(db: &Db, message_id: &str) -> Result<Vec<MessageView>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT m.id, m.message_id, m.subject, m.from_field, s.email, s.contributor, m.sent_at,
                m.date_source, m.in_reply_to, m.references_chain, m.list_id, m.class, m.class_rule,
                m.class_source, m.captures, m.external_key, m.signalled_url,
                m.signalled_repository, m.has_patch, m.patch_files, m.patch_insertions,
                m.patch_deletions, m.patch_paths, m.trailers, m.attachments, t.key AS thread,
                m.projected, x.body, x.spans
             FROM mail_message m
             LEFT JOIN mail_sender s ON s.id = m.sender
             LEFT JOIN mail_node n ON n.key = m.message_id
             LEFT JOIN mail_thread t ON t.id = n.thread
             LEFT JOIN mail_text x ON x.message = m.id
             WHERE m.message_id = $1 ORDER BY m.content",
            message_id
        ))
        .await?;
    let mut views: Vec<MessageView> = rows.iter().map(view).collect::<Result<_, _>>()?;
    let rows = db
        .fetch_all(sql!(
            "SELECT DISTINCT c.message, l.address FROM mail_message m
             JOIN mail_copy c ON c.message = m.id JOIN mail_list l ON l.id = c.list
             WHERE m.message_id = $1 ORDER BY l.address",
            message_id
        ))
        .await?;
    for row in &rows {
        let id: i64 = row.get("message")?;
        if let Some(view) = views.iter_mut().find(|view| view.id == id) {
            view.lists.push(row.get("address")?);
        }
    }
    Ok(views)
}

/// At most `limit` messages of a list, newest first, before a place.
pub async fn in_list(
    db: &Db,
    list: i64,
    before: Option<MessagePlace>,
    limit: usize,
) -> Result<Vec<(MessagePlace, super::Hit)>, DbError> {
    let before = before.unwrap_or(MessagePlace {
        sent_at: Timestamp::FAR_FUTURE,
        id: i64::MAX,
    });
    let rows = db
        .fetch_all(sql!(
            "SELECT m.id, m.message_id, m.subject, s.email, m.sent_at, m.class, t.key,
                c.sent_at AS place
             FROM mail_copy c JOIN mail_message m ON m.id = c.message
             LEFT JOIN mail_sender s ON s.id = m.sender
             LEFT JOIN mail_node n ON n.key = m.message_id
             LEFT JOIN mail_thread t ON t.id = n.thread
             WHERE c.list = $1 AND c.message IS NOT NULL AND (c.sent_at, c.message) < ($2, $3)
             ORDER BY c.sent_at DESC, c.message DESC LIMIT $4",
            list,
            before.sent_at,
            before.id,
            limit
        ))
        .await?;
    rows.iter()
        .map(|row| {
            let hit = super::Hit {
                id: row.get("id")?,
                message_id: row.get("message_id")?,
                subject: row.get("subject")?,
                sender_email: row.get("email")?,
                sent_at: row.get("sent_at")?,
                class: row.get("class")?,
                thread: row.get("key")?,
            };
            let place = MessagePlace {
                sent_at: row.get("place")?,
                id: hit.id,
            };
            Ok((place, hit))
        })
        .collect()
}

/// The thread that a message, or a message that others name, is in.
pub async fn thread_of(db: &Db, message_id: &str) -> Result<Option<ThreadView>, DbError> {
    let Some(row) = db
        .fetch_optional(sql!(
            "SELECT t.id, t.key, t.messages, t.has_patch, t.first_at, t.last_at
             FROM mail_node n JOIN mail_thread t ON t.id = n.thread WHERE n.key = $1",
            message_id
        ))
        .await?
    else {
        return Ok(None);
    };
    let mut thread = thread(&row)?;
    let id: i64 = row.get("id")?;
    let rows = db
        .fetch_all(sql!(
            "SELECT n.key, n.parent, n.seen, n.since, m.subject, m.class, s.email
             FROM mail_node n
             LEFT JOIN mail_message m ON m.id =
                (SELECT MIN(x.id) FROM mail_message x WHERE x.message_id = n.key)
             LEFT JOIN mail_sender s ON s.id = m.sender
             WHERE n.thread = $1 ORDER BY n.since IS NULL, n.since, n.key LIMIT $2",
            id,
            MOST_ENTRIES
        ))
        .await?;
    let entry = |row: &Row| {
        Ok(ThreadEntry {
            depth: 0,
            message_id: row.get("key")?,
            parent: row.get("parent")?,
            seen: row.get("seen")?,
            sent_at: row.get("since")?,
            sender_email: row.get("email")?,
            subject: row.get("subject")?,
            class: row.get("class")?,
        })
    };
    let entries: Vec<ThreadEntry> = rows.iter().map(entry).collect::<Result<_, DbError>>()?;
    thread.entries = in_reading_order(entries);
    thread.subject = thread
        .entries
        .iter()
        .find_map(|entry| entry.subject.clone());
    Ok(Some(thread))
}

/// At most `limit` threads, those with the newest mail first, before a place; of one list or all.
pub async fn recent_threads(
    db: &Db,
    list: Option<i64>,
    before: Option<MessagePlace>,
    limit: usize,
) -> Result<Vec<(MessagePlace, ThreadView)>, DbError> {
    let before = before.unwrap_or(MessagePlace {
        sent_at: Timestamp::FAR_FUTURE,
        id: i64::MAX,
    });
    let rows = db
        .fetch_all(sql!(
            "SELECT t.id, t.key, t.messages, t.has_patch, t.first_at, t.last_at,
                (SELECT m.subject FROM mail_node n JOIN mail_message m ON m.message_id = n.key
                    WHERE n.thread = t.id ORDER BY n.since IS NULL, n.since, n.key LIMIT 1) AS subject
             FROM mail_thread t
             WHERE t.last_at IS NOT NULL AND (t.last_at, t.id) < ($1, $2)
               AND ($3 IS NULL OR EXISTS (SELECT 1 FROM mail_node n
                    JOIN mail_message m ON m.message_id = n.key
                    JOIN mail_copy c ON c.message = m.id WHERE n.thread = t.id AND c.list = $3))
             ORDER BY t.last_at DESC, t.id DESC LIMIT $4",
            before.sent_at,
            before.id,
            list,
            limit
        ))
        .await?;
    rows.iter()
        .map(|row| {
            let mut view = thread(row)?;
            view.subject = row.get("subject")?;
            let place = MessagePlace {
                sent_at: row.get("last_at")?,
                id: row.get("id")?,
            };
            Ok((place, view))
        })
        .collect()
}

/// The bytes of the messages with this id, one copy of each.
pub async fn raw_of(db: &Db, message_id: &str) -> Result<Vec<Copy>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT m.message_id, l.address, c.digest, w.body FROM mail_message m
             JOIN mail_copy c ON c.id = (SELECT MIN(x.id) FROM mail_copy x WHERE x.message = m.id)
             JOIN mail_list l ON l.id = c.list JOIN mail_raw w ON w.copy = c.id
             WHERE m.message_id = $1 ORDER BY m.content",
            message_id
        ))
        .await?;
    rows.iter().map(copy).collect()
}

/// The bytes of at most `limit` messages of the thread that a message is in, oldest first, behind
/// the first `skip`.
pub async fn raws_of_thread(
    db: &Db,
    message_id: &str,
    skip: usize,
    limit: usize,
) -> Result<Vec<Copy>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT m.message_id, l.address, c.digest, w.body
             FROM mail_node o JOIN mail_node n ON n.thread = o.thread
             JOIN mail_message m ON m.message_id = n.key
             JOIN mail_copy c ON c.id = (SELECT MIN(x.id) FROM mail_copy x WHERE x.message = m.id)
             JOIN mail_list l ON l.id = c.list JOIN mail_raw w ON w.copy = c.id
             WHERE o.key = $1
             ORDER BY n.since IS NULL, n.since, n.key, m.content LIMIT $3 OFFSET $2",
            message_id,
            skip,
            limit
        ))
        .await?;
    rows.iter().map(copy).collect()
}

fn copy(row: &Row) -> Result<Copy, DbError> {
    Ok(Copy {
        message_id: row.get("message_id")?,
        list: row.get("address")?,
        digest: row.get("digest")?,
        raw: row.get("body")?,
    })
}

fn thread(row: &Row) -> Result<ThreadView, DbError> {
    Ok(ThreadView {
        thread: row.get("key")?,
        subject: None,
        messages: row.get("messages")?,
        has_patch: row.get("has_patch")?,
        first_at: row.get("first_at")?,
        last_at: row.get("last_at")?,
        entries: Vec::new(),
    })
}

/// Answers below what they answer. The entries come by date; one whose ancestors go in a circle is
/// shown where the circle is first met.
fn in_reading_order(entries: Vec<ThreadEntry>) -> Vec<ThreadEntry> {
    let place: HashMap<&str, usize> = entries
        .iter()
        .enumerate()
        .map(|(at, entry)| (entry.message_id.as_str(), at))
        .collect();
    let mut answers: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut roots = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        match entry.parent.as_deref().and_then(|parent| place.get(parent)) {
            Some(&parent) if parent != at => answers.entry(parent).or_default().push(at),
            _ => roots.push(at),
        }
    }
    let mut order: Vec<(usize, usize)> = Vec::with_capacity(entries.len());
    let mut met = HashSet::new();
    // Circles have no root: after the trees, whoever is left begins one.
    for start in roots.into_iter().chain(0..entries.len()) {
        let mut open = vec![(start, 0)];
        while let Some((at, depth)) = open.pop() {
            if !met.insert(at) {
                continue;
            }
            order.push((at, depth));
            let below = answers.get(&at).into_iter().flatten().rev();
            open.extend(below.map(|&answer| (answer, depth + 1)));
        }
    }
    let mut entries: Vec<Option<ThreadEntry>> = entries.into_iter().map(Some).collect();
    order
        .into_iter()
        .filter_map(|(at, depth)| {
            let mut entry = entries[at].take()?;
            entry.depth = depth;
            Some(entry)
        })
        .collect()
}

fn view(row: &Row) -> Result<MessageView, DbError> {
    let json = |column: &str| {
        let text: Option<String> = row.get(column)?;
        let value = text.and_then(|text| serde_json::from_str(&text).ok());
        Ok::<Value, DbError>(value.unwrap_or(Value::Null))
    };
    Ok(MessageView {
        id: row.get("id")?,
        message_id: row.get("message_id")?,
        subject: row.get("subject")?,
        from: row.get("from_field")?,
        sender_email: row.get("email")?,
        contributor: row.get("contributor")?,
        sent_at: row.get("sent_at")?,
        date_source: row.get("date_source")?,
        in_reply_to: row.get("in_reply_to")?,
        references: json("references_chain")?,
        lists: Vec::new(),
        list_id: row.get("list_id")?,
        class: row.get("class")?,
        rule: row.get("class_rule")?,
        source: row.get("class_source")?,
        captures: json("captures")?,
        external_key: row.get("external_key")?,
        signalled_url: row.get("signalled_url")?,
        signalled_repository: row.get("signalled_repository")?,
        has_patch: row.get("has_patch")?,
        patch_files: row.get("patch_files")?,
        patch_insertions: row.get("patch_insertions")?,
        patch_deletions: row.get("patch_deletions")?,
        patch_paths: json("patch_paths")?,
        trailers: json("trailers")?,
        attachments: json("attachments")?,
        thread: row.get("thread")?,
        projected: row.get("projected")?,
        body: row.get("body")?,
        spans: json("spans")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, parent: Option<&str>) -> ThreadEntry {
        ThreadEntry {
            depth: 0,
            message_id: id.to_owned(),
            parent: parent.map(str::to_owned),
            seen: true,
            sent_at: None,
            sender_email: None,
            subject: None,
            class: None,
        }
    }

    #[test]
    fn answers_follow_what_they_answer() {
        let entries = vec![
            entry("root", None),
            entry("a", Some("root")),
            entry("b", Some("root")),
            entry("aa", Some("a")),
            entry("x", Some("y")),
            entry("y", Some("x")),
        ];
        let read: Vec<(String, usize)> = in_reading_order(entries)
            .into_iter()
            .map(|entry| (entry.message_id, entry.depth))
            .collect();
        let expected = [
            ("root", 0),
            ("a", 1),
            ("aa", 2),
            ("b", 1),
            ("x", 0),
            ("y", 1),
        ];
        let expected: Vec<(String, usize)> = expected
            .into_iter()
            .map(|(id, depth)| (id.to_owned(), depth))
            .collect();
        assert_eq!(read, expected);
    }
}
