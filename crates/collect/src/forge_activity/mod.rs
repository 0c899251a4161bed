//! `forge-activity`: asks a repository's forge for its issues and pull requests.
//!
//! Only what names them is kept (numbers, ids, title, state, dates), so that mail can be tied to
//! what it tells of. The first visit reads all there is, each later one what changed since: an
//! unchanged repository costs one question.
//!
//! Where a forge lists by change, the next page is asked for by the time that the last one ended
//! with, and not by its number: what changes meanwhile moves to the end and pushes nothing over the
//! edge of a page. Other lists are read to their end before the next visit begins later.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use db::{Timestamp, Tx};
use engine::{Ending, Enqueue, Outcome, Run, RunError};
use facts::repository::Forge as Software;
use serde::{Deserialize, Serialize};
use store::{
    mail::{self, NewIssue},
    repositories,
};

use crate::{
    collector::{Collector, Need, kind},
    forge::{self, Forge, IssueList, IssuePage, ListedIssue, Looked, NoAnswer, Which},
    http::{Http, RequestLog, Session},
    mail::project_unit,
    repo_metadata::enqueue,
};

/// Pages of one run; the rest is for the next one, which begins at once.
const MOST_PAGES: usize = 200;

/// Asks forges for issues and pull requests.
#[derive(Clone, Debug)]
pub struct ForgeActivity {
    http: Http,
}

/// What a unit is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The repository's id.
    pub repository: i64,
}

/// How far each list was read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cursor(BTreeMap<String, Place>);

/// A place in a list.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Place {
    /// All that changed before is known.
    since: Option<Timestamp>,
    /// The next page of those that changed later.
    from: Option<String>,
    /// The latest change on the pages before.
    latest: Option<Timestamp>,
}

/// What a run says of itself.
#[derive(Debug, Serialize)]
struct Report {
    issues: usize,
    pulls: usize,
    changed: usize,
    requests: RequestLog,
}

/// The unit of a repository on this host.
pub fn unit(id: i64, host: &str) -> Enqueue {
    let subject = Subject { repository: id };
    Enqueue::new(&kind::<ForgeActivity>(), id.to_string())
        .upstream(host)
        .payload(serde_json::to_value(subject).unwrap_or_default())
}

impl ForgeActivity {
    /// Asks through this client.
    pub fn new(http: Http) -> Self {
        Self { http }
    }
}

impl Collector for ForgeActivity {
    const NAME: &'static str = "forge-activity";
    const SUMMARY: &'static str =
        "asks a repository's forge for its issues and pull requests, so that mail finds them";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(Duration::from_hours(24));
    const POOL: &'static str = "forge-activity";
    const MAX_RUN: Duration = Duration::from_mins(30);
    const NEEDS: &'static [Need] = &[Need::Network];

    type Subject = Subject;
    type Cursor = Cursor;

    async fn run(
        &self,
        subject: Subject,
        cursor: Option<Cursor>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let Some(repository) = repositories::by_id(cx.db(), subject.repository).await? else {
            let why = "the repository is no longer tracked".to_owned();
            return Ok(cx.end(Outcome::Gone { why }, ()));
        };
        let session = self.http.for_run(cx);
        let guess = Software::from_word(&repository.forge).unwrap_or(Software::Git);
        let host = match forge::look_up(cx.db(), &session, &repository.host, guess).await? {
            Ok(host) => host,
            Err(why) => return why.end(cx, session.log()),
        };
        let Some(client) = forge::client(host.software, &repository.host, session.clone()) else {
            let note = "its host is no forge that could be asked";
            return Ok(cx.end(Outcome::Done, note));
        };
        let mut visit = Visit {
            client: client.as_ref(),
            which: Which {
                number: repository.forge_id.clone(),
                owner: repository.owner.clone(),
                name: repository.name.clone(),
                was_empty: false,
            },
            repository: repository.id,
            host: repository.host.clone(),
            cursor: cursor.unwrap_or_default(),
            report: Report {
                issues: 0,
                pulls: 0,
                changed: 0,
                requests: session.log(),
            },
            pages: 0,
        };
        match visit.read(cx).await? {
            Ok(end) => Ok(visit.end(cx, end, &session)),
            Err(why) => why.end(cx, session.log()),
        }
    }
}

/// How reading the lists came to its end.
#[derive(Clone, Copy)]
enum End {
    All,
    TooMany,
    /// The forge does not show the repository, and why.
    Hidden(&'static str),
}

struct Visit<'a> {
    client: &'a dyn Forge,
    which: Which,
    repository: i64,
    host: String,
    cursor: Cursor,
    report: Report,
    pages: usize,
}

impl Visit<'_> {
    async fn read(&mut self, cx: &Run) -> Result<Result<End, NoAnswer>, RunError> {
        for list in self.client.issue_lists() {
            loop {
                if self.pages == MOST_PAGES {
                    return Ok(Ok(End::TooMany));
                }
                self.pages += 1;
                match self.page(cx, *list).await? {
                    Err(why) => return Ok(Err(why)),
                    Ok(Looked::Here(true)) => break,
                    Ok(Looked::Here(false)) => {}
                    Ok(Looked::Empty) => return Ok(Ok(End::All)),
                    Ok(Looked::Missing) => {
                        let why = "its forge does not show it, or not its issues";
                        return Ok(Ok(End::Hidden(why)));
                    }
                    Ok(Looked::Blocked) => {
                        return Ok(Ok(End::Hidden("its forge has taken it down")));
                    }
                }
            }
        }
        Ok(Ok(End::All))
    }

    /// Reads the next page of a list; answers whether it was the last.
    async fn page(
        &mut self,
        cx: &Run,
        list: IssueList,
    ) -> Result<Result<Looked<bool>, NoAnswer>, RunError> {
        let place = self.cursor.0.entry(list.word().to_owned()).or_default();
        let asked = self
            .client
            .issues(&self.which, list, place.since, place.from.as_deref())
            .await;
        let page = match asked {
            Ok(Looked::Here(page)) => page,
            Ok(other) => return Ok(Ok(other.map(|_| true))),
            Err(why) => return Ok(Err(why)),
        };
        let is_last = page.next.is_none();
        *place = place.after(&page, self.client.lists_issues_by_change());
        let told: Vec<NewIssue> = page.issues.into_iter().map(new_issue).collect();
        let pulls = told.iter().filter(|one| one.kind == "pull").count();
        self.report.pulls += pulls;
        self.report.issues += told.len() - pulls;
        let facts = Facts {
            repository: self.repository,
            host: &self.host,
            told,
            now: cx.clock().now(),
            changed: AtomicUsize::new(0),
        };
        cx.commit(&self.cursor, &facts, |tx, facts| Box::pin(facts.write(tx)))
            .await?;
        self.report.changed += facts.changed.into_inner();
        Ok(Ok(Looked::Here(is_last)))
    }

    fn end(mut self, cx: &Run, end: End, session: &Session) -> Ending {
        self.report.requests = session.log();
        let now = cx.clock().now();
        let outcome = match end {
            End::All => Outcome::Done,
            End::TooMany => Outcome::Retry {
                at: now,
                why: format!("{MOST_PAGES} pages were read, and there are more"),
            },
            End::Hidden(why) => Outcome::Gone { why: why.into() },
        };
        let facts = (
            self.repository,
            matches!(outcome, Outcome::Done),
            self.report.changed > 0,
            now,
        );
        cx.finish(outcome, self.report, facts, |tx, facts| {
            Box::pin(async move {
                let (repository, all, changed, now) = *facts;
                if all {
                    mail::activity_answered(tx, repository, now).await?;
                }
                // Mail may have waited for it.
                if changed && mail::has_lists(tx).await? {
                    enqueue(tx, &[project_unit().now()], now).await?;
                }
                Ok(())
            })
        })
    }
}

impl Place {
    /// Where to read on behind a page.
    fn after(&self, page: &IssuePage, by_change: bool) -> Self {
        let on_page = page.issues.iter().map(|one| one.updated_at).max();
        let latest = self.latest.max(on_page);
        let reached = Self {
            since: latest.max(self.since),
            from: None,
            latest: None,
        };
        match &page.next {
            None => reached,
            // Unless a whole page changed at once.
            Some(_) if by_change && latest > self.since => reached,
            Some(next) => Self {
                since: self.since,
                from: Some(next.clone()),
                latest,
            },
        }
    }
}

struct Facts<'a> {
    repository: i64,
    host: &'a str,
    told: Vec<NewIssue>,
    now: Timestamp,
    /// The transaction may be run again, and then tells anew.
    changed: AtomicUsize,
}

impl Facts<'_> {
    async fn write(&self, tx: &mut Tx) -> Result<(), RunError> {
        let changed =
            mail::record_issues(tx, self.repository, self.host, &self.told, self.now).await?;
        self.changed.store(changed, Ordering::Relaxed);
        Ok(())
    }
}

fn new_issue(listed: ListedIssue) -> NewIssue {
    NewIssue {
        kind: if listed.pull { "pull" } else { "issue" },
        platform_id: listed.id,
        number: listed.number,
        node_id: listed.node_id,
        title: listed.title,
        state: if listed.closed { "closed" } else { "open" },
        created_at: listed.created_at,
        updated_at: Some(listed.updated_at),
        closed_at: listed.closed_at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    fn page(seconds: &[i64], next: Option<&str>) -> IssuePage {
        let issue = |second: &i64| ListedIssue {
            pull: false,
            id: 1,
            number: 1,
            node_id: None,
            title: String::new(),
            closed: false,
            created_at: None,
            updated_at: at(*second),
            closed_at: None,
        };
        IssuePage {
            issues: seconds.iter().map(issue).collect(),
            next: next.map(str::to_owned),
        }
    }

    #[test]
    fn lists_by_change_are_read_on_from_the_last_change() {
        let first = Place::default().after(&page(&[1, 2, 3], Some("/2")), true);
        assert_eq!((first.since, first.from.as_deref()), (Some(at(3)), None));
        // All of a page changed in one second: only its number leads on.
        let same = first.after(&page(&[3, 3, 3], Some("/2")), true);
        assert_eq!(
            (same.since, same.from.as_deref()),
            (Some(at(3)), Some("/2"))
        );
        let last = same.after(&page(&[3, 4], None), true);
        assert_eq!((last.since, last.from), (Some(at(4)), None));
        let nothing = Place::default().after(&page(&[], None), true);
        assert_eq!(nothing.since, None);
    }

    #[test]
    fn other_lists_are_read_to_their_end_first() {
        let first = Place::default().after(&page(&[9, 2], Some("/2")), false);
        assert_eq!((first.since, first.from.as_deref()), (None, Some("/2")));
        let last = first.after(&page(&[1], None), false);
        assert_eq!((last.since, last.from), (Some(at(9)), None));
    }
}
