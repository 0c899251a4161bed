//! GitLab, any instance.
//!
//! Without a token a project does not tell whether it is archived, while lists can be filtered by
//! it. So a whole listing is two, one of the active and one of the archived, and a single project
//! that does not tell is looked for among the archived.
//!
//! A group's list knows no keyset paging, and offsets end at 50,000: what lies behind is listed
//! from the other end. Only a list more than twice as long cannot be read to its end, and says so.

mod code;
mod issues;
mod publishing;
mod tags;

use facts::repository::Forge as Software;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::{
    Asked, Forge, IssueList, IssuePage, Listed, Looked, NoAnswer, Order, Owner, OwnerPackages,
    PackageList, Page, Releases, Scope, Seen, Sight, TagPage, Tree, Wanted, Which, text,
};
use crate::git::{Blob, Entry};
use crate::http::{Ask, Reply, Session, Unknown, segment};

#[derive(Debug)]
pub(super) struct GitLab {
    host: String,
    session: Session,
}

#[derive(Deserialize)]
struct Project {
    id: u64,
    path_with_namespace: String,
    default_branch: Option<String>,
    archived: Option<bool>,
    empty_repo: Option<bool>,
    visibility: Option<String>,
    #[serde(rename = "forked_from_project")]
    forked_from: Option<Parent>,
    last_activity_at: Option<String>,
    namespace: Option<Namespace>,
    updated_at: Option<String>,
}

#[derive(Deserialize)]
struct Namespace {
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Parent {
    path_with_namespace: Option<String>,
}

#[derive(Deserialize)]
struct Group {
    full_path: Option<String>,
}

/// A place in a listing: which part of the list, from which end, which page.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Place {
    /// The archived ones, which come second.
    archived: bool,
    /// From the end, since the beginning is longer than can be paged through.
    backwards: bool,
    /// The highest number that was listed from the beginning.
    top: u64,
    /// The page; none for the first.
    path: Option<String>,
}

impl GitLab {
    pub(super) fn new(host: &str, session: Session) -> Self {
        Self {
            host: host.to_owned(),
            session,
        }
    }

    fn ask(&self, path: &str) -> Ask {
        Ask::get(&self.host, format!("/api/v4{path}")).absent(&[404, 410])
    }

    async fn one(&self, which: &Which) -> Asked<Seen> {
        let ask = self.ask(&code::place(which));
        let mut found = match self.session.ask_json::<Project>(&ask).await {
            Reply::Found(found) => found.value,
            Reply::Absent => return Ok(Seen::Missing),
            Reply::Unknown(why) if why.is_for_legal_reasons() => return Ok(Seen::Blocked),
            Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
        };
        if found.archived.is_none() {
            found.archived = Some(self.is_archived(found.id).await?);
        }
        let name = found.path_with_namespace.clone();
        match self.sight(found) {
            Some(listed) => Ok(Seen::Here(Box::new(listed.sight))),
            None => Err(NoAnswer::Nonsense(format!("`{name:.100}` is no project"))),
        }
    }

    async fn is_archived(&self, id: u64) -> Asked<bool> {
        let ask = self
            .ask("/projects")
            .query("archived", true)
            .query("id_after", id.saturating_sub(1))
            .query("id_before", id.saturating_add(1))
            .query("simple", true);
        let found = self.session.ask_json::<Vec<Project>>(&ask).await.known()?;
        Ok(found.is_some_and(|found| found.value.iter().any(|one| one.id == id)))
    }

    async fn namespace(&self, path: &str) -> Asked<Option<Owner>> {
        match Scope::read(path) {
            Scope::Of(_) => {}
            Scope::Everything => return Ok(Some(Owner::wide(path))),
            Scope::Installation | Scope::Search(_) => return Ok(None),
        }
        let group = self
            .ask(&format!("/groups/{}", segment(path)))
            .query("with_projects", false);
        if let Some(found) = self.session.ask_json::<Group>(&group).await.known()? {
            let path = text::name(found.value.full_path).unwrap_or_else(|| path.to_owned());
            return Ok(Some(Owner {
                number: None,
                path,
                person: false,
            }));
        }
        if path.contains('/') {
            return Ok(None);
        }
        let person = self
            .ask(&format!("/users/{}/projects", segment(path)))
            .query("simple", true)
            .query("per_page", 1);
        let found = self
            .session
            .ask_json::<Vec<Project>>(&person)
            .await
            .known()?;
        Ok(found.map(|_| Owner {
            number: None,
            path: path.to_owned(),
            person: true,
        }))
    }

    async fn whole(&self, owner: &Owner, from: Option<&str>) -> Asked<Option<Page>> {
        let place = match from {
            Some(text) => serde_json::from_str(text)
                .map_err(|_| NoAnswer::Nonsense("a place in a listing cannot be read".into()))?,
            None => Place::default(),
        };
        let ask = match &place.path {
            Some(path) => Ask::get(&self.host, path),
            None => self
                .list(owner)
                .query("archived", place.archived)
                .query("order_by", "id")
                .query("sort", if place.backwards { "desc" } else { "asc" })
                .query("per_page", 100),
        };
        let found = match self.session.ask_json::<Vec<Project>>(&ask).await {
            Reply::Found(found) => found,
            Reply::Absent => return Ok(None),
            Reply::Unknown(why) if is_cap(&why, &place) => return Ok(Some(place.beyond_cap())),
            Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
        };
        let ids = found.value.iter().map(|project| project.id);
        let met = place.backwards && ids.clone().any(|id| id <= place.top);
        let mut next = place.clone();
        if !place.backwards {
            next.top = ids.fold(place.top, u64::max);
        }
        next.path = found.response.next;
        let next = if next.path.is_some() && !met {
            Some(next)
        } else {
            place.next_part()
        };
        let mut page = self.read(found.value, place.archived);
        page.next = next.map(|next| next.written());
        page.not_modified = found.response.not_modified;
        Ok(Some(page))
    }

    async fn last_changed(&self, owner: &Owner, from: Option<&str>) -> Asked<Option<Page>> {
        let ask = match from {
            Some(path) => Ask::get(&self.host, path),
            None => self
                .list(owner)
                .query("order_by", "updated_at")
                .query("sort", "desc")
                .query("per_page", 100),
        };
        let Some(found) = self.session.ask_json::<Vec<Project>>(&ask).await.known()? else {
            return Ok(None);
        };
        let count = found.value.len();
        let repositories: Vec<Listed> = found
            .value
            .into_iter()
            .filter_map(|one| self.sight(one))
            .collect();
        Ok(Some(Page {
            odd: count - repositories.len(),
            repositories,
            next: found.response.next,
            not_modified: found.response.not_modified,
            ..Page::default()
        }))
    }

    fn list(&self, owner: &Owner) -> Ask {
        if Scope::read(&owner.path) == Scope::Everything {
            return self.ask("/projects");
        }
        let path = segment(&owner.path);
        if owner.person {
            return self.ask(&format!("/users/{path}/projects"));
        }
        self.ask(&format!("/groups/{path}/projects"))
            .query("include_subgroups", true)
            // What other groups merely let this one see.
            .query("with_shared", false)
    }

    fn read(&self, projects: Vec<Project>, archived: bool) -> Page {
        let count = projects.len();
        let repositories: Vec<Listed> = projects
            .into_iter()
            .filter_map(|mut project| {
                project.archived = project.archived.or(Some(archived));
                self.sight(project)
            })
            .collect();
        Page {
            odd: count - repositories.len(),
            repositories,
            ..Page::default()
        }
    }

    fn sight(&self, said: Project) -> Option<Listed> {
        let default_branch = text::name(said.default_branch);
        let sight = Sight {
            forge_id: said.id.to_string(),
            url: text::address(Software::GitLab, &self.host, &said.path_with_namespace)?,
            archived: said.archived,
            // No branch may also mean that we may not see the code.
            empty: said
                .empty_repo
                .or(default_branch.is_some().then_some(false)),
            default_branch,
            visibility: text::visibility(said.visibility),
            fork: Some(said.forked_from.is_some()),
            parent: said
                .forked_from
                .and_then(|parent| text::name(parent.path_with_namespace)),
            pushed_at: text::time(said.last_activity_at.as_deref()),
            of_person: said
                .namespace
                .and_then(|namespace| namespace.kind)
                .map(|kind| kind == "user"),
        };
        Some(Listed {
            sight,
            updated_at: text::time(said.updated_at.as_deref()),
        })
    }
}

impl Place {
    /// What follows this part of the list; none after the last.
    fn next_part(&self) -> Option<Self> {
        (!self.archived).then(|| Self {
            archived: true,
            ..Self::default()
        })
    }

    /// The page that says that paging does not go on here.
    fn beyond_cap(&self) -> Page {
        if self.backwards {
            return Page {
                cut: Some("the list is longer than offsets can reach from both ends".into()),
                next: self.next_part().map(|next| next.written()),
                ..Page::default()
            };
        }
        let backwards = Self {
            backwards: true,
            path: None,
            ..self.clone()
        };
        Page {
            next: Some(backwards.written()),
            ..Page::default()
        }
    }

    fn written(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Whether an offset is refused because it is too large. Never on a first page.
fn is_cap(why: &Unknown, place: &Place) -> bool {
    place.path.is_some() && why.status == Some(405)
}

impl Forge for GitLab {
    fn repository<'a>(&'a self, which: &'a Which) -> BoxFuture<'a, Asked<Seen>> {
        Box::pin(self.one(which))
    }

    fn owner<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Asked<Option<Owner>>> {
        Box::pin(self.namespace(path))
    }

    fn repositories<'a>(
        &'a self,
        owner: &'a Owner,
        order: Order,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Asked<Option<Page>>> {
        match order {
            Order::Whole => Box::pin(self.whole(owner, from)),
            Order::LastChanged => Box::pin(self.last_changed(owner, from)),
        }
    }

    fn lists_by_change(&self, _owner: &Owner) -> bool {
        true
    }

    fn tree<'a>(
        &'a self,
        which: &'a Which,
        wanted: &'a (dyn Fn(&Entry) -> bool + Sync),
    ) -> BoxFuture<'a, Asked<Looked<Tree>>> {
        Box::pin(self.files(which, None, wanted))
    }

    fn tags<'a>(
        &'a self,
        which: &'a Which,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Asked<Looked<TagPage>>> {
        Box::pin(self.tag_page(which, from))
    }

    fn issue_lists(&self) -> &'static [IssueList] {
        &[IssueList::Issues, IssueList::Pulls]
    }

    fn issues<'a>(
        &'a self,
        which: &'a Which,
        list: IssueList,
        since: Option<db::Timestamp>,
        from: Option<&'a str>,
    ) -> BoxFuture<'a, Asked<Looked<IssuePage>>> {
        Box::pin(self.issue_page(which, list, since, from))
    }

    fn tree_at<'a>(
        &'a self,
        which: &'a Which,
        commit: &'a str,
        wanted: &'a (dyn Fn(&Entry) -> bool + Sync),
    ) -> BoxFuture<'a, Asked<Looked<Tree>>> {
        Box::pin(self.files(which, Some(commit), wanted))
    }

    fn commit<'a>(&'a self, which: &'a Which) -> BoxFuture<'a, Asked<Option<String>>> {
        Box::pin(self.last_commit(which))
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
        of_person: Option<bool>,
    ) -> BoxFuture<'a, Asked<OwnerPackages>> {
        Box::pin(self.packages_of(owner, of_person))
    }

    fn packages_owner(&self, which: &Which) -> String {
        let top = which.owner.split('/').next();
        top.unwrap_or_default().to_owned()
    }

    fn repository_packages<'a>(
        &'a self,
        which: &'a Which,
    ) -> BoxFuture<'a, Asked<Looked<PackageList>>> {
        Box::pin(self.packages_here(which))
    }
}
