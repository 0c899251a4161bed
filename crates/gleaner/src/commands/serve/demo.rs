//! `serve --demo`: a few generated repositories and a simulated world, all of it gone afterwards.
//!
//! Every upstream is the world's double of it, so nothing leaves this machine. A group follows the
//! same organisation on every forge. Time passes faster than in life, for the work and for the
//! world alike: cadences of days come round while one looks on.

use std::{collections::BTreeMap, path::Path, process::Stdio};

use ::db::{Clock, Db, migrate};
use engine::{Engine, Worker};
use facts::repository::RepositoryUrl;
use sim::{Server, WorldClock, WorldSize};
use store::group_sources::Wanted;

use crate::{
    commands::{group, mail, repo},
    config::{Settings, Upstream},
    error::{Failure, Result, at_database, codes},
    outside, rounds,
    session::{PARTS, Session},
};

/// The same trees every time, so that the pages in the documentation are those that people see.
const SEED: u64 = 1;
const REPOSITORIES: usize = 12;
/// Of the organisation, on each forge.
const SIMULATED: usize = 40;
/// An hour in a minute.
const SPEED: f64 = 60.0;
/// The world takes any token; with one, its GitHub allows more.
const TOKEN: &str = "demo";

/// The demo's world; it ends, and the directory goes, when this is dropped.
pub(super) struct Demo {
    pub(super) engine: Engine,
    settings: Settings,
    directory: tempfile::TempDir,
    _world: Server,
}

impl Demo {
    /// Makes repositories, a world, and a database with their work in it.
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
        let clock = Clock::scaled(Clock::system().now(), SPEED);
        let world = world(&clock).await?;
        let mut settings = session.settings()?.clone();
        settings.upstreams = doubles(&world, directory.path())?;
        settings.fetched = directory.path().join("git");
        settings.home = directory.path().to_owned();
        settings.objects.url = None;
        // Nothing to install, and the same answers on every machine.
        "builtin".clone_into(&mut settings.license.scanner);
        settings.license.home = directory.path().join("license");
        let index = world.host_url(collect::pypi::UPSTREAM);
        settings.pypi.index_url = index.map(|index| format!("{index}/simple/"));
        let url = format!("sqlite:{}", directory.path().join("demo.db").display());
        let db = Db::connect(&url, &settings.database.connection()).await;
        let db = db.map_err(|error| at_database(&url, error))?;
        migrate(&db, PARTS, &clock).await?;
        let engine = Engine::new(db, clock);
        repo::add_batch(&engine, &addresses, None, &settings).await?;
        let forges = follow(&engine, &world).await?;
        let lists = register_lists(&engine).await?;
        crawl_index(&engine, &settings).await?;
        session.printer.note(&format!(
            "a demo of {} generated repositories, {forges} simulated forges, {lists} mailing lists and a Python index; nothing is kept",
            addresses.len()
        ));
        Ok(Self {
            engine,
            settings,
            directory,
            _world: world,
        })
    }

    /// A worker that asks nobody but the demo's world.
    pub(super) fn worker(&self, only: &[String]) -> Result<Worker> {
        let outside = outside::with_environment(&self.engine, &self.settings, &[])?;
        rounds::worker_in(outside, self.engine.clone(), &self.settings, only)
    }

    /// What every page says.
    pub(super) fn banner(&self) -> String {
        let place = self.directory.path().display();
        format!(
            "This is the demo: generated repositories in {place} and simulated forges, gone when it ends."
        )
    }
}

async fn world(clock: &Clock) -> Result<Server> {
    let follows = clock.clone();
    let world = Server::start(sim::Config {
        seed: SEED,
        size: WorldSize {
            repositories: SIMULATED / 4,
            organisation: SIMULATED,
        },
        clock: WorldClock::given(SPEED, move || follows.now().as_micros()),
        ..sim::Config::default()
    });
    world.await.map_err(|error| {
        Failure::new(&codes::PORT, "the demo cannot listen on the loopback").caused_by(&error)
    })
}

/// Every upstream at its double's address, with a token.
fn doubles(world: &Server, directory: &Path) -> Result<BTreeMap<String, Upstream>> {
    let token = directory.join("token");
    write(&token, TOKEN)?;
    let doubles = world.upstreams().map(|name| {
        let upstream = Upstream {
            base_url: world.host_url(name),
            token_files: vec![token.clone()],
        };
        (name.to_owned(), upstream)
    });
    Ok(doubles.collect())
}

/// Lets a group follow the organisation on every forge; tells how many there are.
async fn follow(engine: &Engine, world: &Server) -> Result<usize> {
    let name = group::parse_name(sim::ORGANISATION)?;
    let wanted = Wanted {
        forks: true,
        archived: true,
    };
    let forges = world
        .upstreams()
        .filter(|upstream| world.world().look(upstream, |_| ()).is_some());
    let mut followed = 0;
    for forge in forges {
        let owner = group::parse_owner(&format!("https://{forge}/{}", sim::ORGANISATION))?;
        group::attach(engine, &name, &owner, wanted).await?;
        followed += 1;
    }
    Ok(followed)
}

/// Has the mail of the world's lists read.
async fn register_lists(engine: &Engine) -> Result<usize> {
    let lists = ["dev@meadow.apache.org", "users@meadow.apache.org"];
    for address in lists {
        mail::register::register_pony_mail(engine, address, "https://lists.apache.org").await?;
    }
    Ok(lists.len())
}

/// Has the world's Python index read, and followed when that is done.
async fn crawl_index(engine: &Engine, settings: &Settings) -> Result<()> {
    if let Some(found) = outside::python_index::find(settings, &[])? {
        let address = &found.address;
        let mut units = vec![collect::pypi::crawl_unit(address, None)];
        units.extend(collect::pypi::follow_units(address));
        engine.enqueue(units).await?;
    }
    Ok(())
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
        write(&file, text)?;
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

fn write(file: &Path, text: &str) -> Result<()> {
    let directory = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = directory.and_then(|()| std::fs::write(file, text));
    written.map_err(|error| {
        let message = format!("cannot write `{}`", file.display());
        Failure::new(&codes::NOT_WRITABLE, message).caused_by(&error)
    })
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
