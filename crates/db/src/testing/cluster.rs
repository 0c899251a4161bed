//! A private PostgreSQL cluster for tests: made from the installed server binaries in a temporary
//! directory, reached over a socket in that directory only, gone when its owner is gone.
//!
//! This file uses nothing but std, because two crates compile it: `db` (for a test that is run
//! alone) and, by `#[path]`, `xtask` (one cluster for a whole test run), which must not wait for
//! a database driver to be built.
//!
//! **The cluster never outlives its owner.** Between owner and server stands a *keeper*, a small
//! shell script that holds the reading end of a pipe whose only writer is the owner. However the
//! owner ends (drop, exit with the cluster in a static, kill -9) the pipe closes, and the keeper
//! stops the server and removes the directory. The obvious alternative, a parent-death signal on
//! the server, is bound to the *thread* that spawned it and so would need one that lives as long as
//! the process; it is used only between keeper and server, where there is a single thread, against
//! the case that the keeper itself is killed. A run whose keeper was killed too (a container that
//! was torn down) leaves its directory behind; the next start sweeps it.
//!
//! **Root.** `initdb` and `postgres` refuse to run as root, so keeper and server then run as the
//! user `postgres` (or `nobody` where there is none), who owns the directory. Every parent of the
//! directory must let that user through: `TMPDIR` is taken only if it does, else `/tmp`.
//!
//! What is stored does not survive and need not: `fsync` and `full_page_writes` are off, and the
//! server is stopped without a last checkpoint. `synchronous_commit` keeps its default, so the
//! order of commits is what it is in production.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Error, Result};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::{env, fs};

/// The oldest PostgreSQL the product supports.
pub const OLDEST_MAJOR: u32 = 14;

const DIRECTORY_PREFIX: &str = "gleaner-pg-";
const SOCKET: &str = ".s.PGSQL.5432";
/// A socket's address holds 104 bytes on some systems and 108 on others, with the final NUL.
const LONGEST_SOCKET_PATH: usize = 103;

/// Run as `sh -c KEEPER sh DIRECTORY BINARIES SETTING…`; says `ready` on stdout once the server accepts
/// connections, and ends without a word when it does not come up.
const KEEPER: &str = r#"
dir=$1 bin=$2
shift 2
exec 2>>"$dir/log"
"$bin/initdb" -D "$dir/data" -U postgres -E UTF8 --locale=C -A trust --no-sync >>"$dir/log" || exit 1
guard=
if setpriv --pdeathsig keep true; then guard='setpriv --pdeathsig QUIT'; fi
$guard "$bin/postgres" -D "$dir/data" -c port=5432 -c listen_addresses= \
    -c unix_socket_directories="$dir" -c max_connections=200 -c shared_buffers=256MB \
    -c fsync=off -c full_page_writes=off "$@" </dev/null >>"$dir/log" &
server=$!
until grep -q '^ready' "$dir/data/postmaster.pid"; do
    kill -0 "$server" || exit 1
    sleep 0.05
done
echo ready
read -r _
kill -QUIT "$server"
wait "$server"
rm -rf -- "$dir"
"#;

/// A running private cluster. Dropping it stops the server and removes all it wrote.
#[derive(Debug)]
pub struct Cluster {
    url: String,
    _kept: Kept,
}

impl Cluster {
    /// Starts a fresh cluster and waits until it accepts connections (about two seconds).
    pub fn start() -> Result<Self> {
        Self::start_with(&[])
    }

    /// As [`Cluster::start`], with server settings (`name=value`) that overrule those for tests.
    pub fn start_with(settings: &[&str]) -> Result<Self> {
        let binaries = Self::find_binaries().ok_or_else(|| {
            Error::other(format!(
                "no PostgreSQL server binaries (initdb and postgres, {OLDEST_MAJOR} or newer) in \
                 PATH or the usual places; `cargo xtask test` installs them where it can, or \
                 install your system's PostgreSQL server package"
            ))
        })?;
        let account = Account::for_server()?;
        let directory = private_directory(account.as_ref())?;
        let url = url_over_socket(&directory, "postgres");
        let mut words = vec![binaries.into()];
        // The last mention of a setting wins.
        words.extend(
            settings
                .iter()
                .flat_map(|setting| ["-c", setting].map(OsString::from)),
        );
        let kept = Kept::start(
            "PostgreSQL cluster",
            KEEPER,
            directory,
            words,
            account.as_ref(),
        )?;
        Ok(Self { url, _kept: kept })
    }

    /// The `postgres://` address of the maintenance database `postgres`, as its superuser.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The directory that holds `initdb` and `postgres` of the newest installed server that is
    /// not older than [`OLDEST_MAJOR`].
    pub fn find_binaries() -> Option<PathBuf> {
        let on_path = env::var_os("PATH").unwrap_or_default();
        let mut places: Vec<PathBuf> = env::split_paths(&on_path).collect();
        places.extend(versioned_directories("/usr/lib/postgresql"));
        places.extend(["/usr/pgsql", "/usr/local/pgsql"].map(|home| Path::new(home).join("bin")));
        places.extend(directory_of_pg_config());
        places
            .iter()
            .filter_map(|place| Some((server_major(place)?, place)))
            .filter(|(major, _)| *major >= OLDEST_MAJOR)
            .max_by_key(|(major, _)| *major)
            // A link in PATH leads to the directory that also holds the other programs.
            .and_then(|(_, place)| {
                let initdb = fs::canonicalize(place.join("initdb")).ok()?;
                initdb.parent().map(Path::to_owned)
            })
    }
}

/// A server that ends with us, and its directory.
#[derive(Debug)]
pub(super) struct Kept {
    directory: PathBuf,
    keeper: Child,
    /// The keeper's sign of life from us; closed to stop the server.
    alive: Option<ChildStdin>,
}

impl Kept {
    /// Starts the script `keeper` with the directory and `words`; returns once it says `ready`.
    pub(super) fn start(
        what: &str,
        keeper: &str,
        directory: PathBuf,
        words: Vec<OsString>,
        account: Option<&Account>,
    ) -> Result<Self> {
        let started = start_keeper(keeper, &directory, words, account);
        let mut keeper = started.inspect_err(|_| {
            let _ = fs::remove_dir_all(&directory);
        })?;
        let stdout = keeper.stdout.take();
        let kept = Self {
            alive: keeper.stdin.take(),
            directory,
            keeper,
        };
        let mut word = String::new();
        if let Some(stdout) = stdout {
            BufReader::new(stdout).read_line(&mut word)?;
        }
        if word.trim_end() == "ready" {
            return Ok(kept);
        }
        let log = fs::read(kept.directory.join("log")).unwrap_or_default();
        Err(Error::other(format!(
            "the private {what} did not start; its log:\n{}",
            String::from_utf8_lossy(&log)
        )))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.alive.take());
        let _ = self.keeper.wait();
        // The keeper has done it unless it failed early, or may not write to the parent.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Who runs the server when we are root.
#[derive(Debug)]
pub(super) struct Account {
    name: &'static str,
    user: u32,
    group: u32,
}

impl Account {
    pub(super) fn for_server() -> Result<Option<Self>> {
        if id(&["-u"]) != Some(0) {
            return Ok(None);
        }
        ["postgres", "nobody"]
            .into_iter()
            .find_map(|name| {
                let (user, group) = (id(&["-u", name])?, id(&["-g", name])?);
                Some(Some(Self { name, user, group }))
            })
            .ok_or_else(|| Error::other("PostgreSQL refuses root, and there is no other user"))
    }
}

fn id(args: &[&str]) -> Option<u32> {
    output(Command::new("id").args(args))?.trim().parse().ok()
}

/// A new directory that the server's account owns.
pub(super) fn private_directory(account: Option<&Account>) -> Result<PathBuf> {
    let parent = parent_directory(account.is_some())?;
    sweep(&parent);
    create_directory(&parent, account)
}

/// The first place for temporary files that the server's account can reach and whose name leaves
/// room for a socket's.
fn parent_directory(by_others: bool) -> Result<PathBuf> {
    let longest = LONGEST_SOCKET_PATH - format!("/{DIRECTORY_PREFIX}4194304-99/{SOCKET}").len();
    [env::temp_dir(), "/tmp".into(), "/var/tmp".into()]
        .into_iter()
        .filter_map(|place| fs::canonicalize(place).ok())
        .find(|place| {
            let passable = |parent: &Path| {
                fs::metadata(parent).is_ok_and(|found| found.permissions().mode() & 0o001 != 0)
            };
            place.as_os_str().len() <= longest && (!by_others || place.ancestors().all(passable))
        })
        .ok_or_else(|| {
            Error::other("no temporary directory is short enough and open to the server's user")
        })
}

/// Removes what runs left behind that were killed together with their keeper. A directory names
/// its owner's process; it is a leftover when that is gone and no server answers in it.
fn sweep(parent: &Path) {
    let processes = Path::new("/proc");
    if !processes.join("self").exists() {
        return;
    }
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(owner) = name
            .to_str()
            .and_then(|name| name.strip_prefix(DIRECTORY_PREFIX))
            .and_then(|rest| rest.split_once('-'))
            .and_then(|(owner, _)| owner.parse::<u32>().ok())
        else {
            continue;
        };
        let path = entry.path();
        if !processes.join(owner.to_string()).exists()
            && UnixStream::connect(path.join(SOCKET)).is_err()
        {
            // Another user's leftover stays; so does one that its keeper is just removing.
            let _ = fs::remove_dir_all(path);
        }
    }
}

fn create_directory(parent: &Path, account: Option<&Account>) -> Result<PathBuf> {
    let owner = std::process::id();
    for number in 0..100 {
        let directory = parent.join(format!("{DIRECTORY_PREFIX}{owner}-{number}"));
        match fs::DirBuilder::new().mode(0o700).create(&directory) {
            Err(taken) if taken.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(other) => return Err(other),
            Ok(()) => {
                if let Some(account) = account {
                    let (user, group) = (Some(account.user), Some(account.group));
                    std::os::unix::fs::chown(&directory, user, group)?;
                }
                return Ok(directory);
            }
        }
    }
    Err(Error::other("one process has a hundred private clusters"))
}

fn start_keeper(
    script: &str,
    directory: &Path,
    arguments: Vec<OsString>,
    account: Option<&Account>,
) -> Result<Child> {
    let mut words: Vec<OsString> = Vec::new();
    if let Some(Account { name, group, .. }) = account {
        let (user, group) = (format!("--reuid={name}"), format!("--regid={group}"));
        words.extend(["setpriv", &user, &group, "--init-groups", "--"].map(OsString::from));
    }
    words.extend(["sh", "-c", script, "sh"].map(OsString::from));
    words.push(directory.into());
    words.extend(arguments);
    Command::new(&words[0])
        .args(&words[1..])
        // Our own directory may be closed to the server's account.
        .current_dir("/")
        // Ctrl-C is for the owner: it may still need the database while it ends.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|source| Error::new(source.kind(), format!("{}: {source}", words[0].display())))
}

pub(super) fn url_over_socket(directory: &Path, database: &str) -> String {
    let mut url = format!("postgres://postgres@localhost:5432/{database}?host=");
    for &byte in directory.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte) {
            url.push(byte.into());
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url
}

/// `HOME/*/bin`, as Debian lays out one directory for each major version.
fn versioned_directories(home: &str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    entries.map(|entry| entry.path().join("bin"))
}

fn directory_of_pg_config() -> Option<PathBuf> {
    let said = output(Command::new("pg_config").arg("--bindir"))?;
    Some(PathBuf::from(said.trim()))
}

/// The major version of the server in `place`, if `initdb` is there as well.
fn server_major(place: &Path) -> Option<u32> {
    let postgres = place.join("postgres");
    if !postgres.is_file() || !place.join("initdb").is_file() {
        return None;
    }
    // "postgres (PostgreSQL) 15.7 (Debian 15.7-0+deb12u1)", "… 18beta1"
    let said = output(Command::new(postgres).arg("--version"))?;
    let version = said.split_whitespace().nth(2)?;
    let digits = version.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    let succeeded = output.status.success();
    succeeded.then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
