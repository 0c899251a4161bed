//! Forges behind one trait: GitHub (and Enterprise), GitLab (any instance), Gitea and Forgejo.
//!
//! A client is made for one run and one host ([`client`]) and asks through [`crate::http`], so that
//! pace, budgets, the cache and the breaker are everybody's. Each method is one question; what it
//! cannot find out is [`NoAnswer`], and never an empty list.
//!
//! Repositories are asked for by the forge's own number as soon as it is known: it survives renames
//! and transfers, and tells a name that was taken over from one that moved.
//!
//! Lists come in pages. [`Page::next`] is for the client that gave it, fits into a cursor, and can
//! be used by a later run.

mod content;
mod gitea;
mod github;
mod gitlab;
mod host;
mod issues;
mod listed;
mod publishing;
mod scope;
mod tags;
mod text;

use engine::{Ending, Run, RunError};
use facts::repository::Forge as Software;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
pub use store::metadata::{Seen, Sight};

pub use self::{
    content::{Looked, Tree, Wanted},
    host::{Host, look_up},
    issues::{FoundAccount, FoundBy, IssueList, IssuePage, ListedIssue},
    publishing::{Asset, LAST_RELEASES, OwnerPackages, Package, PackageList, Release, Releases},
    scope::Scope,
    tags::{ListedTag, TagPage},
};
use crate::{
    git::{Blob, Entry},
    http::{Session, Unknown},
};

/// What asking a forge came to.
pub type Asked<T> = Result<T, NoAnswer>;

/// A forge could not be asked, or its answer makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// No answer, or none that can be trusted.
    #[error(transparent)]
    Unknown(#[from] Box<Unknown>),
    /// An answer in the right form that cannot be true.
    #[error("{0}")]
    Nonsense(String),
}

impl NoAnswer {
    /// How a run ends that cannot go on without this answer.
    pub fn end(self, run: &Run, report: impl Serialize) -> Result<Ending, RunError> {
        match self {
            Self::Unknown(why) => why.end(run, report),
            Self::Nonsense(why) => Err(RunError::upstream(why)),
        }
    }
}

/// What all forges can be asked.
pub trait Forge: Send + Sync + std::fmt::Debug {
    /// One repository.
    fn repository<'a>(&'a self, which: &'a Which) -> BoxFuture<'a, Asked<Seen>>;

    /// Who owns repositories under this path; none if nobody does.
    fn owner<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Asked<Option<Owner>>>;

    /// A page of an owner's repositories: the first, or the one that `from` leads to. None if there
    /// is no such owner any more.
    fn repositories<'a>(
        &'a self,
        owner: &'a Owner,
        order: Order,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Asked<Option<Page>>>;

    /// Whether such a list can be had in the order of changes; else it is always listed whole.
    fn lists_by_change(&self, owner: &Owner) -> bool {
        matches!(Scope::read(&owner.path), Scope::Of(_))
    }

    /// The files of a repository's default branch that are wanted, at any depth.
    fn tree<'a>(
        &'a self,
        which: &'a Which,
        wanted: &'a (dyn Fn(&Entry) -> bool + Sync),
    ) -> BoxFuture<'a, Asked<Looked<Tree>>>;

    /// A page of a repository's tags, each with the commit it leads to: the first, or the one that
    /// `from` leads to.
    fn tags<'a>(
        &'a self,
        which: &'a Which,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Asked<Looked<TagPage>>>;

    /// Like [`tree`](Forge::tree), of any commit.
    fn tree_at<'a>(
        &'a self,
        which: &'a Which,
        commit: &'a str,
        wanted: &'a (dyn Fn(&Entry) -> bool + Sync),
    ) -> BoxFuture<'a, Asked<Looked<Tree>>>;

    /// The lists of issues and pull requests that a repository has here.
    fn issue_lists(&self) -> &'static [IssueList] {
        &[IssueList::All]
    }

    /// Whether those come in the order of changes, so that one can read on from the last.
    fn lists_issues_by_change(&self) -> bool {
        true
    }

    /// A page of such a list with all that changed at a time or later: the first, or the one that
    /// `from` leads to.
    fn issues<'a>(
        &'a self,
        which: &'a Which,
        list: IssueList,
        since: Option<db::Timestamp>,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Asked<Looked<IssuePage>>>;

    /// The account that an address leads to, where the forge can be asked so.
    fn account_of<'a>(&'a self, _email: &'a str) -> BoxFuture<'a, Asked<Option<FoundAccount>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The commit that the default branch is at. None where a whole tree costs no more, or where
    /// it is not told.
    fn commit<'a>(&'a self, _which: &'a Which) -> BoxFuture<'a, Asked<Option<String>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Contents by their ids, in any order. What comes is what the id names, or nothing comes.
    fn blobs<'a>(
        &'a self,
        which: &'a Which,
        wanted: &'a [Wanted<'a>],
    ) -> BoxFuture<'a, Asked<Vec<(String, Blob)>>>;

    /// The last [`LAST_RELEASES`] releases with the files attached to them.
    fn releases<'a>(&'a self, which: &'a Which) -> BoxFuture<'a, Asked<Looked<Releases>>>;

    /// By whose name the packages of a repository are listed.
    fn packages_owner(&self, which: &Which) -> String {
        which.owner.clone()
    }

    /// Whether packages, even public ones, are listed only for those who show a token.
    fn packages_need_token(&self) -> bool {
        false
    }

    /// What an owner has in the registry of the forge, of all types. `of_person` saves a question
    /// where it is known.
    fn owner_packages<'a>(
        &'a self,
        owner: &'a str,
        of_person: Option<bool>,
    ) -> BoxFuture<'a, Asked<OwnerPackages>>;

    /// What one repository has there; for forges that answer
    /// [`OwnerPackages::ByRepository`].
    fn repository_packages<'a>(
        &'a self,
        which: &'a Which,
    ) -> BoxFuture<'a, Asked<Looked<PackageList>>> {
        let why = format!("packages of {} are listed by owner only", which.name);
        Box::pin(std::future::ready(Err(NoAnswer::Nonsense(why))))
    }
}

/// Which repository.
#[derive(Clone, Debug)]
pub struct Which {
    /// The forge's own number; it counts before the name.
    pub number: Option<String>,
    /// A user, an organisation, or groups within groups joined by `/`.
    pub owner: String,
    /// Its name.
    pub name: String,
    /// It had no commit when it was last looked at, and nothing is known that could be lost.
    pub was_empty: bool,
}

/// Somebody who owns repositories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The forge's own number, where it is needed to ask on.
    pub number: Option<String>,
    /// As it stands in addresses.
    pub path: String,
    /// One person, and no organisation or group.
    pub person: bool,
}

impl Owner {
    /// Nobody in particular; see [`Scope`].
    fn wide(path: &str) -> Self {
        Self {
            number: None,
            path: path.to_owned(),
            person: false,
        }
    }
}

/// In which order a list is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All of it, in an order that changes least while it is read.
    Whole,
    /// What changed last comes first.
    LastChanged,
}

/// A page of a list.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// What stands on it.
    pub repositories: Vec<Listed>,
    /// Leads to the next page; none on the last.
    pub next: Option<String>,
    /// How long the whole list is, where the forge says so of the whole.
    pub total: Option<u64>,
    /// The page is as it was when it was last asked for.
    pub not_modified: bool,
    /// The list is longer than the forge shows, and why.
    pub cut: Option<String>,
    /// Entries whose address makes no sense, left out.
    pub odd: usize,
}

/// A repository in a list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What the list says of it.
    pub sight: Sight,
    /// Its last change of any sort, where the forge tells.
    pub updated_at: Option<db::Timestamp>,
}

/// The client for a host that runs this software; none if it has nothing to ask.
pub fn client(software: Software, host: &str, session: Session) -> Option<Box<dyn Forge>> {
    match software {
        // Gists have an API of another sort.
        Software::GitHub if host == "gist.github.com" => None,
        Software::GitHub => Some(Box::new(github::GitHub::new(host, session))),
        Software::GitLab => Some(Box::new(gitlab::GitLab::new(host, session))),
        Software::Gitea => Some(Box::new(gitea::Gitea::new(host, session))),
        Software::Bitbucket | Software::Git | Software::Local => None,
    }
}
