//! Gitea's tags, with their commits and those's times.

use serde::Deserialize;

use super::{Gitea, code::place};
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
    sha: Option<String>,
    created: Option<String>,
}

impl Gitea {
    pub(super) async fn tag_page(
        &self,
        which: &Which,
        from: Option<&str>,
    ) -> Asked<Looked<TagPage>> {
        let ask = match from {
            Some(path) => Ask::get(&self.host, path).absent(&[404, 410]),
            None => self
                .ask(&format!("{}/tags", place(which)))
                .query("limit", 50),
        };
        page::<Tag>(&self.session, &ask, Unknown::is_for_legal_reasons, |one| {
            let commit = one.commit.map(|commit| (commit.sha, commit.created));
            let (id, date) = commit.unwrap_or_default();
            (one.name, id, text::time(date.as_deref()))
        })
        .await
    }
}
