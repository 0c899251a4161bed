//! Issues, pull requests and the people who write them: what a test puts there.

use jiff::Timestamp;

/// An issue or a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The forge's own number of it, not the one people see.
    pub id: u64,
    /// The one people see.
    pub number: u64,
    /// A pull request.
    pub pull: bool,
    /// The global id, on forges that have one.
    pub node_id: String,
    /// Its title.
    pub title: String,
    /// When it was opened.
    pub created_at: Timestamp,
    /// The last change.
    pub updated_at: Timestamp,
    /// When it was closed, if it is.
    pub closed_at: Option<Timestamp>,
}

/// Somebody with an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The account.
    pub login: String,
    /// Where they write from.
    pub email: String,
    /// Whether the account shows the address.
    pub shows_email: bool,
    /// Whether there is a public commit of theirs.
    pub commits: bool,
    /// An app, and nobody.
    pub bot: bool,
}
