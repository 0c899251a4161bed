//! Many blobs in one question, which only GraphQL knows, and only for those who show a token. It
//! counts against a budget of its own.
//!
//! The text that comes back is believed only if it has the id that was asked for: GraphQL gives
//! text where git has bytes. What is missing, cut or different is left to be asked for singly.

use std::{collections::HashMap, fmt::Write as _};

use scan::manifest::MAX_BYTES;
use serde::Deserialize;
use serde_json::json;

use super::GitHub;
use crate::{
    forge::{Asked, NoAnswer, Wanted, Which, content::has_id},
    git::Blob,
    http::{Ask, Class, Reply},
};

/// Blobs in one question.
const BATCH: usize = 50;
/// Bytes in one answer, about.
const BATCH_BYTES: u64 = 4 << 20;

#[derive(Deserialize)]
struct Answer {
    data: Option<Data>,
    #[serde(default)]
    errors: Vec<Complaint>,
}

#[derive(Deserialize)]
struct Data {
    repository: Option<HashMap<String, Option<Object>>>,
}

#[derive(Deserialize)]
struct Object {
    oid: Option<String>,
    text: Option<String>,
}

#[derive(Deserialize)]
struct Complaint {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<String>,
}

impl GitHub {
    /// What can be had of the contents in this way; none of it where it is not open to us.
    pub(super) async fn many_contents(
        &self,
        which: &Which,
        wanted: &[Wanted<'_>],
    ) -> Asked<Vec<(String, Blob)>> {
        let mut found = Vec::new();
        if !self.session.shows_token(&self.host) {
            return Ok(found);
        }
        for batch in batches(wanted) {
            let Some(objects) = self.many(which, batch).await? else {
                break;
            };
            for object in objects.into_values().flatten() {
                if let (Some(id), Some(text)) = (object.oid, object.text)
                    && has_id(text.as_bytes(), &id)
                {
                    found.push((id, Blob::Bytes(text.into_bytes())));
                }
            }
        }
        Ok(found)
    }

    async fn many(
        &self,
        which: &Which,
        batch: &[Wanted<'_>],
    ) -> Asked<Option<HashMap<String, Option<Object>>>> {
        let mut objects = String::new();
        for (index, one) in batch.iter().enumerate() {
            let _ = write!(objects, "b{index}:object(oid:\"{}\"){{...f}}", one.id);
        }
        let query = format!(
            "query($owner:String!,$name:String!){{repository(owner:$owner,name:$name){{{objects}}}}}\
             fragment f on Blob{{oid text}}"
        );
        let body = json!({
            "query": query,
            "variables": { "owner": which.owner, "name": which.name },
        });
        let path = if self.root.is_empty() {
            "/graphql"
        } else {
            "/api/graphql"
        };
        let ask = Ask::post_json(&self.host, path, &body)
            .absent(&[404, 410])
            .budget("graphql")
            .repeatable();
        let answer = match self.session.ask_json::<Answer>(&ask).await {
            Reply::Found(found) => found.value,
            Reply::Absent => return Ok(None),
            // Not open to this token, or older than we are: there is another way.
            Reply::Unknown(why) if matches!(why.class, Class::Refused | Class::Rejected) => {
                return Ok(None);
            }
            Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
        };
        let limited = |one: &Complaint| one.kind.as_deref() == Some("RATE_LIMITED");
        if let Some(limit) = answer.errors.iter().find(|one| limited(one)) {
            let said = limit.message.as_deref().unwrap_or("RATE_LIMITED");
            return Err(NoAnswer::Nonsense(format!("GraphQL: {said:.200}")));
        }
        Ok(answer.data.and_then(|data| data.repository))
    }
}

/// Pieces that are neither too many nor too large. Ids that are none are left out: they would stand
/// in the question.
fn batches<'w, 'a>(wanted: &'w [Wanted<'a>]) -> Vec<&'w [Wanted<'a>]> {
    let mut batches = Vec::new();
    let (mut begin, mut bytes) = (0, 0);
    for (at, one) in wanted.iter().enumerate() {
        let size = one.size.unwrap_or(MAX_BYTES as u64 / 16);
        let is_id = one.id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id || at - begin >= BATCH || bytes + size > BATCH_BYTES {
            batches.push(&wanted[begin..at]);
            (begin, bytes) = (at + usize::from(!is_id), 0);
        }
        bytes += size;
    }
    batches.push(&wanted[begin.min(wanted.len())..]);
    batches.retain(|batch| !batch.is_empty());
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_bounded_and_hold_ids_only() {
        let ids: Vec<String> = (0..120).map(|n| format!("{n:040x}")).collect();
        let mut wanted: Vec<Wanted<'_>> =
            ids.iter().map(|id| Wanted { id, size: Some(10) }).collect();
        let sizes = |wanted: &[Wanted<'_>]| {
            batches(wanted)
                .iter()
                .map(|batch| batch.len())
                .collect::<Vec<_>>()
        };
        assert_eq!(sizes(&wanted), [50, 50, 20]);
        wanted[3].id = "\"){";
        assert_eq!(sizes(&wanted).iter().sum::<usize>(), 119);
        assert!(
            batches(&wanted)
                .iter()
                .all(|batch| batch.iter().all(|one| one.id != "\"){"))
        );
        wanted[10].size = Some(BATCH_BYTES);
        assert_eq!(sizes(&wanted).iter().sum::<usize>(), 119);
        assert_eq!(sizes(&[]), [0_usize; 0]);
    }
}
