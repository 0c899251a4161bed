//! A message as it is read from a copy, before it is written.

use db::Timestamp;

/// What a mail is, by which rule, by which field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub class: String,
    pub rule: String,
    pub source: String,
}

/// Who wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSender {
    /// In lower case.
    pub email: String,
    pub name: Option<String>,
    /// A robot, a tracker or a list.
    pub automation: bool,
}

/// A patch as grouping into series reads it.
#[derive(Clone, Debug)]
pub struct NewPatch {
    pub author: String,
    pub subject: String,
    /// Nearest first; JSON.
    pub ancestors: String,
    pub has_diff: bool,
}

/// A message as one of its copies tells it.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// The copy.
    pub copy: i64,
    /// Orders the copies of a message; the smallest speaks for it.
    pub speaker: String,
    pub message_id: String,
    /// Tells messages apart that share an id.
    pub content: String,
    pub subject: Option<String>,
    pub from_field: Option<String>,
    pub sender: Option<NewSender>,
    pub sent_at: Option<Timestamp>,
    pub date_source: &'static str,
    pub in_reply_to: Option<String>,
    /// As written; JSON.
    pub references: String,
    /// Oldest first, the message it answers last.
    pub ancestors: Vec<String>,
    pub list_id: Option<String>,
    pub system: String,
    /// What it is by itself, and what it is in a thread with a patch.
    pub alone: Verdict,
    pub among_patches: Verdict,
    /// JSON.
    pub captures: String,
    pub external_key: Option<String>,
    pub action: Option<String>,
    /// The repository it names, and the key by which the catalogue knows it.
    pub signalled_url: Option<String>,
    pub signalled_key: Option<String>,
    pub mirror_kind: Option<String>,
    pub mirror_number: Option<i64>,
    pub mirror_node: Option<String>,
    pub has_patch: bool,
    /// Files, insertions and deletions of an own diff.
    pub diffstat: Option<(i64, i64, i64)>,
    /// JSON.
    pub patch_paths: Option<String>,
    pub trailers: Option<String>,
    pub attachments: Option<String>,
    pub split_rule: i64,
    /// None where only the rest is wanted.
    pub body: Option<String>,
    /// JSON.
    pub spans: String,
    /// What is searched: own words, without quotations and diffs.
    pub search_text: String,
    /// It was sent as part of a series, be it of one.
    pub patch: Option<NewPatch>,
}

/// What writing a batch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Messages that were not there before.
    pub new: usize,
    /// Messages for which another copy speaks now.
    pub retold: usize,
    /// Copies of messages that were there.
    pub known: usize,
}
