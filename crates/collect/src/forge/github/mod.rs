//! GitHub and GitHub Enterprise: REST, version 2022-11-28.
//!
//! Repositories are asked for by number (`/repositories/{id}`), where redirects of renamed ones
//! lead. A take-down is 451, or 403 with the same words; 404 is "gone or private". Lists are paged
//! by `Link`; they have no cap, other than search ([`wide`]).

mod code;
mod graphql;
mod issues;
mod publishing;
mod tags;
mod wide;

use facts::repository::Forge as Software;
use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::{
    Asked, Forge, FoundAccount, IssueList, IssuePage, Listed, Looked, NoAnswer, Order, Owner,
    OwnerPackages, Page, Releases, Scope, Seen, Sight, TagPage, Tree, Wanted, Which, text,
};
use crate::git::{Blob, Entry};
use crate::http::{Ask, Class, Reply, Session, Unknown, segment};

#[derive(Debug)]
pub(super) struct GitHub {
    host: String,
    /// Of its API, on its host.
    root: &'static str,
    session: Session,
}

#[derive(Deserialize)]
struct Repository {
    id: u64,
    full_name: String,
    #[serde(default)]
    private: bool,
    visibility: Option<String>,
    fork: Option<bool>,
    parent: Option<Parent>,
    archived: Option<bool>,
    default_branch: Option<String>,
    pushed_at: Option<String>,
    updated_at: Option<String>,
    owner: Option<Holder>,
    /// In kilobytes. Zero for the empty, and for the very small.
    size: Option<u64>,
}

#[derive(Deserialize)]
struct Holder {
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Parent {
    full_name: Option<String>,
}

#[derive(Deserialize)]
struct Account {
    login: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl GitHub {
    pub(super) fn new(host: &str, session: Session) -> Self {
        Self {
            host: host.to_owned(),
            root: if host == "github.com" { "" } else { "/api/v3" },
            session,
        }
    }

    fn ask(&self, path: &str) -> Ask {
        Ask::get(&self.host, format!("{}{path}", self.root))
            .accept("application/vnd.github+json")
            .header("x-github-api-version", "2022-11-28")
            .absent(&[404, 410])
    }

    /// The page that a path leads to; those of `Link` have the root in them already.
    fn ask_on(&self, path: &str) -> Ask {
        let path = path.strip_prefix(self.root).unwrap_or(path);
        self.ask(path)
    }

    async fn one(&self, which: &Which) -> Asked<Seen> {
        let path = place(which);
        let found = match self.session.ask_json::<Repository>(&self.ask(&path)).await {
            Reply::Found(found) => found,
            Reply::Absent => return Ok(Seen::Missing),
            Reply::Unknown(why) if blocked(&why) => return Ok(Seen::Blocked),
            Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
        };
        let may_be_empty = found.value.size == Some(0);
        let full_name = found.value.full_name.clone();
        let mut sight = self
            .sight(found.value)
            .ok_or_else(|| NoAnswer::Nonsense(format!("`{full_name:.100}` is no repository")))?
            .sight;
        // Nothing else tells for certain. As before means that it was asked before.
        if may_be_empty && !found.response.not_modified {
            sight.empty = self.is_empty(&which_now(&sight)).await?;
        }
        Ok(Seen::Here(Box::new(sight)))
    }

    /// An empty repository answers 409 to whoever wants its commits.
    async fn is_empty(&self, path: &str) -> Asked<Option<bool>> {
        let ask = self
            .ask(&format!("{path}/commits?per_page=1"))
            .absent(&[409])
            .uncached();
        match self.session.ask(&ask).await {
            Reply::Found(_) => Ok(Some(false)),
            Reply::Absent => Ok(Some(true)),
            Reply::Unknown(why) if why.class == Class::Rejected => Ok(None),
            Reply::Unknown(why) => Err(NoAnswer::Unknown(why)),
        }
    }

    async fn account(&self, path: &str) -> Asked<Option<Owner>> {
        if !matches!(Scope::read(path), Scope::Of(_)) {
            return Ok(Some(Owner::wide(path)));
        }
        let ask = self.ask(&format!("/users/{}", segment(path)));
        let found = self.session.ask_json::<Account>(&ask).await.known()?;
        Ok(found.map(|found| Owner {
            number: None,
            person: found.value.kind.as_deref() == Some("User"),
            path: found.value.login,
        }))
    }

    async fn page(&self, owner: &Owner, order: Order, from: Option<&str>) -> Asked<Option<Page>> {
        let ask = match from {
            Some(path) => self.ask_on(path),
            None => self.first_page(owner, order),
        };
        let Some(found) = self
            .session
            .ask_json::<Vec<Repository>>(&ask)
            .await
            .known()?
        else {
            return Ok(None);
        };
        let mut page = self.listed(found.value);
        page.next = found.response.next;
        page.not_modified = found.response.not_modified;
        Ok(Some(page))
    }

    fn first_page(&self, owner: &Owner, order: Order) -> Ask {
        let login = segment(&owner.path);
        let (path, of) = if owner.person {
            (format!("/users/{login}/repos"), "owner")
        } else {
            (format!("/orgs/{login}/repos"), "all")
        };
        let (sort, direction) = match order {
            // What is new comes last, so that it moves nothing.
            Order::Whole => ("created", "asc"),
            Order::LastChanged => ("updated", "desc"),
        };
        self.ask(&path)
            .query("type", of)
            .query("sort", sort)
            .query("direction", direction)
            .query("per_page", 100)
    }

    fn sight(&self, said: Repository) -> Option<Listed> {
        let private = if said.private { "private" } else { "public" };
        let sight = Sight {
            forge_id: said.id.to_string(),
            url: text::address(Software::GitHub, &self.host, &said.full_name)?,
            archived: said.archived,
            default_branch: text::name(said.default_branch),
            visibility: text::visibility(said.visibility).or_else(|| Some(private.to_owned())),
            fork: said.fork,
            parent: said.parent.and_then(|parent| text::name(parent.full_name)),
            empty: said.size.filter(|size| *size > 0).map(|_| false),
            pushed_at: text::time(said.pushed_at.as_deref()),
            of_person: said.owner.and_then(|owner| is_person(&owner.kind?)),
        };
        Some(Listed {
            sight,
            updated_at: text::time(said.updated_at.as_deref()),
        })
    }
}

/// There are bots and enterprises as well, of which nothing follows.
fn is_person(kind: &str) -> Option<bool> {
    match kind {
        "User" => Some(true),
        "Organization" => Some(false),
        _ => None,
    }
}

/// A repository's place in the API: by number as soon as it is known.
fn place(which: &Which) -> String {
    match &which.number {
        Some(number) => format!("/repositories/{}", segment(number)),
        None => format!("/repos/{}/{}", segment(&which.owner), segment(&which.name)),
    }
}

/// Whether a repository was taken down.
fn blocked(why: &Unknown) -> bool {
    why.is_for_legal_reasons()
        || why.status == Some(403)
            && why.class == Class::Refused
            && why.to_string().contains("Repository access blocked")
}

fn which_now(sight: &Sight) -> String {
    let (owner, name) = (segment(sight.url.owner()), segment(sight.url.name()));
    format!("/repos/{owner}/{name}")
}

impl Forge for GitHub {
    fn repository<'a>(&'a self, which: &'a Which) -> BoxFuture<'a, Asked<Seen>> {
        Box::pin(self.one(which))
    }

    fn owner<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Asked<Option<Owner>>> {
        Box::pin(self.account(path))
    }

    fn repositories<'a>(
        &'a self,
        owner: &'a Owner,
        order: Order,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Asked<Option<Page>>> {
        match Scope::read(&owner.path) {
            Scope::Of(_) => Box::pin(self.page(owner, order, from)),
            Scope::Everything => Box::pin(self.everything(from)),
            Scope::Installation => Box::pin(self.given(from)),
            Scope::Search(query) => Box::pin(self.found(query, order, from)),
        }
    }

    fn lists_by_change(&self, owner: &Owner) -> bool {
        matches!(Scope::read(&owner.path), Scope::Of(_) | Scope::Search(_))
    }

    fn tree<'a>(
        &'a self,
        which: &'a Which,
        wanted: &'a (dyn Fn(&Entry) -> bool + Sync),
    ) -> BoxFuture<'a, Asked<Looked<Tree>>> {
        Box::pin(self.files(which, "HEAD", wanted))
    }

    fn tags<'a>(
        &'a self,
        which: &'a Which,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Asked<Looked<TagPage>>> {
        Box::pin(self.tag_page(which, from))
    }

    fn issues<'a>(
        &'a self,
        which: &'a Which,
        _list: IssueList,
        since: Option<db::Timestamp>,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Asked<Looked<IssuePage>>> {
        Box::pin(self.issue_page(which, since, from))
    }

    fn account_of<'a>(&'a self, email: &'a str) -> BoxFuture<'a, Asked<Option<FoundAccount>>> {
        Box::pin(self.account_by_address(email))
    }

    fn tree_at<'a>(
        &'a self,
        which: &'a Which,
        commit: &'a str,
        wanted: &'a (dyn Fn(&Entry) -> bool + Sync),
    ) -> BoxFuture<'a, Asked<Looked<Tree>>> {
        Box::pin(self.files(which, commit, wanted))
    }

    fn blobs<'a>(
        &'a self,
        which: &'a Which,
        wanted: &'a [Wanted<'a>],
    ) -> BoxFuture<'a, Asked<Vec<(String, Blob)>>> {
        Box::pin(self.contents(which, wanted))
    }

    fn releases<'a>(&'a self, which: &'a Which) -> BoxFuture<'a, Asked<Looked<Releases>>> {
        Box::pin(self.last_releases(which))
    }

    fn packages_need_token(&self) -> bool {
        true
    }

    fn owner_packages<'a>(
        &'a self,
        owner: &'a str,
        of_person: Option<bool>,
    ) -> BoxFuture<'a, Asked<OwnerPackages>> {
        Box::pin(self.packages_of(owner, of_person))
    }
}
