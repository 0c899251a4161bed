//! Leave to ask, and what the answers say about it: the shared budgets and breakers.

use std::{borrow::Cow, time::Duration};

use engine::Grant;
use reqwest::header::HeaderMap;
use tokio::time::{Instant, sleep};

use super::{
    asking::{Asked, Asking},
    limits::{self, Heard},
    reply::Response,
    unknown::{Class, Unknown},
};

/// A budget that is free again so soon is waited for; longer ones are the engine's to wait for.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a token rests that its upstream does not accept: others may be better.
const REFUSED_TOKEN_RESTS: Duration = Duration::from_hours(1);

/// Leave to send one request.
#[derive(Clone, Debug, Default)]
pub(super) struct Granted {
    /// With this of the upstream's tokens.
    pub(super) token: Option<usize>,
    /// What the shared budgets call it.
    pub(super) name: Option<String>,
}

impl Asking<'_> {
    /// Leave to send a request, each time with whichever token has something left.
    pub(super) async fn grant(&mut self) -> Asked<Granted> {
        if self.probing {
            let token = (!self.upstream.settings.tokens.is_empty()).then_some(0);
            return Ok(Granted { token, name: None });
        }
        let names = self.upstream.token_names();
        let waiting = Instant::now();
        let token = self.wait_for_budget(&names).await?;
        self.upstream.pace(&self.http.clock).await;
        self.note.waited += waiting.elapsed();
        let name = token.and_then(|index| names.get(index).cloned());
        self.note.token.clone_from(&name);
        Ok(Granted { token, name })
    }

    /// The shared books that this question is entered in. A budget of its own has books of its
    /// own, so that a spent one does not stop those who ask for something else.
    fn books(&self) -> Cow<'_, str> {
        match self.ask.budget {
            None => Cow::Borrowed(&self.upstream.name),
            Some(budget) => Cow::Owned(format!("{}/{budget}", self.upstream.name)),
        }
    }

    async fn wait_for_budget(&mut self, names: &[String]) -> Asked<Option<usize>> {
        let mut patience = PATIENCE;
        loop {
            match self.upstreams.take(&self.books(), names).await {
                Ok(Grant::Go { token }) => return Ok(token),
                Ok(Grant::NotBefore { at, why }) => {
                    let wait = at
                        .since(self.http.clock.now())
                        .max(Duration::from_millis(50));
                    let Some(rest) = patience.checked_sub(wait) else {
                        let mut unknown = self.unknown(Class::Limited, &why);
                        unknown.retry_at = Some(at);
                        return Err(unknown);
                    };
                    patience = rest;
                    sleep(self.http.clock.real(wait)).await;
                }
                Err(error) => {
                    let message = format!("{}: cannot look at the budget", self.ask.shown());
                    return Err(Box::new(Unknown::database(message, error)));
                }
            }
        }
    }

    pub(super) async fn hear(&self, headers: &HeaderMap, granted: &Granted) -> Heard {
        let mut heard = Heard::from(headers, self.http.clock.now());
        let ours = self.ask.budget.unwrap_or("core");
        if heard.resource.as_deref().is_some_and(|about| about != ours) {
            heard.announced = None;
        }
        if let Some(said) = &heard.announced
            && !self.probing
        {
            let token = granted.name.as_deref();
            self.upstreams
                .announce(&self.books(), token, said.clone())
                .await;
        }
        heard
    }

    /// Says when to come back, to the caller and to everybody who shares the budget.
    pub(super) async fn time_to_return(
        &self,
        unknown: &mut Unknown,
        heard: &Heard,
        granted: &Granted,
    ) {
        let now = self.http.clock.now();
        let upstream = &self.upstream.name;
        let token = granted.name.as_deref();
        match unknown.class {
            Class::Limited => {
                let spent = heard.announced.as_ref().filter(|said| said.remaining == 0);
                let until = heard
                    .retry_after
                    .or(spent.map(|said| said.reset_at))
                    .unwrap_or_else(|| now.plus(self.upstream.silence()))
                    // A reset that has just passed on our clock must not bring us back at once.
                    .max(now.plus(Duration::from_secs(1)));
                unknown.retry_at = Some(until);
                let why = unknown.to_string();
                let books = self.books();
                self.upstreams.hold(&books, token, until, &why).await;
                // A secondary limit is about the token, whatever it was used for.
                if spent.is_none() && *books != **upstream {
                    self.upstreams.hold(upstream, token, until, &why).await;
                }
            }
            Class::Transient | Class::Pending => {
                unknown.retry_at = heard.retry_after;
                if unknown.class == Class::Pending {
                    let later = now.plus(limits::UNTOLD);
                    unknown.retry_at = heard.retry_after.or(Some(later));
                } else if let Some(until) = heard.retry_after {
                    let why = unknown.to_string();
                    self.upstreams.hold(upstream, None, until, &why).await;
                }
            }
            Class::Refused if unknown.status == Some(401) && token.is_some() => {
                let until = now.plus(REFUSED_TOKEN_RESTS);
                let why = unknown.to_string();
                self.upstreams.hold(upstream, token, until, &why).await;
            }
            _ => {}
        }
    }

    /// Tells the breaker. Whoever answers works, even if the answer is a refusal; limits and
    /// unaccepted tokens say nothing either way.
    pub(super) async fn account(&self, reply: &Asked<Option<Response>>) {
        let name = &self.upstream.name;
        let served = match reply {
            Ok(_) => true,
            Err(unknown) => match unknown.class {
                // Where a redirect led to somebody else, the fault is not this one's.
                Class::Transient | Class::Wall | Class::Undecodable if self.note.elsewhere => false,
                Class::Transient | Class::Wall | Class::Undecodable => {
                    self.upstreams.failed(name, &unknown.to_string()).await;
                    false
                }
                Class::Pending | Class::Rejected | Class::TooLarge | Class::Redirect => true,
                Class::Refused => unknown.status != Some(401),
                _ => false,
            },
        };
        if served {
            self.upstream.served();
            self.upstreams.succeeded(name).await;
        }
    }
}
