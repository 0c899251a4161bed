//! Every error code, its exit code and its explanation: the one list behind `gleaner help CODE`.

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok = 0,
    /// A thing that was named is not there, or a check failed.
    Nothing = 1,
    Usage = 2,
    Unavailable = 3,
    Data = 4,
    Local = 5,
    Interrupted = 130,
}

impl Exit {
    pub(crate) const ALL: [(Self, &'static str); 7] = [
        (
            Self::Ok,
            "all is well; a list that is empty is a full answer",
        ),
        (
            Self::Nothing,
            "nothing found, or a check failed (`doctor`, `db check`, `health`)",
        ),
        (
            Self::Usage,
            "the command line or the configuration is wrong",
        ),
        (
            Self::Unavailable,
            "the database or an upstream is unavailable: try again later",
        ),
        (
            Self::Data,
            "the data or its schema has a problem: a newer schema, a damaged file",
        ),
        (
            Self::Local,
            "this machine lacks something: disk full, not writable",
        ),
        (Self::Interrupted, "interrupted by Ctrl-C"),
    ];
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// One kind of error.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) name: &'static str,
    pub(crate) exit: Exit,
    /// What happened, in one line.
    pub(crate) title: &'static str,
    /// Why it happens and what to do.
    pub(crate) explanation: &'static str,
}

/// Declares each code once, and the list of them all.
macro_rules! codes {
    ($($constant:ident = $name:literal, $exit:ident, $title:literal, $explanation:literal;)*) => {
        $(pub(crate) static $constant: Code = Code {
            name: $name,
            exit: Exit::$exit,
            title: $title,
            explanation: $explanation,
        };)*
        /// In the order in which they are listed to the user.
        pub(crate) static ALL: &[&Code] = &[$(&$constant),*];
    };
}

codes! {
    CONFIG_MISSING = "E-CONFIG-MISSING", Usage,
        "the configuration file cannot be read",
        "The file that `--config` or GLEANER_CONFIG names must exist and be UTF-8 text. Without \
         either, `gleaner.toml` in the current directory is used if it is there, then the one in \
         the platform's configuration directory; neither needs to exist. `gleaner config example` \
         prints a complete file to start from.";
    CONFIG_SYNTAX = "E-CONFIG-SYNTAX", Usage,
        "the configuration file is not TOML",
        "The caret points at the place where the text stops making sense. Frequent reasons: text \
         without quotes, a section that is opened twice, a missing `=`.";
    CONFIG_KEY = "E-CONFIG-KEY", Usage,
        "the configuration has a key or section that does not exist",
        "Unknown keys are refused, because a misspelt setting that is silently ignored is worse \
         than a start that fails. `gleaner config example` lists every key with its default.";
    CONFIG_VALUE = "E-CONFIG-VALUE", Usage,
        "a setting has a value that it cannot have",
        "Durations are text with a unit (\"90s\", \"6h\", \"180d\"), sizes likewise (\"50MiB\"); \
         numbers without a unit are refused for both. `gleaner config show --origin` tells where \
         each value comes from: flags win over the environment, the environment over the file.";
    CONFIG_DEPRECATED = "E-CONFIG-DEPRECATED", Usage,
        "the configuration uses a key that has been replaced",
        "A replaced key works with a warning for two minor versions and is then refused. The \
         message names the key to use instead.";
    DB_ADDRESS = "E-DB-ADDRESS", Usage,
        "the address of the database makes no sense",
        "`--database`, GLEANER_DATABASE or `url` under `[database]` must be `sqlite:PATH` or \
         `postgres://USER@HOST/NAME`. Without any of them the data lives in SQLite in the data \
         directory.";
    DB_UNREACHABLE = "E-DB-UNREACHABLE", Unavailable,
        "nobody answers at the database's address",
        "The server is down, the address or the password is wrong, or the network is. Nothing was \
         lost: units that were running are taken up again. `gleaner doctor` checks each step.";
    DB_BUSY = "E-DB-BUSY", Unavailable,
        "other transactions kept getting in the way",
        "The command was tried several times and each time another transaction was in the way. \
         On SQLite another process may be holding the file. Nothing was changed: run it again.";
    DB_NEWER_SCHEMA = "E-DB-NEWER-SCHEMA", Data,
        "the database was written by a newer gleaner",
        "A newer version has changed the schema in a way that this one does not understand. \
         Nothing was touched. Install the newer version, or point this one at its own database.";
    DB_OLDER_SCHEMA = "E-DB-OLDER-SCHEMA", Data,
        "the database's schema is older than this gleaner",
        "`gleaner db migrate` brings it up; `serve` and `work` do so at their start.";
    DB_CORRUPT = "E-DB-CORRUPT", Data,
        "the database is damaged, or the file is no database",
        "If the path is simply wrong, name the right file with `--database sqlite:PATH`. Else make \
         a copy of the file before anything else; what is in it can often be saved with `sqlite3 \
         broken.db .recover`.";
    DB_DATA = "E-DB-DATA", Data,
        "the database holds something unexpected",
        "A statement was refused or a value is not what belongs there. If nobody changed the \
         database by hand, this is a bug in gleaner: please report it with the whole message.";
    UPSTREAM = "E-UPSTREAM-ANSWER", Unavailable,
        "a service elsewhere gave no answer that can be used",
        "It is down, limits requests, or shows a page for people where data should be. Nothing was \
         changed. `gleaner upstream list` tells how it fares, `gleaner doctor` asks it once.";
    FULL = "E-LOCAL-FULL", Local,
        "a disk is full",
        "What was being written was rolled back, what was committed before is safe. Make room and \
         start again; `gleaner doctor` shows how much is free.";
    NOT_WRITABLE = "E-LOCAL-NOT-WRITABLE", Local,
        "the data directory or the database file cannot be written",
        "The directory must be writable for the user that runs gleaner, since SQLite writes files \
         beside the database. Choose another with `--data DIR` or GLEANER_DATA.";
    NO_HOME = "E-LOCAL-NO-HOME", Local,
        "there is no place for the data",
        "Without `--data DIR` and GLEANER_DATA the data lives below the home directory, and HOME \
         is not set here (frequent in containers and services).";
    OUTPUT = "E-LOCAL-OUTPUT", Local,
        "the output cannot be written",
        "Standard output leads to a full disk or a device that refuses. A reader that closes the \
         pipe early is no error.";
    TOOL = "E-LOCAL-TOOL", Local,
        "a program that is needed cannot be run",
        "`gleaner doctor` lists the programs that the rounds call, and how to get them.";
    PORT = "E-LOCAL-PORT", Local,
        "the address to listen on cannot be used",
        "Another program listens there already, or the address is not one of this machine. Choose \
         another with `--listen 127.0.0.1:8788` or `listen` under `[server]`.";
    FILE = "E-INPUT-FILE", Usage,
        "a file that was named cannot be read",
        "Check the path and its permissions. Files above a command's size limit are refused.";
    DAMAGED = "E-INPUT-DAMAGED", Data,
        "a file that was named does not hold what it should",
        "The file is there and can be opened, but it is cut off, damaged, of another kind than its \
         name says, or larger inside than is unpacked from a stranger. Fetch it again.";
    LINE = "E-INPUT-LINE", Data,
        "a line of the input cannot be read",
        "Commands that read lines from standard input tell the number of each bad line and answer \
         all others; the exit code says that something was left out.";
    REPOSITORY = "E-INPUT-REPOSITORY", Usage,
        "that is no repository address",
        "A repository is named by its address (`https://github.com/owner/name`), by \
         `host/owner/name`, by a path to a local git repository, or by its number in `repo list`.";
    NAME = "E-INPUT-NAME", Usage,
        "that cannot be a name",
        "Names of groups have letters, digits, `.`, `_`, `-` and `/`, and at least one letter.";
    UNIT = "E-INPUT-UNIT", Usage,
        "that names no unit",
        "A unit is named by its number, or by kind and key: `distribution/manifests:42`. \
         `gleaner unit list` shows both.";
    SELECTION = "E-INPUT-SELECTION", Usage,
        "the command does not say which units it is for",
        "Name units, or choose them with `--kind`, `--state`, `--error` and `--key`. With \
         `--dry-run` the units are counted and nothing is changed.";
    NOT_FOUND = "E-INPUT-NOT-FOUND", Nothing,
        "there is no such thing",
        "What was named is not in this database. Check the spelling, and with `gleaner config \
         show --origin` that the database is the one you mean.";
    TOPIC = "E-INPUT-TOPIC", Usage,
        "there is no help on that",
        "`gleaner help` lists commands and topics.";
    INTERRUPTED = "E-INPUT-INTERRUPTED", Interrupted,
        "interrupted by Ctrl-C",
        "Nothing is lost: what was committed stays, what was not is not half there.";
}

/// Finds a code by its name, in any case.
pub(crate) fn find(name: &str) -> Option<&'static Code> {
    ALL.iter()
        .copied()
        .find(|code| code.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn codes_are_distinct_and_belong_to_a_family() {
        let families = ["E-CONFIG-", "E-DB-", "E-UPSTREAM-", "E-INPUT-", "E-LOCAL-"];
        let mut seen = HashSet::new();
        for code in ALL {
            assert!(seen.insert(code.name), "{} twice", code.name);
            assert!(
                families.iter().any(|family| code.name.starts_with(family)),
                "{} is of no family",
                code.name
            );
            assert!(
                !code.title.ends_with('.') && code.explanation.ends_with('.'),
                "{}",
                code.name
            );
        }
        assert_eq!(
            find("e-db-unreachable").map(|code| code.exit),
            Some(Exit::Unavailable)
        );
    }
}
