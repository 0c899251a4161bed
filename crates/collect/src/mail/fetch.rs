//! `mail/fetch` and `mail/fetch-inbox`: stage the mail of a list, part by part.
//!
//! They do the same at different archives, each with slots of its own: a public-inbox whose clone
//! takes hours holds up no list of Pony Mail.
//!
//! A part is written down as read in the transaction that stages the last of its mail, so that a
//! run that is killed goes on with the part it was in, and stages nothing twice.

use std::time::Duration;

use db::{Timestamp, Tx};
use engine::{Ending, Enqueue, Outcome, Run, RunError};
use facts::mail::Archive;
use serde::{Deserialize, Serialize};
use store::mail::{self, KeptList, KnownPart};
use url::Url;

use super::{
    Settings,
    source::{self, Desk, Stopped, Visit},
};
use crate::{
    collector::{Collector, Need, kind},
    http::Http,
};

/// Fetches mail.
#[derive(Clone, Debug)]
pub struct MailFetch {
    http: Http,
    settings: Settings,
}

/// What a unit is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The list's id.
    pub list: i64,
}

#[derive(Debug, Default, Serialize)]
struct Report {
    parts: usize,
    found: i64,
    staged: usize,
    forgotten: usize,
    incomplete: Vec<String>,
}

/// The unit of a list; none for imports, which nobody fetches.
pub fn unit(list: i64, archive: Archive, base: Option<&str>) -> Option<Enqueue> {
    if archive == Archive::Import {
        return None;
    }
    let kind = match archive {
        Archive::PublicInbox => kind::<MailFetchInbox>(),
        Archive::PonyMail | Archive::Import => kind::<MailFetch>(),
    };
    let unit = Enqueue::new(&kind, list.to_string())
        .payload(serde_json::to_value(Subject { list }).unwrap_or_default());
    let host = base.and_then(|base| Url::parse(base).ok());
    Some(match host.as_ref().and_then(Url::host_str) {
        Some(host) => unit.upstream(host),
        None => unit,
    })
}

impl MailFetch {
    /// Asks through this client.
    pub fn new(http: Http, settings: Settings) -> Self {
        Self { http, settings }
    }
}

impl Collector for MailFetch {
    const NAME: &'static str = "mail/fetch";
    const SUMMARY: &'static str = "fetches the mail of a list from Pony Mail";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(Duration::from_hours(30 * 24));
    const POOL: &'static str = "mail";
    const MAX_RUN: Duration = Duration::from_hours(6);
    const NEEDS: &'static [Need] = &[Need::Network];

    type Subject = Subject;
    type Cursor = ();

    async fn run(
        &self,
        subject: Subject,
        _cursor: Option<()>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        self.visit(&subject, cx).await
    }
}

/// Fetches mail from public-inbox.
#[derive(Clone, Debug)]
pub struct MailFetchInbox(MailFetch);

impl MailFetchInbox {
    /// Asks through this client.
    pub fn new(http: Http, settings: Settings) -> Self {
        Self(MailFetch::new(http, settings))
    }
}

impl Collector for MailFetchInbox {
    const NAME: &'static str = "mail/fetch-inbox";
    const SUMMARY: &'static str = "fetches the mail of a list from public-inbox";
    const VERSION: i64 = MailFetch::VERSION;
    const CADENCE: Option<Duration> = MailFetch::CADENCE;
    const POOL: &'static str = "mail-inbox";
    const MAX_RUN: Duration = MailFetch::MAX_RUN;
    const NEEDS: &'static [Need] = &[Need::Tool("git"), Need::Network];

    type Subject = Subject;
    type Cursor = ();

    async fn run(
        &self,
        subject: Subject,
        _cursor: Option<()>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        self.0.visit(&subject, cx).await
    }
}

impl MailFetch {
    async fn visit(&self, subject: &Subject, cx: &Run) -> Result<Ending, RunError> {
        let Some(list) = mail::by_id(cx.db(), subject.list).await? else {
            let why = "the list is no longer registered".to_owned();
            return Ok(cx.end(Outcome::Gone { why }, ()));
        };
        let archive: Archive = list.archive.parse().map_err(RunError::unit)?;
        let Some(source) = source::of(archive) else {
            return Ok(cx.end(Outcome::Done, ()));
        };
        let began = (list.id, cx.clock().now());
        cx.commit(&(), &began, |tx, (list, now)| {
            Box::pin(async move { Ok(mail::began(tx, *list, *now).await?) })
        })
        .await?;
        let visit = Visit {
            known: mail::parts(cx.db(), list.id).await?,
            list: &list,
            settings: &self.settings,
            session: self.http.for_run(cx),
            cx,
        };
        let mut report = Report::default();
        match walk(source.as_ref(), &visit, &mut report).await {
            Ok(()) => Ok(end(cx, &list, report)),
            Err(stopped) => {
                let facts = (list.id, stopped.message(), cx.clock().now());
                if !matches!(stopped, Stopped::Run(_)) {
                    cx.commit(&(), &facts, |tx, (list, why, now)| {
                        Box::pin(async move { Ok(mail::failed(tx, *list, why, *now).await?) })
                    })
                    .await?;
                }
                stopped.end(cx)
            }
        }
    }
}

async fn walk(
    source: &dyn source::ArchiveSource,
    visit: &Visit<'_>,
    report: &mut Report,
) -> Result<(), Stopped> {
    for part in source.plan(visit).await? {
        let mut desk = Desk::new(visit.cx, visit.list.id);
        let end = source.read(visit, &part, &mut desk).await?;
        let state = match (end.incomplete, part.open) {
            (true, _) => "incomplete",
            (false, true) => "open",
            (false, false) => "complete",
        };
        if end.incomplete {
            let why = end.why.as_deref().unwrap_or("mail is missing");
            report.incomplete.push(format!("{}: {why}", part.name));
        }
        report.parts += 1;
        report.found += end.found.unwrap_or(0);
        let part = KnownPart {
            part: part.name,
            state: state.to_owned(),
            expected: part.expected,
            found: end.found.unwrap_or(0),
            tip: end.tip,
            read_at: visit.cx.clock().now(),
            why: end.why,
        };
        desk.close(part, end.found.is_none()).await?;
        report.staged += desk.staged;
        report.forgotten += desk.forgotten;
    }
    Ok(())
}

fn end(cx: &Run, list: &KeptList, report: Report) -> Ending {
    let outcome = if report.incomplete.is_empty() {
        Outcome::Done
    } else {
        Outcome::Partial {
            why: report.incomplete.join("; "),
            retry_at: None,
        }
    };
    let facts = Last {
        list: list.id,
        why: (!report.incomplete.is_empty()).then(|| report.incomplete.join("; ")),
        now: cx.clock().now(),
    };
    cx.finish(outcome, report, facts, |tx, facts| {
        Box::pin(facts.write(tx))
    })
}

struct Last {
    list: i64,
    why: Option<String>,
    now: Timestamp,
}

impl Last {
    async fn write(&self, tx: &mut Tx) -> Result<(), RunError> {
        match &self.why {
            None => mail::finished(tx, self.list, self.now).await?,
            Some(why) => mail::failed(tx, self.list, why, self.now).await?,
        }
        Ok(())
    }
}
