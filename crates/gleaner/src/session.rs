//! What one run of the program shares: flags, printer, settings, and the database when it is
//! needed. Settings are read on first use, so that `help`, `manifest` and `completions` work beside
//! a broken configuration.

use std::{cell::OnceCell, path::PathBuf};

use db::{Clock, Db, Part};
use engine::Engine;

use crate::{
    cli::GlobalArgs,
    clock,
    config::{self, Config, Overrides, Settings},
    data_directory,
    error::{Exit, Failure, Result, at_database, codes},
    logging,
    printer::Printer,
};

/// The tables of every room that has some.
pub(crate) const PARTS: &[Part] = &[engine::PART, store::PART];

/// One run of the program.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) printer: Printer,
    global: GlobalArgs,
    config: OnceCell<Config>,
    settings: OnceCell<Settings>,
}

impl Session {
    pub(crate) fn new(global: GlobalArgs) -> Self {
        Self {
            printer: Printer::new(global.format, global.quiet),
            global,
            config: OnceCell::new(),
            settings: OnceCell::new(),
        }
    }

    pub(crate) fn start_logging(&self, long_running: bool) {
        let GlobalArgs { verbose, quiet, .. } = self.global;
        logging::start(&self.printer, verbose, quiet, long_running);
    }

    /// The configuration with its origins; `listen` is the flag of the commands that have it.
    pub(crate) fn config(&self, listen: Option<&str>) -> Result<&Config> {
        if let Some(config) = self.config.get() {
            return Ok(config);
        }
        let mut flags = Vec::new();
        if let Some(url) = &self.global.database {
            flags.push(("database", "url", "--database", url.clone()));
        }
        if let Some(address) = listen {
            flags.push(("server", "listen", "--listen", address.to_owned()));
        }
        let config = Config::load(&Overrides {
            file: self.global.config.clone(),
            flags,
            environment: config::environment(),
        })?;
        for warning in &config.warnings {
            self.printer.warning(warning);
        }
        Ok(self.config.get_or_init(|| config))
    }

    /// The settings that hold, without a `--listen`.
    pub(crate) fn settings(&self) -> Result<&Settings> {
        self.settings_with(None)
    }

    /// The settings that hold.
    pub(crate) fn settings_with(&self, listen: Option<&str>) -> Result<&Settings> {
        let config = self.config(listen)?;
        Ok(self.settings.get_or_init(|| {
            let mut settings = config.settings();
            if let Ok(data) = self.data_directory() {
                settings.fetched = data.join("git");
                settings.home.clone_from(&data);
                if !settings.license.home_is_set {
                    settings.license.home = data.join("license");
                }
            }
            settings
        }))
    }

    /// Whether the command line names a store.
    pub(crate) fn names_a_store(&self) -> bool {
        self.global.data.is_some() || self.global.database.is_some()
    }

    /// The data directory; it need not exist yet.
    pub(crate) fn data_directory(&self) -> Result<PathBuf> {
        data_directory::locate(self.global.data.as_deref())
    }

    /// The address of the database; makes the data directory when it is the default one.
    pub(crate) fn database_url(&self) -> Result<String> {
        match &self.settings()?.database.url {
            Some(url) => Ok(url.clone()),
            None => data_directory::default_database(&self.data_directory()?),
        }
    }

    /// Opens the database as it is.
    pub(crate) async fn connect(&self) -> Result<Db> {
        let url = self.database_url()?;
        let connection = self.settings()?.database.connection();
        let db = Db::connect(&url, &connection).await;
        db.map_err(|error| at_database(&url, error))
    }

    /// Opens the database and brings its schema up.
    pub(crate) async fn open(&self) -> Result<(Db, Clock)> {
        let db = self.connect().await?;
        let clock = clock::clock()?;
        let ready = async {
            db.discipline(&clock).await?;
            db::migrate(&db, PARTS, &clock).await
        };
        match ready.await {
            Ok(_) => Ok((db, clock)),
            Err(error) => Err(at_database(&self.database_url()?, error)),
        }
    }

    /// SQLite says only that writing failed; a look at the disk tells whether it was full.
    pub(crate) fn look_closer(&self, failure: Failure) -> Failure {
        let Some(settings) = self.settings.get() else {
            return failure;
        };
        let directory = match settings.database.url.as_deref() {
            Some(url) => url.strip_prefix("sqlite:").map(data_directory::of_file),
            None => self.data_directory().ok(),
        };
        let Some(directory) = directory else {
            return failure;
        };
        let failure = match failure.exit() {
            Exit::Unavailable if data_directory::is_full(&directory) => {
                failure.recode(&codes::FULL).hint(data_directory::MAKE_ROOM)
            }
            _ => failure,
        };
        if failure.code().name == codes::FULL.name {
            return failure.hint(format!("the database is in `{}`", directory.display()));
        }
        failure
    }

    /// Opens the database and the engine on it.
    pub(crate) async fn engine(&self) -> Result<Engine> {
        let (db, clock) = self.open().await?;
        Ok(Engine::new(db, clock))
    }
}
