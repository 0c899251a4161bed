//! A question to an upstream.

use std::{
    fmt::{self, Write as _},
    path::PathBuf,
    time::Duration,
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::text;

/// What may stand in a path's segment or a query's value as it is.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// One segment of a path, encoded: `group/sub` becomes `group%2Fsub`.
pub fn segment(text: &str) -> String {
    match text {
        // These would walk about in the path even in their encoded form.
        "." | ".." => String::new(),
        _ => utf8_percent_encode(text, ENCODED).to_string(),
    }
}

/// A question to an upstream, by name and path.
#[derive(Clone)]
pub struct Ask {
    pub(super) method: Method,
    pub(super) upstream: String,
    pub(super) path: String,
    pub(super) accept: &'static str,
    pub(super) expect: Expect,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Option<Vec<u8>>,
    /// What the body is.
    pub(super) sends: &'static str,
    pub(super) absent: Vec<u16>,
    pub(super) absent_as_page: bool,
    pub(super) range: Option<(u64, u64)>,
    pub(super) max_bytes: Option<u64>,
    pub(super) spool: Option<PathBuf>,
    pub(super) patience: Option<Duration>,
    pub(super) budget: Option<&'static str>,
    pub(super) same_for_all: bool,
    pub(super) repeatable: bool,
    pub(super) cached: bool,
}

/// How it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
    Post,
}

impl Method {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
        }
    }
}

/// What an answer must be; anything else is a wall or garbled, and so unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// One whole JSON value.
    Json,
    /// Anything but an HTML page: archives, mail, plain text, XML.
    Data,
    /// Anything.
    Any,
}

impl Ask {
    /// A question for JSON, where 404, 410 and 451 mean "there is none".
    pub fn get(upstream: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            method: Method::Get,
            upstream: upstream.into(),
            path: path.into(),
            accept: "application/json",
            expect: Expect::Json,
            headers: Vec::new(),
            body: None,
            sends: "application/json",
            absent: vec![404, 410, 451],
            absent_as_page: false,
            range: None,
            max_bytes: None,
            spool: None,
            patience: None,
            budget: None,
            same_for_all: false,
            repeatable: true,
            cached: true,
        }
    }

    /// Only the headers.
    pub fn head(upstream: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            method: Method::Head,
            expect: Expect::Any,
            cached: false,
            ..Self::get(upstream, path)
        }
    }

    /// A question too long for an address: a query or a batch. It is sent once, unless it is
    /// [`Ask::repeatable`], and its answer is not kept.
    pub fn post_json(
        upstream: impl Into<String>,
        path: impl Into<String>,
        body: &serde_json::Value,
    ) -> Self {
        Self {
            method: Method::Post,
            body: Some(body.to_string().into_bytes()),
            repeatable: false,
            cached: false,
            ..Self::get(upstream, path)
        }
    }

    /// A call by XML-RPC, which asks and changes nothing.
    pub fn call_xml(
        upstream: impl Into<String>,
        path: impl Into<String>,
        body: impl Into<Vec<u8>>,
    ) -> Self {
        Self {
            method: Method::Post,
            body: Some(body.into()),
            sends: "text/xml",
            accept: "text/xml",
            expect: Expect::Data,
            cached: false,
            ..Self::get(upstream, path)
        }
    }

    /// Adds to the query.
    pub fn query(mut self, name: &str, value: impl fmt::Display) -> Self {
        let joint = if self.path.contains('?') { '&' } else { '?' };
        let value = value.to_string();
        let _ = write!(
            self.path,
            "{joint}{}={}",
            utf8_percent_encode(name, ENCODED),
            utf8_percent_encode(&value, ENCODED)
        );
        self
    }

    /// The form that is asked for.
    pub fn accept(mut self, form: &'static str) -> Self {
        self.accept = form;
        self
    }

    /// What the answer must be.
    pub fn expect(mut self, expect: Expect) -> Self {
        self.expect = expect;
        if expect != Expect::Json && self.accept == "application/json" {
            self.accept = "*/*";
        }
        self
    }

    /// A header of the service's own, such as the version of its API.
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The statuses that mean "there is none", as this service defines them.
    pub fn absent(mut self, statuses: &[u16]) -> Self {
        self.absent = statuses.to_vec();
        self
    }

    /// The service says "there is none" with an HTML page even where it is asked for JSON.
    /// Otherwise such a page is taken for somebody else's: a proxy's, or a wrong base address's.
    pub fn absent_as_page(mut self) -> Self {
        self.absent_as_page = true;
        self
    }

    /// Only the bytes from `first` to `last`, both included. The answer's status tells whether the
    /// service gave the part (206) or the whole (200).
    pub fn range(mut self, first: u64, last: u64) -> Self {
        self.range = Some((first, last));
        self.cached = false;
        self
    }

    /// Takes more, or less, than the upstream's usual limit.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Writes the body to a file as it arrives, whatever its size up to the limit: nothing keeps the
    /// other side waiting, and nothing large is held. The answer's own body is only its beginning.
    /// A file of an answer that did not come whole is not to be read.
    pub fn spool(mut self, file: impl Into<PathBuf>) -> Self {
        self.spool = Some(file.into());
        self.cached = false;
        self
    }

    /// Waits longer, or less long, for the whole than is usual for the upstream.
    pub fn patience(mut self, limit: Duration) -> Self {
        self.patience = Some(limit);
        self
    }

    /// Counts against a budget of its own (`search`, `graphql`), where the service keeps several.
    pub fn budget(mut self, name: &'static str) -> Self {
        self.budget = Some(name);
        self
    }

    /// The answer is the same whoever asks, so that it may be kept for all tokens.
    pub fn same_for_all(mut self) -> Self {
        self.same_for_all = true;
        self
    }

    /// Sending it twice does no harm.
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Neither looks into the cache nor keeps the answer.
    pub fn uncached(mut self) -> Self {
        self.cached = false;
        self
    }

    /// `GET github.com/repos/…`, fit to be shown.
    pub(super) fn shown(&self) -> String {
        format!(
            "{} {}{}",
            self.method.name(),
            text::escape(&self.upstream, 100),
            text::path(&self.path)
        )
    }
}

impl fmt::Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ask").field(&self.shown()).finish()
    }
}
