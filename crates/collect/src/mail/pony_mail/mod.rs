//! Pony Mail, as at lists.apache.org.
//!
//! A month is asked for as `d=YYYY-MM`, which includes its edges (`date=` leaves out the mail of the
//! first and of the last second). An empty month and a list that is not there both answer with an
//! empty file, and a reader that pauses gets a clean end in the middle; so the file is written to
//! disk as it comes, and its mails are counted against the histogram of [`stats`] before the month is
//! taken for read. The histogram counts mail that was deleted too: a month that gives fewer mails
//! than it counts is asked again later, and believed when it gives the same number once more.
//!
//! The month that has just ended stays open for a while, since archives take late mail in.

mod month;
mod stats;

use std::{fs::File, io::BufReader, time::Duration};

use engine::RunError;
use futures_util::future::BoxFuture;
use scan::mail::mbox;
use store::mail::{KeptList, NewCopy};
use tokio::sync::mpsc;
use url::Url;

pub use month::Month;
use stats::Histogram;
pub use stats::lists;

use super::{
    source::{ArchiveSource, Desk, Part, PartEnd, Stopped, Visit},
    spool::Spool,
    stage::{BYTES_AT_ONCE, COPIES_AT_ONCE, stage_file_copy},
};
use crate::http::{Ask, Expect, Unknown};

/// A month of the busiest lists has a few hundred megabytes.
const MAX_MONTH: u64 = 8 << 30;
/// The time a month may take to arrive.
const PATIENCE: Duration = Duration::from_hours(1);
/// A month counts as over this long after its end.
const MARGIN_DAYS: i64 = 7;
/// Lists without a known beginning are read from here.
const OLDEST: Month = Month::new(1995, 1);

/// A server with Pony Mail's interface.
#[derive(Clone, Copy, Debug, Default)]
pub struct PonyMail;

/// Where a list is: the upstream, the path before `/api`, and the two parts of its address.
struct Place<'a> {
    upstream: String,
    path: String,
    name: &'a str,
    domain: &'a str,
}

impl<'a> Place<'a> {
    fn of(list: &'a KeptList) -> Result<Self, RunError> {
        let base = list.base.as_deref().unwrap_or("https://lists.apache.org");
        let url = Url::parse(base).map_err(RunError::unit)?;
        let host = url
            .host_str()
            .ok_or_else(|| RunError::unit("the archive has no host"))?;
        let (name, domain) = list
            .address
            .split_once('@')
            .ok_or_else(|| RunError::unit("the list's address has no @"))?;
        Ok(Self {
            upstream: host.to_owned(),
            path: url.path().trim_end_matches('/').to_owned(),
            name,
            domain,
        })
    }

    fn ask(&self, handler: &str, visit: &Visit<'_>) -> Ask {
        Ask::get(&self.upstream, format!("{}/api/{handler}.lua", self.path))
            .header("user-agent", &visit.settings.git.user_agent)
    }
}

impl ArchiveSource for PonyMail {
    fn plan<'a>(&'a self, visit: &'a Visit<'a>) -> BoxFuture<'a, Result<Vec<Part>, Stopped>> {
        Box::pin(async move {
            let place = Place::of(visit.list)?;
            let histogram = stats::histogram(&place, visit).await?;
            let now = visit.cx.clock().now();
            let today = jiff::Timestamp::from_microsecond(now.as_micros()).unwrap_or_default();
            plan(visit, &histogram, today)
        })
    }

    fn read<'a>(
        &'a self,
        visit: &'a Visit<'a>,
        part: &'a Part,
        desk: &'a mut Desk<'_>,
    ) -> BoxFuture<'a, Result<PartEnd, Stopped>> {
        Box::pin(async move {
            let place = Place::of(visit.list)?;
            let found = month(&place, visit, part, desk).await?;
            Ok(judge(visit, part, found))
        })
    }
}

fn plan(
    visit: &Visit<'_>,
    histogram: &Histogram,
    now: jiff::Timestamp,
) -> Result<Vec<Part>, Stopped> {
    let current = Month::of(now);
    let backfill = visit.settings.backfill_months;
    let first = histogram.first().unwrap_or(OLDEST);
    let start = if backfill > 0 {
        current.back(backfill - 1).max(first)
    } else {
        first
    };
    // Whoever read more once goes on from there.
    let oldest_known = visit
        .known
        .iter()
        .filter_map(|part| part.part.parse::<Month>().ok())
        .min();
    let start = oldest_known.map_or(start, |known| known.min(start));
    if histogram.is_empty() && visit.known.is_empty() {
        return Err(Stopped::Gone(
            "the archive has no mail of this list".to_owned(),
        ));
    }
    let mut parts = Vec::new();
    for month in start.until(current) {
        let name = month.to_string();
        let expected = histogram.count(month);
        if expected == Some(0) {
            continue;
        }
        let open = month.end_plus_days(MARGIN_DAYS) > now;
        let known = visit.known.iter().find(|part| part.part == name);
        let is_read = known.is_some_and(|known| {
            known.state == "complete"
                && expected.is_none_or(|count| known.expected.is_none_or(|then| count <= then))
        });
        if open || !is_read {
            parts.push(Part {
                name,
                expected,
                open,
            });
        }
    }
    Ok(parts)
}

/// Fewer mails than the archive counts: believed when it gives the same number twice.
fn judge(visit: &Visit<'_>, part: &Part, found: i64) -> PartEnd {
    let whole = PartEnd {
        found: Some(found),
        tip: None,
        why: None,
        incomplete: false,
    };
    let Some(expected) = part.expected.filter(|expected| found < *expected) else {
        return whole;
    };
    let before = visit.known.iter().find(|known| known.part == part.name);
    let same = before.is_some_and(|known| known.state != "open" && known.found == found);
    let why = format!("the archive counts {expected} mails and gives {found}");
    if same {
        return PartEnd {
            why: Some(format!("{why}, twice: it counts deleted mail too")),
            ..whole
        };
    }
    PartEnd {
        why: Some(why),
        // A month that is still open is asked again anyway.
        incomplete: !part.open,
        ..whole
    }
}

/// Reads one month; answers how many mails came.
async fn month(
    place: &Place<'_>,
    visit: &Visit<'_>,
    part: &Part,
    desk: &mut Desk<'_>,
) -> Result<i64, Stopped> {
    let spool =
        Spool::new(&visit.settings.spool).map_err(|error| Stopped::Run(RunError::unit(error)))?;
    let ask = place
        .ask("mbox", visit)
        // The combined form is the one that every version of the server understands.
        .query("list", format!("{}@{}", place.name, place.domain))
        .query("d", &part.name)
        .accept("application/mbox, text/plain;q=0.9, */*;q=0.1")
        .expect(Expect::Data)
        // The service has no word for "there is none" here; 404 is another service's.
        .absent(&[])
        .max_bytes(MAX_MONTH)
        .patience(PATIENCE)
        .spool(spool.path());
    if visit.session.ask(&ask).await.known()?.is_none() {
        let why = Unknown::contradiction("an answer without a body".to_owned());
        return Err(Stopped::Unknown(Box::new(why)));
    }
    let (sender, mut batches) = mpsc::channel::<std::io::Result<Vec<NewCopy>>>(4);
    let (path, name) = (spool.path().to_owned(), part.name.clone());
    let splitting = tokio::task::spawn_blocking(move || {
        if let Err(error) = split(&path, &name, &sender) {
            let _ = sender.blocking_send(Err(error));
        }
    });
    let mut found: i64 = 0;
    while let Some(batch) = batches.recv().await {
        for copy in batch.map_err(|error| Stopped::Run(RunError::unit(error)))? {
            found += 1;
            desk.take(copy).await?;
        }
    }
    splitting
        .await
        .map_err(|_| Stopped::Run(RunError::Interrupted))?;
    Ok(found)
}

fn split(
    path: &std::path::Path,
    part: &str,
    sender: &mpsc::Sender<std::io::Result<Vec<NewCopy>>>,
) -> std::io::Result<()> {
    let mut splitter = mbox::split(BufReader::with_capacity(256 << 10, File::open(path)?));
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while let Some(raw) = splitter.next_message()? {
        let copy = stage_file_copy(part, &raw.bytes, raw.envelope.as_ref());
        bytes += copy.raw.len();
        batch.push(copy);
        if batch.len() >= COPIES_AT_ONCE || bytes >= BYTES_AT_ONCE {
            bytes = 0;
            if sender
                .blocking_send(Ok(std::mem::take(&mut batch)))
                .is_err()
            {
                return Ok(());
            }
        }
    }
    let _ = sender.blocking_send(Ok(batch));
    Ok(())
}
