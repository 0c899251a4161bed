//! The web's end of `serve` and `web`: the listener, the readiness, the end.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use ::db::{Db, schema_state, sql};
use engine::Engine;
use serve::{Readiness, Recorder, Web};
use store::datasets::Library;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    error::{Failure, Result, codes},
    objects, outside,
    session::{PARTS, Session},
    stop::Stop,
};

/// An address that is ours; nobody is answered yet.
pub(super) struct Listening {
    listener: TcpListener,
    hook_secrets: Vec<String>,
    library: Option<Library>,
}

/// A web that answers.
pub(super) struct Answering(JoinHandle<std::io::Result<()>>);

impl Listening {
    pub(super) async fn bind(session: &Session, address: SocketAddr) -> Result<Self> {
        let refuse = |error: std::io::Error| {
            Failure::new(&codes::PORT, format!("cannot listen on {address}"))
                .caused_by(&error)
                .hint("choose another address with `--listen`, or port 0 for any that is free")
        };
        let hook_secrets = hook_secrets(session)?;
        let listener = TcpListener::bind(address).await.map_err(refuse)?;
        let bound = listener.local_addr().map_err(refuse)?;
        if !bound.ip().is_loopback() {
            let message = format!("everybody who can reach {bound} can read");
            session.printer.warning(&message);
        }
        session
            .printer
            .note(&format!("listening on http://{bound}/"));
        Ok(Self {
            listener,
            hook_secrets,
            library: None,
        })
    }

    /// Answers questions about the Python index too. Everything else works without.
    pub(super) fn with_datasets(mut self, session: &Session) -> Result<Self> {
        let copies = session.settings()?.home.join("cache/datasets");
        match objects::open(session) {
            Ok(objects) => self.library = Some(Library::new(objects, copies)),
            Err(failure) => session.printer.warning(failure.message()),
        }
        Ok(self)
    }

    /// Answers until `shutdown`.
    pub(super) fn answer(
        self,
        engine: Engine,
        banner: Option<String>,
        shutdown: CancellationToken,
    ) -> Answering {
        let readiness = readiness(engine.db().clone());
        let web = Web::new(engine, Recorder::install(), readiness);
        let mut web = web.hook_secrets(self.hook_secrets);
        if let Some(library) = self.library {
            web = web.library(library);
        }
        if let Some(banner) = banner {
            web = web.banner(banner);
        }
        let shutdown = shutdown.cancelled_owned();
        Answering(tokio::spawn(serve::serve(self.listener, web, shutdown)))
    }
}

impl Answering {
    /// Waits until the last answer is given, or somebody is in a hurry.
    pub(super) async fn ended(self, stop: &Stop) -> Result<()> {
        let ended = tokio::select! {
            ended = self.0 => ended,
            () = stop.at_once.cancelled() => return Err(Failure::interrupted()),
        };
        let failed = match ended {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error,
            Err(error) => std::io::Error::other(error),
        };
        Err(Failure::new(&codes::PORT, "the web has ended by itself").caused_by(&failed))
    }
}

/// What proves that a hook comes from a forge.
fn hook_secrets(session: &Session) -> Result<Vec<String>> {
    let files = &session.settings()?.goindex.hook_secret_files;
    let read = |path: &PathBuf| outside::secret(path, "[goindex]");
    files.iter().map(read).collect()
}

/// What `/readyz` asks: does the database answer, and is its schema ours?
fn readiness(db: Db) -> Readiness {
    Arc::new(move || {
        let db = db.clone();
        Box::pin(async move {
            let database = match db.fetch_one(sql!("SELECT 1 AS one")).await {
                Ok(_) => Ok("answers".to_owned()),
                Err(error) => Err(error.to_string()),
            };
            vec![("database", database), ("schema", schema(&db).await)]
        })
    })
}

async fn schema(db: &Db) -> Result<String, String> {
    let states = schema_state(db, PARTS).await;
    for state in states.map_err(|error| error.to_string())? {
        state.check().map_err(|error| error.to_string())?;
    }
    Ok("current".to_owned())
}
