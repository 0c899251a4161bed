//! Threads, kept as a forest of ids.
//!
//! Every id that mail names is a node, whether the mail is there or not, and two nodes that mail
//! connects are in one thread. What a node knows is the smallest of what was said of it: its own
//! date, else the earliest mention; its own word on whom it answers, else the earliest witness's. A
//! smallest of a set does not depend on the order in which the set was seen, and neither does the
//! root, which is the first of those that answer nobody. So messages may come in any order and any
//! number of portions. The numbers of threads are ours alone; outside a thread is its root.

use std::collections::{HashMap, HashSet};

use db::{Bulk, DbError, Row, Timestamp, Tx, sql};

/// What threading needs to know of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link<'a> {
    pub(super) id: &'a str,
    /// Oldest first, the message it answers last.
    pub(super) ancestors: &'a [String],
    pub(super) at: Option<Timestamp>,
    /// It sends a patch, so that answers in its thread are reviews.
    pub(super) patch: bool,
}

/// Where messages ended up.
#[derive(Debug, Default)]
pub(super) struct Linked {
    /// Thread and whether there is a patch in it, by message id.
    pub(super) threads: HashMap<String, (i64, bool)>,
    /// Threads in which something changed.
    pub(super) touched: Vec<i64>,
    /// Those of them whose older messages are now in a thread with a patch.
    pub(super) flipped: Vec<i64>,
}

/// Puts messages into threads.
pub(super) async fn link(tx: &mut Tx, messages: &[Link<'_>]) -> Result<Linked, DbError> {
    let mut forest = Forest::load(tx, messages).await?;
    for message in messages {
        forest.insert(*message);
    }
    forest.write(tx).await
}

/// Writes anew what is derived from the nodes of these threads: root, sizes, dates.
pub(super) async fn refresh(tx: &mut Tx, threads: &[i64]) -> Result<(), DbError> {
    tx.execute_bulk(
        sql!(
            "UPDATE mail_thread SET nodes = s.nodes, messages = s.messages,
                first_at = s.first_at, last_at = s.last_at,
                key = (SELECT n.key FROM mail_node n WHERE n.thread = mail_thread.id
                    ORDER BY n.parent IS NOT NULL, n.since IS NULL, n.since, n.key LIMIT 1)
             FROM (SELECT n.thread, COUNT(*) AS nodes,
                    SUM(CASE WHEN n.seen THEN 1 ELSE 0 END) AS messages,
                    MIN(CASE WHEN n.seen THEN n.since END) AS first_at,
                    MAX(CASE WHEN n.seen THEN n.since END) AS last_at
                FROM mail_node n WHERE n.thread IN (SELECT r.id FROM {rows})
                GROUP BY n.thread) AS s
             WHERE mail_thread.id = s.thread"
        ),
        Bulk::new().ints("id", threads.iter().copied()),
    )
    .await
    .map(drop)
}

/// Makes the threads of messages that are gone from what is left of them.
pub(super) async fn rebuild(tx: &mut Tx, gone: &[String]) -> Result<(), DbError> {
    if gone.is_empty() {
        return Ok(());
    }
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT DISTINCT n.thread FROM mail_node n
                 WHERE n.key IN (SELECT r.key FROM {rows})"
            ),
            Bulk::new().texts("key", gone.iter().cloned()),
        )
        .await?;
    let threads: Vec<i64> = rows
        .iter()
        .map(|row| row.get("thread"))
        .collect::<Result<_, _>>()?;
    let left = tx
        .fetch_bulk(
            sql!(
                "SELECT m.message_id, m.ancestors, m.sent_at, m.class, m.verdicts
                 FROM mail_node n JOIN mail_message m ON m.message_id = n.key
                 WHERE n.thread IN (SELECT r.id FROM {rows})"
            ),
            Bulk::new().ints("id", threads.iter().copied()),
        )
        .await?;
    let left: Vec<Left> = left.iter().map(Left::read).collect::<Result<_, _>>()?;
    for table in ["mail_node WHERE thread", "mail_thread WHERE id"] {
        let text = format!("DELETE FROM {table} IN (SELECT r.id FROM {{rows}})");
        tx.execute_bulk(
            db::Statement::built(text),
            Bulk::new().ints("id", threads.iter().copied()),
        )
        .await?;
    }
    let links: Vec<Link<'_>> = left.iter().map(Left::link).collect();
    let linked = link(tx, &links).await?;
    refresh(tx, &linked.touched).await?;
    super::write::reclassify(tx, &linked.touched).await
}

/// A message of a thread that is made anew.
struct Left {
    id: String,
    ancestors: Vec<String>,
    at: Option<Timestamp>,
    patch: bool,
}

impl Left {
    fn read(row: &Row) -> Result<Self, DbError> {
        let ancestors: String = row.get("ancestors")?;
        let class: String = row.get("class")?;
        let verdicts: Option<String> = row.get("verdicts")?;
        Ok(Self {
            id: row.get("message_id")?,
            ancestors: serde_json::from_str(&ancestors).unwrap_or_default(),
            at: row.get("sent_at")?,
            patch: super::write::alone(&class, verdicts.as_deref()) == super::write::PATCH,
        })
    }

    fn link(&self) -> Link<'_> {
        Link {
            id: &self.id,
            ancestors: &self.ancestors,
            at: self.at,
            patch: self.patch,
        }
    }
}

/// The part of all threads that a batch of messages touches.
#[derive(Default)]
struct Forest {
    nodes: Vec<Node>,
    index: HashMap<String, usize>,
    /// What is known of the threads that were there: size, and whether they have a patch.
    known: HashMap<i64, (i64, bool)>,
    /// The messages of this batch.
    seen_now: HashSet<usize>,
    patches: HashSet<usize>,
}

struct Node {
    id: Option<i64>,
    key: String,
    seen: bool,
    since: Option<Timestamp>,
    thread: Option<i64>,
    claim: Option<Claim>,
    changed: bool,
    /// Union-find.
    set: usize,
}

/// Who says whom a message answers. The smallest counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Claim {
    hearsay: bool,
    since: Since,
    by: String,
    parent: String,
}

/// A date, unknown ones last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Since(bool, Option<Timestamp>);

impl From<Option<Timestamp>> for Since {
    fn from(at: Option<Timestamp>) -> Self {
        Self(at.is_none(), at)
    }
}

impl Forest {
    async fn load(tx: &mut Tx, messages: &[Link<'_>]) -> Result<Self, DbError> {
        let mut keys: HashSet<&str> = HashSet::new();
        for message in messages {
            keys.insert(message.id);
            keys.extend(message.ancestors.iter().map(String::as_str));
        }
        let mut keys: Vec<&str> = keys.into_iter().collect();
        // One order for all, so that new nodes get their numbers in it.
        keys.sort_unstable();
        let rows = tx
            .fetch_bulk(
                sql!(
                    "SELECT n.id, n.key, n.seen, n.since, n.thread, n.parent, n.hearsay,
                        n.witness_at, n.witness
                     FROM mail_node n WHERE n.key IN (SELECT r.key FROM {rows})"
                ),
                Bulk::new().texts("key", keys.iter().map(|key| (*key).to_owned())),
            )
            .await?;
        let mut forest = Self::default();
        let mut first_of: HashMap<i64, usize> = HashMap::new();
        for row in &rows {
            let at = forest.push(Node::read(row)?);
            if let Some(thread) = forest.nodes[at].thread {
                match first_of.get(&thread) {
                    Some(&first) => forest.union(first, at),
                    None => drop(first_of.insert(thread, at)),
                }
            }
        }
        for key in keys {
            if !forest.index.contains_key(key) {
                forest.push(Node::new(key));
            }
        }
        let rows = tx
            .fetch_bulk(
                sql!(
                    "SELECT t.id, t.nodes, t.has_patch FROM mail_thread t
                     WHERE t.id IN (SELECT r.id FROM {rows})"
                ),
                Bulk::new().ints("id", first_of.keys().copied()),
            )
            .await?;
        for row in &rows {
            let about = (row.get("nodes")?, row.get("has_patch")?);
            forest.known.insert(row.get("id")?, about);
        }
        Ok(forest)
    }

    fn push(&mut self, mut node: Node) -> usize {
        let at = self.nodes.len();
        node.set = at;
        self.index.insert(node.key.clone(), at);
        self.nodes.push(node);
        at
    }

    fn insert(&mut self, message: Link<'_>) {
        let own = self.index[message.id];
        self.seen_now.insert(own);
        if message.patch {
            self.patches.insert(own);
        }
        let node = &mut self.nodes[own];
        let since = if node.seen {
            earlier(node.since, message.at)
        } else {
            message.at
        };
        if !node.seen || node.since != since {
            node.seen = true;
            node.since = since;
            node.changed = true;
        }
        let mut before: Option<usize> = None;
        for id in message.ancestors {
            let at = self.index[id.as_str()];
            if at == own {
                continue;
            }
            let node = &mut self.nodes[at];
            if !node.seen {
                let since = earlier(node.since, message.at);
                node.changed |= node.since != since;
                node.since = since;
            }
            self.union(at, own);
            if let Some(parent) = before {
                self.claim(at, parent, true, &message);
            }
            before = Some(at);
        }
        if let Some(parent) = before {
            self.claim(own, parent, false, &message);
        }
    }

    fn claim(&mut self, child: usize, parent: usize, hearsay: bool, message: &Link<'_>) {
        if child == parent {
            return;
        }
        let claim = Claim {
            hearsay,
            since: message.at.into(),
            by: message.id.to_owned(),
            parent: self.nodes[parent].key.clone(),
        };
        let node = &mut self.nodes[child];
        if node.claim.as_ref().is_none_or(|standing| claim < *standing) {
            node.claim = Some(claim);
            node.changed = true;
        }
    }

    fn find(&self, mut at: usize) -> usize {
        while self.nodes[at].set != at {
            at = self.nodes[at].set;
        }
        at
    }

    fn union(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        if one != other {
            self.nodes[other].set = one;
        }
    }

    /// One thread for each set of connected nodes: the largest that was there takes the others in.
    async fn write(self, tx: &mut Tx) -> Result<Linked, DbError> {
        let mut sets: HashMap<usize, Vec<usize>> = HashMap::new();
        for at in 0..self.nodes.len() {
            sets.entry(self.find(at)).or_default().push(at);
        }
        let mut sets: Vec<(usize, Vec<usize>)> = sets.into_iter().collect();
        sets.sort_unstable_by_key(|(first, _)| *first);

        let mut linked = Linked::default();
        let mut thread_of: Vec<i64> = vec![0; self.nodes.len()];
        let mut made: Vec<(usize, bool)> = Vec::new();
        let mut merged: Vec<(i64, i64)> = Vec::new();
        let mut patched: Vec<i64> = Vec::new();
        for (number, (_, members)) in sets.iter().enumerate() {
            let has_patch = members.iter().any(|at| self.patches.contains(at));
            let mut old: Vec<i64> = members
                .iter()
                .filter_map(|&at| self.nodes[at].thread)
                .collect();
            old.sort_unstable();
            old.dedup();
            let about = |thread: &i64| self.known.get(thread).copied().unwrap_or_default();
            let Some(winner) = old
                .iter()
                .copied()
                .max_by_key(|thread| (about(thread).0, std::cmp::Reverse(*thread)))
            else {
                made.push((number, has_patch));
                continue;
            };
            let has_patch = has_patch || old.iter().any(|thread| about(thread).1);
            if has_patch && old.iter().any(|thread| !about(thread).1) {
                linked.flipped.push(winner);
                if !about(&winner).1 {
                    patched.push(winner);
                }
            }
            merged.extend(
                old.into_iter()
                    .filter(|loser| *loser != winner)
                    .map(|loser| (loser, winner)),
            );
            self.note(&mut linked, &mut thread_of, members, winner, has_patch);
        }
        let ids = self.make(tx, &sets, &made).await?;
        for ((number, has_patch), id) in made.iter().zip(ids) {
            self.note(
                &mut linked,
                &mut thread_of,
                &sets[*number].1,
                id,
                *has_patch,
            );
        }
        self.merge(tx, &merged, &patched).await?;
        self.write_nodes(tx, &thread_of).await?;
        Ok(linked)
    }

    fn note(
        &self,
        linked: &mut Linked,
        thread_of: &mut [i64],
        members: &[usize],
        thread: i64,
        has_patch: bool,
    ) {
        linked.touched.push(thread);
        for &at in members {
            thread_of[at] = thread;
            if self.seen_now.contains(&at) {
                let key = self.nodes[at].key.clone();
                linked.threads.insert(key, (thread, has_patch));
            }
        }
    }

    async fn make(
        &self,
        tx: &mut Tx,
        sets: &[(usize, Vec<usize>)],
        made: &[(usize, bool)],
    ) -> Result<Vec<i64>, DbError> {
        let keys: Vec<&str> = made
            .iter()
            .map(|(number, _)| self.nodes[sets[*number].0].key.as_str())
            .collect();
        let rows = tx
            .fetch_bulk(
                sql!(
                    "INSERT INTO mail_thread (key, nodes, messages, has_patch)
                     SELECT r.key, 0, 0, r.has_patch FROM {rows} RETURNING id, key"
                ),
                Bulk::new()
                    .texts("key", keys.iter().map(|key| (*key).to_owned()))
                    .bools("has_patch", made.iter().map(|(_, patch)| *patch)),
            )
            .await?;
        let mut ids: HashMap<String, i64> = HashMap::with_capacity(rows.len());
        for row in &rows {
            ids.insert(row.get("key")?, row.get("id")?);
        }
        Ok(keys
            .into_iter()
            .map(|key| ids.get(key).copied().unwrap_or_default())
            .collect())
    }

    async fn merge(
        &self,
        tx: &mut Tx,
        merged: &[(i64, i64)],
        patched: &[i64],
    ) -> Result<(), DbError> {
        if !merged.is_empty() {
            tx.execute_bulk(
                sql!(
                    "UPDATE mail_node SET thread = r.winner FROM {rows}
                     WHERE mail_node.thread = r.loser"
                ),
                Bulk::new()
                    .ints("loser", merged.iter().map(|(loser, _)| *loser))
                    .ints("winner", merged.iter().map(|(_, winner)| *winner)),
            )
            .await?;
            tx.execute_bulk(
                sql!("DELETE FROM mail_thread WHERE id IN (SELECT r.id FROM {rows})"),
                Bulk::new().ints("id", merged.iter().map(|(loser, _)| *loser)),
            )
            .await?;
        }
        if !patched.is_empty() {
            tx.execute_bulk(
                sql!(
                    "UPDATE mail_thread SET has_patch = TRUE
                     WHERE id IN (SELECT r.id FROM {rows})"
                ),
                Bulk::new().ints("id", patched.iter().copied()),
            )
            .await?;
        }
        Ok(())
    }

    async fn write_nodes(&self, tx: &mut Tx, thread_of: &[i64]) -> Result<(), DbError> {
        let all = 0..self.nodes.len();
        let new: Vec<usize> = all
            .clone()
            .filter(|&at| self.nodes[at].id.is_none())
            .collect();
        let changed: Vec<usize> = all
            .filter(|&at| self.nodes[at].id.is_some() && self.nodes[at].changed)
            .collect();
        tx.execute_bulk(
            sql!(
                "INSERT INTO mail_node (key, seen, since, thread, parent, hearsay, witness_at, witness)
                 SELECT r.key, r.seen, r.since, r.thread, r.parent, r.hearsay, r.witness_at, r.witness
                 FROM {rows}"
            ),
            self.rows(&new)
                .texts("key", new.iter().map(|&at| self.nodes[at].key.clone()))
                .ints("thread", new.iter().map(|&at| thread_of[at])),
        )
        .await?;
        if changed.is_empty() {
            return Ok(());
        }
        tx.execute_bulk(
            sql!(
                "UPDATE mail_node SET seen = r.seen, since = r.since, parent = r.parent,
                    hearsay = r.hearsay, witness_at = r.witness_at, witness = r.witness
                 FROM {rows} WHERE mail_node.id = r.id"
            ),
            self.rows(&changed)
                .ints("id", changed.iter().map(|&at| self.nodes[at].id)),
        )
        .await
        .map(drop)
    }

    fn rows(&self, which: &[usize]) -> Bulk {
        let claim = |at: &usize| self.nodes[*at].claim.as_ref();
        Bulk::new()
            .bools("seen", which.iter().map(|&at| self.nodes[at].seen))
            .times("since", which.iter().map(|&at| self.nodes[at].since))
            .texts(
                "parent",
                which
                    .iter()
                    .map(|at| claim(at).map(|claim| claim.parent.clone())),
            )
            .bools(
                "hearsay",
                which
                    .iter()
                    .map(|at| claim(at).is_some_and(|claim| claim.hearsay)),
            )
            .times(
                "witness_at",
                which
                    .iter()
                    .map(|at| claim(at).and_then(|claim| claim.since.1)),
            )
            .texts(
                "witness",
                which
                    .iter()
                    .map(|at| claim(at).map(|claim| claim.by.clone())),
            )
    }
}

impl Node {
    fn new(key: &str) -> Self {
        Self {
            id: None,
            key: key.to_owned(),
            seen: false,
            since: None,
            thread: None,
            claim: None,
            changed: false,
            set: 0,
        }
    }

    fn read(row: &Row) -> Result<Self, DbError> {
        let parent: Option<String> = row.get("parent")?;
        let witness_at: Option<Timestamp> = row.get("witness_at")?;
        let by: Option<String> = row.get("witness")?;
        let hearsay = row.get("hearsay")?;
        Ok(Self {
            id: Some(row.get("id")?),
            key: row.get("key")?,
            seen: row.get("seen")?,
            since: row.get("since")?,
            thread: Some(row.get("thread")?),
            claim: parent.map(|parent| Claim {
                hearsay,
                since: witness_at.into(),
                by: by.unwrap_or_default(),
                parent,
            }),
            changed: false,
            set: 0,
        })
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
