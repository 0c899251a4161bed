//! A Python package index: crawled fully, then followed for ever.
//!
//! | kind | asks | does |
//! |---|---|---|
//! | `pypi/crawl` | the index | lists all projects, has each read, and sets the floor |
//! | `pypi/follow` | the index | finds what changed, has it read, and moves the safe serial on |
//! | `pypi/audit` | the index | compares all projects with the root, and reports what differs |
//! | `pypi/project` | the index | reads the page of a project, and what happened to its files |
//! | `pypi/file` | where the file lies | reads a distribution: requirements, modules |
//! | `pypi/number` | nobody | gives numbers to changes, for those who follow them |
//! | `pypi/dump` | nobody | writes what changed into files |
//! | `pypi/dataset` | nobody | builds look-up files from dumps |
//!
//! The seed's words: `ProcessAllProjects` is `pypi/crawl`, whose fan-in is the engine's, without
//! shards; `PeriodicallyProcessChangelog` and `ProcessChangelog` are `pypi/follow`; `ProcessProject`
//! and `ProcessDistribution` are `pypi/project` and `pypi/file`. The changelog only says *which*
//! projects changed: what changed is found by comparing the page with what is known, so that
//! removals of whole releases, yanks and quarantine come for free.

mod address;
mod audit;
mod chosen;
mod compare;
mod crawl;
pub mod dataset;
mod desk;
pub mod dump;
mod file;
mod follow;
mod index;
mod kept_parts;
mod number;
mod project;
mod remote_file;
mod window;

use std::time::Duration;

use db::{Db, Timestamp};
use engine::{Enqueue, Requirement, RunError};
use scan::python::Limits;

use self::index::{Index, Manner};
pub use self::{
    address::{AddressFault, IndexAddress, UPSTREAM},
    audit::{PypiAudit, unit as audit_unit},
    chosen::Chosen,
    crawl::{PypiCrawl, unit as crawl_unit},
    dataset::PypiDataset,
    desk::Desk,
    dump::PypiDump,
    file::{PypiFile, unit_at as file_unit},
    follow::{PypiFollow, unit as follow_unit},
    kept_parts::KeptParts,
    number::{PypiNumber, unit as number_unit},
    project::{PypiProject, unit as project_unit},
    remote_file::{MOST_WHOLE, RemoteFault, RemoteFile, RemoteRead, Told, read_remote, read_told},
};
use crate::http::{Http, Session, UpstreamSettings};

/// The slots of the round.
const POOL: &str = "pypi";
/// After this a run of it has hung: a full build of datasets may take more than an hour.
const MAX_RUN: Duration = Duration::from_hours(2);

/// What is set about the index.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it is; else where the store says that it is.
    pub address: Option<IndexAddress>,
    /// Which projects are wanted.
    pub chosen: Chosen,
    /// So many serials below the safe one are looked at again, since lines of a changelog may
    /// become visible after lines with higher serials.
    pub overlap: i64,
    /// How often every page is asked for, where neither a changelog nor serials tell what changed.
    pub page_cadence: Duration,
    /// How long a window waits for a project or a file that fails.
    pub patience: Duration,
    /// What is read of a stranger's archive.
    pub limits: Limits,
    /// Bytes of all files together that are kept to be read again.
    pub keep_bytes: i64,
    /// Whether a window whose files have been read and numbered is dumped.
    pub dump: bool,
    /// Whether datasets are built from the dumps.
    pub datasets: bool,
    manner: Manner,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            address: None,
            chosen: Chosen::default(),
            overlap: 5_000,
            page_cadence: Duration::from_hours(24),
            patience: Duration::from_mins(15),
            limits: Limits::default(),
            keep_bytes: 4 << 30,
            dump: true,
            datasets: true,
            manner: Manner::default(),
        }
    }
}

impl Settings {
    /// Where the index is: as it is set, else where the one is that a person had crawled.
    async fn located(&self, db: &Db, http: &Http) -> Result<IndexAddress, RunError> {
        if let Some(address) = &self.address {
            return Ok(address.clone());
        }
        let known = store::pypi::address(db).await?;
        let known = known.ok_or_else(|| RunError::unit("nobody has said where the index is"))?;
        let address = IndexAddress::parse(&known)
            .map_err(RunError::unit)?
            .by_host();
        let upstream = UpstreamSettings {
            // Whoever had it crawled wants it asked, wherever it lies.
            allow_private: true,
            ..UpstreamSettings::at(address.origin())
        };
        http.introduce(address.upstream(), &upstream)
            .map_err(RunError::unit)?;
        Ok(address)
    }

    /// What follows on a window; it is over when this has ended. A dump has the datasets built.
    fn stages(&self, now: Timestamp) -> Vec<Requirement> {
        let next = match (self.dump, self.datasets) {
            (true, datasets) => dump::incremental(datasets),
            (false, true) => dataset::unit(),
            (false, false) => return Vec::new(),
        };
        vec![Requirement::soft(next.now()).since(now)]
    }

    fn index<'r>(&'r self, session: &'r Session, address: &'r IndexAddress) -> Index<'r> {
        Index {
            session,
            address,
            manner: &self.manner,
        }
    }
}

/// What following an index takes: the unit that follows, the nightly audit, the numbers.
pub fn follow_units(address: &IndexAddress) -> Vec<Enqueue> {
    vec![follow_unit(address), audit_unit(address), number_unit()]
}
