//! Gitea and Forgejo.
//!
//! An owner's list cannot be sorted, search by the owner's number can, and is paged the same way:
//! at most 50 at a time, with the whole count in a header. There are no entity tags, so that an
//! unchanged repository costs an answer. A push and a change of settings are one time.

mod code;
mod issues;
mod publishing;
mod tags;

use facts::repository::Forge as Software;
use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::{
    Asked, Forge, IssueList, IssuePage, Listed, Looked, NoAnswer, Order, Owner, OwnerPackages,
    Page, Releases, Scope, Seen, Sight, TagPage, Tree, Wanted, Which, text,
};
use crate::git::{Blob, Entry};
use crate::http::{Ask, Reply, Session, segment};

#[derive(Debug)]
pub(super) struct Gitea {
    host: String,
    session: Session,
}

#[derive(Deserialize)]
struct Repository {
    id: u64,
    full_name: String,
    empty: Option<bool>,
    #[serde(default)]
    private: bool,
    #[serde(default)]
    internal: bool,
    fork: Option<bool>,
    parent: Option<Parent>,
    archived: Option<bool>,
    default_branch: Option<String>,
    updated_at: Option<String>,
}

#[derive(Deserialize)]
struct Parent {
    full_name: Option<String>,
}

#[derive(Deserialize)]
struct Account {
    id: u64,
    login: Option<String>,
}

#[derive(Deserialize)]
struct Results {
    data: Vec<Repository>,
}

impl Gitea {
    pub(super) fn new(host: &str, session: Session) -> Self {
        Self {
            host: host.to_owned(),
            session,
        }
    }

    fn ask(&self, path: &str) -> Ask {
        Ask::get(&self.host, format!("/api/v1{path}")).absent(&[404, 410])
    }

    async fn one(&self, which: &Which) -> Asked<Seen> {
        let path = match &which.number {
            Some(number) => format!("/repositories/{}", segment(number)),
            None => format!("/repos/{}/{}", segment(&which.owner), segment(&which.name)),
        };
        let found = match self.session.ask_json::<Repository>(&self.ask(&path)).await {
            Reply::Found(found) => found.value,
            Reply::Absent => return Ok(Seen::Missing),
            Reply::Unknown(why) if why.is_for_legal_reasons() => return Ok(Seen::Blocked),
            Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
        };
        let name = found.full_name.clone();
        match self.sight(found) {
            Some(listed) => Ok(Seen::Here(Box::new(listed.sight))),
            None => Err(NoAnswer::Nonsense(format!(
                "`{name:.100}` is no repository"
            ))),
        }
    }

    async fn account(&self, path: &str) -> Asked<Option<Owner>> {
        match Scope::read(path) {
            Scope::Of(_) => {}
            Scope::Everything => return Ok(Some(Owner::wide(path))),
            Scope::Installation | Scope::Search(_) => return Ok(None),
        }
        // An organisation is an account as well.
        let ask = self.ask(&format!("/users/{}", segment(path)));
        let found = self.session.ask_json::<Account>(&ask).await.known()?;
        Ok(found.map(|found| Owner {
            number: Some(found.value.id.to_string()),
            path: text::name(found.value.login).unwrap_or_else(|| path.to_owned()),
            person: false,
        }))
    }

    async fn page(&self, owner: &Owner, order: Order, from: Option<&str>) -> Asked<Option<Page>> {
        let ask = match from {
            Some(path) => Ask::get(&self.host, path),
            None => self.first_page(owner, order)?,
        };
        let Some(found) = self.session.ask_json::<Results>(&ask).await.known()? else {
            return Ok(None);
        };
        let count = found.value.data.len();
        let repositories: Vec<Listed> = found
            .value
            .data
            .into_iter()
            .filter_map(|one| self.sight(one))
            .collect();
        let total = found.response.header("x-total-count");
        Ok(Some(Page {
            odd: count - repositories.len(),
            repositories,
            total: total.and_then(|total| total.parse().ok()),
            next: found.response.next,
            not_modified: found.response.not_modified,
            cut: None,
        }))
    }

    fn first_page(&self, owner: &Owner, order: Order) -> Asked<Ask> {
        let (sort, direction) = match order {
            // What is new comes last, so that it moves nothing.
            Order::Whole => ("id", "asc"),
            Order::LastChanged => ("updated", "desc"),
        };
        let mut ask = self.ask("/repos/search");
        if Scope::read(&owner.path) != Scope::Everything {
            // Without a number the search would be over everything there is.
            let Some(number) = &owner.number else {
                return Err(NoAnswer::Nonsense(format!("{} has no number", owner.path)));
            };
            // `exclusive`: not whatever the owner works with.
            ask = ask.query("uid", number).query("exclusive", true);
        }
        Ok(ask
            .query("sort", sort)
            .query("order", direction)
            .query("limit", 50))
    }

    fn sight(&self, said: Repository) -> Option<Listed> {
        let visibility = match (said.private, said.internal) {
            (_, true) => "internal",
            (true, false) => "private",
            (false, false) => "public",
        };
        let updated_at = text::time(said.updated_at.as_deref());
        let sight = Sight {
            forge_id: said.id.to_string(),
            url: text::address(Software::Gitea, &self.host, &said.full_name)?,
            archived: said.archived,
            default_branch: text::name(said.default_branch),
            visibility: Some(visibility.to_owned()),
            fork: said.fork,
            parent: said.parent.and_then(|parent| text::name(parent.full_name)),
            empty: said.empty,
            pushed_at: updated_at,
            // Its accounts do not tell, and nothing depends on it here.
            of_person: None,
        };
        Some(Listed { sight, updated_at })
    }
}

impl Forge for Gitea {
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
        Box::pin(self.page(owner, order, from))
    }

    fn lists_by_change(&self, _owner: &Owner) -> bool {
        true
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

    fn lists_issues_by_change(&self) -> bool {
        false
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

    fn owner_packages<'a>(
        &'a self,
        owner: &'a str,
        _of_person: Option<bool>,
    ) -> BoxFuture<'a, Asked<OwnerPackages>> {
        Box::pin(self.packages_of(owner))
    }
}
