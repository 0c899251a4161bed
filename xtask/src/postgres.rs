//! PostgreSQL for tests: finding or installing the server binaries and a pooler, and lending one
//! cluster.

use std::io::Read as _;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::cluster::{Cluster, OLDEST_MAJOR};
use crate::pooler::Pooler;
use crate::steps;

/// Installs the server without the cluster and service that Debian's package would set up and
/// start: tests make their own. The setting is taken back, the machine is not ours.
const INSTALL: &str = r#"
settings=/etc/postgresql-common/createcluster.d
mkdir -p "$settings"
trap 'rm -f "$settings/gleaner-tests.conf"' EXIT
echo 'create_main_cluster = false' >"$settings/gleaner-tests.conf"
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends postgresql
"#;

/// Installs the pooler without its service: tests start their own. One that is there already is
/// not touched, and a policy of the machine about services is put back.
const INSTALL_POOLER: &str = r#"
policy=/usr/sbin/policy-rc.d
kept=
if [ -e "$policy" ]; then kept=$(mktemp) && cp -p "$policy" "$kept"; fi
trap 'if [ -n "$kept" ]; then mv "$kept" "$policy"; else rm -f "$policy"; fi' EXIT
printf '#!/bin/sh\nexit 101\n' >"$policy"
chmod 755 "$policy"
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends pgbouncer
if command -v systemctl >/dev/null; then systemctl disable pgbouncer || true; fi
if command -v update-rc.d >/dev/null; then update-rc.d pgbouncer disable || true; fi
"#;

/// The tools alone: the package starts nothing by itself.
const INSTALL_PUBLIC_INBOX: &str = r"
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends public-inbox
";

/// A cluster of our own, after installing what it needs.
pub(crate) fn start() -> anyhow::Result<Cluster> {
    let found = || Cluster::find_binaries().is_some();
    if !found() {
        let named = format!("the PostgreSQL server binaries ({OLDEST_MAJOR} or newer)");
        install(INSTALL, &named, SERVER_HINT, found)?;
    }
    Cluster::start().context("tests need a private PostgreSQL cluster")
}

/// Installs the pooler where it is missing.
pub(crate) fn find_pooler() -> anyhow::Result<()> {
    let found = || Pooler::find_program().is_some();
    if !found() {
        install(INSTALL_POOLER, "pgbouncer", POOLER_HINT, found)?;
    }
    Ok(())
}

/// Installs public-inbox where it is missing, as far as that can be done; tells whether it is there.
/// Its test is the only one that needs it, and says so when it cannot run.
pub(crate) fn find_public_inbox() -> bool {
    let found = || steps::is_there("public-inbox-init", &["--help"]);
    if !found()
        && let Err(error) = install(INSTALL_PUBLIC_INBOX, "public-inbox", INBOX_HINT, found)
    {
        eprintln!("NOT TESTED against a real public-inbox: {error}");
    }
    found()
}

/// Starts a cluster for a person or a script, until our input ends.
pub(crate) fn lend() -> anyhow::Result<()> {
    let cluster = start()?;
    println!("{}", cluster.url());
    eprintln!("stops at end of input (Ctrl-D)");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

const SERVER_HINT: &str = "run `apt-get install postgresql` as root (Debian, Ubuntu), `dnf install \
                           postgresql-server` (Fedora) or `brew install postgresql`; no server \
                           needs to be running";
const POOLER_HINT: &str = "run `apt-get install pgbouncer` as root (Debian, Ubuntu), `dnf install \
                           pgbouncer` (Fedora) or `brew install pgbouncer`; it needs not be running";

const INBOX_HINT: &str = "run `apt-get install public-inbox` as root (Debian, Ubuntu)";

/// Runs the script `how` as root, if we may; `found` says whether that was enough.
fn install(how: &str, what: &str, hint: &str, found: impl Fn() -> bool) -> anyhow::Result<()> {
    let root = ["sh", "-ec", how];
    let with_sudo = ["sudo", "-n", "sh", "-ec", how];
    let words: &[&str] = if !steps::is_there("apt-get", &["--version"]) {
        &[]
    } else if is_root() {
        &root
    } else if steps::is_there("sudo", &["-n", "true"]) {
        &with_sudo
    } else {
        &[]
    };
    let [program, args @ ..] = words else {
        bail!("tests need {what}, which is not installed\n  hint: {hint}");
    };
    eprintln!("installing {what}, which tests need");
    // Its output goes where ours does, but never among the results on standard output.
    let status = Command::new(program)
        .args(args)
        .stdout(std::io::stderr())
        .status()
        .context("apt-get")?;
    if !status.success() || !found() {
        bail!("could not install {what} ({status})\n  hint: {hint}");
    }
    Ok(())
}

fn is_root() -> bool {
    let user = steps::stdout(Command::new("id").arg("-u"));
    user.is_ok_and(|user| user.trim() == "0")
}
