//! Patch series: which patches were sent together, and which series is a new version of which.
//!
//! A series is a cover letter (number 0) and patches 1 to N by one author in one version. Members
//! are found by ancestry first (the nearest ancestor that belongs to a fitting series, then a common
//! unseen parent), else by author, version and total within a few minutes, since some people send
//! without threading. A place can be filled once: the same number again is another attempt. Threads
//! and series differ: a new version often answers the old one.
//!
//! Versions are chained by ancestry, else by equal titles of the same author. A reroll of single
//! patches inherits the others from the version before.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use super::message::ParsedMessage;
use super::subject::{self, Subject, TagKind};
use super::trailer::Trailer;

/// Patches sent without threading belong together when they come within this time.
const SENDING_SECONDS: i64 = 10 * 60;

/// What grouping needs to know of a mail.
#[derive(Clone, Debug)]
pub struct PatchMail {
    pub id: String,
    /// Who sent it: the address, with the name where many share one address.
    pub author: String,
    pub subject: Subject,
    pub date: Option<Timestamp>,
    /// Nearest first.
    pub ancestors: Vec<String>,
    pub has_diff: bool,
}

impl From<&ParsedMessage> for PatchMail {
    fn from(message: &ParsedMessage) -> Self {
        let email = message.sender_email.clone().unwrap_or_default();
        let name = message.sender_name.as_deref().unwrap_or_default();
        // Gateways post for many: `Jane via Gateway <gateway@example.org>`.
        let author = if name.contains(" via ") {
            format!("{name} {email}")
        } else {
            email
        };
        let mut ancestors = message.reply_ids.clone();
        for id in message.references.iter().rev() {
            if !ancestors.contains(id) {
                ancestors.push(id.clone());
            }
        }
        Self {
            id: message.message_id.clone(),
            author,
            subject: subject::parse(message.subject.as_deref().unwrap_or_default()),
            date: message.date,
            ancestors,
            has_diff: message.has_patch,
        }
    }
}

impl PatchMail {
    /// Part of a series, be it of one: sent as a patch, not as an answer.
    pub fn is_submission(&self) -> bool {
        !self.subject.is_reply
            && !self.subject.is_forward
            && (self.subject.tag.kind >= TagKind::Numbered || self.has_diff)
    }
}

/// Patches sent together. Numbers refer to the mails given to [`group`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    pub author: String,
    pub version: u32,
    /// Of the cover letter, else of the first patch.
    pub title: String,
    pub is_rfc: bool,
    pub is_resend: bool,
    /// How many patches it should have; unknown for `3/n`.
    pub total: Option<u32>,
    pub cover: Option<usize>,
    /// By number; a patch without number is 1 of 1.
    pub patches: BTreeMap<u32, usize>,
    /// Patches of the version before that this one did not send again.
    pub inherited: BTreeMap<u32, usize>,
    pub date: Option<Timestamp>,
    /// The series of which this is a new version or a resend.
    pub previous: Option<usize>,
    /// The first series of the chain; itself, if it is the first.
    pub chain: usize,
    last: Option<Timestamp>,
}

impl Series {
    /// All announced patches are there.
    pub fn is_complete(&self) -> bool {
        let total = self.total.unwrap_or(0).max(1);
        (1..=total).all(|number| {
            self.patches.contains_key(&number) || self.inherited.contains_key(&number)
        })
    }

    /// Cover and patches, in order.
    pub fn members(&self) -> impl Iterator<Item = usize> + '_ {
        self.cover.into_iter().chain(self.patches.values().copied())
    }

    fn is_free(&self, number: u32) -> bool {
        if number == 0 {
            self.cover.is_none()
        } else {
            !self.patches.contains_key(&number)
        }
    }
}

/// Groups mails into series, oldest first; the order of the mails does not matter. Mails that are
/// no submissions are passed over.
pub fn group(mails: &[PatchMail]) -> Vec<Series> {
    let mut order: Vec<usize> = (0..mails.len())
        .filter(|&at| mails[at].is_submission())
        .collect();
    order.sort_by(|&a, &b| sort_key(&mails[a]).cmp(&sort_key(&mails[b])));
    let mut grouping = Grouping {
        mails,
        known: mails.iter().map(|mail| mail.id.as_str()).collect(),
        series: Vec::new(),
        by_id: HashMap::new(),
        by_ghost: HashMap::new(),
    };
    for at in order {
        grouping.place(at);
    }
    let Grouping {
        mut series, by_id, ..
    } = grouping;
    link_versions(mails, &mut series, &by_id);
    series
}

/// The trailers that answers give to patches: an answer to a patch counts for it, one to the cover
/// letter for all. `answers` are pairs of ancestors (nearest first) and the answer's own trailers.
pub fn credit(
    mails: &[PatchMail],
    series: &[Series],
    answers: &[(Vec<String>, Vec<Trailer>)],
) -> BTreeMap<usize, Vec<Trailer>> {
    let mut place: HashMap<&str, (usize, usize)> = HashMap::new();
    for (number, series) in series.iter().enumerate() {
        for member in series.members() {
            place.insert(&mails[member].id, (number, member));
        }
    }
    let mut credited: BTreeMap<usize, Vec<Trailer>> = BTreeMap::new();
    for (ancestors, trailers) in answers {
        let Some(&(number, member)) = ancestors.iter().find_map(|id| place.get(id.as_str())) else {
            continue;
        };
        let all = series[number].cover == Some(member);
        let patches = series[number].patches.values().copied();
        for patch in patches.filter(|&patch| all || patch == member) {
            let given = credited.entry(patch).or_default();
            for trailer in trailers {
                if !given.contains(trailer) {
                    given.push(trailer.clone());
                }
            }
        }
    }
    credited
}

struct Grouping<'m> {
    mails: &'m [PatchMail],
    known: std::collections::HashSet<&'m str>,
    series: Vec<Series>,
    /// Series of each placed mail.
    by_id: HashMap<&'m str, usize>,
    /// Series whose members name an unseen parent: the missing cover, most likely.
    by_ghost: HashMap<&'m str, Vec<usize>>,
}

impl Grouping<'_> {
    fn place(&mut self, at: usize) {
        let mails = self.mails;
        let mail = &mails[at];
        // A second copy of a message is the same member.
        if self.by_id.contains_key(mail.id.as_str()) {
            return;
        }
        let number = mail.subject.tag.number;
        let target = number.and_then(|number| {
            self.by_ancestry(mail, number)
                .or_else(|| self.by_time(mail, number))
        });
        let target = target.unwrap_or_else(|| {
            self.series.push(Series {
                author: mail.author.clone(),
                version: mail.subject.tag.version,
                date: mail.date,
                total: number.map_or(Some(1), |_| mail.subject.tag.total),
                chain: self.series.len(),
                ..Series::default()
            });
            self.series.len() - 1
        });
        self.add(target, at);
    }

    fn add(&mut self, target: usize, at: usize) {
        let mails = self.mails;
        let mail = &mails[at];
        let tag = &mail.subject.tag;
        let series = &mut self.series[target];
        match tag.number.unwrap_or(1) {
            0 => {
                series.cover = Some(at);
                series.version = series.version.max(tag.version);
            }
            number => {
                series.patches.insert(number, at);
            }
        }
        series.total = series.total.or(tag.total);
        series.is_rfc |= tag.is_rfc;
        series.is_resend |= tag.is_resend;
        series.last = series.last.max(mail.date);
        let first = series
            .cover
            .or_else(|| series.patches.values().next().copied());
        if let Some(first) = first {
            series.title.clone_from(&mails[first].subject.title);
        }
        self.by_id.insert(&mail.id, target);
        if let Some(parent) = mail.ancestors.first()
            && !self.known.contains(parent.as_str())
        {
            self.by_ghost.entry(parent).or_default().push(target);
        }
    }

    fn by_ancestry(&self, mail: &PatchMail, number: u32) -> Option<usize> {
        for id in &mail.ancestors {
            if let Some(&found) = self.by_id.get(id.as_str())
                && self.fits(found, mail, number)
            {
                return Some(found);
            }
            let siblings = self.by_ghost.get(id.as_str()).into_iter().flatten();
            if let Some(&found) = siblings
                .rev()
                .find(|&&found| self.fits(found, mail, number))
            {
                return Some(found);
            }
        }
        // The cover may come after its patches where clocks differ.
        let children = self.by_ghost.get(mail.id.as_str()).into_iter().flatten();
        children
            .rev()
            .copied()
            .find(|&found| number == 0 && self.fits(found, mail, number))
    }

    fn by_time(&self, mail: &PatchMail, number: u32) -> Option<usize> {
        let (total, version) = (mail.subject.tag.total, mail.subject.tag.version);
        self.series
            .iter()
            .enumerate()
            .rev()
            .take(200)
            .map(|(at, _)| at)
            .find(|&at| {
                let series = &self.series[at];
                series.version == version
                    && series.total == total
                    && self.fits(at, mail, number)
                    && is_near(series.last, mail.date)
            })
    }

    /// Same author, a free place, the same total, and the same version or none given under a
    /// labelled cover letter of the same minutes.
    fn fits(&self, at: usize, mail: &PatchMail, number: u32) -> bool {
        let series = &self.series[at];
        let tag = &mail.subject.tag;
        let same_total = tag.total.is_none() || series.total.is_none() || series.total == tag.total;
        let same_version = series.version == tag.version
            || (tag.version == 1 && series.cover.is_some() && is_near(series.last, mail.date));
        series.author == mail.author && same_total && same_version && series.is_free(number)
    }
}

/// Finds for each series the one it continues, looking at earlier ones only.
fn link_versions(mails: &[PatchMail], series: &mut [Series], by_id: &HashMap<&str, usize>) {
    let mut by_title: HashMap<(String, String), Vec<usize>> = HashMap::new();
    for at in 0..series.len() {
        let previous = by_answer(mails, series, by_id, at)
            .or_else(|| by_same_title(mails, series, &by_title, at));
        for member in series[at].members() {
            let key = (
                series[at].author.clone(),
                mails[member].subject.title.to_lowercase(),
            );
            by_title.entry(key).or_default().push(at);
        }
        series[at].previous = previous;
        series[at].chain = previous.map_or(at, |previous| series[previous].chain);
        if let Some(previous) = previous {
            inherit(mails, series, by_id, at, previous);
        }
    }
}

/// The nearest ancestor of a member that is in an earlier series of the same author.
fn by_answer(
    mails: &[PatchMail],
    series: &[Series],
    by_id: &HashMap<&str, usize>,
    at: usize,
) -> Option<usize> {
    let this = &series[at];
    this.members()
        .flat_map(|member| &mails[member].ancestors)
        .filter_map(|id| by_id.get(id.as_str()).copied())
        .find(|&other| {
            other < at && series[other].author == this.author && is_successor(&series[other], this)
        })
}

/// The newest earlier series of the author that shares the title, of the series or of a patch.
fn by_same_title(
    mails: &[PatchMail],
    series: &[Series],
    by_title: &HashMap<(String, String), Vec<usize>>,
    at: usize,
) -> Option<usize> {
    let this = &series[at];
    this.members()
        .filter_map(|member| {
            let key = (
                this.author.clone(),
                mails[member].subject.title.to_lowercase(),
            );
            by_title
                .get(&key)?
                .iter()
                .rev()
                .copied()
                .find(|&other| is_successor(&series[other], this))
        })
        .max()
}

/// A higher version, or the same sent again.
fn is_successor(earlier: &Series, later: &Series) -> bool {
    earlier.version < later.version
        || (earlier.version == later.version && earlier.date <= later.date)
}

/// Single patches rerolled in answer to their older selves: the rest stays as it was.
fn inherit(
    mails: &[PatchMail],
    series: &mut [Series],
    by_id: &HashMap<&str, usize>,
    at: usize,
    previous: usize,
) {
    let this = &series[at];
    if this.is_complete() || this.cover.is_some() || this.total != series[previous].total {
        return;
    }
    let answers_patches = this.patches.iter().all(|(number, &member)| {
        let old = series[previous].patches.get(number);
        old.is_some_and(|&old| {
            mails[member].ancestors.first() == Some(&mails[old].id)
                && by_id.contains_key(mails[old].id.as_str())
        })
    });
    if !answers_patches {
        return;
    }
    let before = series[previous].inherited.clone();
    let mut inherited = series[previous].patches.clone();
    inherited.extend(before);
    inherited.retain(|number, _| !series[at].patches.contains_key(number));
    series[at].inherited = inherited;
}

fn is_near(one: Option<Timestamp>, other: Option<Timestamp>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => (one.as_second() - other.as_second()).abs() <= SENDING_SECONDS,
        _ => true,
    }
}

fn sort_key(mail: &PatchMail) -> (Option<Timestamp>, u32, u32, &str) {
    let tag = &mail.subject.tag;
    (mail.date, tag.version, tag.number.unwrap_or(0), &mail.id)
}
