//! What the configuration means: checked, typed, ready to be handed to the rooms.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

use facts::mail::MirrorHandling;

use super::{Config, Origin, SECTIONS, Value};

/// Everything that can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) server: Server,
    pub(crate) database: Database,
    pub(crate) objects: ObjectStore,
    pub(crate) work: Work,
    /// By the name of the section: `distribution`, `repo_metadata`…
    pub(crate) rounds: BTreeMap<&'static str, Round>,
    pub(crate) distribution: Distribution,
    pub(crate) goindex: GoIndex,
    pub(crate) license: License,
    pub(crate) mail: Mail,
    /// `[forge_activity]`: ask for the issues of all repositories.
    pub(crate) issues_of_all: bool,
    pub(crate) pypi: Pypi,
    /// By the name of the upstream: `deps.dev`, `github.com`…
    pub(crate) upstreams: BTreeMap<String, Upstream>,
    pub(crate) pools: BTreeMap<String, Pool>,
    /// Where git keeps what it fetches; below the data directory where there is one.
    pub(crate) fetched: PathBuf,
    /// The data directory, where there is one.
    pub(crate) home: PathBuf,
}

/// `[server]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) listen: SocketAddr,
}

/// `[database]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Database {
    /// `None`: SQLite in the data directory.
    pub(crate) url: Option<String>,
    pub(crate) max_connections: u32,
    pub(crate) timeout: Duration,
    pub(crate) statement_cache: bool,
    pub(crate) sync_every_commit: bool,
    /// In bytes.
    pub(crate) min_free: u64,
}

/// `[objects]`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObjectStore {
    /// `None`: a directory below the data directory.
    pub(crate) url: Option<String>,
    pub(crate) endpoint: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) access_key_file: Option<PathBuf>,
    pub(crate) secret_key_file: Option<PathBuf>,
}

/// `[work]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) shutdown_grace: Duration,
    pub(crate) dead_after: Duration,
    pub(crate) keep_done: Duration,
    pub(crate) immediate_partial_retry: bool,
}

/// `[distribution]` and the other rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    pub(crate) enabled: bool,
    pub(crate) workers: u32,
    /// Only when it was set: the collectors declare their own.
    pub(crate) cadence: Option<Duration>,
    /// Likewise.
    pub(crate) max_run: Option<Duration>,
}

/// `[distribution]`, beside what every round has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Distribution {
    pub(crate) cross_check: bool,
    pub(crate) immediate_partial_retry: bool,
    pub(crate) polite_address: Option<String>,
    pub(crate) user_agent: Option<String>,
}

/// `[goindex]`, beside what every round has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GoIndex {
    pub(crate) hook_secret_files: Vec<PathBuf>,
    /// Only when it was set: the collector declares its own.
    pub(crate) listing_cadence: Option<Duration>,
    /// Whose repositories make up the index.
    pub(crate) from: Vec<String>,
    pub(crate) check_vanity_paths: bool,
}

/// `[license]`, beside what every round has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct License {
    pub(crate) scanner: String,
    pub(crate) mode: String,
    /// Where ScanCode is and files are unpacked; below the data directory where there is one.
    pub(crate) home: PathBuf,
    /// Whether somebody set it.
    pub(crate) home_is_set: bool,
    pub(crate) processes: u32,
    pub(crate) file_timeout: Duration,
    /// In bytes.
    pub(crate) memory: u64,
    /// In bytes.
    pub(crate) max_file_size: u64,
    /// In bytes.
    pub(crate) min_free: u64,
    pub(crate) cross_check_one_in: u32,
}

/// `[mail]`, beside what every round has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mail {
    pub(crate) backfill_months: i64,
    pub(crate) polite_address: Option<String>,
    pub(crate) mirror_handling: MirrorHandling,
    pub(crate) resolver_workers: u32,
    pub(crate) sender_search_after: i64,
    pub(crate) rules: Vec<PathBuf>,
}

/// `[pypi]`, beside what every round has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pypi {
    pub(crate) index_url: Option<String>,
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) overlap: u32,
    pub(crate) page_cadence: Duration,
    pub(crate) keep: u64,
    pub(crate) dump: bool,
    pub(crate) datasets: bool,
}

/// `[upstream.NAME]`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Upstream {
    pub(crate) base_url: Option<String>,
    pub(crate) token_files: Vec<PathBuf>,
}

/// `[pool.NAME]`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pool {
    pub(crate) workers: Option<u32>,
    pub(crate) min_start_gap: Duration,
}

impl Settings {
    pub(super) fn from_config(config: &Config) -> Self {
        let rounds = SECTIONS.iter().filter(|section| section.is_round());
        let rounds: BTreeMap<&'static str, Round> = rounds
            .map(|section| (section.name, round(&Reader(config, section.name, None))))
            .collect();
        let upstreams = names(config, "upstream").map(|name| {
            let read = Reader(config, "upstream", Some(name));
            (name.to_owned(), upstream(&read))
        });
        // Every round has a pool of its own name, with the hyphens that kinds have.
        let own = rounds.keys().map(|name| name.replace('_', "-"));
        let named = names(config, "pool").map(str::to_owned);
        let pools = own.chain(named).map(|name| {
            let read = Reader(config, "pool", Some(&name));
            let round = rounds.get(name.replace('-', "_").as_str());
            let workers = read.count("workers");
            let pool = Pool {
                workers: workers.or_else(|| round.map(|round| round.workers)),
                min_start_gap: read.duration("min_start_gap"),
            };
            (name, pool)
        });
        let (server, database, work, distribution, goindex) = (
            Reader(config, "server", None),
            Reader(config, "database", None),
            Reader(config, "work", None),
            Reader(config, "distribution", None),
            Reader(config, "goindex", None),
        );
        Self {
            server: Server {
                listen: server.listen("listen"),
            },
            database: Database {
                url: database.text("url"),
                max_connections: database.count("max_connections").unwrap_or(1),
                timeout: database.duration("timeout"),
                statement_cache: database.switch("statement_cache"),
                sync_every_commit: database.switch("sync_every_commit"),
                min_free: database.size("min_free"),
            },
            objects: objects(&Reader(config, "objects", None)),
            work: Work {
                shutdown_grace: work.duration("shutdown_grace"),
                dead_after: work.duration("dead_after"),
                keep_done: work.duration("keep_done"),
                immediate_partial_retry: work.switch("immediate_partial_retry"),
            },
            distribution: Distribution {
                cross_check: distribution.switch("cross_check"),
                immediate_partial_retry: distribution.switch("immediate_partial_retry"),
                polite_address: distribution.text("polite_address"),
                user_agent: distribution.text("user_agent"),
            },
            goindex: GoIndex {
                hook_secret_files: goindex.paths("hook_secret_files"),
                listing_cadence: goindex.set_duration("listing_cadence"),
                from: goindex.addresses("from"),
                check_vanity_paths: goindex.switch("check_vanity_paths"),
            },
            license: license(&Reader(config, "license", None)),
            mail: mail(&Reader(config, "mail", None)),
            issues_of_all: Reader(config, "forge_activity", None)
                .text("repositories")
                .is_some_and(|word| word == "all"),
            pypi: pypi(&Reader(config, "pypi", None)),
            upstreams: upstreams.collect(),
            pools: pools.collect(),
            fetched: std::env::temp_dir().join("gleaner-git"),
            home: std::env::temp_dir().join("gleaner-data"),
            rounds,
        }
    }
}

impl Database {
    /// As the database room takes them.
    pub(crate) fn connection(&self) -> db::Settings {
        db::Settings {
            max_connections: self.max_connections,
            timeout: self.timeout,
            statement_cache: self.statement_cache,
            sync_every_commit: self.sync_every_commit,
        }
    }
}

fn objects(read: &Reader<'_>) -> ObjectStore {
    ObjectStore {
        url: read.text("url"),
        endpoint: read.text("endpoint"),
        region: read.text("region"),
        access_key_file: read.text("access_key_file").map(PathBuf::from),
        secret_key_file: read.text("secret_key_file").map(PathBuf::from),
    }
}

fn mail(read: &Reader<'_>) -> Mail {
    let months = read.count("backfill_months").map(i64::from);
    let handling = read
        .text("mirror_handling")
        .and_then(|word| word.parse().ok());
    Mail {
        backfill_months: months.unwrap_or(6),
        polite_address: read.text("polite_address"),
        mirror_handling: handling.unwrap_or_default(),
        resolver_workers: read.count("resolver_workers").unwrap_or(1),
        sender_search_after: read.count("sender_search_after").map_or(5, i64::from),
        rules: read.paths("rules"),
    }
}

fn pypi(read: &Reader<'_>) -> Pypi {
    Pypi {
        index_url: read.text("index_url"),
        allow: read.addresses("allow"),
        deny: read.addresses("deny"),
        overlap: read.count("overlap").unwrap_or(5_000),
        page_cadence: read.duration("page_cadence"),
        keep: read.size("keep"),
        dump: read.switch("dump"),
        datasets: read.switch("datasets"),
    }
}

fn round(read: &Reader<'_>) -> Round {
    Round {
        enabled: read.switch("enabled"),
        workers: read.count("workers").unwrap_or(1),
        cadence: read.set_duration("cadence"),
        max_run: read.set_duration("max_run"),
    }
}

fn license(read: &Reader<'_>) -> License {
    let home = read.text("directory");
    License {
        scanner: read.text("scanner").unwrap_or_default(),
        mode: read.text("mode").unwrap_or_default(),
        home_is_set: home.is_some(),
        home: home.map_or_else(
            || std::env::temp_dir().join("gleaner-license"),
            PathBuf::from,
        ),
        processes: read.count("processes").unwrap_or(1),
        file_timeout: read.duration("file_timeout"),
        memory: read.size("memory"),
        max_file_size: read.size("max_file_size"),
        min_free: read.size("min_free"),
        cross_check_one_in: read.count("cross_check_one_in").unwrap_or(0),
    }
}

fn upstream(read: &Reader<'_>) -> Upstream {
    Upstream {
        base_url: read.text("base_url"),
        token_files: read.paths("token_files"),
    }
}

fn names<'a>(config: &'a Config, section: &'a str) -> impl Iterator<Item = &'a str> {
    config
        .entries
        .iter()
        .filter(move |entry| entry.address.section.name == section)
        .filter_map(|entry| entry.address.name.as_deref())
}

/// Reads the keys of one section. The kinds are those of the table: a test reads every default, so
/// a wrong key or kind here does not pass unseen.
struct Reader<'a>(&'a Config, &'a str, Option<&'a str>);

impl Reader<'_> {
    fn value(&self, key: &str) -> Option<&Value> {
        let Self(config, section, name) = self;
        config.get(section, *name, key)
    }

    fn switch(&self, key: &str) -> bool {
        matches!(self.value(key), Some(Value::Switch(true)))
    }

    fn count(&self, key: &str) -> Option<u32> {
        match self.value(key) {
            Some(Value::Count(number)) => Some(u32::try_from(*number).unwrap_or(u32::MAX)),
            _ => None,
        }
    }

    fn duration(&self, key: &str) -> Duration {
        match self.value(key) {
            Some(Value::Duration(duration)) => *duration,
            _ => Duration::ZERO,
        }
    }

    /// A duration that somebody set.
    fn set_duration(&self, key: &str) -> Option<Duration> {
        let Self(config, section, name) = self;
        let is_set = config.origin(section, *name, key) != Some(&Origin::Default);
        is_set.then(|| self.duration(key))
    }

    fn size(&self, key: &str) -> u64 {
        match self.value(key) {
            Some(Value::Size(size)) => *size,
            _ => 0,
        }
    }

    fn listen(&self, key: &str) -> SocketAddr {
        match self.value(key) {
            Some(Value::Listen(address)) => *address,
            _ => SocketAddr::from(([127, 0, 0, 1], 8787)),
        }
    }

    fn paths(&self, key: &str) -> Vec<PathBuf> {
        match self.value(key) {
            Some(Value::Paths(paths)) => paths.iter().map(PathBuf::from).collect(),
            _ => Vec::new(),
        }
    }

    fn addresses(&self, key: &str) -> Vec<String> {
        match self.value(key) {
            Some(Value::Paths(addresses)) => addresses.clone(),
            _ => Vec::new(),
        }
    }

    fn text(&self, key: &str) -> Option<String> {
        match self.value(key) {
            Some(
                Value::Database(text)
                | Value::BaseUrl(text)
                | Value::Mail(text)
                | Value::Line(text),
            ) => Some(text.clone()),
            _ => None,
        }
    }
}
