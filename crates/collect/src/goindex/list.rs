//! `goindex/list`: lists the repositories of an owner on a forge, and has the tags of each read.
//!
//! It lists as `organisation` does: everything at first and once in seven days, what changed last
//! in between; a listing that was cut off ends nothing; numbers tell renamed repositories. Only the
//! work is another: no scans, but the tags of every repository, archived ones too, since their
//! versions can be had for ever.

use std::time::Duration;

use engine::{Ending, Enqueue, Run, RunError};
use store::goindex;

use super::TAGS;
use crate::{
    collector::{Collector, Need, kind},
    http::Http,
    organisation::{Organisation, Progress, Subject},
};

/// Lists owners.
#[derive(Clone, Debug)]
pub struct GoList(Organisation);

/// The unit of an owner that a group follows.
pub fn unit(source: i64, host: &str) -> Enqueue {
    Enqueue::new(&kind::<GoList>(), source.to_string())
        .upstream(host)
        .payload(serde_json::to_value(Subject { source }).unwrap_or_default())
}

impl GoList {
    /// Asks through this client.
    pub fn new(http: Http) -> Self {
        Self(Organisation::new(http).scans(TAGS).for_go_index())
    }
}

impl Collector for GoList {
    const NAME: &'static str = "goindex/list";
    const SUMMARY: &'static str = "lists the repositories of an owner, to have their tags read";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(Duration::from_hours(24));
    const POOL: &'static str = "goindex";
    const MAX_RUN: Duration = Duration::from_mins(30);
    const NEEDS: &'static [Need] = &[Need::Network];

    type Subject = Subject;
    type Cursor = Progress;

    async fn run(
        &self,
        subject: Subject,
        cursor: Option<Progress>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let noted = (subject.source, cx.clock().now());
        let progress = cursor.clone().unwrap_or_default();
        cx.commit(&progress, &noted, |tx, (source, now)| {
            Box::pin(async move { Ok(goindex::listing_began(tx, *source, *now).await?) })
        })
        .await?;
        self.0.run(subject, cursor, cx).await
    }
}
