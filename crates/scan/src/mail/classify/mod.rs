//! What kind of mail is this: rules as data, the first that holds decides.
//!
//! Rules live in TOML, one file per system (`apache`, `lore`, `generic`), shipped in the binary and
//! replaceable by configuration. The result names the class, the rule and the field that decided,
//! and what the rule captured (an issue key, a repository), so that a stored class can be explained
//! and recomputed after a change of rules without fetching anything.
//!
//! A rule holds when every condition it gives holds:
//!
//! | condition | holds for |
//! |---|---|
//! | `subject`, `topic` | the subject; without its leading `Re:` and the like |
//! | `sender` | the decoded From field |
//! | `list_id`, `list_address`, `list` | the identifier; the posting address; the first that is known |
//! | `header.NAME` | a field by name |
//! | `body` | the first 32 KiB of the text |
//! | `reply` | `true` for answers, `false` for what is neither answer nor forward |
//! | `tag`, `unless_tag` | the kind of patch tag, see [`super::subject::TagKind`] |
//! | `diff` | a diff of the sender's own, in the text or attached |
//! | `in_patch_thread` | the place in a thread |
//! | `unless_subject`, `unless_list` | the pattern does not match |
//!
//! Patterns are regular expressions with ASCII classes; a list of them means any. Named groups
//! become captures. `[[capture]]` entries add captures for certain classes afterwards, without
//! replacing any; finds that match their `except` are passed over.
//!
//! All patterns on one field are searched in one pass; only the deciding rule runs its own pattern
//! again for its captures. Bodies are searched last and only by rules that hold otherwise.

mod compiled;
mod file;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::message::ParsedMessage;

pub use compiled::Rules;
pub use file::RulesError;

/// The eleven classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    IssueEvent,
    PatchSubmission,
    Review,
    GithubMirror,
    CommitNotify,
    Vote,
    Announce,
    Result,
    Discuss,
    Support,
    Unclassified,
}

impl Class {
    pub const ALL: [Self; 11] = [
        Self::IssueEvent,
        Self::PatchSubmission,
        Self::Review,
        Self::GithubMirror,
        Self::CommitNotify,
        Self::Vote,
        Self::Announce,
        Self::Result,
        Self::Discuss,
        Self::Support,
        Self::Unclassified,
    ];

    /// The word in columns, API and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IssueEvent => "issue_event",
            Self::PatchSubmission => "patch_submission",
            Self::Review => "review",
            Self::GithubMirror => "github_mirror",
            Self::CommitNotify => "commit_notify",
            Self::Vote => "vote",
            Self::Announce => "announce",
            Self::Result => "result",
            Self::Discuss => "discuss",
            Self::Support => "support",
            Self::Unclassified => "unclassified",
        }
    }

    /// Copies of what a forge or a repository already knows.
    pub fn is_mirror(self) -> bool {
        matches!(self, Self::GithubMirror | Self::CommitNotify)
    }
}

/// The field that decided, the first given in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Subject,
    Body,
    Sender,
    Header,
    ListId,
    ListAddress,
    /// The place in a thread.
    Thread,
    /// No condition at all: the last rule.
    Default,
}

impl Source {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Subject => "subject",
            Self::Body => "body",
            Self::Sender => "sender",
            Self::Header => "header",
            Self::ListId => "list_id",
            Self::ListAddress => "list_address",
            Self::Thread => "thread",
            Self::Default => "default",
        }
    }
}

/// What rules look at; every part may be missing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mail<'a> {
    pub subject: &'a str,
    /// The From field, decoded.
    pub from: &'a str,
    /// With or without brackets and display name.
    pub list_id: &'a str,
    pub list_address: &'a str,
    /// Names in any case.
    pub headers: &'a [(String, String)],
    pub body: &'a str,
    /// Known already from attachments; else the body is looked at.
    pub has_patch: bool,
    /// A mail it answers, at any distance, is a patch.
    pub in_patch_thread: bool,
}

impl<'a> From<&'a ParsedMessage> for Mail<'a> {
    fn from(message: &'a ParsedMessage) -> Self {
        Self {
            subject: message.subject.as_deref().unwrap_or_default(),
            from: message.from.as_deref().unwrap_or_default(),
            list_id: message.list_id.as_deref().unwrap_or_default(),
            list_address: message.list_address.as_deref().unwrap_or_default(),
            headers: &message.headers,
            body: &message.body,
            has_patch: message.has_patch,
            in_patch_thread: false,
        }
    }
}

/// The class of a mail, and why. Serialised, a line of `gleaner mail classify`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Classification {
    pub class: Class,
    /// `system/rule`.
    pub rule: String,
    pub source: Source,
    pub captures: BTreeMap<String, String>,
}

/// Classifies one mail. The same as [`Rules::classify`].
pub fn classify(rules: &Rules, mail: &Mail<'_>) -> Classification {
    rules.classify(mail)
}
