//! `organisation`: keeps a group's repositories current with what an owner has on a forge.
//!
//! The first run lists everything; later ones ask what changed last and stop where they know it,
//! which is one request while nothing happens. Once in seven days everything is listed again: only
//! what a *whole* listing does not name can be gone, and then its forge is asked about it by number
//! (`repo-metadata`), and that answer decides. A listing that was cut off, by a limit, a fault or a
//! cap, ends nothing.
//!
//! Each page commits with the place of the next one, so that a killed run goes on where it was. A
//! new repository comes with its place in the group and its work, or not at all.

mod address;
mod page;
mod walk;

use std::time::Duration;

use engine::{Ending, Enqueue, Outcome, Run, RunError};
use facts::repository::{Forge as Software, RepositoryUrl};
use serde::{Deserialize, Serialize};
use store::group_sources::{self, Source};

pub use self::{
    address::{OwnerAddress, OwnerAddressError},
    walk::Progress,
};
use self::{
    page::Written,
    walk::{Enough, MOST_ON_PAGE, Walk},
};
use crate::{
    collector::{Collector, Need, kind},
    forge::{self, Forge, NoAnswer, Page},
    http::{Http, RequestLog, Session},
    registry::{SCANS, Scans},
};

/// Lists what owners have.
#[derive(Clone, Debug)]
pub struct Organisation {
    http: Http,
    scans: Scans,
    /// The work is the Go index's.
    go_index: bool,
}

/// What a unit is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The group's source.
    pub source: i64,
}

/// What a run says of itself.
#[derive(Debug, Serialize)]
struct Report {
    forge: &'static str,
    /// Everything, or what changed last.
    whole: bool,
    pages: u64,
    listed: u64,
    /// Entries whose address makes no sense.
    odd: u64,
    cut: Option<String>,
    requests: RequestLog,
}

/// The unit of a group's source.
pub fn unit(source: i64, host: &str) -> Enqueue {
    Enqueue::new(&kind::<Organisation>(), source.to_string())
        .upstream(host)
        .payload(serde_json::to_value(Subject { source }).unwrap_or_default())
}

impl Organisation {
    /// Asks through this client.
    pub fn new(http: Http) -> Self {
        Self {
            http,
            scans: SCANS,
            go_index: false,
        }
    }

    /// Starts this work for what is new, instead of all there is.
    pub fn scans(mut self, scans: Scans) -> Self {
        self.scans = scans;
        self
    }

    /// Lists for the Go index: the work is for every repository that is listed, those that were
    /// known before and archived ones too, and the listing is written down there.
    pub(crate) fn for_go_index(mut self) -> Self {
        self.go_index = true;
        self
    }
}

impl Collector for Organisation {
    const NAME: &'static str = "organisation";
    const SUMMARY: &'static str = "keeps a group current with the repositories of an owner";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(Duration::from_hours(24));
    const POOL: &'static str = "organisation";
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
        let Some(source) = group_sources::by_id(cx.db(), subject.source).await? else {
            let why = "no group follows this owner any more".to_owned();
            return Ok(cx.end(Outcome::Gone { why }, ()));
        };
        let session = self.http.for_run(cx);
        let looked_up = forge::look_up(cx.db(), &session, &source.host, guess(&source)).await?;
        let host = match looked_up {
            Ok(host) => host,
            Err(why) => return why.end(cx, session.log()),
        };
        let Some(client) = forge::client(host.software, &source.host, session.clone()) else {
            let why = format!("{} has no forge that could be asked", source.host);
            return Ok(cx.end(Outcome::Gone { why }, session.log()));
        };
        let mut progress = cursor.unwrap_or_default();
        let mut walk = progress.resume(cx.clock().now());
        if walk.whole && walk.pages == 0 {
            progress.owner = match client.owner(&source.owner).await {
                Ok(owner) => owner,
                Err(why) => return why.end(cx, session.log()),
            };
        }
        // What cannot be had in the order of changes is not known before its end.
        let owner = progress.owner.as_ref();
        walk.whole |= owner.is_some_and(|owner| !client.lists_by_change(owner));
        let listing = Listing {
            cx,
            source,
            host,
            client,
            session,
            scans: self.scans,
            go_index: self.go_index,
        };
        listing.walk(progress, walk).await
    }
}

/// One run's part of a listing.
struct Listing<'a> {
    cx: &'a Run,
    source: Source,
    host: forge::Host,
    client: Box<dyn Forge>,
    session: Session,
    scans: Scans,
    go_index: bool,
}

impl Listing<'_> {
    async fn walk(self, progress: Progress, mut walk: Walk) -> Result<Ending, RunError> {
        let Some(owner) = progress.owner.clone() else {
            return Ok(self.no_owner());
        };
        loop {
            let from = walk.next.clone();
            let asked = self
                .client
                .repositories(&owner, walk.order(), from.as_deref());
            let page = match asked.await {
                Ok(Some(page)) => page,
                Ok(None) => return Ok(self.no_owner()),
                Err(why) => return self.interrupted(why, &walk),
            };
            let enough = progress.take(&mut walk, &page);
            let unchanged = page.not_modified && !walk.whole;
            let mut written = self.written(page, &owner.path, &walk);
            let enough = match enough {
                Enough::Yes => true,
                Enough::No => false,
                Enough::IfNoNews => written.is_no_news(self.cx.db()).await?,
            };
            if enough {
                if unchanged {
                    written.sights.clear();
                }
                return Ok(self.end(progress.after(&walk), &walk, written));
            }
            let during = progress.during(&walk);
            self.cx
                .commit(&during, &written, |tx, page| Box::pin(page.write(tx)))
                .await?;
        }
    }

    fn written(&self, page: Page, owner: &str, walk: &Walk) -> Written {
        Written {
            source: self.source.clone(),
            host: self.host,
            owner: owner.to_owned(),
            sights: page
                .repositories
                .into_iter()
                .map(|listed| listed.sight)
                .take(MOST_ON_PAGE)
                .collect(),
            listing: walk.started,
            scans: self.scans,
            go_index: self.go_index,
            now: self.cx.clock().now(),
        }
    }

    fn end(&self, progress: Progress, walk: &Walk, last: Written) -> Ending {
        let outcome = match &walk.cut {
            None => Outcome::Done,
            // It would be cut at the same place at once.
            Some(why) => Outcome::Partial {
                why: why.clone(),
                retry_at: Some(
                    self.cx
                        .clock()
                        .now()
                        .plus(Organisation::CADENCE.unwrap_or_default()),
                ),
            },
        };
        let to_the_end = walk.cut.is_none();
        let facts = (last, to_the_end, to_the_end && walk.whole);
        let ending = self.cx.finish(
            outcome,
            self.report(walk),
            facts,
            |tx, (last, to_the_end, all)| {
                Box::pin(async move {
                    last.write(tx).await?;
                    if *all {
                        last.ask_about_missing(tx).await?;
                    }
                    if *to_the_end {
                        last.finished(tx).await?;
                    }
                    Ok(())
                })
            },
        );
        ending.cursor(progress)
    }

    /// Nothing is known that was not known before; the cursor tells where to go on.
    fn interrupted(&self, why: NoAnswer, walk: &Walk) -> Result<Ending, RunError> {
        why.end(self.cx, self.report(walk))
    }

    /// Its repositories stay as they are: each is asked about by number, and tells where it went.
    fn no_owner(&self) -> Ending {
        let Source { host, owner, .. } = &self.source;
        let why = format!("there is no {owner} on {host}");
        let ending = self.cx.end(Outcome::Gone { why }, self.session.log());
        ending.cursor(Progress::default())
    }

    fn report(&self, walk: &Walk) -> Report {
        Report {
            forge: self.host.software.as_str(),
            whole: walk.whole,
            pages: walk.pages,
            listed: walk.listed,
            odd: walk.odd,
            cut: walk.cut.clone(),
            requests: self.session.log(),
        }
    }
}

/// What the host's name says.
fn guess(source: &Source) -> Software {
    let any = format!("https://{}/any/any", source.host);
    RepositoryUrl::parse(&any).map_or(Software::Git, |url| url.forge())
}
