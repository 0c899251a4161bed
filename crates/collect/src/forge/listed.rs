//! One page of a list that a forge keeps of a repository.

use serde::de::DeserializeOwned;

use super::{Asked, Looked, NoAnswer};
use crate::http::{Ask, Reply, Session, Unknown};

/// What stands on a page, and where the next one is.
pub(super) type Page<R> = (Vec<R>, Option<String>);

/// Asks for a page. `blocked` tells whether a refusal is the law's, `read` what an entry says.
pub(super) async fn page<T: DeserializeOwned, R>(
    session: &Session,
    ask: &Ask,
    blocked: fn(&Unknown) -> bool,
    read: impl Fn(T) -> Asked<R>,
) -> Asked<Looked<Page<R>>> {
    let found = match session.ask_json::<Vec<T>>(ask).await {
        Reply::Found(found) => found,
        Reply::Absent => return Ok(Looked::Missing),
        Reply::Unknown(why) if blocked(&why) => return Ok(Looked::Blocked),
        Reply::Unknown(why) => return Err(NoAnswer::Unknown(why)),
    };
    let entries = found.value.into_iter().map(read);
    Ok(Looked::Here((
        entries.collect::<Asked<_>>()?,
        found.response.next,
    )))
}
