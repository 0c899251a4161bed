//! A repository on this machine: bare or with a work tree.

use std::path::{Path, PathBuf};

use super::{GitError, Limits, command::Git};

/// A repository that was found at a path.
#[derive(Clone, Debug)]
pub struct Local {
    git_dir: PathBuf,
    limits: Limits,
    /// Blobs may be missing, so nobody asks for their sizes.
    partial: bool,
}

/// What a repository's default branch leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A commit.
    Commit {
        /// The id of the commit.
        id: String,
        /// The branch, without `refs/heads/`; none when a commit is checked out directly.
        branch: Option<String>,
    },
    /// The repository has no commits yet.
    Empty,
}

impl Local {
    /// Opens the repository at exactly this path; a directory inside a work tree is none.
    pub async fn open(path: &Path, limits: Limits) -> Result<Self, GitError> {
        if !tokio::fs::try_exists(path).await.unwrap_or(false) {
            return Err(GitError::NotThere(path.to_owned()));
        }
        // `.git` may be a directory, or a file that leads to one (work trees, submodules).
        let inner = path.join(".git");
        let git_dir = if tokio::fs::try_exists(&inner).await.unwrap_or(false) {
            inner
        } else {
            path.to_owned()
        };
        let git_dir = std::path::absolute(&git_dir).unwrap_or(git_dir);
        let said = Git::new(&git_dir, "rev-parse", limits.time)
            .args(["--absolute-git-dir"])
            .say()
            .await?;
        if !said.status.success() || said.stdout.is_empty() {
            return Err(GitError::NotARepository(path.to_owned()));
        }
        Ok(Self {
            git_dir,
            limits,
            partial: false,
        })
    }

    /// Where the default branch leads.
    pub async fn head(&self) -> Result<Head, GitError> {
        let branch = self
            .git("symbolic-ref")
            .args(["--quiet", "HEAD"])
            .say()
            .await?;
        let branch = branch.status.success().then_some(branch.stdout);
        if let Some(id) = self.commit("HEAD").await? {
            let branch = branch.as_deref().map(short);
            return Ok(Head::Commit { id, branch });
        }
        // HEAD may name a branch that nobody made while the work is on another one.
        let branches = self
            .git("for-each-ref")
            .args(["--count=1000", "--format=%(refname)", "refs/heads"])
            .tell()
            .await?;
        let branches: Vec<&str> = branches.lines().collect();
        let other = ["refs/heads/main", "refs/heads/master"]
            .into_iter()
            .find(|usual| branches.contains(usual))
            .or_else(|| branches.first().copied());
        let Some(other) = other else {
            return Ok(Head::Empty);
        };
        match self.commit(other).await? {
            Some(id) => Ok(Head::Commit {
                id,
                branch: Some(short(other)),
            }),
            None => Err(GitError::Failed {
                command: "rev-parse",
                message: format!("{other} leads to no commit"),
            }),
        }
    }

    /// The id of a commit's tree.
    pub async fn tree_id(&self, commit: &str) -> Result<String, GitError> {
        let name = format!("{commit}^{{tree}}");
        self.git("rev-parse")
            .args(["--verify", "--end-of-options", &name])
            .tell()
            .await
    }

    /// A repository that was made here.
    pub(super) fn fetched(git_dir: &Path, limits: Limits) -> Self {
        Self {
            git_dir: git_dir.to_owned(),
            limits,
            partial: false,
        }
    }

    pub(super) fn set_partial(&mut self, partial: bool) {
        self.partial = partial;
    }

    pub(super) fn is_partial(&self) -> bool {
        self.partial
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn git(&self, name: &'static str) -> Git {
        Git::new(&self.git_dir, name, self.limits.time)
    }

    /// The commit a name leads to; none when there is no such name. A name that leads to something
    /// missing or broken is an error: that is not knowledge.
    async fn commit(&self, name: &str) -> Result<Option<String>, GitError> {
        let named = self
            .git("rev-parse")
            .args(["--verify", "--quiet", "--end-of-options", name])
            .say()
            .await?;
        if !named.status.success() {
            return Ok(None);
        }
        let id = self
            .git("rev-parse")
            .args([
                "--verify",
                "--end-of-options",
                &format!("{name}^{{commit}}"),
            ])
            .tell()
            .await?;
        Ok(Some(id))
    }
}

fn short(branch: &str) -> String {
    branch
        .strip_prefix("refs/heads/")
        .unwrap_or(branch)
        .to_owned()
}
