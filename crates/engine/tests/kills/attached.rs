//! Attached subprocesses live as long as their parent, and not a moment longer.

use std::{path::Path, process::Stdio};

use engine::{Attachment, HostFacts as _, ThisHost};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::{eventually, kill_at_once, pid_in, play, stay, word};

/// Has a child of its own, notes both pids, and answers at a pipe for ever.
const FAMILY: &str = r#"
cd "$1"
mkfifo never ask answer
cat never &
echo $! >grandchild.tmp
mv grandchild.tmp grandchild
echo $$ >child.tmp
mv child.tmp child
while :; do read -r word <ask; echo "$word" >answer; done
"#;

fn family(mut attachment: Attachment, directory: &Path) -> Attachment {
    let command = attachment.command();
    command.args(["-c", FAMILY, "sh"]).arg(directory);
    attachment
}

async fn gone(pid: u32) {
    eventually("the process is gone", async || {
        ThisHost.started(pid).is_none().then_some(())
    })
    .await;
}

/// Proves that the child lives, whatever became of the thread that asked for it.
async fn says_something(directory: &Path) {
    let (ask, answer) = (directory.join("ask"), directory.join("answer"));
    let said = tokio::task::spawn_blocking(move || {
        std::fs::write(ask, "alive\n")?;
        std::fs::read_to_string(answer)
    });
    let said = tokio::time::timeout(std::time::Duration::from_mins(1), said).await;
    assert_eq!(said.unwrap().unwrap().unwrap(), "alive\n");
}

/// The parent: a thread that ends as soon as the child is there has it started.
fn be_parent(attachment: fn(&'static str) -> Attachment) {
    let Some(directory) = word("DIRECTORY") else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let handle = runtime.handle().clone();
    let family = family(attachment("sh"), directory.as_ref());
    let noted = Path::new(&directory).join("child");
    let asker = std::thread::spawn(move || {
        handle.block_on(async {
            let child = family.spawn().await.unwrap();
            // Only a child that has asked for the signal is in danger when we end.
            pid_in(&noted).await;
            child
        })
    });
    let child = asker.join().unwrap();
    std::fs::write(Path::new(&directory).join("ready"), "1").unwrap();
    stay();
    drop(child);
}

#[test]
#[ignore = "a role"]
fn parent() {
    be_parent(Attachment::new);
}

#[test]
#[ignore = "a role"]
fn parent_without_a_death_signal() {
    be_parent(Attachment::watched);
}

async fn dies_with_its_parent(role: &str) {
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let mut parent = play(role, &[("DIRECTORY", here.to_str().unwrap())]);
    pid_in(&here.join("ready")).await;
    let (child, grandchild) = (
        pid_in(&here.join("child")).await,
        pid_in(&here.join("grandchild")).await,
    );
    for _ in 0..3 {
        says_something(here).await;
    }
    kill_at_once(&mut parent);
    gone(child).await;
    gone(grandchild).await;
}

#[tokio::test]
async fn a_child_outlives_the_thread_that_asked_for_it_but_not_its_parent() {
    dies_with_its_parent("attached::parent").await;
}

#[tokio::test]
async fn so_it_does_where_no_signal_tells_of_the_parents_death() {
    dies_with_its_parent("attached::parent_without_a_death_signal").await;
}

#[tokio::test]
async fn dropping_ends_the_whole_family() {
    for attachment in [Attachment::new("sh"), Attachment::watched("sh")] {
        let directory = TempDir::new().unwrap();
        let here = directory.path();
        let child = family(attachment, here).spawn().await.unwrap();
        let pids = [
            pid_in(&here.join("child")).await,
            pid_in(&here.join("grandchild")).await,
        ];
        says_something(here).await;
        drop(child);
        for pid in pids {
            gone(pid).await;
        }
    }
}

#[tokio::test]
async fn pipes_words_and_status_pass_through() {
    for mut attachment in [Attachment::new("sh"), Attachment::watched("sh")] {
        attachment
            .command()
            .args([
                "-c",
                "cat; printf %s \"$1\"; exit 7",
                "sh",
                "it's \"one\" $word",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = attachment.spawn().await.unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"in, ").await.unwrap();
        drop(stdin);
        let mut said = String::new();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "in, it's \"one\" $word");
        assert_eq!(child.wait().await.unwrap().code(), Some(7));
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told_by_its_status() {
    for attachment in [
        Attachment::new("no-such-program"),
        Attachment::watched("no-such-program"),
    ] {
        let mut attachment = attachment;
        attachment.command().stderr(Stdio::null());
        let mut child = attachment.spawn().await.unwrap();
        assert_eq!(child.wait().await.unwrap().code(), Some(127));
    }
}
