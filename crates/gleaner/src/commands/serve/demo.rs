//! `serve --demo`: a few generated repositories in a directory that is gone afterwards.

use std::{path::Path, process::Stdio};

use ::db::{Clock, Db, migrate};
use engine::Engine;
use facts::repository::RepositoryUrl;

use crate::{
    commands::repo,
    error::{Failure, Result, at_database, codes},
    session::{PARTS, Session},
};

/// The same trees every time, so that the pages in the documentation are those that people see.
const SEED: u64 = 1;
const REPOSITORIES: usize = 12;

/// The demo's world; the directory goes when this is dropped.
pub(super) struct Demo {
    pub(super) engine: Engine,
    directory: tempfile::TempDir,
}

impl Demo {
    /// Makes repositories and a database with their work in it.
    pub(super) async fn prepare(session: &Session) -> Result<Self> {
        let directory = tempfile::tempdir().map_err(|error| {
            Failure::new(&codes::NOT_WRITABLE, "there is no temporary directory")
                .caused_by(&error)
                .hint("set TMPDIR to a directory that you can write")
        })?;
        let mut addresses = Vec::new();
        for tree in sim::source_trees(SEED, REPOSITORIES) {
            let path = directory.path().join(&tree.name);
            make_repository(&path, &tree.files).await?;
            addresses.push(local_address(&path)?);
        }
        let url = format!("sqlite:{}", directory.path().join("demo.db").display());
        let connection = session.settings()?.database.connection();
        let db = Db::connect(&url, &connection).await;
        let db = db.map_err(|error| at_database(&url, error))?;
        let clock = Clock::system();
        migrate(&db, PARTS, &clock).await?;
        let engine = Engine::new(db, clock);
        repo::add_batch(&engine, &addresses, None).await?;
        session.printer.note(&format!(
            "a demo of {} generated repositories; nothing is kept",
            addresses.len()
        ));
        Ok(Self { engine, directory })
    }

    /// What every page says.
    pub(super) fn banner(&self) -> String {
        let place = self.directory.path().display();
        format!("This is the demo: generated repositories in {place}, gone when it ends.")
    }
}

fn local_address(path: &Path) -> Result<RepositoryUrl> {
    let path = path.to_string_lossy();
    RepositoryUrl::local(&path).map_err(|error| {
        let message = format!("`{path}` cannot hold the demo's repositories");
        Failure::new(&codes::NOT_WRITABLE, message).caused_by(&error)
    })
}

async fn make_repository(path: &Path, files: &[(String, String)]) -> Result<()> {
    for (name, text) in files {
        let file = path.join(name);
        let written = std::fs::create_dir_all(file.parent().unwrap_or(path))
            .and_then(|()| std::fs::write(&file, text));
        written.map_err(|error| {
            let message = format!("cannot write `{}`", file.display());
            Failure::new(&codes::NOT_WRITABLE, message).caused_by(&error)
        })?;
    }
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "--all"],
        &["commit", "--quiet", "--message=Begin"],
    ] {
        git(path, args).await?;
    }
    Ok(())
}

/// Runs git without the user's own settings, so that hooks and signing keep out of the demo.
async fn git(path: &Path, args: &[&str]) -> Result<()> {
    let output = tokio::process::Command::new("git")
        .args(["-c", "user.name=Demo", "-c", "user.email=demo@example.org"])
        .args(args)
        .current_dir(path)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env_remove("GIT_DIR")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await;
    let failure = |why: &str| {
        Failure::new(
            &codes::TOOL,
            format!("`git {}` failed: {why}", args.join(" ")),
        )
        .hint("install git and make sure that it is in PATH")
    };
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(failure(String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(failure(&error.to_string())),
    }
}
