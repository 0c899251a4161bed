//! From a repository to the files of its tree.

use std::{path::Path, sync::Arc};

use engine::Run;
use facts::repository::{Forge, RepositoryUrl};
use store::repositories::Repository;
use tokio::sync::OnceCell;

use super::{Settings, stop::Stop};
use crate::git::{
    Blob, Entry, Head, Local,
    remote::{self, Contents, Fetched, Remote, RemoteError, Remotes, Want},
};

/// Who asks: a run, which keeps to what its upstream allows and tells how it went, or a person.
pub(super) type Asker<'a> = Option<&'a Run>;

async fn ask<T>(
    asker: Asker<'_>,
    question: impl Future<Output = Result<T, RemoteError>>,
) -> Result<T, Stop> {
    // Boxed: it lies deep, and every caller would hold it whole.
    let question = Box::pin(question);
    match asker {
        Some(run) => Ok(remote::ask(run, question).await??),
        None => Ok(question.await?),
    }
}

/// The way to repositories, opened when the first one is asked.
#[derive(Clone, Debug)]
pub(super) struct Way {
    settings: Arc<Settings>,
    remotes: Arc<OnceCell<Remotes>>,
}

/// Where a repository's default branch leads.
#[derive(Debug)]
pub(super) enum Leads {
    /// To a commit.
    To(String),
    /// Nowhere: it has no commits.
    Nowhere,
}

/// A repository that can be asked.
#[derive(Debug)]
pub(super) enum Source {
    /// On this machine.
    Here(Local),
    /// Elsewhere.
    There(Remote),
}

/// A commit that can be read.
#[derive(Debug)]
pub(super) enum Tree {
    Here(Local),
    Fetched(Box<Fetched>),
}

impl Way {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings: Arc::new(settings),
            remotes: Arc::default(),
        }
    }

    /// Finds a repository.
    pub(super) async fn to(&self, repository: &Repository) -> Result<Source, RemoteError> {
        let servers = &self.settings.servers;
        if repository.local {
            let limits = servers.git.limits.reading;
            let path = RepositoryUrl::parse(&repository.url)
                .ok()
                .and_then(|url| url.path())
                .unwrap_or_else(|| repository.url.clone());
            let local = Local::open(Path::new(&path), limits).await?;
            return Ok(Source::Here(local));
        }
        let open = || Remotes::open(servers.git.clone());
        let remotes = self.remotes.get_or_try_init(open).await?;
        Ok(Source::There(remotes.remote(&self.clone_url(repository))?))
    }

    /// The address that git is given.
    fn clone_url(&self, repository: &Repository) -> String {
        if let Some(base) = self.settings.servers.bases.get(&repository.host) {
            return format!("{}/{}.git", base.trim_end_matches('/'), repository.slug());
        }
        match Forge::from_word(&repository.forge) {
            // A plain server may serve exactly this address and no other.
            None | Some(Forge::Git | Forge::Local) => repository.url.clone(),
            Some(_) => format!("{}.git", repository.url.trim_end_matches(".git")),
        }
    }
}

impl Source {
    /// Asks where `HEAD` leads, and nothing else.
    pub(super) async fn head(&self, asker: Asker<'_>) -> Result<Leads, Stop> {
        match self {
            Self::Here(local) => Ok(match local.head().await.map_err(RemoteError::from)? {
                Head::Commit { id, .. } => Leads::To(id),
                Head::Empty => Leads::Nowhere,
            }),
            Self::There(remote) => {
                let refs = ask(asker, remote.refs(&["HEAD", "refs/heads/"])).await?;
                match refs.head.and_then(|head| head.id) {
                    Some(id) => Ok(Leads::To(id)),
                    None if refs.refs.is_empty() => Ok(Leads::Nowhere),
                    // There are branches, and nobody says which one counts.
                    None => Err(RemoteError::Damaged {
                        url: remote.url().to_owned(),
                        message: "its HEAD leads nowhere".to_owned(),
                    }
                    .into()),
                }
            }
        }
    }

    /// Gets the commit: with its files for a first visit, without them where most are known.
    pub(super) async fn tree(&self, first: bool, asker: Asker<'_>) -> Result<Tree, Stop> {
        match self {
            Self::Here(local) => Ok(Tree::Here(local.clone())),
            Self::There(remote) => {
                let contents = if first {
                    Contents::Whole
                } else {
                    Contents::Blobless
                };
                let fetched = ask(asker, remote.fetch(&[Want::Head], contents)).await?;
                Ok(Tree::Fetched(Box::new(fetched)))
            }
        }
    }
}

impl Tree {
    fn local(&self) -> &Local {
        match self {
            Self::Here(local) => local,
            Self::Fetched(fetched) => fetched.local(),
        }
    }

    /// The commit that came; it may be another one than was announced.
    pub(super) fn commit(&self, announced: &str) -> String {
        match self {
            Self::Here(_) => announced.to_owned(),
            Self::Fetched(fetched) => fetched.commit().unwrap_or(announced).to_owned(),
        }
    }

    pub(super) async fn id(&self, commit: &str) -> Result<String, RemoteError> {
        Ok(self.local().tree_id(commit).await?)
    }

    pub(super) async fn entries(&self, commit: &str) -> Result<Vec<Entry>, RemoteError> {
        Ok(self.local().tree(commit, |_| true).await?)
    }

    /// The contents of files, fetched where they are not here, each in its place.
    pub(super) async fn blobs(&self, ids: &[&str], asker: Asker<'_>) -> Result<Vec<Blob>, Stop> {
        let mut wanted: Vec<&str> = ids.to_vec();
        if let Self::Fetched(fetched) = self {
            let asker = asker.filter(|_| fetched.is_blobless());
            let completed = ask(asker, fetched.complete(ids)).await?;
            wanted.retain(|id| !completed.missing.iter().any(|missing| missing == id));
        }
        let mut found: Vec<Option<Blob>> = vec![None; wanted.len()];
        self.local()
            .blobs(&wanted, |place, blob| found[place] = Some(blob))
            .await
            .map_err(RemoteError::from)?;
        let mut by_id: std::collections::HashMap<&str, Blob> = wanted
            .into_iter()
            .zip(found)
            .filter_map(|(id, blob)| Some((id, blob?)))
            .collect();
        Ok(ids
            .iter()
            .map(|id| by_id.remove(id).unwrap_or(Blob::Missing))
            .collect())
    }
}
