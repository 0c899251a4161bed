//! Full text: FTS5 on SQLite, `tsvector` on PostgreSQL.
//!
//! The two have nothing in common but the words, so each statement is written twice. A query is
//! words, of which all must be there, and "phrases in quotes"; whatever else is typed is a word too.

use db::{Bulk, Db, DbError, Dialect, Row, Timestamp, Tx, sql};
use serde::Serialize;

use super::new_message::NewMessage;

/// A message that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    pub id: i64,
    pub message_id: String,
    pub subject: Option<String>,
    pub sender_email: Option<String>,
    pub sent_at: Option<Timestamp>,
    pub class: String,
    pub thread: Option<String>,
}

/// At most `limit` messages with all these words, newest numbers first, before a number; of one
/// list or of all.
pub async fn search(
    db: &Db,
    query: &str,
    list: Option<i64>,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<Hit>, DbError> {
    let terms = terms(query);
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let found = match db.dialect() {
        Dialect::Sqlite => "m.id IN (SELECT rowid FROM mail_search WHERE mail_search MATCH $1)",
        Dialect::Postgres => {
            "m.id IN (SELECT f.message FROM mail_search f
                WHERE f.document @@ websearch_to_tsquery('simple', $1))"
        }
    };
    let text = format!(
        "SELECT m.id, m.message_id, m.subject, s.email, m.sent_at, m.class, t.key
         FROM mail_message m
         LEFT JOIN mail_sender s ON s.id = m.sender
         LEFT JOIN mail_node n ON n.key = m.message_id
         LEFT JOIN mail_thread t ON t.id = n.thread
         WHERE {found} AND ($2 IS NULL OR m.id < $2) AND ($3 IS NULL OR EXISTS (
            SELECT 1 FROM mail_copy c WHERE c.message = m.id AND c.list = $3))
         ORDER BY m.id DESC LIMIT $4"
    );
    // Both understand phrases in quotes, and nothing else of theirs gets through.
    let phrases: Vec<String> = terms.iter().map(|term| format!("\"{term}\"")).collect();
    let statement = db::Statement::built(text)
        .bind(phrases.join(" "))
        .bind(before)
        .bind(list)
        .bind(limit);
    let rows = db.fetch_all(statement).await?;
    let hit = |row: &Row| {
        Ok(Hit {
            id: row.get("id")?,
            message_id: row.get("message_id")?,
            subject: row.get("subject")?,
            sender_email: row.get("email")?,
            sent_at: row.get("sent_at")?,
            class: row.get("class")?,
            thread: row.get("key")?,
        })
    };
    rows.iter().map(hit).collect()
}

/// Words and phrases, without the signs that either database would understand.
fn terms(query: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for (index, piece) in query.split('"').enumerate() {
        let words: Vec<&str> = piece
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        if index % 2 == 1 && !words.is_empty() {
            terms.push(words.join(" "));
        } else {
            // What was typed as one word (`foo-bar`, `a@b.c`) is found as neighbours.
            terms.extend(piece.split_whitespace().filter_map(|word| {
                let parts: Vec<&str> = word
                    .split(|c: char| !c.is_alphanumeric())
                    .filter(|part| !part.is_empty())
                    .collect();
                (!parts.is_empty()).then(|| parts.join(" "))
            }));
        }
    }
    terms.truncate(20);
    terms
}

pub(super) async fn insert(tx: &mut Tx, messages: &[(i64, &NewMessage)]) -> Result<(), DbError> {
    if messages.is_empty() {
        return Ok(());
    }
    let sender = |message: &NewMessage| {
        let email = message.sender.as_ref().map(|sender| sender.email.as_str());
        let from = message.from_field.as_deref().unwrap_or_default();
        format!("{from} {}", email.unwrap_or_default())
    };
    let rows = Bulk::new()
        .ints("id", messages.iter().map(|(id, _)| *id))
        .texts(
            "subject",
            messages
                .iter()
                .map(|(_, one)| one.subject.clone().unwrap_or_default()),
        )
        .texts(
            "sender",
            messages.iter().map(|(_, one)| words(&sender(one))),
        )
        .pages(
            "body",
            messages.iter().map(|(_, one)| one.search_text.clone()),
        );
    let statement = match tx.dialect() {
        Dialect::Sqlite => sql!(
            "INSERT INTO mail_search (rowid, subject, sender, body)
             SELECT r.id, r.subject, r.sender, r.body FROM {rows}"
        ),
        Dialect::Postgres => sql!(
            "INSERT INTO mail_search (message, document)
             SELECT r.id, setweight(to_tsvector('simple', translate(r.subject, '-_./@:', '      ')), 'A')
                || setweight(to_tsvector('simple', r.sender), 'B')
                || to_tsvector('simple', translate(r.body, '-_./@:', '      ')) FROM {rows}"
        ),
    };
    tx.execute_bulk(statement, rows).await.map(drop)
}

/// PostgreSQL takes addresses as one word, FTS5 as several: both get several.
fn words(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_alphanumeric() { c } else { ' ' })
        .collect()
}

pub(super) async fn remove(tx: &mut Tx, messages: &[i64]) -> Result<(), DbError> {
    let statement = match tx.dialect() {
        Dialect::Sqlite => {
            sql!("DELETE FROM mail_search WHERE rowid IN (SELECT r.id FROM {rows})")
        }
        Dialect::Postgres => {
            sql!("DELETE FROM mail_search WHERE message IN (SELECT r.id FROM {rows})")
        }
    };
    let rows = Bulk::new().ints("id", messages.iter().copied());
    tx.execute_bulk(statement, rows).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_the_databases_do_not_get_through() {
        assert_eq!(terms("release notes"), ["release", "notes"]);
        assert_eq!(
            terms("\"release notes\" KAFKA-12"),
            ["release notes", "KAFKA 12"]
        );
        assert_eq!(
            terms("a* OR (b) -c NEAR/3 ^d"),
            ["a", "OR", "b", "c", "NEAR 3", "d"]
        );
        assert!(terms("\" ' * - ( ) ").is_empty());
    }
}
