//! Turning copies into messages: everything about a batch of them in one transaction.

use std::collections::{HashMap, HashSet};

use db::{Bulk, DbError, Dialect, Row, Timestamp, Tx, sql};

use super::{
    issues,
    new_message::{NewMessage, NewPatch, NewSender, Verdict, Written},
    search,
    threads::{self, Link, Linked},
};

/// The class of mail that makes a thread one of patches.
pub(super) const PATCH: &str = "patch_submission";

/// Writes messages and marks their copies as done.
pub async fn write(
    tx: &mut Tx,
    messages: &[NewMessage],
    now: Timestamp,
) -> Result<Written, DbError> {
    take_turn(tx).await?;
    let spoken = speakers(messages);
    let known = known(tx, &spoken).await?;
    let mut written = Written::default();
    let mut told: Vec<&NewMessage> = Vec::new();
    let mut retold: Vec<i64> = Vec::new();
    let mut moved: Vec<String> = Vec::new();
    for message in &spoken {
        match known.get(&identity(message)) {
            None => {
                written.new += 1;
                told.push(message);
            }
            Some(old) if message.speaker < old.speaker => {
                written.retold += 1;
                retold.push(old.id);
                told.push(message);
                // What the former speaker said of its place no longer counts.
                if old.ancestors != json_list(&message.ancestors) || old.sent_at != message.sent_at
                {
                    moved.push(message.message_id.clone());
                }
            }
            Some(_) => {}
        }
    }
    written.known = messages.len() - told.len();

    let links: Vec<Link<'_>> = told
        .iter()
        .map(|message| Link {
            id: &message.message_id,
            ancestors: &message.ancestors,
            at: message.sent_at,
            patch: message.alone.class == PATCH,
        })
        .collect();
    let linked = threads::link(tx, &links).await?;
    let senders = senders(tx, &told).await?;
    forget_texts(tx, &retold).await?;
    let mut ids = insert(tx, &told, &senders, &linked, now).await?;
    texts(tx, &told, &ids).await?;
    threads::refresh(tx, &linked.touched).await?;
    reclassify(tx, &linked.flipped).await?;
    threads::rebuild(tx, &moved).await?;
    patches(tx, &told).await?;
    for (identity, old) in known {
        ids.entry(identity).or_insert(old.id);
    }
    done(tx, messages, &ids).await?;
    Ok(written)
}

/// Two resolvers may meet in one thread: on PostgreSQL one waits here, before it reads. SQLite has
/// one writer anyway.
pub(super) async fn take_turn(tx: &mut Tx) -> Result<(), DbError> {
    if tx.dialect() == Dialect::Postgres {
        tx.execute(sql!("UPDATE mail_turn SET taken = taken + 1 WHERE id = 1"))
            .await?;
    }
    Ok(())
}

/// Removes messages with all that hangs on them but threads; answers their ids in mail.
pub(super) async fn remove(tx: &mut Tx, messages: &[i64]) -> Result<Vec<String>, DbError> {
    if messages.is_empty() {
        return Ok(Vec::new());
    }
    forget_texts(tx, messages).await?;
    let rows = tx
        .fetch_bulk(
            sql!(
                "DELETE FROM mail_message WHERE id IN (SELECT r.id FROM {rows})
                 RETURNING message_id, issue"
            ),
            Bulk::new().ints("id", messages.iter().copied()),
        )
        .await?;
    let gone: Vec<String> = rows
        .iter()
        .map(|row| row.get("message_id"))
        .collect::<Result<_, _>>()?;
    let mut told: Vec<i64> = Vec::new();
    for row in &rows {
        told.extend(row.get::<Option<i64>>("issue")?);
    }
    told.sort_unstable();
    told.dedup();
    issues::refresh(tx, &told).await?;
    let rows = tx
        .fetch_bulk(
            sql!(
                "DELETE FROM mail_patch WHERE message_id IN (SELECT r.key FROM {rows})
                 RETURNING author"
            ),
            Bulk::new().texts("key", gone.iter().cloned()),
        )
        .await?;
    let authors: Vec<String> = rows
        .iter()
        .map(|row| row.get("author"))
        .collect::<Result<_, _>>()?;
    due(tx, authors).await?;
    Ok(gone)
}

/// Says of every message in these threads what it is, now that there is a patch or no longer.
pub(super) async fn reclassify(tx: &mut Tx, threads: &[i64]) -> Result<(), DbError> {
    if threads.is_empty() {
        return Ok(());
    }
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT m.id, m.class_rule, m.verdicts, t.has_patch
                 FROM mail_node n JOIN mail_thread t ON t.id = n.thread
                 JOIN mail_message m ON m.message_id = n.key
                 WHERE n.thread IN (SELECT r.id FROM {rows}) AND m.verdicts IS NOT NULL"
            ),
            Bulk::new().ints("id", threads.iter().copied()),
        )
        .await?;
    let mut changed: Vec<(i64, Verdict)> = Vec::new();
    for row in &rows {
        let verdicts: String = row.get("verdicts")?;
        let standing: String = row.get("class_rule")?;
        let Some([alone, among]) = read_verdicts(&verdicts) else {
            continue;
        };
        let verdict = if row.get("has_patch")? { among } else { alone };
        if verdict.rule != standing {
            changed.push((row.get("id")?, verdict));
        }
    }
    tx.execute_bulk(
        sql!(
            "UPDATE mail_message SET class = r.class, class_rule = r.rule,
                class_source = r.source, projected = NULL
             FROM {rows} WHERE mail_message.id = r.id"
        ),
        Bulk::new()
            .ints("id", changed.iter().map(|(id, _)| *id))
            .texts("class", changed.iter().map(|(_, one)| one.class.clone()))
            .texts("rule", changed.iter().map(|(_, one)| one.rule.clone()))
            .texts("source", changed.iter().map(|(_, one)| one.source.clone())),
    )
    .await
    .map(drop)
}

/// The class of a stored message by itself.
pub(super) fn alone(class: &str, verdicts: Option<&str>) -> String {
    verdicts
        .and_then(read_verdicts)
        .map_or_else(|| class.to_owned(), |[alone, _]| alone.class)
}

type Identity = (String, String);

fn identity(message: &NewMessage) -> Identity {
    (message.message_id.clone(), message.content.clone())
}

/// One copy for each message of the batch.
fn speakers(messages: &[NewMessage]) -> Vec<&NewMessage> {
    let mut best: HashMap<(&str, &str), &NewMessage> = HashMap::with_capacity(messages.len());
    for message in messages {
        let standing = best
            .entry((&message.message_id, &message.content))
            .or_insert(message);
        if message.speaker < standing.speaker {
            *standing = message;
        }
    }
    // In the order they came, so that numbers follow it.
    let mut spoken: Vec<&NewMessage> = best.into_values().collect();
    spoken.sort_by_key(|message| message.copy);
    spoken
}

/// A message that is there.
struct Known {
    id: i64,
    speaker: String,
    ancestors: String,
    sent_at: Option<Timestamp>,
}

async fn known(tx: &mut Tx, messages: &[&NewMessage]) -> Result<HashMap<Identity, Known>, DbError> {
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT m.id, m.message_id, m.content, m.speaker, m.ancestors, m.sent_at
                 FROM mail_message m
                 WHERE m.message_id IN (SELECT r.key FROM {rows})"
            ),
            Bulk::new().texts("key", messages.iter().map(|one| one.message_id.clone())),
        )
        .await?;
    let read = |row: &Row| {
        let identity = (row.get("message_id")?, row.get("content")?);
        let known = Known {
            id: row.get("id")?,
            speaker: row.get("speaker")?,
            ancestors: row.get("ancestors")?,
            sent_at: row.get("sent_at")?,
        };
        Ok((identity, known))
    };
    rows.iter().map(read).collect()
}

/// The numbers of those who wrote.
async fn senders(tx: &mut Tx, messages: &[&NewMessage]) -> Result<HashMap<String, i64>, DbError> {
    let mut wanted: HashMap<&str, &NewSender> = HashMap::new();
    for sender in messages.iter().filter_map(|one| one.sender.as_ref()) {
        let standing = wanted.entry(&sender.email).or_insert(sender);
        if is_better(sender.name.as_deref(), standing.name.as_deref()) {
            *standing = sender;
        }
    }
    let mut emails: Vec<&str> = wanted.keys().copied().collect();
    emails.sort_unstable();
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT s.id, s.email, s.name FROM mail_sender s
                 WHERE s.email IN (SELECT r.email FROM {rows})"
            ),
            Bulk::new().texts("email", emails.iter().map(|one| (*one).to_owned())),
        )
        .await?;
    let mut ids: HashMap<String, i64> = HashMap::with_capacity(emails.len());
    let mut renamed: Vec<(i64, String)> = Vec::new();
    for row in &rows {
        let (id, email): (i64, String) = (row.get("id")?, row.get("email")?);
        let name: Option<String> = row.get("name")?;
        let now = wanted.get(email.as_str()).and_then(|one| one.name.clone());
        if let Some(now) = now.filter(|now| is_better(Some(now), name.as_deref())) {
            renamed.push((id, now));
        }
        ids.insert(email, id);
    }
    if !renamed.is_empty() {
        tx.execute_bulk(
            sql!("UPDATE mail_sender SET name = r.name FROM {rows} WHERE mail_sender.id = r.id"),
            Bulk::new()
                .ints("id", renamed.iter().map(|(id, _)| *id))
                .texts("name", renamed.iter().map(|(_, name)| name.clone())),
        )
        .await?;
    }
    let new: Vec<&NewSender> = emails
        .iter()
        .filter(|email| !ids.contains_key(**email))
        .map(|email| wanted[email])
        .collect();
    let rows = tx
        .fetch_bulk(
            sql!(
                "INSERT INTO mail_sender (email, name, automation)
                 SELECT r.email, r.name, r.automation FROM {rows} RETURNING id, email"
            ),
            Bulk::new()
                .texts("email", new.iter().map(|one| one.email.clone()))
                .texts("name", new.iter().map(|one| one.name.clone()))
                .bools("automation", new.iter().map(|one| one.automation)),
        )
        .await?;
    for row in &rows {
        ids.insert(row.get("email")?, row.get("id")?);
    }
    Ok(ids)
}

/// Of several names the first by letters counts, whichever came first.
fn is_better(name: Option<&str>, standing: Option<&str>) -> bool {
    match (name, standing) {
        (Some(name), Some(standing)) => name < standing,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

async fn insert(
    tx: &mut Tx,
    messages: &[&NewMessage],
    senders: &HashMap<String, i64>,
    linked: &Linked,
    now: Timestamp,
) -> Result<HashMap<Identity, i64>, DbError> {
    let verdicts: Vec<&Verdict> = messages
        .iter()
        .map(|message| match linked.threads.get(&message.message_id) {
            Some((_, true)) => &message.among_patches,
            _ => &message.alone,
        })
        .collect();
    let texts = |part: fn(&NewMessage) -> Option<&String>| {
        messages
            .iter()
            .map(move |message| part(message).cloned())
            .collect::<Vec<_>>()
    };
    let diffstat = |part: fn((i64, i64, i64)) -> i64| {
        messages
            .iter()
            .map(move |message| message.diffstat.map(part))
            .collect::<Vec<_>>()
    };
    let sender = |message: &&NewMessage| {
        let sender = message.sender.as_ref()?;
        senders.get(&sender.email).copied()
    };
    let rows = Bulk::new()
        .texts("message_id", texts(|m| Some(&m.message_id)))
        .texts("content", texts(|m| Some(&m.content)))
        .texts("speaker", texts(|m| Some(&m.speaker)))
        .texts("subject", texts(|m| m.subject.as_ref()))
        .texts("from_field", texts(|m| m.from_field.as_ref()))
        .ints("sender", messages.iter().map(sender))
        .times("sent_at", messages.iter().map(|m| m.sent_at))
        .texts(
            "date_source",
            messages.iter().map(|m| m.date_source.to_owned()),
        )
        .texts("in_reply_to", texts(|m| m.in_reply_to.as_ref()))
        .texts("references_chain", texts(|m| Some(&m.references)))
        .texts(
            "ancestors",
            messages.iter().map(|m| json_list(&m.ancestors)),
        )
        .texts("list_id", texts(|m| m.list_id.as_ref()))
        .texts("system", texts(|m| Some(&m.system)))
        .texts("class", verdicts.iter().map(|one| one.class.clone()))
        .texts("class_rule", verdicts.iter().map(|one| one.rule.clone()))
        .texts(
            "class_source",
            verdicts.iter().map(|one| one.source.clone()),
        )
        .texts("verdicts", messages.iter().map(|m| written_verdicts(m)))
        .texts("captures", texts(|m| Some(&m.captures)))
        .texts("external_key", texts(|m| m.external_key.as_ref()))
        .texts("action", texts(|m| m.action.as_ref()))
        .texts("signalled_url", texts(|m| m.signalled_url.as_ref()))
        .texts("signalled_key", texts(|m| m.signalled_key.as_ref()))
        .texts("mirror_kind", texts(|m| m.mirror_kind.as_ref()))
        .ints("mirror_number", messages.iter().map(|m| m.mirror_number))
        .texts("mirror_node", texts(|m| m.mirror_node.as_ref()))
        .bools("has_patch", messages.iter().map(|m| m.has_patch))
        .ints("patch_files", diffstat(|stat| stat.0))
        .ints("patch_insertions", diffstat(|stat| stat.1))
        .ints("patch_deletions", diffstat(|stat| stat.2))
        .texts("patch_paths", texts(|m| m.patch_paths.as_ref()))
        .texts("trailers", texts(|m| m.trailers.as_ref()))
        .texts("attachments", texts(|m| m.attachments.as_ref()))
        .ints("split_rule", messages.iter().map(|m| m.split_rule))
        .bools("has_body", messages.iter().map(|m| m.body.is_some()));
    let rows = tx.fetch_bulk(sql!(INSERT, now), rows).await?;
    let read = |row: &Row| {
        let identity = (row.get("message_id")?, row.get("content")?);
        Ok((identity, row.get("id")?))
    };
    rows.iter().map(read).collect()
}

const INSERT: &str = "INSERT INTO mail_message (message_id, content, speaker, subject, from_field,
    sender, sent_at, date_source, in_reply_to, references_chain, ancestors, list_id, system, class,
    class_rule, class_source, verdicts, captures, external_key, action, signalled_url, signalled_key,
    signalled_repository, mirror_kind, mirror_number, mirror_node, has_patch, patch_files,
    patch_insertions, patch_deletions, patch_paths, trailers, attachments, split_rule, has_body,
    collected_at)
 SELECT r.message_id, r.content, r.speaker, r.subject, r.from_field, r.sender, r.sent_at,
    r.date_source, r.in_reply_to, r.references_chain, r.ancestors, r.list_id, r.system, r.class,
    r.class_rule, r.class_source, r.verdicts, r.captures, r.external_key, r.action, r.signalled_url,
    r.signalled_key,
    CASE WHEN r.signalled_key IS NOT NULL THEN
        COALESCE((SELECT x.id FROM repository x WHERE x.key = r.signalled_key),
            (SELECT y.repository FROM repository_name y WHERE y.key = r.signalled_key)) END,
    r.mirror_kind, r.mirror_number, r.mirror_node, r.has_patch, r.patch_files,
    r.patch_insertions, r.patch_deletions, r.patch_paths, r.trailers, r.attachments, r.split_rule,
    r.has_body, $1
 FROM {rows} WHERE TRUE
 ON CONFLICT (message_id, content) DO UPDATE SET speaker = excluded.speaker,
    subject = excluded.subject, from_field = excluded.from_field, sender = excluded.sender,
    sent_at = excluded.sent_at, date_source = excluded.date_source,
    in_reply_to = excluded.in_reply_to, references_chain = excluded.references_chain,
    ancestors = excluded.ancestors, list_id = excluded.list_id, system = excluded.system,
    class = excluded.class, class_rule = excluded.class_rule, class_source = excluded.class_source,
    verdicts = excluded.verdicts, captures = excluded.captures,
    external_key = excluded.external_key, action = excluded.action,
    signalled_url = excluded.signalled_url, signalled_key = excluded.signalled_key,
    signalled_repository = excluded.signalled_repository, mirror_kind = excluded.mirror_kind,
    mirror_number = excluded.mirror_number, mirror_node = excluded.mirror_node,
    has_patch = excluded.has_patch, patch_files = excluded.patch_files,
    patch_insertions = excluded.patch_insertions, patch_deletions = excluded.patch_deletions,
    patch_paths = excluded.patch_paths, trailers = excluded.trailers,
    attachments = excluded.attachments, split_rule = excluded.split_rule,
    has_body = excluded.has_body, projected = NULL
 RETURNING id, message_id, content";

/// Removes what is kept of messages in tables of their own.
async fn forget_texts(tx: &mut Tx, messages: &[i64]) -> Result<(), DbError> {
    if messages.is_empty() {
        return Ok(());
    }
    search::remove(tx, messages).await?;
    tx.execute_bulk(
        sql!("DELETE FROM mail_text WHERE message IN (SELECT r.id FROM {rows})"),
        Bulk::new().ints("id", messages.iter().copied()),
    )
    .await
    .map(drop)
}

async fn texts(
    tx: &mut Tx,
    messages: &[&NewMessage],
    ids: &HashMap<Identity, i64>,
) -> Result<(), DbError> {
    let mut kept: Vec<(i64, &NewMessage)> = messages
        .iter()
        .filter_map(|message| Some((*ids.get(&identity(message))?, *message)))
        .collect();
    kept.sort_by_key(|(id, _)| *id);
    search::insert(tx, &kept).await?;
    kept.retain(|(_, message)| message.body.is_some());
    tx.execute_bulk(
        sql!(
            "INSERT INTO mail_text (message, body, spans) SELECT r.id, r.body, r.spans FROM {rows}"
        ),
        Bulk::new()
            .ints("id", kept.iter().map(|(id, _)| *id))
            .pages("body", kept.iter().map(|(_, one)| one.body.clone()))
            .texts("spans", kept.iter().map(|(_, one)| one.spans.clone())),
    )
    .await
    .map(drop)
}

async fn patches(tx: &mut Tx, messages: &[&NewMessage]) -> Result<(), DbError> {
    let mut met = HashSet::new();
    let sent: Vec<(&NewMessage, &NewPatch)> = messages
        .iter()
        .filter_map(|message| Some((*message, message.patch.as_ref()?)))
        .filter(|(message, _)| met.insert(message.message_id.as_str()))
        .collect();
    if sent.is_empty() {
        return Ok(());
    }
    tx.execute_bulk(
        sql!(
            "INSERT INTO mail_patch (message_id, author, subject, sent_at, ancestors, has_diff)
             SELECT r.key, r.author, r.subject, r.sent_at, r.ancestors, r.has_diff FROM {rows}
             WHERE TRUE ON CONFLICT (message_id) DO UPDATE SET author = excluded.author,
                subject = excluded.subject, sent_at = excluded.sent_at,
                ancestors = excluded.ancestors, has_diff = excluded.has_diff"
        ),
        Bulk::new()
            .texts("key", sent.iter().map(|(one, _)| one.message_id.clone()))
            .texts("author", sent.iter().map(|(_, patch)| patch.author.clone()))
            .texts(
                "subject",
                sent.iter().map(|(_, patch)| patch.subject.clone()),
            )
            .times("sent_at", sent.iter().map(|(one, _)| one.sent_at))
            .texts(
                "ancestors",
                sent.iter().map(|(_, patch)| patch.ancestors.clone()),
            )
            .bools("has_diff", sent.iter().map(|(_, patch)| patch.has_diff)),
    )
    .await?;
    let authors = sent.iter().map(|(_, patch)| patch.author.clone());
    due(tx, authors.collect()).await
}

/// The series of these authors are to be told anew.
async fn due(tx: &mut Tx, mut authors: Vec<String>) -> Result<(), DbError> {
    authors.sort_unstable();
    authors.dedup();
    tx.execute_bulk(
        sql!(
            "INSERT INTO mail_series_due (author) SELECT r.author FROM {rows} WHERE TRUE
             ON CONFLICT (author) DO NOTHING"
        ),
        Bulk::new().texts("author", authors),
    )
    .await
    .map(drop)
}

async fn done(
    tx: &mut Tx,
    messages: &[NewMessage],
    ids: &HashMap<Identity, i64>,
) -> Result<(), DbError> {
    let copies: Vec<(&NewMessage, i64)> = messages
        .iter()
        .filter_map(|message| Some((message, *ids.get(&identity(message))?)))
        .collect();
    tx.execute_bulk(
        sql!(
            "UPDATE mail_copy SET state = 'done', message = r.message, sent_at = r.sent_at,
                failure = NULL
             FROM {rows} WHERE mail_copy.id = r.copy"
        ),
        Bulk::new()
            .ints("copy", copies.iter().map(|(one, _)| one.copy))
            .ints("message", copies.iter().map(|(_, id)| *id))
            // Lists are read by date, and mail without one is older than all.
            .times(
                "sent_at",
                copies
                    .iter()
                    .map(|(one, _)| one.sent_at.unwrap_or(Timestamp::EPOCH)),
            ),
    )
    .await
    .map(drop)
}

/// Only where the two differ.
fn written_verdicts(message: &NewMessage) -> Option<String> {
    let (alone, among) = (&message.alone, &message.among_patches);
    let list = |one: &Verdict| [one.class.clone(), one.rule.clone(), one.source.clone()];
    (alone != among).then(|| serde_json::to_string(&[list(alone), list(among)]).unwrap_or_default())
}

fn read_verdicts(text: &str) -> Option<[Verdict; 2]> {
    let both: [[String; 3]; 2] = serde_json::from_str(text).ok()?;
    Some(both.map(|[class, rule, source]| Verdict {
        class,
        rule,
        source,
    }))
}

fn json_list(ids: &[String]) -> String {
    if ids.is_empty() {
        return "[]".to_owned();
    }
    serde_json::to_string(ids).unwrap_or_default()
}
