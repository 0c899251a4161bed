//! Threads: which messages belong together, and who answers whom.
//!
//! Two messages are in one thread when a chain of `References` and `In-Reply-To` connects them, over
//! messages that nobody has seen ("ghosts") as well. Subjects say nothing: merging by subject joins
//! strangers, and the measured gain is 0.2 % of mail.
//!
//! Everything is a function of the *set* of messages: the order of arrival changes nothing, neither
//! which messages are together, nor the thread's key, nor the parents. A thread found in two halves
//! becomes one when the missing link arrives. Loops are broken at their earliest message.
//!
//! The key of a thread is the id of its root: of all messages and ghosts that have no parent, the
//! one first heard of. The first entry of `References` is no key: clients cut that list.

use std::collections::HashMap;

use jiff::Timestamp;

/// What threading needs to know of a message.
#[derive(Clone, Copy, Debug)]
pub struct Links<'a> {
    pub id: &'a str,
    /// Oldest first.
    pub references: &'a [String],
    pub in_reply_to: &'a [String],
    pub date: Option<Timestamp>,
}

/// One message or ghost of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: String,
    /// The message it answers, seen or not; `None` for a root.
    pub parent: Option<String>,
    /// False for a ghost: named by others, not in the archive.
    pub seen: bool,
}

/// One thread, its entries in order of date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    pub key: String,
    pub entries: Vec<Entry>,
}

/// Collects messages in any order and tells their threads.
#[derive(Debug, Default)]
pub struct Threads {
    index: HashMap<String, usize>,
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    id: String,
    seen: bool,
    /// Own date, or of a ghost the earliest message that names it.
    since: Since,
    /// Who it says it answers; of a ghost, who others say. The smallest witness decides.
    parent: Option<(Witness, usize)>,
    /// Union-find over connected messages.
    set: usize,
    size: usize,
}

/// A date, unknown ones last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Since(i128);

impl From<Option<Timestamp>> for Since {
    fn from(date: Option<Timestamp>) -> Self {
        Self(date.map_or(i128::MAX, Timestamp::as_nanosecond))
    }
}

/// Who claims a parent. A message's own word beats what others say of it; between equals the
/// earliest, then the smallest id of the claimed parent, so that arrival does not matter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Witness {
    hearsay: bool,
    since: Since,
    by: String,
    parent: String,
}

impl Threads {
    /// Adds a message; adding it again changes nothing.
    pub fn insert(&mut self, message: Links<'_>) {
        let since = Since::from(message.date);
        let own = self.node(message.id);
        let node = &mut self.nodes[own];
        node.since = if node.seen {
            node.since.min(since)
        } else {
            since
        };
        node.seen = true;
        let chain = chain(message);
        let mut before: Option<usize> = None;
        for id in &chain {
            let at = self.node(id);
            if !self.nodes[at].seen {
                self.nodes[at].since = self.nodes[at].since.min(since);
            }
            self.union(at, own);
            if let Some(parent) = before {
                self.claim(at, parent, true, since, message.id);
            }
            before = Some(at);
        }
        if let Some(parent) = before {
            self.claim(own, parent, false, since, message.id);
        }
    }

    /// All threads, ordered by key; two collections of the same messages give the same answer.
    pub fn threads(&self) -> Vec<Thread> {
        let parents = self.parents();
        let mut members: HashMap<usize, Vec<usize>> = HashMap::new();
        for at in 0..self.nodes.len() {
            members.entry(self.find(at)).or_default().push(at);
        }
        let mut threads: Vec<Thread> = members
            .into_values()
            .filter(|nodes| nodes.iter().any(|&at| self.nodes[at].seen))
            .map(|mut nodes| {
                nodes.sort_by_key(|&at| self.age(at));
                let root = nodes
                    .iter()
                    .find(|&&at| parents[at].is_none())
                    .unwrap_or(&nodes[0]);
                let key = self.nodes[*root].id.clone();
                let entries = nodes
                    .iter()
                    .map(|&at| Entry {
                        id: self.nodes[at].id.clone(),
                        parent: parents[at].map(|parent| self.nodes[parent].id.clone()),
                        seen: self.nodes[at].seen,
                    })
                    .collect();
                Thread { key, entries }
            })
            .collect();
        threads.sort_by(|a, b| a.key.cmp(&b.key));
        threads
    }

    /// Whether two ids are in one thread; false for ids never heard of.
    pub fn are_together(&self, one: &str, other: &str) -> bool {
        match (self.index.get(one), self.index.get(other)) {
            (Some(&one), Some(&other)) => self.find(one) == self.find(other),
            _ => false,
        }
    }

    fn node(&mut self, id: &str) -> usize {
        if let Some(&at) = self.index.get(id) {
            return at;
        }
        let at = self.nodes.len();
        self.index.insert(id.to_owned(), at);
        self.nodes.push(Node {
            id: id.to_owned(),
            seen: false,
            since: Since(i128::MAX),
            parent: None,
            set: at,
            size: 1,
        });
        at
    }

    fn claim(&mut self, child: usize, parent: usize, hearsay: bool, since: Since, witness: &str) {
        if child == parent {
            return;
        }
        let claim = Witness {
            hearsay,
            since,
            by: witness.to_owned(),
            parent: self.nodes[parent].id.clone(),
        };
        let node = &mut self.nodes[child];
        if node
            .parent
            .as_ref()
            .is_none_or(|(standing, _)| claim < *standing)
        {
            node.parent = Some((claim, parent));
        }
    }

    fn find(&self, mut at: usize) -> usize {
        while self.nodes[at].set != at {
            at = self.nodes[at].set;
        }
        at
    }

    /// Joins by size, which keeps the paths short without changing them on reading.
    fn union(&mut self, one: usize, other: usize) {
        let (mut large, mut small) = (self.find(one), self.find(other));
        if large == small {
            return;
        }
        if self.nodes[large].size < self.nodes[small].size {
            std::mem::swap(&mut large, &mut small);
        }
        self.nodes[small].set = large;
        self.nodes[large].size += self.nodes[small].size;
    }

    /// Parents with loops cut: each node is walked once, a loop loses the link of its earliest
    /// member.
    fn parents(&self) -> Vec<Option<usize>> {
        let mut parents: Vec<Option<usize>> = self
            .nodes
            .iter()
            .map(|node| node.parent.as_ref().map(|(_, parent)| *parent))
            .collect();
        // 0 is unknown; a walk marks its nodes with its own number.
        let mut walked = vec![0_usize; parents.len()];
        for start in 0..parents.len() {
            let walk = start + 1;
            let mut at = start;
            while walked[at] == 0 {
                walked[at] = walk;
                match parents[at] {
                    Some(parent) => at = parent,
                    None => break,
                }
            }
            if walked[at] == walk && parents[at].is_some() {
                let mut earliest = at;
                let mut next = parents[at];
                while let Some(member) = next.filter(|&member| member != at) {
                    if self.age(member) < self.age(earliest) {
                        earliest = member;
                    }
                    next = parents[member];
                }
                // Reaching a root instead of `at` means there was no loop.
                if next == Some(at) {
                    parents[earliest] = None;
                }
            }
        }
        parents
    }

    fn age(&self, at: usize) -> (Since, &str) {
        (self.nodes[at].since, &self.nodes[at].id)
    }
}

/// The ancestors oldest first, the direct parent last. A single In-Reply-To names the parent;
/// several are the guess of some client, and come before the references.
pub fn chain(message: Links<'_>) -> Vec<&str> {
    let mut chain: Vec<&str> = Vec::with_capacity(message.references.len() + 1);
    let (guesses, parent) = match message.in_reply_to {
        [parent] => (&[][..], Some(parent.as_str())),
        several if message.references.is_empty() => (several, None),
        several => (several, message.references.last().map(String::as_str)),
    };
    for id in guesses.iter().chain(message.references).map(String::as_str) {
        if id != message.id && Some(id) != parent {
            chain.push(id);
        }
    }
    chain.extend(parent.filter(|parent| *parent != message.id));
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(
        threads: &mut Threads,
        id: &str,
        references: &[&str],
        in_reply_to: &[&str],
        second: i64,
    ) {
        let own = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        threads.insert(Links {
            id,
            references: &own(references),
            in_reply_to: &own(in_reply_to),
            date: Timestamp::from_second(second).ok(),
        });
    }

    #[test]
    fn ghosts_connect_and_are_replaced() {
        let mut threads = Threads::default();
        insert(&mut threads, "b", &["root", "lost"], &["lost"], 10);
        insert(&mut threads, "c", &["lost"], &[], 11);
        let found = threads.threads();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].key, "root");
        insert(&mut threads, "lost", &["root"], &["root"], 9);
        insert(&mut threads, "root", &[], &[], 8);
        let found = threads.threads();
        assert_eq!(
            found[0]
                .entries
                .iter()
                .map(|entry| entry.id.as_str())
                .collect::<Vec<_>>(),
            ["root", "lost", "b", "c"]
        );
        assert!(found[0].entries.iter().all(|entry| entry.seen));
    }

    #[test]
    fn loops_are_broken_at_the_earliest() {
        let mut threads = Threads::default();
        insert(&mut threads, "a", &["b"], &["b"], 2);
        insert(&mut threads, "b", &["a"], &["a"], 1);
        insert(&mut threads, "self", &["self"], &["self"], 3);
        let found = threads.threads();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].key, "b");
        assert_eq!(found[0].entries[1].parent.as_deref(), Some("b"));
        assert_eq!(found[1].entries[0].parent, None);
    }

    #[test]
    fn a_cut_list_of_references_does_not_split_a_thread() {
        let mut threads = Threads::default();
        insert(&mut threads, "root", &[], &[], 1);
        insert(&mut threads, "a", &["root"], &["root"], 2);
        insert(&mut threads, "late", &["a"], &["a"], 3);
        assert!(threads.are_together("late", "root"));
        assert_eq!(threads.threads()[0].key, "root");
    }
}
