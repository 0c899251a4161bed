//! What a window waits for: the projects that became due in it, then their files, then the numbers
//! of what changed.
//!
//! All edges are soft, and each has a deadline: one project that fails, or whose page is old, holds
//! nobody up for longer than that, and stays due by itself. They are added some thousands at a time,
//! so that a window of a million projects takes no more memory than a small one; meanwhile all of
//! its units run.

use db::{Db, Timestamp};
use engine::{Requirement, RunError};
use serde::{Deserialize, Serialize};
use store::pypi;

use super::{file, number, project};
use crate::pypi::IndexAddress;

/// Edges that are added at a time.
const CHUNK: usize = 5_000;

/// How far a window is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Window {
    /// What became due from here on belongs to it.
    pub(super) began: Timestamp,
    stage: Stage,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    Projects { after: String },
    Files { after: i64 },
    Numbers,
    Numbered,
}

/// What comes next.
pub(super) enum Next {
    /// These must end; then the window is as far as this.
    Wait(Vec<Requirement>, Window),
    /// Nothing is left.
    Over,
}

impl Window {
    pub(super) fn new(began: Timestamp) -> Self {
        Self {
            began,
            stage: Stage::Projects {
                after: String::new(),
            },
        }
    }

    /// Whether all projects have ended.
    pub(super) fn is_past_projects(&self) -> bool {
        !matches!(self.stage, Stage::Projects { .. })
    }

    pub(super) async fn next(
        &self,
        db: &Db,
        address: &IndexAddress,
        now: Timestamp,
        deadline: Timestamp,
    ) -> Result<Next, RunError> {
        let began = self.began;
        let mut stage = self.stage.clone();
        let wait = |requirements: Vec<Requirement>, stage: Stage| {
            Ok(Next::Wait(requirements, Self { began, stage }))
        };
        loop {
            match stage {
                Stage::Projects { after } => {
                    let names = pypi::due_names(db, began, &after, CHUNK).await?;
                    let Some(after) = names.last().cloned() else {
                        stage = Stage::Files { after: 0 };
                        continue;
                    };
                    let requirements = names.iter().map(|name| {
                        let unit = project::unit(address, name);
                        Requirement::soft(unit).since(began).deadline(deadline)
                    });
                    return wait(requirements.collect(), Stage::Projects { after });
                }
                Stage::Files { after } => {
                    let files = pypi::unread(db, began, after, CHUNK).await?;
                    let Some((after, ..)) = files.last() else {
                        stage = Stage::Numbers;
                        continue;
                    };
                    let after = *after;
                    let requirements = files.iter().map(|(_, project, filename, url)| {
                        let unit = file::unit_at(address, project, filename, url);
                        Requirement::soft(unit).deadline(deadline)
                    });
                    return wait(requirements.collect(), Stage::Files { after });
                }
                Stage::Numbers => {
                    let numbers = Requirement::soft(number::unit().now()).since(now);
                    return wait(vec![numbers.deadline(deadline)], Stage::Numbered);
                }
                Stage::Numbered => return Ok(Next::Over),
            }
        }
    }
}
