//! Every setting, one line each: the example file, the environment variables, `config show` and
//! the checks all come from here.

use super::value::{Kind, Value};

/// A section of the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) name: &'static str,
    /// For `[pool.NAME]`: a name to show in the example. Plain sections have none.
    pub(crate) example_name: Option<&'static str>,
    pub(crate) doc: &'static str,
    pub(crate) keys: &'static [Key],
}

/// One setting.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// As it would stand in the environment.
    pub(crate) default: Option<&'static str>,
    /// What the example file shows when there is no default.
    pub(crate) example: &'static str,
    /// The environment variable, when it is not made from section and key.
    variable: Option<&'static str>,
    pub(crate) doc: &'static str,
}

/// In the order of the example file.
pub(crate) static SECTIONS: &[Section] = &[
    Section {
        name: "server",
        example_name: None,
        doc: "The web, as `serve` and `web` bring it up.",
        keys: &[key(
            "listen",
            Kind::Listen,
            "127.0.0.1:8787",
            "The address to listen on. Reading is open to all who can reach it.",
        )],
    },
    Section {
        name: "database",
        example_name: None,
        doc: "Where everything is kept.",
        keys: &[
            Key {
                variable: Some("GLEANER_DATABASE"),
                ..unset(
                    "url",
                    Kind::Database,
                    "postgres://gleaner@localhost/gleaner",
                    "`sqlite:PATH` or `postgres://…`. Without it: SQLite in the data directory.",
                )
            },
            key(
                "max_connections",
                Kind::count(1, 1000, "one connection is the least"),
                "16",
                "Connections that one process may hold.",
            ),
            key(
                "timeout",
                Kind::Duration,
                "10s",
                "How long to wait for a connection, and on SQLite for the writer of another process.",
            ),
            key(
                "statement_cache",
                Kind::Switch,
                "true",
                "Keep prepared statements on the server. A pooler such as pgbouncer in transaction mode is noticed by itself; set to false behind one that is not.",
            ),
            key(
                "sync_every_commit",
                Kind::Switch,
                "false",
                "SQLite only: flush to the disk at every commit. Without it a power cut may lose the last commits, never consistency.",
            ),
            key(
                "min_free",
                Kind::Size,
                "500MiB",
                "`gleaner doctor` complains when the disk under the data directory has less room than this.",
            ),
        ],
    },
    Section {
        name: "objects",
        example_name: None,
        doc: "Where dumps and datasets are kept.",
        keys: &OBJECTS,
    },
    Section {
        name: "work",
        example_name: None,
        doc: "How work is done, whatever the round.",
        keys: &[
            key(
                "shutdown_grace",
                Kind::Duration,
                "30s",
                "How long a process that was asked to stop lets its runs finish. A second Ctrl-C leaves at once; nothing is lost either way.",
            ),
            key(
                "dead_after",
                Kind::Duration,
                "30s",
                "A process whose heartbeat stood still for so long is dead to the others, and its units run again elsewhere. It beats six times as often, and stops its own runs a sixth earlier. The same in all processes of a fleet.",
            ),
            key(
                "keep_done",
                Kind::Duration,
                "30d",
                "How long finished one-off units stay listed.",
            ),
            key(
                "immediate_partial_retry",
                Kind::Switch,
                "true",
                "Ask again soon for what a partial run could not get. With false it waits for the cadence.",
            ),
        ],
    },
    round(
        "distribution",
        "Where is a repository published, and how does it declare itself?",
        &DISTRIBUTION,
    ),
    round(
        "license",
        "Which license, copyright holders and packages are in each file?",
        &LICENSE,
    ),
    round("mail", "What was discussed, reviewed, voted on?", &MAIL),
    round("goindex", "A feed of Go module versions.", &GOINDEX),
    round(
        "pypi",
        "Which modules and requirements does each Python distribution have?",
        &PYPI,
    ),
    round(
        "repo_metadata",
        "Feeds the others: archived, renamed, moved, gone.",
        &REPO_METADATA,
    ),
    round(
        "organisation",
        "Feeds the others: keeps a group's repositories current.",
        &ORGANISATION,
    ),
    round(
        "forge_activity",
        "Feeds mail: issues and pull requests of repositories, so that it can be tied to them.",
        &FORGE_ACTIVITY,
    ),
    Section {
        name: "upstream",
        example_name: Some("github.com"),
        doc: "A remote service, by service name or host. A name with dots stands in quotes.",
        keys: &[
            unset(
                "base_url",
                Kind::BaseUrl,
                "https://api.github.com",
                "Where it answers, when it is not the usual place.",
            ),
            unset(
                "token_files",
                Kind::Paths,
                "/etc/gleaner/github-token",
                "Files with one token each. Tokens themselves never stand in this file; GLEANER_TOKEN_GITHUB_COM and the like work too.",
            ),
        ],
    },
    Section {
        name: "pool",
        example_name: Some("distribution"),
        doc: "Slots for kinds of work. A round's pool has the round's name and wins over its `workers`. The sources of distribution have one each: distribution-depsdev, distribution-ecosystems, distribution-names, distribution-releases, distribution-packages, distribution-manifests.",
        keys: &[
            unset(
                "workers",
                Kind::count(1, 10_000, WORKERS),
                "4",
                "How many units run at once in one process.",
            ),
            unset(
                "min_start_gap",
                Kind::Duration,
                "0s",
                "Least time between two starts while the pool first fills, over the whole fleet.",
            ),
        ],
    },
];

static OBJECTS: [Key; 5] = [
    unset(
        "url",
        Kind::Line,
        "s3://bucket/prod/v1",
        "`s3://BUCKET/PREFIX`, or a directory. Without it: `objects` below the data directory. The bucket must exist.",
    ),
    unset(
        "endpoint",
        Kind::BaseUrl,
        "https://s3.example.org",
        "The server that speaks S3, when it is not Amazon's.",
    ),
    key("region", Kind::Line, "us-east-1", "The bucket's region."),
    unset(
        "access_key_file",
        Kind::Line,
        "/etc/gleaner/s3-access-key",
        "A file with the access key. Keys themselves never stand in this file; AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN work too. Without any, the machine's own role is used.",
    ),
    unset(
        "secret_key_file",
        Kind::Line,
        "/etc/gleaner/s3-secret-key",
        "A file with the secret that belongs to the access key.",
    ),
];
static DISTRIBUTION: [Key; 8] = {
    let [enabled, workers, cadence, max_run] = round_keys("4", "180d", "30m");
    [
        enabled,
        Key {
            doc: "How many units of each source run at once in one process: every source has a pool of its own. `[pool.distribution-depsdev]` and the like set them one by one.",
            ..workers
        },
        cadence,
        max_run,
        key(
            "cross_check",
            Kind::Switch,
            "true",
            "Ask ecosyste.ms about every repository. With false it is asked only where deps.dev knows of no package, which spares calls and misses what deps.dev does not look at.",
        ),
        key(
            "immediate_partial_retry",
            Kind::Switch,
            "true",
            "As under `[work]`, for this round alone.",
        ),
        unset(
            "polite_address",
            Kind::Mail,
            "ops@example.org",
            "Where ecosyste.ms can write to. It asks for that in every question, and gives those a larger limit that do. Without it none is sent.",
        ),
        unset(
            "user_agent",
            Kind::Line,
            "gleaner of example.org (+https://example.org/gleaner)",
            "Who asks deps.dev and ecosyste.ms, instead of the product, its version and GLEANER_CONTACT.",
        ),
    ]
};
static LICENSE: [Key; 13] = {
    let [enabled, workers, cadence, max_run] = round_keys("2", "180d", "24h");
    [
        enabled,
        Key {
            doc: "How many repositories are scanned at once in one process. `[pool.license]` has the least gap between two starts.",
            ..workers
        },
        cadence,
        max_run,
        key(
            "scanner",
            Kind::Line,
            "auto",
            "Who scans: builtin, scancode, provenant, or auto: the best that proves to work (provenant, then scancode, then builtin). `gleaner license setup` installs ScanCode.",
        ),
        key(
            "mode",
            Kind::Line,
            "files",
            "files: every distinct file is scanned once, for all repositories and commits. whole-tree: ScanCode scans each tree whole, as it does by itself, in a process that outlives ours.",
        ),
        unset(
            "directory",
            Kind::Line,
            "/var/lib/gleaner/license",
            "Where ScanCode is installed and where files are unpacked for it. Without it: `license` below the data directory.",
        ),
        key(
            "processes",
            Kind::count(1, 1_000, "one process is the least"),
            "2",
            "Scanner processes at a time. ScanCode takes about 1.5 GB each.",
        ),
        key(
            "file_timeout",
            Kind::Duration,
            "2m",
            "How long a scanner may take for one file. Files that took longer than this divided by 2.5 may have been cut short, and are scanned again at the next visit.",
        ),
        key(
            "memory",
            Kind::Size,
            "4GiB",
            "The most memory of one scanner process.",
        ),
        key(
            "max_file_size",
            Kind::Size,
            "1MiB",
            "Larger files are not scanned, and listed as too large.",
        ),
        key(
            "min_free",
            Kind::Size,
            "1GiB",
            "No scan begins with less room than this where files are unpacked.",
        ),
        key(
            "cross_check_one_in",
            Kind::count(0, 1_000_000, "0 switches it off"),
            "100",
            "One file of so many is shown to a second scanner where there is one, and `gleaner license stats` tells how often the two disagree. 0 switches it off.",
        ),
    ]
};
static MAIL: [Key; 10] = {
    let [enabled, workers, cadence, max_run] = round_keys("2", "30d", "6h");
    [
        enabled,
        Key {
            doc: "How many lists of one kind of archive (Pony Mail, public-inbox) are fetched at once in one process.",
            ..workers
        },
        cadence,
        max_run,
        key(
            "backfill_months",
            Kind::count(0, 1200, "0 reads everything"),
            "6",
            "How many months of a list in Pony Mail are read the first time; 0 reads everything. Epochs of public-inbox are always read whole.",
        ),
        unset(
            "polite_address",
            Kind::Mail,
            "ops@example.org",
            "Where the owners of archives can write to; told in the User-Agent.",
        ),
        key(
            "mirror_handling",
            Kind::Word {
                words: &["skip", "metadata_only", "full"],
                expected: "skip, metadata_only or full",
            },
            "metadata_only",
            "What becomes of mail that copies what a forge tells: skip it, keep all but its text, or keep it in full. Its bytes stay in any case: `gleaner mail project --again` applies a change to old mail.",
        ),
        key(
            "resolver_workers",
            Kind::count(1, 100, "one resolver is the least"),
            "1",
            "How many lists are turned into messages at once in one process.",
        ),
        key(
            "sender_search_after",
            Kind::count(0, 1_000_000, "0 asks about nobody"),
            "5",
            "GitHub is asked about a sender whom nobody here knows after so many messages, and again after 30 days; 0 asks about nobody.",
        ),
        unset(
            "rules",
            Kind::Paths,
            "/etc/gleaner/mail/apache.toml",
            "Files of rules in place of the shipped ones, named by the system they are for.",
        ),
    ]
};
static GOINDEX: [Key; 8] = {
    let [enabled, workers, cadence, max_run] = round_keys("10", "1d", "30m");
    [
        enabled,
        workers,
        Key {
            doc: "Least time between two readings of a repository's tags. Webhooks make one due at once.",
            ..cadence
        },
        key(
            "listing_cadence",
            Kind::Duration,
            "1d",
            "Least time between two listings of an owner.",
        ),
        max_run,
        unset(
            "from",
            Kind::Addresses,
            "https://github.com/owner",
            "Whose repositories make up the index, besides those of `gleaner go add`: owners on forges, `server:HOST` for all of a server, `installation:HOST` for what a GitHub App was given, `search:HOST QUERY`.",
        ),
        key(
            "check_vanity_paths",
            Kind::Switch,
            "true",
            "Ask the host of an import path that is not the repository's own whether it leads there, before a version under that path is published. With false every go.mod is believed: forks then publish under the paths of their origins.",
        ),
        unset(
            "hook_secret_files",
            Kind::Paths,
            "/etc/gleaner/hook-secret",
            "Files with one secret each. Forges that know one may tell at /hooks/github, /hooks/gitlab and /hooks/gitea that a repository has changed; without any, nobody is believed.",
        ),
    ]
};
static PYPI: [Key; 12] = {
    let [enabled, workers, cadence, max_run] = round_keys("8", "5m", "2h");
    [
        enabled,
        workers,
        Key {
            doc: "Least time between two looks at what has changed on the index.",
            ..cadence
        },
        max_run,
        unset(
            "index_url",
            Kind::BaseUrl,
            "https://index.example.org/simple",
            "The root of the index, as pip takes it. Without it: the one that pip is configured with (PIP_INDEX_URL, pip.conf), else the one that `gleaner pypi crawl` was told or found.",
        ),
        unset(
            "allow",
            Kind::Addresses,
            "django*,zope.*",
            "Only these projects: names, or patterns with `*` for anything.",
        ),
        unset(
            "deny",
            Kind::Addresses,
            "*-nightly",
            "Never these projects: names, or patterns with `*` for anything.",
        ),
        key(
            "overlap",
            Kind::count(0, 1_000_000, "serials cannot be negative"),
            "5000",
            "So many serials below the safe one are looked at again, since lines of a changelog may become visible late.",
        ),
        key(
            "page_cadence",
            Kind::Duration,
            "1d",
            "How often every page is asked for, where neither a changelog nor serials tell what has changed.",
        ),
        key(
            "keep",
            Kind::Size,
            "4GiB",
            "So much of fetched files is kept in the database, so that a newer extractor need not ask for them again.",
        ),
        key(
            "dump",
            Kind::Switch,
            "true",
            "Whether what a look has found is dumped. `gleaner pypi dump` works all the same.",
        ),
        key(
            "datasets",
            Kind::Switch,
            "true",
            "Whether look-up datasets are built from the dumps. `gleaner pypi dataset build` works all the same.",
        ),
    ]
};
static REPO_METADATA: [Key; 4] = round_keys("2", "7d", "5m");
static ORGANISATION: [Key; 4] = round_keys("1", "1d", "30m");
static FORGE_ACTIVITY: [Key; 5] = {
    let [enabled, workers, cadence, max_run] = round_keys("2", "1d", "30m");
    [
        enabled,
        workers,
        cadence,
        max_run,
        key(
            "repositories",
            Kind::Word {
                words: &["with_mail", "all"],
                expected: "with_mail or all",
            },
            "with_mail",
            "Whose issues and pull requests are asked for: of the repositories that mail concerns, or of all.",
        ),
    ]
};

const WORKERS: &str = "to stop it, set `enabled = false`";

impl Section {
    /// Whether it is written `[section.NAME]`.
    pub(crate) fn is_named(&self) -> bool {
        self.example_name.is_some()
    }

    /// Whether it is a round: those can be switched off.
    pub(crate) fn is_round(&self) -> bool {
        self.keys.iter().any(|key| key.name == "enabled")
    }
}

impl Key {
    /// The environment variable that sets it.
    pub(crate) fn variable(&self, section: &Section) -> String {
        self.variable.map_or_else(
            || format!("GLEANER_{}_{}", section.name, self.name).to_uppercase(),
            str::to_owned,
        )
    }

    /// What holds when nobody says anything.
    pub(crate) fn default_value(&self) -> Option<Value> {
        // A test parses them all.
        self.default.and_then(|text| self.kind.parse(text).ok())
    }
}

/// Finds a key of a plain section.
pub(crate) fn find(section: &str, key: &str) -> Option<(&'static Section, &'static Key)> {
    let section = SECTIONS.iter().find(|known| known.name == section)?;
    let key = section.keys.iter().find(|known| known.name == key)?;
    Some((section, key))
}

const fn key(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key {
        name,
        kind,
        default: Some(default),
        example: default,
        variable: None,
        doc,
    }
}

const fn unset(name: &'static str, kind: Kind, example: &'static str, doc: &'static str) -> Key {
    Key {
        name,
        kind,
        default: None,
        example,
        variable: None,
        doc,
    }
}

const fn round(name: &'static str, doc: &'static str, keys: &'static [Key]) -> Section {
    Section {
        name,
        example_name: None,
        doc,
        keys,
    }
}

const fn round_keys(
    workers: &'static str,
    cadence: &'static str,
    max_run: &'static str,
) -> [Key; 4] {
    [
        key(
            "enabled",
            Kind::Switch,
            "true",
            "Set to false to switch the round off; what it has found stays.",
        ),
        key(
            "workers",
            Kind::count(1, 10_000, WORKERS),
            workers,
            "How many units run at once in one process.",
        ),
        key(
            "cadence",
            Kind::Duration,
            cadence,
            "Least time between two complete runs of the same unit.",
        ),
        key(
            "max_run",
            Kind::Duration,
            max_run,
            "A run that takes longer is stopped and counts as a strike.",
        ),
    ]
}
