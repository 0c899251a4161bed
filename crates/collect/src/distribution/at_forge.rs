//! What the collectors that ask a repository's forge have in common: finding the forge, and ending
//! a run that learned nothing.
//!
//! A repository that its forge does not show (deleted, private, taken down) is knowledge about the
//! repository, which `repo-metadata` records. It is none about packages: what was known of them
//! stays, and the source only notes that it was asked.

use std::time::Duration;

use db::Timestamp;
use engine::{Ending, Outcome, Run, RunError};
use facts::repository::Forge as Software;
use serde::Serialize;
use store::{
    metadata::Metadata,
    repositories::{self, Repository},
    sources::{self, Asked},
};

use super::pairing;
use crate::{
    collector::untracked,
    forge::{self, Forge, NoAnswer, Which},
    http::{Class, Http, RequestLog, Session},
};

/// How long it is believed that a repository has no commit: a little longer than the time between
/// two looks at it.
const EMPTY_FOR: Duration = Duration::from_hours(8 * 24);

/// Who is asked about what, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub(super) repository: i64,
    pub(super) source: &'static str,
    pub(super) collector_version: i64,
    pub(super) now: Timestamp,
}

/// A repository and the forge that can be asked about it.
#[derive(Debug)]
pub(super) struct AtForge {
    pub(super) repository: Repository,
    pub(super) client: Box<dyn Forge>,
    pub(super) which: Which,
    pub(super) session: Session,
}

/// Whether there is something to ask.
pub(super) enum Opening {
    Ready(Box<AtForge>),
    /// The host has nothing that could be asked, except git.
    NoForge(Box<Plain>),
    Over(Ending),
}

/// A repository on a host that is no forge.
#[derive(Debug)]
pub(super) struct Plain {
    pub(super) repository: Repository,
    pub(super) session: Session,
}

impl Plain {
    /// Nobody can be asked what only forges know.
    pub(super) fn cannot_be_asked(&self, cx: &Run, question: Question) -> Ending {
        let why = "its host is no forge that could be asked";
        nothing_learned(cx, question, Outcome::Done, why.into(), &self.session)
    }
}

/// What a run says of itself that had nothing to ask, or got no answer.
#[derive(Debug, Serialize)]
struct Note {
    note: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<RequestLog>,
}

impl Question {
    pub(super) fn asked(&self) -> Asked<'static> {
        Asked {
            repository: self.repository,
            source: self.source,
            collector_version: self.collector_version,
            now: self.now,
        }
    }
}

/// The repository, or the end of a run about one that is no longer watched.
pub(super) async fn tracked(cx: &Run, id: i64) -> Result<Result<Repository, Ending>, RunError> {
    let found = repositories::by_id(cx.db(), id).await?;
    Ok(found.ok_or_else(|| untracked(cx)))
}

/// Finds the forge of a repository. `cursor` is what the unit keeps if it comes to nothing.
pub(super) async fn open(
    cx: &Run,
    http: &Http,
    repository: Repository,
    question: Question,
    cursor: &(impl Serialize + Sync),
) -> Result<Opening, RunError> {
    if repository.archived {
        let note = "archived repositories are not looked into".to_owned();
        return Ok(Opening::Over(cx.end(
            Outcome::Done,
            Note {
                note,
                requests: None,
            },
        )));
    }
    let session = http.for_run(cx);
    let guess = Software::from_word(&repository.forge).unwrap_or(Software::Git);
    let host = match forge::look_up(cx.db(), &session, &repository.host, guess).await? {
        Ok(host) => host,
        Err(why) => {
            let ending = could_not_ask(cx, question, cursor, why, &session).await?;
            return Ok(Opening::Over(ending));
        }
    };
    let Some(client) = forge::client(host.software, &repository.host, session.clone()) else {
        return Ok(Opening::NoForge(Box::new(Plain {
            repository,
            session,
        })));
    };
    let which = Which {
        number: repository.forge_id.clone(),
        owner: repository.owner.clone(),
        name: repository.name.clone(),
        was_empty: false,
    };
    Ok(Opening::Ready(Box::new(AtForge {
        repository,
        client,
        which,
        session,
    })))
}

/// Whether a repository has no commit, as far as is known without asking. `repo-metadata` looks
/// once a week, and starts this work when there is one.
pub(super) fn is_empty(known: Option<&Metadata>, now: Timestamp) -> bool {
    known.is_some_and(|known| {
        let recent = now.since(known.observed_at) < EMPTY_FOR;
        recent && known.presence == "here" && known.empty == Some(true)
    })
}

/// Nothing is known that was not known before, except that we asked. The note is written at once;
/// the run then ends as the reason wants it, and the engine decides when to ask again.
pub(super) async fn could_not_ask(
    cx: &Run,
    question: Question,
    cursor: &(impl Serialize + Sync),
    why: NoAnswer,
    session: &Session,
) -> Result<Ending, RunError> {
    let interrupted =
        matches!(&why, NoAnswer::Unknown(unknown) if unknown.class == Class::Interrupted);
    if !interrupted {
        let note = (question, why.to_string());
        cx.commit(cursor, &note, |tx, (question, why)| {
            Box::pin(async move {
                let Question {
                    repository,
                    source,
                    now,
                    ..
                } = *question;
                sources::could_not_answer(tx, repository, source, why, now).await?;
                pairing::wake_after_failure(tx, repository, source, now).await
            })
        })
        .await?;
    }
    why.end(cx, session.log())
}

/// The forge does not show the repository.
pub(super) fn not_shown(
    cx: &Run,
    question: Question,
    taken_down: bool,
    session: &Session,
) -> Ending {
    let why = if taken_down {
        "its forge has taken it down"
    } else {
        "its forge does not know it: deleted, or private"
    };
    let outcome = Outcome::Gone { why: why.into() };
    nothing_learned(cx, question, outcome, why.into(), session)
}

/// Ends a run that could not learn anything, with a note that it asked.
pub(super) fn nothing_learned(
    cx: &Run,
    question: Question,
    outcome: Outcome,
    why: String,
    session: &Session,
) -> Ending {
    let report = Note {
        note: why.clone(),
        requests: Some(session.log()),
    };
    cx.finish(outcome, report, (question, why), |tx, (question, why)| {
        Box::pin(async move {
            let Question {
                repository,
                source,
                now,
                ..
            } = *question;
            sources::could_not_answer(tx, repository, source, why, now).await?;
            pairing::wake_after_failure(tx, repository, source, now).await
        })
    })
}
