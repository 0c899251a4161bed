//! Listing refs.
//!
//! Over HTTP git's own transport is asked for version 2's `ls-refs` with prefixes, which
//! `git ls-remote` cannot do for `HEAD`: it would have every ref announced, pull requests included
//! (hundreds of thousands on a busy forge). Servers that speak something older, and other
//! protocols, go through `git ls-remote`.

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{ChildStdin, ChildStdout},
};

use super::{
    Remote, RemoteError,
    address::Place,
    classify::heard,
    packet::{self, Packet},
    run::{Break, Errand, Running, say},
};

/// What a git that only lists needs beside what it lists.
const MEMORY: u64 = 256 << 20;

/// The refs of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refs {
    /// What `HEAD` leads to, if it was asked for and is there.
    pub head: Option<RemoteHead>,
    /// All others that were asked for, as the server orders them.
    pub refs: Vec<Ref>,
    /// Where the repository is now, if it moved.
    pub moved_to: Option<String>,
    /// How many requests it took; 0 where git does not tell.
    pub requests: usize,
}

impl Refs {
    /// Whether there is nothing: with everything asked for, a repository without commits.
    pub fn is_empty(&self) -> bool {
        self.refs.is_empty() && self.head.as_ref().is_none_or(|head| head.id.is_none())
    }
}

/// A repository's `HEAD`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteHead {
    /// The commit; none while nothing was committed.
    pub id: Option<String>,
    /// The full name of the branch, such as `refs/heads/main`, where the server tells.
    pub branch: Option<String>,
}

/// One ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ref {
    /// The full name, such as `refs/tags/v1`.
    pub name: String,
    /// What it points at.
    pub id: String,
    /// What an annotated tag leads to in the end.
    pub peeled: Option<String>,
}

/// Everything that is not a forge's own bookkeeping.
pub const USUAL_REFS: [&str; 3] = ["HEAD", "refs/heads/", "refs/tags/"];

impl Remote {
    /// The refs whose names begin with one of these; see [`USUAL_REFS`]. An empty list is
    /// knowledge.
    pub async fn refs(&self, prefixes: &[&str]) -> Result<Refs, RemoteError> {
        let mut place = self.place.clone();
        for moves in 0.. {
            match self.refs_at(&place, prefixes).await {
                Err(moved @ RemoteError::Moved { .. }) => {
                    place = self.follow(&place, moved, moves)?;
                }
                Ok(mut refs) => {
                    refs.moved_to = (moves > 0).then(|| place.as_str().to_owned());
                    return Ok(refs);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Refs::default())
    }

    async fn refs_at(&self, place: &Place, prefixes: &[&str]) -> Result<Refs, RemoteError> {
        if prefixes
            .iter()
            .any(|prefix| prefix.len() > 1024 || prefix.contains(char::is_control))
        {
            return Err(RemoteError::BadUrl {
                url: place.as_str().to_owned(),
                why: "no ref can have such a name",
            });
        }
        let settings = self.remotes.settings();
        let listing = settings.limits.listing_bytes;
        let errand = |words: &[&str]| Errand {
            place,
            git_dir: None,
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            memory: (MEMORY + 2 * listing as u64).min(settings.limits.memory_bytes),
        };
        let mut requests = 0;
        if place.protocol.is_http() {
            let helper = format!("remote-{}", place.protocol.as_str());
            let errand = errand(&[&helper, place.as_str(), place.as_str()]);
            let (running, stdin, stdout) = Running::start(&self.remotes, errand).await?;
            let mut ran = running
                .end(converse(stdin, stdout, prefixes, listing))
                .await?;
            if matches!(ran.said, Ok(None)) {
                // It has said that it cannot; its exit status means no more than that.
                ran.status = std::process::ExitStatus::default();
            }
            let (said, exchanges) = heard(ran, place, settings)?;
            requests = exchanges.len();
            if let Some(mut refs) = said {
                refs.requests = requests;
                return Ok(refs);
            }
        }
        let errand = errand(&["ls-remote", "--symref", "--quiet", "--", place.as_str()]);
        let (running, stdin, stdout) = Running::start(&self.remotes, errand).await?;
        let ran = running
            .end(say(stdin, stdout, String::new(), listing))
            .await?;
        let (said, exchanges) = heard(ran, place, settings)?;
        let mut refs = listed(&said, prefixes);
        refs.requests = requests + exchanges.len();
        let smart =
            !place.protocol.is_http() || exchanges.iter().any(super::trace::Exchange::is_smart);
        if said.is_empty() && !smart {
            // A file that holds nothing may be anything.
            return Err(RemoteError::Damaged {
                url: place.as_str().to_owned(),
                message: "it lists no refs and does not speak git".to_owned(),
            });
        }
        Ok(refs)
    }
}

/// Asks git's transport for a connection and the server for its refs; none if the server speaks
/// nothing newer than version 1.
async fn converse(
    mut stdin: ChildStdin,
    stdout: ChildStdout,
    prefixes: &[&str],
    limit: usize,
) -> Result<Option<Refs>, Break> {
    let mut from = BufReader::new(stdout);
    let mut left = limit;
    stdin
        .write_all(b"stateless-connect git-upload-pack\n")
        .await?;
    let mut reply = String::new();
    (&mut from).take(64).read_line(&mut reply).await?;
    match reply.as_str() {
        "\n" => {}
        "fallback\n" => return Ok(None),
        _ => {
            return Err(Break::Garbled(
                "the transport gave no connection".to_owned(),
            ));
        }
    }
    let (mut version, mut format, mut unborn) = (false, None, false);
    while let Packet::Line(line) = packet::read(&mut from, &mut left).await? {
        version |= line == "version 2";
        unborn |= line
            .strip_prefix("ls-refs=")
            .is_some_and(|can| can.contains("unborn"));
        if let Some(name) = line.strip_prefix("object-format=") {
            format = Some(name.to_owned());
        }
    }
    if !version {
        return Err(Break::Garbled(
            "the server speaks no known version".to_owned(),
        ));
    }
    let mut ask = packet::line("command=ls-refs");
    if let Some(format) = format {
        ask.push_str(&packet::line(&format!("object-format={format}")));
    }
    ask.push_str("0001");
    ask.push_str(&packet::line("peel"));
    ask.push_str(&packet::line("symrefs"));
    if unborn {
        ask.push_str(&packet::line("unborn"));
    }
    for prefix in prefixes {
        ask.push_str(&packet::line(&format!("ref-prefix {prefix}")));
    }
    ask.push_str("0000");
    stdin.write_all(ask.as_bytes()).await?;
    let mut refs = Refs::default();
    loop {
        match packet::read(&mut from, &mut left).await? {
            Packet::Line(line) => take(&line, prefixes, &mut refs)?,
            Packet::Flush => break,
            Packet::Mark => {}
        }
    }
    drop(stdin);
    tokio::io::copy_buf(&mut from.take(64), &mut tokio::io::sink()).await?;
    Ok(Some(refs))
}

/// `<id> <name> [symref-target:<name>] [peeled:<id>]`
fn take(line: &str, prefixes: &[&str], refs: &mut Refs) -> Result<(), Break> {
    if let Some(message) = line.strip_prefix("ERR ") {
        return Err(Break::Refused(message.to_owned()));
    }
    let mut words = line.split(' ');
    let (Some(id), Some(name)) = (words.next(), words.next()) else {
        return Err(Break::Garbled("a ref without a name".to_owned()));
    };
    let born = id != "unborn";
    if born && !is_id(id) {
        return Err(Break::Garbled("a ref without an id".to_owned()));
    }
    let (mut branch, mut peeled) = (None, None);
    for word in words {
        if let Some(target) = word.strip_prefix("symref-target:") {
            branch = Some(target.to_owned());
        } else if let Some(target) = word.strip_prefix("peeled:").filter(|id| is_id(id)) {
            peeled = Some(target.to_owned());
        }
    }
    // Prefixes are only a wish.
    if !prefixes.iter().any(|prefix| name.starts_with(prefix)) {
        return Ok(());
    }
    if name == "HEAD" {
        let id = born.then(|| id.to_owned());
        refs.head = Some(RemoteHead { id, branch });
    } else if born {
        refs.refs.push(Ref {
            name: name.to_owned(),
            id: id.to_owned(),
            peeled,
        });
    }
    Ok(())
}

/// What `git ls-remote --symref` prints: `ref: <branch>\tHEAD`, `<id>\t<name>`, `<id>\t<name>^{}`.
fn listed(text: &str, prefixes: &[&str]) -> Refs {
    let mut refs = Refs::default();
    let mut branch = None;
    for line in text.lines() {
        let Some((id, name)) = line.split_once('\t') else {
            continue;
        };
        if !prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        if let Some(target) = id.strip_prefix("ref: ") {
            if name == "HEAD" {
                branch = Some(target.to_owned());
            }
        } else if !is_id(id) {
        } else if let Some(name) = name.strip_suffix("^{}") {
            if let Some(tag) = refs.refs.last_mut().filter(|tag| tag.name == name) {
                tag.peeled = Some(id.to_owned());
            }
        } else if name == "HEAD" {
            refs.head = Some(RemoteHead {
                id: Some(id.to_owned()),
                branch: branch.take(),
            });
        } else {
            refs.refs.push(Ref {
                name: name.to_owned(),
                id: id.to_owned(),
                peeled: None,
            });
        }
    }
    refs
}

/// Whether this can be the id of an object.
pub(super) fn is_id(text: &str) -> bool {
    (text.len() == 40 || text.len() == 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_line_is_taken_or_refused(line in "[ -~]{0,60}|[0-9a-f]{40} [ -~]{0,40}") {
            let mut refs = Refs::default();
            let _ = take(&line, &USUAL_REFS, &mut refs);
            let _ = listed(&line.replace(' ', "\t"), &USUAL_REFS);
            prop_assert!(refs.refs.iter().all(|one| is_id(&one.id) && one.name.starts_with("refs/")));
        }
    }
}
