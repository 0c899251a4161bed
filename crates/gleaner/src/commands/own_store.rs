//! A store for the time of one command, for those who ask the outside and keep nothing.

use ::db::{Db, migrate};
use engine::Engine;

use crate::{
    clock,
    error::{Failure, Result, at_database, codes},
    session::{PARTS, Session},
};

/// A store.
pub(crate) struct OwnStore {
    pub(crate) engine: Engine,
    /// Gone, with the database in it, when this is dropped.
    _directory: Option<tempfile::TempDir>,
}

impl OwnStore {
    /// The one that the command line names, else a new one.
    pub(crate) async fn of_command(session: &Session) -> Result<Self> {
        if session.names_a_store() {
            return Ok(Self {
                engine: session.engine().await?,
                _directory: None,
            });
        }
        let directory = tempfile::tempdir().map_err(|error| {
            Failure::new(&codes::NOT_WRITABLE, "there is no temporary directory")
                .caused_by(&error)
                .hint("set TMPDIR to a directory that you can write")
        })?;
        let url = format!("sqlite:{}", directory.path().join("own.db").display());
        let db = Db::connect(&url, &session.settings()?.database.connection()).await;
        let db = db.map_err(|error| at_database(&url, error))?;
        let clock = clock::clock()?;
        let ready = migrate(&db, PARTS, &clock).await;
        ready.map_err(|error| at_database(&url, error))?;
        Ok(Self {
            engine: Engine::new(db, clock),
            _directory: Some(directory),
        })
    }
}
