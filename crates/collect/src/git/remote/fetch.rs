//! Fetching commits with their trees, and their blobs or not.

use std::fmt::Write as _;

use super::{
    Refused, Remote, RemoteError,
    address::Place,
    cache::{Shape, Slot},
    classify::heard,
    refs::is_id,
    run::{Errand, Running, say},
    trace::Exchange,
};
use crate::git::{GitError, Local};

/// What to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// Whatever `HEAD` leads to.
    Head,
    /// A ref by its full name, such as `refs/heads/main`.
    Ref(String),
    /// A commit, or a tag that leads to one, by its id.
    Id(String),
}

/// How much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Commits and trees; blobs come later, those that are needed ([`Fetched::complete`]).
    Blobless,
    /// All blobs.
    Whole,
    /// All blobs of the whole history.
    History,
}

/// What was fetched. As long as it lives, nobody else works on the same objects.
#[derive(Debug)]
pub struct Fetched {
    pub(super) remote: Remote,
    pub(super) place: Place,
    pub(super) slot: Slot,
    pub(super) wants: Vec<Want>,
    pub(super) local: Local,
    blobless: bool,
    /// For each want in its order the commit it leads to; none where it leads to something else.
    pub commits: Vec<Option<String>>,
    /// What the server refused, in the order of asking, each followed by a larger question.
    pub fallbacks: Vec<Refused>,
    /// Where the repository is now, if it moved.
    pub moved_to: Option<String>,
    /// How many requests it took; 0 where git does not tell.
    pub requests: usize,
}

/// The questions, from the smallest to the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// One commit, no blobs.
    Blobless,
    /// One commit.
    Shallow,
    /// Once more and all of it, whatever we have.
    ShallowAgain,
    /// With its history.
    Deep,
    /// Everything with its history: some servers hand out nothing else.
    Everything,
}

impl Question {
    fn shape(self) -> Shape {
        match self {
            Self::Blobless | Self::ShallowAgain => Shape::Blobless,
            Self::Shallow => Shape::Shallow,
            Self::Deep | Self::Everything => Shape::Deep,
        }
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Blobless => &["--depth=1", "--filter=blob:none"],
            Self::Shallow => &["--depth=1"],
            Self::ShallowAgain => &["--depth=1", "--refetch", "--no-filter"],
            Self::Deep | Self::Everything => &[],
        }
    }

    /// What to ask after this was refused.
    fn after(self, refused: Refused) -> Option<Self> {
        match (refused, self) {
            (Refused::Filters, Self::Blobless) => Some(Self::Shallow),
            (Refused::Depth, Self::Blobless | Self::Shallow) => Some(Self::Deep),
            (Refused::Ids, Self::Blobless | Self::Shallow | Self::Deep) => Some(Self::Everything),
            _ => None,
        }
    }
}

impl Remote {
    /// Fetches, all in one question where the server allows it. Every want must be there: one that
    /// is not makes the whole answer [`RemoteError::NoRef`]. Whoever still holds an earlier answer of
    /// the same repository waits for itself, and gets [`RemoteError::Busy`] at the time limit.
    pub async fn fetch(&self, wants: &[Want], contents: Contents) -> Result<Fetched, RemoteError> {
        if let Some(wrong) = wants.iter().find(|want| !want.is_sound()) {
            return Err(RemoteError::NoRef {
                url: self.url().to_owned(),
                name: super::classify::one_line(wrong.name()),
            });
        }
        let limits = self.remotes.settings().limits;
        let mut question = match contents {
            Contents::Blobless => Question::Blobless,
            Contents::Whole => Question::Shallow,
            Contents::History => Question::Deep,
        };
        let (mut place, mut moves, mut sha256) = (self.place.clone(), 0, wants_sha256(wants));
        let (mut fallbacks, mut requests) = (Vec::new(), 0);
        loop {
            let cache = self.remotes.cache();
            let slot = cache
                .slot(
                    &self.place,
                    question.shape(),
                    sha256,
                    limits.time,
                    limits.disk_bytes,
                )
                .await?;
            match self.ask(&place, &slot, wants, question).await {
                Ok(asked) => {
                    requests += asked.exchanges.len();
                    if asked.filter_ignored {
                        fallbacks.push(Refused::Filters);
                    }
                    let mut local = Local::fetched(slot.path(), limits.reading);
                    local.set_partial(question == Question::Blobless && !asked.filter_ignored);
                    let commits = commits(&local, &place, wants, question).await?;
                    return Ok(Fetched {
                        remote: self.clone(),
                        moved_to: (moves > 0).then(|| place.as_str().to_owned()),
                        place,
                        slot,
                        wants: wants.to_vec(),
                        local,
                        blobless: question == Question::Blobless,
                        commits,
                        fallbacks,
                        requests,
                    });
                }
                Err(moved @ RemoteError::Moved { .. }) => {
                    place = self.follow(&place, moved, moves)?;
                    moves += 1;
                    requests += 1;
                }
                Err(RemoteError::Failed { message, .. })
                    if message.contains("mismatched algorithms") && !sha256 =>
                {
                    sha256 = true;
                }
                Err(RemoteError::Unsupported { url, what }) => {
                    question = question
                        .after(what)
                        .ok_or(RemoteError::Unsupported { url, what })?;
                    fallbacks.push(what);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// One question to the server.
    pub(super) async fn ask(
        &self,
        place: &Place,
        slot: &Slot,
        wants: &[Want],
        question: Question,
    ) -> Result<Asked, RemoteError> {
        let mut lines = String::new();
        if question == Question::Everything {
            lines.push_str("+refs/heads/*:refs/asked/heads/*\n+refs/tags/*:refs/asked/tags/*\n");
        }
        for want in wants {
            if question != Question::Everything || !matches!(want, Want::Id(_)) {
                let _ = writeln!(lines, "+{}:{}", want.name(), want.kept_as());
            }
        }
        self.fetch_lines(place, slot, Some(question), lines).await
    }

    /// `git fetch` with refspecs, one a line; without a question, ids of blobs.
    pub(super) async fn fetch_lines(
        &self,
        place: &Place,
        slot: &Slot,
        question: Option<Question>,
        lines: String,
    ) -> Result<Asked, RemoteError> {
        let settings = self.remotes.settings();
        // Whoever asks for blobs by id has nothing to say about what it has.
        let by_ids = question.is_none();
        let before: &[&str] = if by_ids {
            &["-c", "fetch.negotiationAlgorithm=noop"]
        } else {
            &[]
        };
        let flags = question.map_or(&["--filter=blob:none"][..], Question::flags);
        let words = before
            .iter()
            .copied()
            .chain(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"])
            .chain([
                "--no-recurse-submodules",
                "--no-auto-maintenance",
                "--no-show-forced-updates",
            ])
            .chain(flags.iter().copied())
            .chain(["--stdin", "origin"])
            .map(str::to_owned)
            .collect();
        let errand = Errand {
            place,
            git_dir: Some(slot.path()),
            words,
            memory: settings.limits.memory_bytes,
        };
        let (running, stdin, stdout) = Running::start(&self.remotes, errand).await?;
        let ran = running.end(say(stdin, stdout, lines, 1 << 20)).await?;
        let filter_ignored = ran.complaint.contains("filtering not recognized by server");
        let (_, exchanges) = heard(ran, place, settings)?;
        Ok(Asked {
            exchanges,
            filter_ignored,
        })
    }
}

/// What a question came to.
pub(super) struct Asked {
    pub(super) exchanges: Vec<Exchange>,
    /// The server left nothing out, though it was asked to.
    pub(super) filter_ignored: bool,
}

impl Fetched {
    /// The objects, to be listed and read without the network.
    pub fn local(&self) -> &Local {
        &self.local
    }

    /// The commit of the first want.
    pub fn commit(&self) -> Option<&str> {
        self.commits.first()?.as_deref()
    }

    /// Whether blobs may be missing.
    pub fn is_blobless(&self) -> bool {
        self.blobless && !self.fallbacks.contains(&Refused::Filters)
    }
}

impl Want {
    /// As the server knows it.
    fn name(&self) -> &str {
        match self {
            Self::Head => "HEAD",
            Self::Ref(name) | Self::Id(name) => name,
        }
    }

    /// As it is kept here, so that the next fetch can say what we have.
    fn kept_as(&self) -> String {
        match self {
            Self::Head => "refs/asked/HEAD".to_owned(),
            Self::Ref(name) => format!("refs/asked/{}", name.trim_start_matches("refs/")),
            Self::Id(id) => format!("refs/asked/ids/{id}"),
        }
    }

    /// Git's own rules for names, as far as a line of input could be misread.
    fn is_sound(&self) -> bool {
        match self {
            Self::Head => true,
            Self::Id(id) => is_id(id),
            Self::Ref(name) => {
                name.starts_with("refs/")
                    && name.len() <= 1024
                    && !name.contains("..")
                    && !name.ends_with(['/', '.'])
                    && !name.contains(|c: char| c.is_control() || " ~^:?*[\\".contains(c))
            }
        }
    }
}

fn wants_sha256(wants: &[Want]) -> bool {
    wants
        .iter()
        .any(|want| matches!(want, Want::Id(id) if id.len() == 64))
}

/// Where each want leads. What was announced and did not come is no answer.
async fn commits(
    local: &Local,
    place: &Place,
    wants: &[Want],
    question: Question,
) -> Result<Vec<Option<String>>, RemoteError> {
    let names: Vec<String> = wants
        .iter()
        .map(|want| match want {
            Want::Id(id) if question == Question::Everything => id.clone(),
            want => want.kept_as(),
        })
        .flat_map(|name| [format!("{name}^{{commit}}"), name])
        .collect();
    let found = local.resolve(&names).await?;
    let mut commits = Vec::new();
    for (want, pair) in wants.iter().zip(found.chunks(2)) {
        let [commit, plain] = pair else {
            return Err(GitError::Garbled {
                command: "cat-file",
            }
            .into());
        };
        if plain.is_none() && question == Question::Everything {
            return Err(RemoteError::NoRef {
                url: place.as_str().to_owned(),
                name: want.name().to_owned(),
            });
        }
        if plain.is_none() {
            return Err(RemoteError::Damaged {
                url: place.as_str().to_owned(),
                message: format!("{} was announced and did not come", want.name()),
            });
        }
        commits.push(commit.clone());
    }
    Ok(commits)
}
