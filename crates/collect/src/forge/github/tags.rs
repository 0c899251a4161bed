//! GitHub's tags: their commits, without times.

use serde::Deserialize;

use super::{GitHub, blocked, place};
use crate::forge::{Asked, Looked, TagPage, Which, tags::page};

#[derive(Deserialize)]
struct Tag {
    name: String,
    commit: Option<Commit>,
}

#[derive(Deserialize)]
struct Commit {
    sha: Option<String>,
}

impl GitHub {
    pub(super) async fn tag_page(
        &self,
        which: &Which,
        from: Option<&str>,
    ) -> Asked<Looked<TagPage>> {
        let ask = match from {
            Some(path) => self.ask_on(path),
            None => self
                .ask(&format!("{}/tags", place(which)))
                .query("per_page", 100),
        };
        page::<Tag>(&self.session, &ask, blocked, |one| {
            (one.name, one.commit.and_then(|commit| commit.sha), None)
        })
        .await
    }
}
