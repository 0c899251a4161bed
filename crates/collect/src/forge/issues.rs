//! Issues and pull requests as forges list them, and accounts by the address they write from.

use db::Timestamp;
use serde::de::DeserializeOwned;

use super::{Asked, Looked, NoAnswer, listed};
use crate::http::{Ask, Session, Unknown};

/// Longer titles are cut: nobody's fit, and GitHub's own end at 256 characters.
const LONGEST_TITLE: usize = 1_000;

/// A list that a forge has of them. Some keep both in one, under one row of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueList {
    /// Both.
    All,
    /// Issues alone.
    Issues,
    /// Pull requests alone, or merge requests.
    Pulls,
}

impl IssueList {
    /// The word that cursors know it by.
    pub fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Issues => "issues",
            Self::Pulls => "pulls",
        }
    }
}

/// A page of such a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IssuePage {
    /// What stands on it.
    pub issues: Vec<ListedIssue>,
    /// Leads to the next page; none on the last.
    pub next: Option<String>,
}

/// An issue or a pull request in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedIssue {
    /// A pull request.
    pub pull: bool,
    /// The forge's own number of it.
    pub id: i64,
    /// The number that people see.
    pub number: i64,
    /// The forge's global id of it, where it has one.
    pub node_id: Option<String>,
    /// Its title.
    pub title: String,
    /// `open` or `closed`.
    pub closed: bool,
    /// When it was opened.
    pub created_at: Option<Timestamp>,
    /// The last change; lists are read on from here.
    pub updated_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
}

/// What a forge says of an issue, before it is believed.
pub(super) struct Said {
    pub(super) pull: bool,
    pub(super) id: Option<i64>,
    pub(super) number: Option<i64>,
    pub(super) node_id: Option<String>,
    pub(super) title: Option<String>,
    pub(super) state: Option<String>,
    pub(super) created_at: Option<Timestamp>,
    pub(super) updated_at: Option<Timestamp>,
    pub(super) closed_at: Option<Timestamp>,
}

/// Asks for a page of them; see [`listed::page`].
pub(super) async fn page<T: DeserializeOwned>(
    session: &Session,
    ask: &Ask,
    blocked: fn(&Unknown) -> bool,
    read: impl Fn(T) -> Said,
) -> Asked<Looked<IssuePage>> {
    let found = listed::page(session, ask, blocked, |one| issue(read(one))).await?;
    Ok(found.map(|(issues, next)| IssuePage { issues, next }))
}

/// An issue, if what is said of it can be true: without numbers and the time of its last change it
/// could neither be kept nor be found again.
fn issue(said: Said) -> Asked<ListedIssue> {
    let positive = |number: Option<i64>| number.filter(|number| *number > 0);
    let (Some(id), Some(number), Some(updated_at)) =
        (positive(said.id), positive(said.number), said.updated_at)
    else {
        let title = said.title.unwrap_or_default();
        return Err(NoAnswer::Nonsense(format!(
            "the issue `{title:.100}` has no number or no time"
        )));
    };
    let title: String = said
        .title
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_control())
        .take(LONGEST_TITLE)
        .collect();
    Ok(ListedIssue {
        pull: said.pull,
        id,
        number,
        node_id: super::text::name(said.node_id),
        title,
        closed: matches!(said.state.as_deref(), Some("closed" | "merged")),
        created_at: said.created_at,
        updated_at,
        closed_at: said.closed_at,
    })
}

/// An account that an address leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAccount {
    /// Its name.
    pub login: String,
    /// How it was found.
    pub by: FoundBy,
}

/// How an account was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// The account shows the address.
    Profile,
    /// Public commits bear it.
    Commits,
}

/// Whether a login can be one: letters, digits and hyphens.
pub(super) fn is_login(login: &str) -> bool {
    (1..=100).contains(&login.len())
        && login
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}
