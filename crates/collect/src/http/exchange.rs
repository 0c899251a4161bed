//! Requests on the wire: lost connections, redirects, bodies.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::Duration,
};

use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, IF_MODIFIED_SINCE, IF_NONE_MATCH, LOCATION,
    RANGE,
};
use tokio::time::{sleep, timeout};
use url::Url;

use super::{
    ask::Method,
    asking::{Asked, Asking, Known},
    body::{self, Body},
    budget::Granted,
    failure, headers,
    limits::Heard,
    text,
    unknown::Class,
};

/// No more lost connections than this are made good within one request.
const MOST_RETRIES: u32 = 2;
/// Of an error's body this much is looked at.
const ERROR_BODY: usize = 64 << 10;

/// An answer with its body.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) heard: Heard,
    /// Who answered, in the end.
    pub(super) url: Url,
    pub(super) redirected: bool,
    pub(super) body: Body,
}

impl Asking<'_> {
    pub(super) async fn exchange(
        &mut self,
        url: &Url,
        granted: &mut Granted,
        known: Option<&Known>,
    ) -> Asked<Arrived> {
        let usual = self.upstream.limits().total;
        let limit = self.ask.patience.unwrap_or(usual);
        let followed = timeout(limit, self.follow(url, granted, known)).await;
        followed.unwrap_or_else(|_| {
            Err(self.unknown(Class::Transient, &format!("not done after {limit:?}")))
        })
    }

    /// Sends the request and follows redirects, to the end of a body.
    async fn follow(
        &mut self,
        start: &Url,
        granted: &mut Granted,
        known: Option<&Known>,
    ) -> Asked<Arrived> {
        let mut url = start.clone();
        let mut hops = 0;
        loop {
            if let Some(sort) = self.upstream.forbids(&url) {
                let what = if hops == 0 {
                    format!("the upstream has {sort} address, and that is not allowed for it")
                } else {
                    format!("redirected to {sort} address, {}", host(&url))
                };
                return Err(self.unknown(Class::Address, &what));
            }
            self.note.elsewhere = !self.upstream.owns(&url);
            let response = self.send(&url, granted, known).await?;
            let status = response.status().as_u16();
            self.note.status = Some(status);
            if headers::weight(response.headers()) > self.upstream.limits().headers {
                return Err(self.unknown(Class::TooLarge, "the headers are larger than is taken"));
            }
            let heard = if self.upstream.owns(&url) {
                self.hear(response.headers(), granted).await
            } else {
                Heard::default()
            };
            if matches!(status, 301 | 302 | 303 | 307 | 308) {
                hops += 1;
                url = self.next_hop(&url, response.headers(), hops)?;
                if self.upstream.owns(&url) {
                    *granted = self.grant().await?;
                }
                continue;
            }
            let headers = response.headers().clone();
            let body = self.read(response, status).await?;
            return Ok(Arrived {
                status,
                headers,
                heard,
                url,
                redirected: hops > 0,
                body,
            });
        }
    }

    /// Sends one request; once or twice more if the connection was lost before any answer.
    async fn send(
        &mut self,
        url: &Url,
        granted: &mut Granted,
        known: Option<&Known>,
    ) -> Asked<reqwest::Response> {
        let idle = self.upstream.limits().idle;
        let mut retries = self.upstream.settings.retries.min(MOST_RETRIES);
        let mut rest = Duration::from_millis(100);
        loop {
            self.note.sent += 1;
            let lost = match timeout(idle, self.request(url, granted, known).send()).await {
                Ok(Ok(response)) => return Ok(response),
                Ok(Err(error)) => failure::before_answer(&error),
                Err(_) => failure::NoAnswer {
                    class: Class::Transient,
                    why: format!("no answer within {idle:?}"),
                    again: false,
                },
            };
            if !lost.again || !self.ask.repeatable || retries == 0 {
                return Err(self.unknown(lost.class, &lost.why));
            }
            retries -= 1;
            sleep(rest.mul_f64(0.5 + jitter())).await;
            rest *= 4;
            if self.upstream.owns(url) {
                *granted = self.grant().await?;
            }
        }
    }

    fn request(
        &self,
        url: &Url,
        granted: &Granted,
        known: Option<&Known>,
    ) -> reqwest::RequestBuilder {
        let client = if self.upstream.may_be_private(url) {
            &self.http.any_address
        } else {
            &self.http.public_only
        };
        let ask = self.ask;
        let method = match ask.method {
            Method::Get => reqwest::Method::GET,
            Method::Head => reqwest::Method::HEAD,
            Method::Post => reqwest::Method::POST,
        };
        let mut request = client
            .request(method, url.clone())
            .header(ACCEPT, ask.accept);
        // A part of a compressed body is of no use.
        request = match ask.range {
            Some((first, last)) => request
                .header(RANGE, format!("bytes={first}-{last}"))
                .header(ACCEPT_ENCODING, "identity"),
            None if self.ask.spool.is_some() => request.header(ACCEPT_ENCODING, "identity"),
            None => request.header(ACCEPT_ENCODING, "gzip"),
        };
        // To another host goes nothing that was meant for this one.
        if self.upstream.owns(url) {
            for (name, value) in &ask.headers {
                request = request.header(*name, value);
            }
            if let Some((name, value)) = granted.token.and_then(|token| self.upstream.shown(token))
            {
                request = request.header(name.clone(), value.clone());
            }
        }
        // Validators belong to the address that gave them, not to the redirects before it, and to
        // the token that it was asked with.
        if let Some(Known { validators, token }) = known
            && *token == granted.token
            && self.upstream.path_of(url).as_ref() == Some(&validators.path)
        {
            if let Some(etag) = &validators.etag {
                request = request.header(IF_NONE_MATCH, etag);
            }
            if let Some(date) = &validators.last_modified {
                request = request.header(IF_MODIFIED_SINCE, date);
            }
        }
        if let Some(body) = &ask.body {
            request = request.header(CONTENT_TYPE, ask.sends).body(body.clone());
        }
        request
    }

    fn next_hop(&self, from: &Url, headers: &HeaderMap, hops: u32) -> Asked<Url> {
        let refuse = |what: &str| Err(self.unknown(Class::Redirect, what));
        if self.ask.method == Method::Post {
            return refuse("a redirect came, which is not followed for POST");
        }
        let most = self.upstream.limits().redirects;
        if hops > most {
            return refuse(&format!("more than {most} redirects"));
        }
        let target = headers
            .get(LOCATION)
            .and_then(|value| std::str::from_utf8(value.as_bytes()).ok())
            .and_then(|target| from.join(target).ok());
        let Some(mut target) = target else {
            return refuse("a redirect without a target that makes sense");
        };
        match (from.scheme(), target.scheme()) {
            (_, "https") | ("http", "http") => {}
            ("https", "http") => return refuse("redirected from https to http"),
            _ => return refuse("redirected to something that is not http"),
        }
        // A service that puts our token into an address would have us carry it to another host.
        if text::gives_away(target.as_str(), &self.upstream.settings.tokens) {
            return refuse("redirected to an address that has a token in it");
        }
        target.set_fragment(None);
        // Else they would be sent as credentials.
        let _ = target.set_username("");
        let _ = target.set_password(None);
        Ok(target)
    }

    async fn read(&mut self, response: reqwest::Response, status: u16) -> Asked<Body> {
        let limits = self.upstream.limits();
        if self.ask.method == Method::Head || matches!(status, 204 | 304) {
            return Ok(Body::default());
        }
        if self.probing || !matches!(status, 200 | 203 | 206) {
            let body = body::read_start(response, limits.idle, ERROR_BODY).await;
            self.note.bytes += body.wire;
            return Ok(body);
        }
        let most = self.ask.max_bytes.unwrap_or(limits.body);
        let read = match &self.ask.spool {
            Some(file) => body::spool(response, limits, most, file).await,
            None => body::read(response, limits, most).await,
        };
        match read {
            Ok(body) => {
                self.note.bytes += body.wire;
                Ok(body)
            }
            Err(((class, why), wire)) => {
                self.note.bytes += wire;
                Err(self.unknown(class, &why))
            }
        }
    }
}

/// Scheme, host and port of an address; the rest may be secret.
fn host(url: &Url) -> String {
    text::escape(&url.origin().ascii_serialization(), 200)
}

/// Anything from 0 to 1, so that many do not come back at the same moment.
fn jitter() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
