//! One question, from the first look at its budget to the verdict on its answer.

use std::time::Duration;

use engine::Upstreams;
use reqwest::header::CACHE_CONTROL;
use store::http_cache::Validators;
use tokio::time::Instant;

use super::{
    Shared,
    ask::Ask,
    budget::Granted,
    cache,
    exchange::Arrived,
    headers,
    judge::{Verdict, judge},
    limits,
    reply::Response,
    text,
    unknown::{Class, Unknown},
    upstream::Upstream,
};

/// What is noted of a question while it is asked.
#[derive(Debug, Default)]
pub(super) struct Note {
    pub(super) status: Option<u16>,
    pub(super) bytes: u64,
    pub(super) from_cache: bool,
    pub(super) waited: Duration,
    pub(super) sent: u32,
    pub(super) token: Option<String>,
    /// Redirects have led to another host.
    pub(super) elsewhere: bool,
}

/// A question that is being asked.
#[derive(Debug)]
pub(super) struct Asking<'a> {
    pub(super) http: &'a Shared,
    pub(super) upstreams: &'a Upstreams,
    pub(super) upstream: &'a Upstream,
    pub(super) ask: &'a Ask,
    pub(super) note: &'a mut Note,
    /// A probe has the breaker's leave, and the breaker keeps its own account of it.
    pub(super) probing: bool,
}

/// What is known of an answer, and with which token it was had.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) validators: Validators,
    pub(super) token: Option<usize>,
}

pub(super) type Asked<T> = Result<T, Box<Unknown>>;

impl Asking<'_> {
    pub(super) async fn run(mut self) -> Asked<Option<Response>> {
        let reply = self.ask_within_limits().await;
        if !self.probing {
            self.account(&reply).await;
        }
        reply
    }

    async fn ask_within_limits(&mut self) -> Asked<Option<Response>> {
        let Some(url) = self.upstream.url(&self.ask.path) else {
            return Err(self.unknown(Class::Settings, "the path is none within the upstream"));
        };
        let waiting = Instant::now();
        let _slot = self.upstream.slot().await;
        self.note.waited += waiting.elapsed();

        let mut granted = self.grant().await?;
        let key = cache::key(self.upstream, self.ask, granted.token);
        let known = self.known(key.as_deref(), &granted).await;
        let mut arrived = self.exchange(&url, &mut granted, known.as_ref()).await?;
        if arrived.status == 304
            && let (Some(key), Some(known)) = (&key, &known)
            && known.token == granted.token
        {
            if let Some(response) = self.as_before(key, &known.validators).await {
                return Ok(Some(response));
            }
            // The kept answer went in between: "not modified" alone is no answer.
            self.http.cache.forget(key).await;
            granted = self.grant().await?;
            arrived = self.exchange(&url, &mut granted, None).await?;
        }
        // A redirect or a lost connection may have changed the token on the way, and with it the
        // place to keep the answer.
        let key = cache::key(self.upstream, self.ask, granted.token);
        self.conclude(arrived, &granted, key.as_deref()).await
    }

    async fn known(&self, key: Option<&str>, granted: &Granted) -> Option<Known> {
        let validators = self.http.cache.validators(key?).await?;
        Some(Known {
            validators,
            token: granted.token,
        })
    }

    /// The kept answer, after the service said that it still holds.
    async fn as_before(&mut self, key: &str, known: &Validators) -> Option<Response> {
        let (headers, body) = self.http.cache.take_up(key, known).await?;
        self.note.from_cache = true;
        let url = self.upstream.url(&known.path)?;
        Some(Response {
            status: 200,
            next: headers::next_page(self.upstream, &url, headers.get("link")),
            headers,
            body,
            not_modified: true,
            redirected: known.path != self.ask.path,
            path: Some(known.path.clone()),
        })
    }

    async fn conclude(
        &mut self,
        arrived: Arrived,
        granted: &Granted,
        key: Option<&str>,
    ) -> Asked<Option<Response>> {
        let Arrived {
            status,
            headers,
            heard,
            url,
            redirected,
            body,
        } = arrived;
        let verdict = judge(self.ask, status, &headers, &heard, &body.bytes);
        match verdict {
            Ok(Verdict::Absent) => Ok(None),
            Ok(Verdict::Found) => {
                let path = self.upstream.path_of(&url);
                let kept = headers::kept(&headers);
                let response = Response {
                    status,
                    next: headers::next_page(self.upstream, &url, kept.get("link")),
                    headers: kept,
                    body: body.bytes,
                    not_modified: false,
                    redirected,
                    path,
                };
                if let (Some(key), Some(path), 200) = (key, &response.path, status)
                    && headers::can_be_asked_again(&response.headers)
                    && !headers::says(&headers, &CACHE_CONTROL, "no-store")
                {
                    self.http.cache.keep(key, path, &response).await;
                }
                Ok(Some(response))
            }
            Err((class, what)) => {
                let mut unknown = self.unknown(class, &what);
                unknown.status = Some(status);
                if self.probing {
                    // Its only reader wants to know whether anybody is there.
                } else if self.upstream.owns(&url) {
                    self.time_to_return(&mut unknown, &heard, granted).await;
                } else if matches!(class, Class::Limited | Class::Pending) {
                    // Whoever it was that a redirect led to: our budgets are not theirs.
                    let later = self.http.clock.now().plus(limits::UNTOLD);
                    unknown.retry_at = Some(later);
                }
                Err(unknown)
            }
        }
    }

    #[expect(
        clippy::unnecessary_box_returns,
        reason = "it is only ever an error, and those are boxed"
    )]
    pub(super) fn unknown(&self, class: Class, what: &str) -> Box<Unknown> {
        let message = format!("{}: {what}", self.ask.shown());
        let message = text::scrub(message, &self.upstream.settings.tokens);
        Box::new(Unknown::new(class, message))
    }
}
