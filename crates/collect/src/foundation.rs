//! Asks a foundation which projects it has.

use crate::http::{Ask, Reply, Session};

/// The list of all projects as the Apache Software Foundation gives it, unread.
pub async fn projects(session: &Session, upstream: &str) -> Reply<Vec<u8>> {
    let ask = Ask::get(upstream, "/json/foundation/projects.json").uncached();
    let answer = session.ask(&ask).await;
    answer.map(|response| response.body)
}
