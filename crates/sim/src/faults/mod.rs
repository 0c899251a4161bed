//! What goes wrong, where and when.
//!
//! A plan is a list of rules; the first that applies to a request decides. A
//! rule chooses by upstream, path, world time and number, the number being the
//! count of requests that the other three let through: "the first three to
//! `/repos/` after noon". So a plan is deterministic as long as the requests are.

mod bomb;
mod serve;

use std::{
    ops::RangeInclusive,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use regex::Regex;
use serde::{Deserialize, Serialize};

pub(crate) use serve::Served;

/// One thing that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names of the fields say it")]
pub enum Fault {
    /// This status instead of the answer: a 429, a 503 of a storm.
    Status {
        status: u16,
        #[serde(default)]
        retry_after: Option<RetryAfter>,
        #[serde(default)]
        body: Option<String>,
    },
    /// The connection is reset before the first byte of an answer.
    Reset,
    /// The connection is reset after half of the true body.
    ResetInBody,
    /// Nothing comes, and the connection stays open.
    Hang,
    /// `Content-Length` is that of the true body, of which half comes; then the
    /// connection closes in an orderly way.
    Truncated,
    /// The true body, so many bytes at a time, with a pause (in real time)
    /// before each.
    Trickle { bytes: usize, pause_ms: u64 },
    /// 200 with a page that asks to prove that one is human.
    HtmlWall,
    /// 200 with this text as JSON, broken unless it is given.
    WrongJson {
        #[serde(default)]
        body: Option<String>,
    },
    /// The true answer under another `Content-Type`.
    ContentType { content_type: String },
    /// 200 with a body that never ends.
    Endless,
    /// 200 with a small gzip body that is this large when unpacked.
    GzipBomb { mebibytes: u32 },
    /// The true answer with one header of this size.
    HugeHeader { bytes: usize },
    /// 302 to itself.
    RedirectLoop,
    /// 302 to an address of choice, such as a private one.
    Redirect { to: String },
}

impl Fault {
    /// 429 with `Retry-After`.
    pub fn too_many(retry_after: RetryAfter) -> Self {
        Self::Status {
            status: 429,
            retry_after: Some(retry_after),
            body: None,
        }
    }

    /// A bare status.
    pub fn status(status: u16) -> Self {
        Self::Status {
            status,
            retry_after: None,
            body: None,
        }
    }

    /// As the request log calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Status { .. } => "status",
            Self::Reset => "reset",
            Self::ResetInBody => "reset_in_body",
            Self::Hang => "hang",
            Self::Truncated => "truncated",
            Self::Trickle { .. } => "trickle",
            Self::HtmlWall => "html_wall",
            Self::WrongJson { .. } => "wrong_json",
            Self::ContentType { .. } => "content_type",
            Self::Endless => "endless",
            Self::GzipBomb { .. } => "gzip_bomb",
            Self::HugeHeader { .. } => "huge_header",
            Self::RedirectLoop => "redirect_loop",
            Self::Redirect { .. } => "redirect",
        }
    }
}

/// Both forms of the header; both count from now, in world time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryAfter {
    /// `Retry-After: 30`.
    Seconds(u64),
    /// `Retry-After: Thu, 01 Jan 2026 00:00:30 GMT`.
    DateIn(u64),
}

/// When and where a fault happens. Whatever is not said applies to all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rule {
    /// Which upstream.
    pub upstream: Option<String>,
    /// A regular expression over path and query.
    pub path: Option<String>,
    /// The first and the last request that it strikes, counted from 1.
    pub requests: Option<(u64, u64)>,
    /// From this world time on.
    pub from: Option<Timestamp>,
    /// Until just before this world time.
    pub until: Option<Timestamp>,
    /// Wait so long, in real time, before anything else.
    pub delay_ms: u64,
    /// What goes wrong; nothing if there is only a delay.
    #[serde(flatten)]
    pub fault: Option<Fault>,
}

impl Rule {
    /// This fault on every request to an upstream.
    pub fn on(upstream: &str, fault: Fault) -> Self {
        Self {
            upstream: Some(upstream.to_owned()),
            fault: Some(fault),
            ..Self::default()
        }
    }

    /// Only a delay, on every request to an upstream.
    pub fn slow(upstream: &str, delay_ms: u64) -> Self {
        Self {
            upstream: Some(upstream.to_owned()),
            delay_ms,
            ..Self::default()
        }
    }

    /// Only where the regular expression matches path and query.
    pub fn path(mut self, pattern: &str) -> Self {
        self.path = Some(pattern.to_owned());
        self
    }

    /// Only these requests, counted from 1.
    pub fn requests(mut self, numbers: RangeInclusive<u64>) -> Self {
        self.requests = Some(numbers.into_inner());
        self
    }

    /// Only in this window of world time.
    pub fn between(mut self, from: Timestamp, until: Timestamp) -> Self {
        (self.from, self.until) = (Some(from), Some(until));
        self
    }
}

/// The rules in force. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Plan(Arc<Mutex<Rules>>);

#[derive(Debug, Default)]
struct Rules {
    last: u64,
    active: Vec<Active>,
}

#[derive(Debug)]
struct Active {
    id: u64,
    rule: Rule,
    path: Option<Regex>,
    /// Requests that upstream, path and time let through.
    seen: u64,
}

/// A rule that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The path's pattern.
    #[error("`{pattern}` is no regular expression")]
    Pattern {
        /// As given.
        pattern: String,
        /// What is wrong with it.
        source: Box<regex::Error>,
    },
    /// The status.
    #[error("{0} is no final HTTP status")]
    Status(u16),
}

impl Plan {
    /// A plan of these rules.
    pub fn of(rules: impl IntoIterator<Item = Rule>) -> Result<Self, PlanError> {
        let plan = Self::default();
        for rule in rules {
            plan.add(rule)?;
        }
        Ok(plan)
    }

    /// Puts a rule behind the others; the number is for [`Plan::remove`].
    pub fn add(&self, rule: Rule) -> Result<u64, PlanError> {
        if let Some(Fault::Status { status, .. }) = rule.fault
            && !(200..=599).contains(&status)
        {
            return Err(PlanError::Status(status));
        }
        let compile = |pattern: &String| {
            Regex::new(pattern).map_err(|source| PlanError::Pattern {
                pattern: pattern.clone(),
                source: Box::new(source),
            })
        };
        let path = rule.path.as_ref().map(compile).transpose()?;
        let mut rules = self.rules();
        rules.last += 1;
        let id = rules.last;
        rules.active.push(Active {
            id,
            rule,
            path,
            seen: 0,
        });
        Ok(id)
    }

    /// Takes one rule back. Tells whether it was there.
    pub fn remove(&self, id: u64) -> bool {
        let mut rules = self.rules();
        let before = rules.active.len();
        rules.active.retain(|active| active.id != id);
        rules.active.len() < before
    }

    /// All is well from now on.
    pub fn clear(&self) {
        self.rules().active.clear();
    }

    /// The rules in force, with their numbers.
    pub fn list(&self) -> Vec<(u64, Rule)> {
        let rules = self.rules();
        rules
            .active
            .iter()
            .map(|active| (active.id, active.rule.clone()))
            .collect()
    }

    /// The rule that strikes this request. Every rule it passes counts it.
    pub(crate) fn strike(&self, upstream: &str, path: &str, now: Timestamp) -> Option<Rule> {
        let mut rules = self.rules();
        let mut struck = None;
        for active in &mut rules.active {
            if active.counts(upstream, path, now) && struck.is_none() {
                struck = Some(active.rule.clone());
            }
        }
        struck
    }

    fn rules(&self) -> MutexGuard<'_, Rules> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Active {
    fn counts(&mut self, upstream: &str, path: &str, now: Timestamp) -> bool {
        let rule = &self.rule;
        let passes = rule.upstream.as_deref().is_none_or(|name| name == upstream)
            && self
                .path
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(path))
            && rule.from.is_none_or(|from| from <= now)
            && rule.until.is_none_or(|until| now < until);
        if !passes {
            return false;
        }
        self.seen += 1;
        rule.requests
            .is_none_or(|(first, last)| (first..=last).contains(&self.seen))
    }
}
