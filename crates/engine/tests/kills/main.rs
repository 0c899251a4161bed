//! Processes that are really killed. The victims are this test binary itself,
//! started again to play a role: a test that is ignored unless asked for.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

mod attached;
mod detached;

#[path = "../conformance/drill.rs"]
#[allow(dead_code, reason = "made for another binary as well")]
mod drill;
#[path = "../conformance/scanner.rs"]
#[allow(dead_code, reason = "made for another binary as well")]
mod scanner;

use std::{
    io::Read as _,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// Starts the test `role` of this binary as a process of its own. It ends when
/// its standard input does, so that it cannot outlive us.
fn play(role: &str, words: &[(&str, &str)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([role, "--exact", "--ignored", "--nocapture"])
        .envs(words.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// In a role: what was said to it; nothing if nobody has started it to play.
fn word(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// In a role: stays on stage.
fn stay() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// Kills as nobody can survive it.
fn kill_at_once(victim: &mut Child) {
    victim.kill().unwrap();
    victim.wait().unwrap();
}

/// Waits for a file with a pid.
async fn pid_in(path: &Path) -> u32 {
    let read = async || std::fs::read_to_string(path).ok()?.trim().parse().ok();
    eventually("a process has noted its pid", read).await
}

/// Waits until there is an answer.
async fn eventually<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let wait = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), wait)
        .await
        .unwrap_or_else(|_| panic!("waited in vain until {what}"))
}
