//! The forges' repositories over git itself, as every forge serves them beside its API.
//!
//! A repository is made when it is first asked for, from the same files that the API tells of, and
//! made anew when those have changed. Who is answered by git and who is not follows the API: what is
//! deleted or hidden is not there, what moved leads on.

use std::{
    collections::HashMap,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, PoisonError, RwLock},
};

use axum::{
    body::Body,
    http::{Request, Response, StatusCode, header},
    response::IntoResponse as _,
};
use tokio::sync::Mutex;
use tower::ServiceExt as _;

use crate::{
    git_server::GitServer,
    upstream::{Caller, Site},
    world::{File, Lookup},
};

/// All forges' repositories, as far as somebody asked for them.
#[derive(Debug, Default)]
pub(crate) struct GitForge {
    made: Mutex<Made>,
    directory: std::sync::Mutex<Option<tempfile::TempDir>>,
    /// Whoever makes a repository holds this; true once nobody may any more.
    closed: Arc<RwLock<bool>>,
}

#[derive(Debug, Default)]
struct Made {
    /// By host and path: the id of the tree they were made of.
    trees: HashMap<String, String>,
}

/// What is to be served.
enum Found {
    Here {
        tree: String,
        branch: String,
        pushed: i64,
        files: Vec<File>,
    },
    Moved(String),
    Nothing,
}

/// The path of the repository that git asks about, and what follows it.
pub(crate) fn asked(uri: &axum::http::Uri) -> Option<(String, &'static str)> {
    let path = uri.path();
    let ending = ["/info/refs", "/git-upload-pack"]
        .into_iter()
        .find(|ending| path.ends_with(ending))?;
    let is_git = ending == "/git-upload-pack"
        || uri
            .query()
            .is_some_and(|query| query.contains("service=git-upload-pack"));
    let repository = path.strip_suffix(ending)?.trim_matches('/');
    let repository = repository.strip_suffix(".git").unwrap_or(repository);
    is_git.then(|| (repository.to_owned(), ending))
}

impl GitForge {
    /// Answers git about a repository of a forge.
    pub(crate) async fn answer(
        &self,
        site: &Site,
        repository: &str,
        ending: &str,
        mut request: Request<Body>,
    ) -> Response<Body> {
        let caller = request.extensions().get::<Caller>().cloned();
        let found = find(site, repository, caller.as_ref());
        let (tree, branch, pushed, files) = match found {
            Found::Nothing => return StatusCode::NOT_FOUND.into_response(),
            Found::Moved(to) => {
                let place = format!("{}/{to}.git{ending}?service=git-upload-pack", site.host_url);
                return (StatusCode::MOVED_PERMANENTLY, [(header::LOCATION, place)])
                    .into_response();
            }
            Found::Here {
                tree,
                branch,
                pushed,
                files,
            } => (tree, branch, pushed, files),
        };
        let key = format!("{}/{}", site.name, repository.to_lowercase());
        let served = self.make(&key, tree, branch, pushed, files).await;
        let Ok(directory) = served else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        let query = request.uri().query().map(|query| format!("?{query}"));
        let path = format!("/{key}.git{ending}{}", query.unwrap_or_default());
        if let Ok(uri) = path.parse() {
            *request.uri_mut() = uri;
        }
        let answer = GitServer::new(&directory).router().oneshot(request).await;
        answer.unwrap_or_else(|never| match never {})
    }

    /// Removes all repositories. Tasks that still hold on to the world may never be dropped, so this
    /// does not wait for them, but for those that are just making one.
    pub(crate) fn close(&self) {
        *self.closed.write().unwrap_or_else(PoisonError::into_inner) = true;
        let directory = self.directory.lock();
        drop(directory.unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Where all repositories lie.
    fn top(&self) -> io::Result<PathBuf> {
        let directory = self.directory.lock();
        let mut directory = directory.unwrap_or_else(PoisonError::into_inner);
        if directory.is_none() {
            if *self.closed.read().unwrap_or_else(PoisonError::into_inner) {
                return Err(io::Error::other("the world has ended"));
            }
            let new = tempfile::Builder::new()
                .prefix("gleaner-sim-git-")
                .tempdir()?;
            *directory = Some(new);
        }
        let top = directory.as_ref().map(|one| one.path().to_owned());
        top.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Makes a repository, or finds the one that was made of the same files.
    async fn make(
        &self,
        key: &str,
        tree: String,
        branch: String,
        pushed: i64,
        files: Vec<File>,
    ) -> io::Result<PathBuf> {
        let mut made = self.made.lock().await;
        let top = self.top()?;
        if made.trees.get(key) != Some(&tree) {
            let place = top.join(format!("{key}.git"));
            let closed = Arc::clone(&self.closed);
            let work = move || {
                let closed = closed.read().unwrap_or_else(PoisonError::into_inner);
                if *closed {
                    return Err(io::Error::other("the world has ended"));
                }
                import(&place, &branch, pushed, &files)
            };
            tokio::task::spawn_blocking(work)
                .await
                .map_err(io::Error::other)??;
            made.trees.insert(key.to_owned(), tree);
        }
        Ok(top)
    }
}

fn find(site: &Site, repository: &str, caller: Option<&Caller>) -> Found {
    let looked = site
        .world
        .look(&site.name, |forge| match forge.look_up(repository) {
            Lookup::Here(found) if caller.is_some_and(|caller| caller.sees(found)) => {
                let tree = forge.tree(found);
                Found::Here {
                    tree: format!("{} {}", tree.id(), found.empty),
                    branch: found.default_branch.clone(),
                    pushed: found.pushed_at.as_second(),
                    files: if found.empty {
                        Vec::new()
                    } else {
                        tree.files().cloned().collect()
                    },
                }
            }
            Lookup::Moved(found) if caller.is_some_and(|caller| caller.sees(found)) => {
                Found::Moved(found.path())
            }
            _ => Found::Nothing,
        });
    looked.unwrap_or(Found::Nothing)
}

/// One commit of these files on one branch, whatever was there before.
fn import(place: &Path, branch: &str, pushed: i64, files: &[File]) -> io::Result<()> {
    git(
        &["init", "--quiet", "--bare", "--initial-branch", branch],
        place,
        b"",
    )?;
    if files.is_empty() {
        return Ok(());
    }
    let mut stream = Vec::new();
    writeln!(
        stream,
        "reset refs/heads/{branch}\ncommit refs/heads/{branch}"
    )?;
    writeln!(
        stream,
        "committer Sim <sim@example.org> {} +0000",
        pushed.max(0)
    )?;
    writeln!(stream, "data 5\npush\n\ndeleteall")?;
    for file in files {
        writeln!(
            stream,
            "M 100644 inline {}\ndata {}",
            file.path,
            file.contents.len()
        )?;
        stream.extend_from_slice(&file.contents);
        stream.push(b'\n');
    }
    git(&["fast-import", "--quiet", "--force"], place, &stream)
}

fn git(args: &[&str], place: &Path, input: &[u8]) -> io::Result<()> {
    let mut command = Command::new("git");
    command
        .arg("--git-dir")
        .arg(place)
        .args(args)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env_remove("GIT_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    std::fs::create_dir_all(place)?;
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input)?;
    }
    if child.wait()?.success() {
        Ok(())
    } else {
        Err(io::Error::other("git failed"))
    }
}
