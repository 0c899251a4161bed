//! GitLab's tags, with their commits and those's times.

use serde::Deserialize;

use super::{GitLab, code::place};
use crate::{
    forge::{Asked, Looked, TagPage, Which, tags::page, text},
    http::{Ask, Unknown},
};

#[derive(Deserialize)]
struct Tag {
    name: String,
    commit: Option<Commit>,
}

#[derive(Deserialize)]
struct Commit {
    id: Option<String>,
    committed_date: Option<String>,
}

impl GitLab {
    pub(super) async fn tag_page(
        &self,
        which: &Which,
        from: Option<&str>,
    ) -> Asked<Looked<TagPage>> {
        let ask = match from {
            Some(path) => Ask::get(&self.host, path).absent(&[404, 410]),
            None => self
                .ask(&format!("{}/repository/tags", place(which)))
                .query("order_by", "name")
                .query("sort", "asc")
                .query("per_page", 100),
        };
        page::<Tag>(&self.session, &ask, Unknown::is_for_legal_reasons, |one| {
            let commit = one.commit.map(|commit| (commit.id, commit.committed_date));
            let (id, date) = commit.unwrap_or_default();
            (one.name, id, text::time(date.as_deref()))
        })
        .await
    }
}
