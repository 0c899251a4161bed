//! A private pgbouncer for tests, in transaction mode: beside a [`Cluster`](super::cluster::Cluster)
//! and like it in all that its page says (std only, a keeper, never as root, gone with its owner).
//!
//! It is as strict as pgbouncer comes: no startup parameter is ignored, and a client that leaves
//! something in its session leaves it with the next one.

use std::env;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};

use super::cluster::{Account, Kept, private_directory, url_over_socket};

/// Run as `sh -c KEEPER sh DIRECTORY PROGRAM SERVER SERVERS`; says `ready` once clients are taken.
/// Killed in the end: it has nothing to put in order, and its versions disagree about which other
/// signals end it at once.
const KEEPER: &str = r#"
dir=$1 program=$2
exec 2>>"$dir/log"
cat >"$dir/pgbouncer.ini" <<END || exit 1
[databases]
* = $3
[pgbouncer]
listen_addr =
listen_port = 5432
unix_socket_dir = $dir
auth_type = any
pool_mode = transaction
default_pool_size = $4
max_client_conn = 200
END
guard=
if setpriv --pdeathsig keep true; then guard='setpriv --pdeathsig KILL'; fi
$guard "$program" "$dir/pgbouncer.ini" </dev/null >>"$dir/log" &
server=$!
until grep -q 'process up' "$dir/log"; do
    kill -0 "$server" || exit 1
    sleep 0.05
done
echo ready
read -r _
kill -KILL "$server"
wait "$server"
rm -rf -- "$dir"
"#;

/// A running private pooler. Dropping it stops it.
#[derive(Debug)]
pub struct Pooler {
    url: String,
    _kept: Kept,
}

impl Pooler {
    /// Starts a pooler in front of `server` (`host=… port=… user=…`), which serves each
    /// combination of user and database with at most `servers` connections.
    pub fn start(server: &str, database: &str, servers: u32) -> Result<Self> {
        let program = Self::find_program().ok_or_else(|| {
            Error::other(
                "no `pgbouncer` in PATH or the usual places; `cargo xtask test` installs it where \
                 it can, or install your system's pgbouncer package",
            )
        })?;
        let account = Account::for_server()?;
        let directory = private_directory(account.as_ref())?;
        let url = url_over_socket(&directory, database);
        let words = vec![program.into(), server.into(), servers.to_string().into()];
        let kept = Kept::start("pgbouncer", KEEPER, directory, words, account.as_ref())?;
        Ok(Self { url, _kept: kept })
    }

    /// The `postgres://` address of the database through the pooler.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where the program is. Debian puts it where only root's PATH leads.
    pub fn find_program() -> Option<PathBuf> {
        let on_path = env::var_os("PATH").unwrap_or_default();
        let places = ["/usr/sbin", "/usr/local/sbin", "/usr/local/bin"].map(PathBuf::from);
        env::split_paths(&on_path)
            .chain(places)
            .map(|place| place.join("pgbouncer"))
            .find(|program| Path::is_file(program))
    }
}
