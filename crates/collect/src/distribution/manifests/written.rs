//! How what was read of a tree is written down, or that nothing was.

use db::{Db, DbError};
use engine::{Ending, Outcome, Run, RunError};
use facts::{kept::Kept, manifest::ManifestFact};
use serde::{Deserialize, Serialize};
use store::{
    observed, repositories,
    sources::{self, Extent},
};

use super::{MAX_MANIFESTS, Snapshot, visit::Visit};
use crate::{
    distribution::{at_forge::Question, names, pairing},
    http::RequestLog,
};

/// The name under which facts are recorded.
pub(in crate::distribution) const SOURCE: &str = "manifests";
/// What is missing of a large tree until its last piece is written.
pub(in crate::distribution) const BEING_READ: &str = "being read";
/// Facts in one transaction: each may also append to history and end another.
const CHUNK: usize = store::MAX_ROWS / 3;

/// How far a large tree has been written down, and what is remembered of the last visit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    commit: String,
    written: usize,
    #[serde(default)]
    pub(super) visit: Option<Visit>,
}

/// What a run says of itself.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    pub(super) commit: String,
    pub(super) manifests: usize,
    pub(super) unreadable: usize,
    pub(super) left_out: usize,
    /// Made from another repository, as far as its forge told: its manifests are that one's too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fork: Option<bool>,
    /// The parsers are new, the contents are those of the last visit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) read_again: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) requests: Option<RequestLog>,
}

/// What is known of a repository's manifests.
pub(super) async fn known(db: &Db, repository: i64) -> Result<Vec<Kept<ManifestFact>>, DbError> {
    let limit = MAX_MANIFESTS + 1;
    let mut known = observed::manifests(db, repository, false, limit).await?;
    known.retain(|kept| kept.source == SOURCE);
    Ok(known)
}

/// A repository without a commit declares nothing, and that is known.
pub(super) fn nothing_declared(question: Question, report: Report, cx: &Run) -> Ending {
    let ending = cx.finish(Outcome::Done, report, question, |tx, question| {
        Box::pin(async move {
            observed::record_manifests(tx, &question.asked(), &[], Extent::Whole).await?;
            pairing::wake(tx, question.repository, question.now).await
        })
    });
    ending.cursor(Progress::default())
}

/// Where the default branch is learned.
pub(super) enum Branch {
    /// From the repository on this machine.
    Here(Option<String>),
    /// From the host, by git.
    ByGit(Option<String>),
    /// From the forge, by `repo-metadata`.
    Elsewhere,
}

pub(super) async fn found(
    question: Question,
    snapshot: Snapshot,
    branch: Branch,
    visit: Option<Visit>,
    report: Report,
    cx: &Run,
) -> Result<Ending, RunError> {
    let Snapshot {
        commit,
        mut facts,
        left_out,
        cut,
        ..
    } = snapshot;
    let report = Report {
        commit: commit.clone(),
        manifests: facts.len(),
        unreadable: facts.iter().filter(|fact| fact.error.is_some()).count(),
        left_out,
        ..report
    };

    // A tree with thousands of manifests is written in pieces. Until the last
    // one says "whole", nothing that was there before counts as gone.
    let last = facts.split_off(facts.len().saturating_sub(1) / CHUNK * CHUNK);
    for (index, chunk) in facts.chunks(CHUNK).enumerate() {
        let progress = Progress {
            commit: commit.clone(),
            written: index * CHUNK + chunk.len(),
            visit: None,
        };
        let piece = (question, chunk.to_vec());
        cx.commit(&progress, &piece, |tx, (question, chunk)| {
            Box::pin(async move {
                let extent = Extent::Part(BEING_READ);
                observed::record_manifests(tx, &question.asked(), chunk, extent).await?;
                Ok(())
            })
        })
        .await?;
    }

    let missing =
        cut.or_else(|| (left_out > 0).then(|| format!("{left_out} manifests were left out")));
    let outcome = match &missing {
        None => Outcome::Done,
        Some(why) => Outcome::Partial {
            why: why.clone(),
            retry_at: None,
        },
    };
    let progress = Progress {
        written: report.manifests,
        commit,
        visit,
    };
    let facts = Last {
        question,
        branch,
        facts: last,
        is_one_of_many: !facts.is_empty(),
        missing,
    };
    let ending = cx.finish(outcome, report, facts, |tx, last| {
        Box::pin(async move {
            let extent = last.missing.as_deref().map_or(Extent::Whole, Extent::Part);
            let recorded =
                observed::record_manifests(tx, &last.question.asked(), &last.facts, extent).await?;
            let Question {
                repository, now, ..
            } = last.question;
            if let Branch::Here(branch) | Branch::ByGit(branch) = &last.branch {
                repositories::set_default_branch(tx, repository, branch.as_deref()).await?;
            }
            // What earlier pieces changed is not remembered.
            let news = last.is_one_of_many || recorded.is_news();
            if news && !matches!(last.branch, Branch::Here(_)) {
                names::changed(tx, repository, now).await?;
            }
            pairing::wake(tx, repository, now).await
        })
    });
    Ok(ending.cursor(progress))
}

/// Notes that somebody was asked and did not answer.
pub(super) async fn note_silence(
    question: Question,
    why: &str,
    cursor: &(impl Serialize + Sync),
    cx: &Run,
) -> Result<(), RunError> {
    let note = (question, why.to_owned());
    cx.commit(cursor, &note, |tx, (question, why)| {
        Box::pin(async move {
            sources::could_not_answer(tx, question.repository, SOURCE, why, question.now).await?;
            pairing::wake_after_failure(tx, question.repository, SOURCE, question.now).await
        })
    })
    .await?;
    Ok(())
}

/// The last piece of a snapshot.
struct Last {
    question: Question,
    branch: Branch,
    facts: Vec<ManifestFact>,
    is_one_of_many: bool,
    missing: Option<String>,
}
