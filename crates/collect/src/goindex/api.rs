//! The tags of a repository whose git server cannot be reached, or does not let us in: through the
//! forge's API, which tells the same and costs budget.

use std::collections::{BTreeSet, HashMap};

use db::{Db, DbError, Timestamp};
use engine::Run;
use facts::repository::Forge as Software;
use store::repositories::Repository;

use super::read::{Failed, File, Gathered, Tag, Tree, parse};
use crate::{
    forge::{self, Forge, Looked, NoAnswer, Wanted, Which},
    git::{
        Blob, Entry, EntryKind,
        remote::{Ref, Refs, RemoteError},
    },
    http::{Http, Session},
};

/// More pages of tags than any repository has.
const MOST_PAGES: usize = 10_000;

/// A repository behind the API of its forge.
#[derive(Debug)]
pub(super) struct Api {
    client: Box<dyn Forge>,
    which: Which,
    session: Session,
    /// Times of commits, as far as the list of tags told them.
    times: HashMap<String, Timestamp>,
}

/// Whether somebody else at the same address might answer: nobody was reached, or we were not let
/// in.
pub(super) fn may_help(error: &RemoteError) -> bool {
    matches!(
        error,
        RemoteError::Unreachable { .. }
            | RemoteError::Unauthorized { .. }
            | RemoteError::Forbidden { .. }
            | RemoteError::Wall { .. }
            | RemoteError::Silent { .. }
            | RemoteError::TimedOut { .. }
    )
}

impl Api {
    /// The forge of a repository and its tags; none if there is no forge, or it does not answer
    /// either: then what git met counts.
    pub(super) async fn open(
        http: &Http,
        repository: &Repository,
        run: &Run,
    ) -> Result<Option<(Self, Refs)>, DbError> {
        let session = http.for_run(run);
        let guess = Software::from_word(&repository.forge).unwrap_or(Software::Git);
        let host = forge::look_up(run.db(), &session, &repository.host, guess).await?;
        let client = host
            .ok()
            .and_then(|host| forge::client(host.software, &repository.host, session.clone()));
        let Some(client) = client else {
            return Ok(None);
        };
        let mut api = Self {
            client,
            which: Which {
                number: repository.forge_id.clone(),
                owner: repository.owner.clone(),
                name: repository.name.clone(),
                was_empty: false,
            },
            session,
            times: HashMap::new(),
        };
        Ok(api.tags().await.ok().flatten().map(|refs| (api, refs)))
    }

    /// All tags; none if the forge does not show the repository.
    async fn tags(&mut self) -> Result<Option<Refs>, NoAnswer> {
        let mut refs = Refs::default();
        let mut next: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let page = self.client.tags(&self.which, next.as_deref()).await?;
            let page = match page {
                Looked::Here(page) => page,
                Looked::Empty => return Ok(Some(refs)),
                Looked::Missing | Looked::Blocked => return Ok(None),
            };
            for tag in page.tags {
                if let Some(time) = tag.committed_at {
                    self.times.insert(tag.commit.clone(), time);
                }
                refs.refs.push(Ref {
                    name: format!("refs/tags/{}", tag.name),
                    id: tag.commit,
                    peeled: None,
                });
            }
            if page.next.is_none() {
                refs.requests = self.requests();
                return Ok(Some(refs));
            }
            if page.next == next {
                break;
            }
            next = page.next;
        }
        Err(NoAnswer::Nonsense("the list of tags does not end".into()))
    }

    /// The trees that tags lead to, and the go.mod files in them that are not kept.
    pub(super) async fn gather(&self, groups: &[Vec<Tag>], db: &Db) -> Result<Gathered, Failed> {
        let before = self.requests();
        let mut gathered = Gathered::default();
        for tags in groups {
            let Some(commit) = tags.first().map(|tag| tag.target.as_str()) else {
                continue;
            };
            gathered.trees.push(self.tree(commit, tags).await?);
            if let Some(time) = self.times.get(commit) {
                gathered.times.insert(commit.to_owned(), *time);
            }
        }
        let unkept = gathered.take_kept(db).await?;
        let wanted: Vec<Wanted<'_>> = unkept.iter().map(|id| Wanted { id, size: None }).collect();
        for (id, blob) in self.client.blobs(&self.which, &wanted).await? {
            match blob {
                Blob::Bytes(body) => {
                    gathered.files.insert(id.clone(), parse(&body));
                    gathered.fresh.push((id, body));
                }
                Blob::TooLarge { .. } => drop(gathered.files.insert(id, File::TooLarge)),
                Blob::Missing => {}
            }
        }
        gathered.requests = self.requests().saturating_sub(before);
        Ok(gathered)
    }

    async fn tree(&self, commit: &str, tags: &[Tag]) -> Result<Option<Tree>, Failed> {
        let wanted = Tree::wanted(tags);
        let is_wanted = |entry: &Entry| {
            entry.kind == EntryKind::File
                && (wanted.contains(&entry.path) || Tree::is_go(&entry.path))
        };
        let looked = self.client.tree_at(&self.which, commit, &is_wanted).await?;
        let tree = match looked {
            Looked::Here(tree) => tree,
            Looked::Empty => return Ok(None),
            Looked::Missing | Looked::Blocked => {
                let why = format!("the tree of {commit:.64} is not shown");
                return Err(NoAnswer::Nonsense(why).into());
            }
        };
        if let Some(cut) = tree.cut {
            return Err(NoAnswer::Nonsense(cut).into());
        }
        Ok(Some(Tree::of(commit, &tree.files, &wanted)))
    }

    fn requests(&self) -> usize {
        usize::try_from(self.session.log().requests).unwrap_or(usize::MAX)
    }
}

impl Tree {
    fn of(commit: &str, files: &[Entry], wanted: &BTreeSet<String>) -> Self {
        let go_mods = files.iter().filter(|entry| wanted.contains(&entry.path));
        Self {
            commit: commit.to_owned(),
            go_mods: go_mods
                .map(|entry| (entry.path.clone(), entry.id.clone()))
                .collect(),
            has_go: files.iter().any(|entry| Self::is_go(&entry.path)),
        }
    }
}
