//! A private cluster through the door a developer uses: `cargo xtask postgres`.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

#[test]
fn the_server_dies_with_a_killed_owner() {
    let mut lent = Lent::start();
    let mut connection = lent.connect().unwrap();
    // Asking for TLS, which the server denies, makes sure that it has taken this connection.
    let mut answer = [0];
    connection.write_all(&[0, 0, 0, 8, 4, 210, 22, 47]).unwrap();
    connection.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"N");
    // SIGKILL: nothing of the owner's own can clean up.
    lent.owner.kill().unwrap();
    lent.owner.wait().unwrap();
    // The server closes this connection, with an error or without, when it begins to end; one that
    // stays hangs the test.
    let _ = connection.read_to_end(&mut Vec::new());
    // Until its very end it still takes connections. These say at once that they want nothing,
    // since it would wait for a silent one.
    while let Ok(mut late) = lent.connect() {
        let _ = late.shutdown(Shutdown::Write);
        let _ = late.read_to_end(&mut Vec::new());
    }
}

#[test]
fn nothing_is_left_at_the_end_of_input() {
    let mut lent = Lent::start();
    drop(lent.owner.stdin.take());
    assert!(lent.owner.wait().unwrap().success());
    assert!(!lent.directory.exists());
}

#[test]
fn leftovers_of_dead_runs_are_swept_and_others_are_not() {
    let living = Lent::start();
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let parent = living.directory.parent().unwrap();
    let leftover = parent.join(format!("gleaner-pg-{}-0", ended.id()));
    std::fs::create_dir_all(leftover.join("data")).unwrap();
    let foreign = parent.join(format!("gleaner-pg-notes-{}", ended.id()));
    std::fs::create_dir(&foreign).unwrap();

    let _next = Lent::start();
    assert!(!leftover.exists());
    assert!(foreign.exists());
    assert!(living.connect().is_ok());
    std::fs::remove_dir(foreign).unwrap();
}

struct Lent {
    owner: Child,
    directory: PathBuf,
}

impl Lent {
    fn start() -> Self {
        let mut owner = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .arg("postgres")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let mut stdout = BufReader::new(owner.stdout.take().unwrap());
        stdout.read_line(&mut url).unwrap();
        let (_, directory) = url.trim_end().split_once("?host=").unwrap();
        Self {
            owner,
            directory: directory.into(),
        }
    }

    fn connect(&self) -> std::io::Result<UnixStream> {
        UnixStream::connect(self.directory.join(".s.PGSQL.5432"))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        drop(self.owner.stdin.take());
        let _ = self.owner.wait();
    }
}
