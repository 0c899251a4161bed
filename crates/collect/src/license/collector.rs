//! `license/scan`: scans what is new in a repository's tree and puts the tree together.

use std::time::Duration;

use engine::{Ending, Engine, Enqueue, Outcome, Run, RunError};
use facts::repository::RepositoryUrl;
use serde::{Deserialize, Serialize};
use store::repositories;

use super::{Desk, desk::pause, gather::Way, repository_scan::Scan, stop::Stop, work_directory};
use crate::{
    collector::{Collector, Need, kind, untracked},
    git::{GitError, remote::RemoteError},
};

/// Scans repositories.
#[derive(Clone, Debug)]
pub struct LicenseScan {
    desk: Desk,
    way: Way,
}

/// What a unit is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The repository's id.
    pub repository: i64,
}

/// How far a run is. Answers are kept by file, so there is nothing to remember.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Progress {}

/// Until a unit is tried again that found no room.
const NO_ROOM: Duration = Duration::from_mins(15);
/// Until a unit is tried again that found no scanner: until one works the pool is paused anyhow.
const NO_SCANNER: Duration = Duration::from_mins(1);

/// The unit of a repository.
pub fn unit(id: i64, url: &RepositoryUrl) -> Enqueue {
    let subject = Subject { repository: id };
    let unit = Enqueue::new(&kind::<LicenseScan>(), id.to_string())
        .payload(serde_json::to_value(subject).unwrap_or_default());
    if url.is_local() {
        unit
    } else {
        unit.upstream(url.host())
    }
}

impl LicenseScan {
    /// With the scanners of this desk.
    pub fn new(desk: Desk) -> Self {
        Self {
            way: Way::new(desk.settings().clone()),
            desk,
        }
    }
}

impl Collector for LicenseScan {
    const NAME: &'static str = "license/scan";
    const SUMMARY: &'static str =
        "scans the files of a repository for licenses, copyrights and packages";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(Duration::from_hours(180 * 24));
    const POOL: &'static str = super::POOL;
    const MAX_RUN: Duration = Duration::from_hours(24);
    const NEEDS: &'static [Need] = &[Need::Tool("git"), Need::Network];

    type Subject = Subject;
    type Cursor = Progress;

    async fn run(
        &self,
        subject: Subject,
        _cursor: Option<Progress>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let Some(repository) = repositories::by_id(cx.db(), subject.repository).await? else {
            return Ok(untracked(cx));
        };
        if repository.archived {
            let note = serde_json::json!({"note": "archived repositories are not scanned"});
            return Ok(cx.end(Outcome::Done, note));
        }
        let scanner = match self.desk.scanner().await {
            Ok(scanner) => scanner,
            Err(broken) => {
                // Whoever is next would find the same.
                let engine = Engine::new(cx.db().clone(), cx.clock().clone());
                pause(&engine, &broken.0).await?;
                return Ok(not_now(cx, NO_SCANNER, broken.to_string()));
            }
        };
        let settings = self.desk.settings();
        if !work_directory::has_room(&settings.directory, settings.min_free_bytes) {
            let place = settings.directory.display();
            return Ok(not_now(
                cx,
                NO_ROOM,
                format!("there is too little space left in {place}"),
            ));
        }
        let scan = Scan {
            desk: &self.desk,
            scanner: scanner.as_ref(),
            repository: &repository,
            cx,
            began: cx.clock().now(),
        };
        let ending = match self.way.to(&repository).await {
            // Boxed: whoever asks git lies deep, and every caller would hold it whole.
            Ok(source) => Box::pin(scan.run(&source)).await,
            Err(error) => Err(error.into()),
        };
        match ending {
            Ok(ending) => Ok(ending),
            Err(Stop::Run(error)) => Err(error),
            Err(Stop::Git(error)) => no_answer(error, cx),
            Err(Stop::Broken(broken)) => {
                // It worked an hour ago: prove it again before anybody else tries.
                let proved = self.desk.probe().await;
                if let Err(still) = proved {
                    let engine = Engine::new(cx.db().clone(), cx.clock().clone());
                    pause(&engine, &still.0).await?;
                }
                Ok(not_now(cx, NO_SCANNER, broken.to_string()))
            }
        }
    }
}

fn not_now(cx: &Run, after: Duration, why: String) -> Ending {
    let at = cx.clock().now().plus(after);
    cx.end(Outcome::Retry { at, why }, ())
}

/// Nothing is known that was not known before, unless there is nothing.
fn no_answer(error: RemoteError, cx: &Run) -> Result<Ending, RunError> {
    if error.is_absent() || matches!(error, RemoteError::Git(GitError::NotThere(_))) {
        let why = error.to_string();
        return Ok(cx.end(Outcome::Gone { why }, ()));
    }
    error.end(cx, ())
}
