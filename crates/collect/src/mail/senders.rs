//! `mail/senders`: asks a forge whose addresses those are that nobody here knows.
//!
//! Only about people who wrote often, since searches are few; and about each again after thirty days
//! at the earliest. Who is found becomes one with the contributor known by that account.

use std::time::Duration;

use engine::{Ending, Enqueue, Outcome, Run, RunError};
use facts::repository::Forge as Software;
use serde::{Deserialize, Serialize};
use store::mail::{self, Stranger};

use super::Settings;
use crate::{
    collector::{Collector, Need, kind},
    forge::{self, FoundBy},
    http::{Http, RequestLog},
};

/// The forge that can be searched for people.
pub(super) const HOST: &str = "github.com";
/// Nobody is asked about more often.
pub(super) const COOL_DOWN: Duration = Duration::from_hours(30 * 24);
/// People in one run; the next one follows with the hourly look.
pub(super) const MOST: usize = 200;

/// Looks senders up at a forge.
#[derive(Clone, Debug)]
pub struct MailSenders {
    http: Http,
    settings: Settings,
}

/// There is one.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Subject {}

#[derive(Debug, Default, Serialize)]
struct Report {
    asked: usize,
    by_profile: usize,
    by_commits: usize,
    requests: Option<RequestLog>,
}

/// The unit.
pub fn unit() -> Enqueue {
    Enqueue::new(&kind::<MailSenders>(), HOST)
        .upstream(HOST)
        .payload(serde_json::to_value(Subject {}).unwrap_or_default())
}

/// Those a forge would be asked about now.
pub(super) async fn strangers(
    cx: &Run,
    settings: &Settings,
    limit: usize,
) -> Result<Vec<Stranger>, RunError> {
    if settings.sender_search_after <= 0 {
        return Ok(Vec::new());
    }
    let before = cx.clock().now().minus(COOL_DOWN);
    let found = mail::strangers(cx.db(), settings.sender_search_after, before, limit).await?;
    Ok(found)
}

impl MailSenders {
    /// Asks through this client.
    pub fn new(http: Http, settings: Settings) -> Self {
        Self { http, settings }
    }
}

impl Collector for MailSenders {
    const NAME: &'static str = "mail/senders";
    const SUMMARY: &'static str = "asks a forge whose addresses the unknown senders of mail have";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = None;
    const POOL: &'static str = "mail-senders";
    const MAX_RUN: Duration = Duration::from_hours(6);
    const NEEDS: &'static [Need] = &[Need::Network];

    type Subject = Subject;
    type Cursor = ();

    async fn run(
        &self,
        _subject: Subject,
        _cursor: Option<()>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let session = self.http.for_run(cx);
        let mut report = Report::default();
        let Some(client) = forge::client(Software::GitHub, HOST, session.clone()) else {
            return Ok(cx.end(Outcome::Done, report));
        };
        for stranger in strangers(cx, &self.settings, MOST).await? {
            if cx.cancelled().is_cancelled() {
                return Err(RunError::Interrupted);
            }
            let found = match client.account_of(&stranger.email).await {
                Ok(found) => found,
                // What was learned so far is written; the rest waits with this one.
                Err(why) => return why.end(cx, session.log()),
            };
            report.asked += 1;
            let found = found.map(|account| match account.by {
                FoundBy::Profile => {
                    report.by_profile += 1;
                    (account.login, "profile")
                }
                FoundBy::Commits => {
                    report.by_commits += 1;
                    (account.login, "commits")
                }
            });
            let facts = (stranger.id, found, cx.clock().now());
            cx.commit(&(), &facts, |tx, (sender, found, now)| {
                Box::pin(async move {
                    match found {
                        Some((login, way)) => {
                            mail::identified(tx, *sender, login, way, *now).await?;
                        }
                        None => mail::not_identified(tx, *sender, *now).await?,
                    }
                    Ok(())
                })
            })
            .await?;
        }
        report.requests = Some(session.log());
        Ok(cx.end(Outcome::Done, report))
    }
}
