//! GitLab's tags, with their commits and those's times.

use serde::Deserialize;

use super::{GitLab, code::place};
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
        let found = match self.session.ask_json::<Vec<Tag>>(&ask).await {
            Reply::Found(found) => found,
            Reply::Absent => return Ok(Looked::Missing),
            Reply::Unknown(why) if why.status == Some(451) => return Ok(Looked::Blocked),
            Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
        };
        let tags = found.value.into_iter().map(|one| {
            let (id, date) = one
                .commit
                .map_or((None, None), |commit| (commit.id, commit.committed_date));
            tag(one.name, id, text::time(date.as_deref()))
        });
        Ok(Looked::Here(TagPage {
            tags: tags.collect::<Asked<_>>()?,
            next: found.response.next,
        }))
    }
}
