//! GitLab's issues and merge requests: two lists, each with numbers of its own.

use db::Timestamp;
use serde::Deserialize;

use super::{GitLab, code::place};
use crate::{
    forge::{
        Asked, IssueList, Looked, Which,
        issues::{IssuePage, Said, page},
        text,
    },
    http::{Ask, Unknown},
};

#[derive(Deserialize)]
struct Issue {
    id: Option<i64>,
    iid: Option<i64>,
    title: Option<String>,
    state: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    closed_at: Option<String>,
    merged_at: Option<String>,
}

impl GitLab {
    pub(super) async fn issue_page(
        &self,
        which: &Which,
        list: IssueList,
        since: Option<Timestamp>,
        from: Option<&str>,
    ) -> Asked<Looked<IssuePage>> {
        let pulls = list == IssueList::Pulls;
        let ask = if let Some(path) = from {
            Ask::get(&self.host, path).absent(&[404, 410])
        } else {
            let word = if pulls { "merge_requests" } else { "issues" };
            let ask = self
                .ask(&format!("{}/{word}", place(which)))
                .query("scope", "all")
                .query("state", "all")
                .query("order_by", "updated_at")
                .query("sort", "asc")
                .query("per_page", 100);
            match since {
                Some(since) => ask.query("updated_after", text::second(since)),
                None => ask,
            }
        };
        page::<Issue>(&self.session, &ask, Unknown::is_for_legal_reasons, |one| {
            let closed_at = one.closed_at.or(one.merged_at);
            Said {
                pull: pulls,
                id: one.id,
                number: one.iid,
                node_id: None,
                title: one.title,
                state: one.state,
                created_at: text::time(one.created_at.as_deref()),
                updated_at: text::time(one.updated_at.as_deref()),
                closed_at: text::time(closed_at.as_deref()),
            }
        })
        .await
    }
}
