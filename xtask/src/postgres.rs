//! PostgreSQL for tests: finding or installing the server binaries, and lending one cluster.

use std::io::Read as _;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::cluster::{Cluster, OLDEST_MAJOR};
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

/// A cluster of our own, after installing what it needs.
pub(crate) fn start() -> anyhow::Result<Cluster> {
    if Cluster::find_binaries().is_none() {
        install()?;
    }
    Cluster::start().context("tests need a private PostgreSQL cluster")
}

/// Starts a cluster for a person or a script, until our input ends.
pub(crate) fn lend() -> anyhow::Result<()> {
    let cluster = start()?;
    println!("{}", cluster.url());
    eprintln!("stops at end of input (Ctrl-D)");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn install() -> anyhow::Result<()> {
    let root = ["sh", "-ec", INSTALL];
    let with_sudo = ["sudo", "-n", "sh", "-ec", INSTALL];
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
        bail!(
            "tests need the PostgreSQL server binaries ({OLDEST_MAJOR} or newer), which are not \
             installed\n  hint: run `apt-get install postgresql` as root (Debian, Ubuntu), `dnf \
             install postgresql-server` (Fedora) or `brew install postgresql`; no server needs to \
             be running"
        );
    };
    eprintln!("installing the PostgreSQL server binaries, which tests need");
    // Its output goes where ours does, but never among the results on standard output.
    let status = Command::new(program)
        .args(args)
        .stdout(std::io::stderr())
        .status()
        .context("apt-get")?;
    if !status.success() || Cluster::find_binaries().is_none() {
        bail!(
            "could not install PostgreSQL {OLDEST_MAJOR} or newer ({status})\n  hint: install your \
             system's PostgreSQL server package yourself; no server needs to be running"
        );
    }
    Ok(())
}

fn is_root() -> bool {
    let user = steps::stdout(Command::new("id").arg("-u"));
    user.is_ok_and(|user| user.trim() == "0")
}
