//! Gitea's issues and pull requests: one list, the newest first, whatever changed last.

use db::Timestamp;
use serde::Deserialize;

use super::{Gitea, code::place};
use crate::{
    forge::{
        Asked, Looked, NoAnswer, Which,
        issues::{IssuePage, Said, issue},
        text,
    },
    http::{Ask, Reply},
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
        let found = match self.session.ask_json::<Vec<Issue>>(&ask).await {
            Reply::Found(found) => found,
            Reply::Absent => return Ok(Looked::Missing),
            Reply::Unknown(why) if why.status == Some(451) => return Ok(Looked::Blocked),
            Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
        };
        let issues = found.value.into_iter().map(|one| {
            issue(Said {
                pull: one.pull_request.is_some_and(|said| !said.is_null()),
                id: one.id,
                number: one.number,
                node_id: None,
                title: one.title,
                state: one.state,
                created_at: text::time(one.created_at.as_deref()),
                updated_at: text::time(one.updated_at.as_deref()),
                closed_at: text::time(one.closed_at.as_deref()),
            })
        });
        Ok(Looked::Here(IssuePage {
            issues: issues.collect::<Asked<_>>()?,
            next: found.response.next,
        }))
    }
}
