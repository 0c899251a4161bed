//! What a forge holds: the ground truth that tests compare with.

use jiff::Timestamp;
use serde::Serialize;

/// A repository, whether the forge still shows it or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repository {
    /// The forge's own number: survives renames and transfers, never reused.
    pub id: u64,
    /// The account or the group, with its parents: `meadow/tools`.
    pub owner: String,
    /// The last part of the path.
    pub name: String,
    /// The name it was made under, which its files go on to use.
    pub first_name: String,
    /// One line.
    pub description: String,
    /// The main language, if there is any code.
    pub language: Option<&'static str>,
    /// As the forge would clone it.
    pub default_branch: String,
    /// Read-only.
    pub archived: bool,
    /// Shown only to tokens that may see it.
    pub private: bool,
    /// No commit yet.
    pub empty: bool,
    /// Whether it is there at all.
    pub presence: Presence,
    /// It has taken its releases back.
    pub retracted: bool,
    /// Of its packages in the forge's own registry only images are left.
    pub unpackaged: bool,
    /// The repository this one was forked from.
    pub fork_of: Option<u64>,
    /// Stars.
    pub stars: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// The last push.
    pub pushed_at: Timestamp,
    /// The last change of any sort, settings included.
    pub updated_at: Timestamp,
}

impl Repository {
    /// Owner and name.
    pub fn path(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// Whether it is there and open to everyone.
    pub fn is_public(&self) -> bool {
        self.presence == Presence::Here && !self.private
    }
}

/// Whether a repository is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// It is.
    Here,
    /// Removed by its owner.
    Deleted,
    /// Taken down for legal reasons.
    Blocked,
}

/// Who repositories belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Owner {
    /// The forge's own number.
    pub id: u64,
    /// `meadow`, or `meadow/tools` where groups nest.
    pub path: String,
    /// One person or many.
    pub kind: OwnerKind,
}

/// One person or many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnerKind {
    /// An organisation or a group.
    Organisation,
    /// A person.
    User,
}
