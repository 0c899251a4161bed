//! Gitea's issues and pull requests: one list, the newest first, whatever changed last.

use db::Timestamp;
use serde::Deserialize;

use super::{Gitea, code::place};
use crate::{
    forge::{
        Asked, Looked, Which,
        issues::{IssuePage, Said, page},
        text,
    },
    http::{Ask, Unknown},
};

#[derive(Deserialize)]
struct Issue {
    id: Option<i64>,
    number: Option<i64>,
    title: Option<String>,
    state: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    closed_at: Option<String>,
    pull_request: Option<serde_json::Value>,
}

impl Gitea {
    pub(super) async fn issue_page(
        &self,
        which: &Which,
        since: Option<Timestamp>,
        from: Option<&str>,
    ) -> Asked<Looked<IssuePage>> {
        let ask = if let Some(path) = from {
            Ask::get(&self.host, path).absent(&[404, 410])
        } else {
            let ask = self
                .ask(&format!("{}/issues", place(which)))
                .query("state", "all")
                .query("limit", 50);
            match since {
                Some(since) => ask.query("since", text::second(since)),
                None => ask,
            }
        };
        page::<Issue>(&self.session, &ask, Unknown::is_for_legal_reasons, |one| {
            Said {
                pull: one.pull_request.is_some_and(|said| !said.is_null()),
                id: one.id,
                number: one.number,
                node_id: None,
                title: one.title,
                state: one.state,
                created_at: text::time(one.created_at.as_deref()),
                updated_at: text::time(one.updated_at.as_deref()),
                closed_at: text::time(one.closed_at.as_deref()),
            }
        })
        .await
    }
}
