//! GitHub's tags: their commits, without times.

use serde::Deserialize;

use super::{GitHub, blocked, place};
use crate::{
    forge::{Asked, Looked, NoAnswer, TagPage, Which, tags::tag},
    http::Reply,
};

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
        let found = match self.session.ask_json::<Vec<Tag>>(&ask).await {
            Reply::Found(found) => found,
            Reply::Absent => return Ok(Looked::Missing),
            Reply::Unknown(why) if blocked(&why) => return Ok(Looked::Blocked),
            Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
        };
        let tags = found.value.into_iter();
        let tags = tags.map(|one| tag(one.name, one.commit.and_then(|commit| commit.sha), None));
        Ok(Looked::Here(TagPage {
            tags: tags.collect::<Asked<_>>()?,
            next: found.response.next,
        }))
    }
}
