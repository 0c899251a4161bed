//! The client as one run sees it.

use std::{sync::Arc, time::Instant};

use engine::Upstreams;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::{
    Shared,
    ask::{Ask, Expect},
    asking::{Asking, Note},
    judge,
    log::{Book, Logged, RequestLog},
    reply::{Decoded, Reply, Response},
    text,
    unknown::{Class, Unknown},
};

/// The client in the hands of one run. Cheap to clone; all clones write one log.
#[derive(Clone, Debug)]
pub struct Session {
    pub(super) http: Arc<Shared>,
    pub(super) upstreams: Upstreams,
    pub(super) stop: CancellationToken,
    pub(super) book: Book,
}

impl Session {
    /// Asks, and waits for the whole answer.
    pub async fn ask(&self, ask: &Ask) -> Reply<Response> {
        let at = self.http.clock.now();
        let started = Instant::now();
        let mut note = Note::default();
        let reply = tokio::select! {
            // Looked at first, so that a stopped run sends nothing more.
            biased;
            () = self.stop.cancelled() => Err(Box::new(Unknown::new(
                Class::Interrupted,
                format!("{}: interrupted", ask.shown()),
            ))),
            // Boxed: what is asked lies deep, and every caller's future would hold it whole.
            reply = Box::pin(self.ask_noted(ask, &mut note)) => reply,
        };
        self.book.write(Logged {
            at,
            method: ask.method.name(),
            upstream: ask.upstream.clone(),
            path: text::path(&ask.path),
            status: note.status,
            came_to: match &reply {
                Ok(Some(_)) => "found",
                Ok(None) => "absent",
                Err(unknown) => unknown.class.name(),
            },
            bytes: note.bytes,
            from_cache: note.from_cache,
            duration_ms: started.elapsed().as_millis() as u64,
            waited_ms: note.waited.as_millis() as u64,
            sent: note.sent,
            token: note.token,
        });
        reply.into()
    }

    /// Asks for JSON and reads it.
    pub async fn ask_json<T: DeserializeOwned>(&self, ask: &Ask) -> Reply<Decoded<T>> {
        let ask = ask.clone().expect(Expect::Json);
        match self.ask(&ask).await {
            Reply::Found(response) => match decode(&response.body) {
                Ok(value) => Reply::Found(Decoded { value, response }),
                Err(why) => {
                    let message = format!("{}: {why}", ask.shown());
                    let message = match self.http.upstream(&ask.upstream) {
                        Ok(upstream) => text::scrub(message, &upstream.settings.tokens),
                        Err(_) => message,
                    };
                    Reply::Unknown(Box::new(Unknown::new(Class::Undecodable, message)))
                }
            },
            Reply::Absent => Reply::Absent,
            Reply::Unknown(why) => Reply::Unknown(why),
        }
    }

    /// Whether an upstream is shown a token: some things are open to nobody else.
    pub fn shows_token(&self, upstream: &str) -> bool {
        let found = self.http.upstream(upstream);
        found.is_ok_and(|upstream| !upstream.settings.tokens.is_empty())
    }

    /// How somebody else of this process would reach an upstream, who speaks no HTTP of ours: git.
    pub fn way(&self, upstream: &str) -> Option<Way> {
        let found = self.http.upstream(upstream).ok()?;
        Some(Way {
            base: found.settings.base.trim_end_matches('/').to_owned(),
            may_be_private: found.settings.allow_private,
            user_agent: self.http.user_agent.clone(),
        })
    }

    /// What was asked so far.
    pub fn log(&self) -> RequestLog {
        self.book.read()
    }

    async fn ask_noted(
        &self,
        ask: &Ask,
        note: &mut Note,
    ) -> Result<Option<Response>, Box<Unknown>> {
        let upstream = self.http.upstream(&ask.upstream).map_err(|error| {
            let message = format!("{}: {error}", ask.shown());
            Box::new(Unknown::new(Class::Settings, message))
        })?;
        let asking = Asking {
            http: &self.http,
            upstreams: &self.upstreams,
            upstream: &upstream,
            ask,
            note,
            probing: false,
        };
        asking.run().await
    }
}

/// The way to an upstream. No token goes along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Where its paths begin.
    pub base: String,
    /// Whether that may be an address which is not public.
    pub may_be_private: bool,
    /// Who asks.
    pub user_agent: String,
}

/// Reads JSON; nesting is limited by the reader. Errors name the place and quote a bit of it.
fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let place = error.path().to_string();
        let error = error.inner();
        let near = judge::near(body, error.line(), error.column());
        format!(
            "the JSON is not as expected at `{}`: {}, near {near}",
            text::escape(&place, 100),
            text::escape(&error.to_string(), 200)
        )
    })
}
