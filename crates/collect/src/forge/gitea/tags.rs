//! Gitea's tags, with their commits and those's times.

use serde::Deserialize;

use super::{Gitea, code::place};
use crate::{
    forge::{Asked, Looked, NoAnswer, TagPage, Which, tags::tag, text},
    http::{Ask, Reply},
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
        let found = match self.session.ask_json::<Vec<Tag>>(&ask).await {
            Reply::Found(found) => found,
            Reply::Absent => return Ok(Looked::Missing),
            Reply::Unknown(why) if why.status == Some(451) => return Ok(Looked::Blocked),
            Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
        };
        let tags = found.value.into_iter().map(|one| {
            let (id, date) = one
                .commit
                .map_or((None, None), |commit| (commit.sha, commit.created));
            tag(one.name, id, text::time(date.as_deref()))
        });
        Ok(Looked::Here(TagPage {
            tags: tags.collect::<Asked<_>>()?,
            next: found.response.next,
        }))
    }
}
