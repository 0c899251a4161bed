//! What a host runs: by its name, by memory, or by asking it once.

use facts::repository::Forge as Software;
use serde::Deserialize;

use super::{Asked, NoAnswer};
use crate::http::{Ask, Class, Reply, Session};

/// What a host runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// The software; `Git` when there is nothing to ask.
    pub software: Software,
    /// It was found out just now, and should be remembered.
    pub learned: bool,
}

/// What a host runs. `guess` is what its name says; a name that says nothing is looked up in the
/// store, and else the host is asked.
///
/// Only clean answers are remembered: "there is no such page" to all questions makes a plain git
/// host, while a wall or a broken line leaves it open.
pub async fn look_up(
    db: &db::Db,
    session: &Session,
    host: &str,
    guess: Software,
) -> Result<Asked<Host>, db::DbError> {
    let known = |software| Host {
        software,
        learned: false,
    };
    if guess != Software::Git {
        return Ok(Ok(known(guess)));
    }
    if let Some(software) = store::forge_hosts::known(db, host).await? {
        return Ok(Ok(known(software)));
    }
    Ok(probe(session, host).await.map(|software| Host {
        software,
        learned: true,
    }))
}

/// Asks for what only one of them has.
async fn probe(session: &Session, host: &str) -> Asked<Software> {
    #[derive(Deserialize)]
    struct Version {
        version: Option<String>,
    }
    #[derive(Deserialize)]
    struct Project {
        path_with_namespace: Option<String>,
    }
    #[derive(Deserialize)]
    struct Meta {
        installed_version: Option<String>,
    }
    let ask = |path: &str| Ask::get(host, path).absent_as_page().uncached();

    let gitea: Option<Version> = clean(session.ask_json(&ask("/api/v1/version")).await)?;
    if gitea.is_some_and(|said| said.version.is_some()) {
        return Ok(Software::Gitea);
    }
    let gitlab = ask("/api/v4/projects?simple=true&per_page=1");
    let gitlab: Option<Vec<Project>> = clean(session.ask_json(&gitlab).await)?;
    // A server without public projects answers with an empty list.
    if gitlab.is_some_and(|list| list.iter().all(|one| one.path_with_namespace.is_some())) {
        return Ok(Software::GitLab);
    }
    let github: Option<Meta> = clean(session.ask_json(&ask("/api/v3/meta")).await)?;
    if github.is_some_and(|said| said.installed_version.is_some()) {
        return Ok(Software::GitHub);
    }
    Ok(Software::Git)
}

/// The answer, if there is one in the form asked for. A host that rejects the question, or answers
/// with some other JSON, is none of that software.
fn clean<T>(reply: Reply<crate::http::Decoded<T>>) -> Asked<Option<T>> {
    match reply {
        Reply::Found(found) => Ok(Some(found.value)),
        Reply::Absent => Ok(None),
        Reply::Unknown(why) => match why.class {
            Class::Rejected | Class::Undecodable => Ok(None),
            _ => Err(NoAnswer::Unknown(why)),
        },
    }
}
