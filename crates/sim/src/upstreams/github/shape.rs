//! How GitHub writes repositories and accounts.

use serde_json::{Value, json};

use crate::{
    clock::rfc3339,
    upstream::{Caller, Site},
    world::{Forge, Owner, OwnerKind, Repository},
};

/// As in lists.
pub(super) fn brief(forge: &Forge, found: &Repository, site: &Site) -> Value {
    let path = found.path();
    let (host, api) = (&site.name, &site.base_url);
    json!({
        "id": found.id,
        "node_id": format!("R_{:012x}", found.id),
        "name": found.name,
        "full_name": path,
        "private": found.private,
        "owner": forge.owner(&found.owner).map(|owner| actor(owner, site)),
        "html_url": format!("https://{host}/{path}"),
        "description": found.description,
        "fork": found.fork_of.is_some(),
        "url": format!("{api}/repos/{path}"),
        "clone_url": format!("https://{host}/{path}.git"),
        "git_url": format!("git://{host}/{path}.git"),
        "ssh_url": format!("git@{host}:{path}.git"),
        "homepage": null,
        "created_at": rfc3339(found.created_at),
        "updated_at": rfc3339(found.updated_at),
        "pushed_at": rfc3339(found.pushed_at),
        "size": if found.empty { 0 } else { 64 + found.stars },
        "stargazers_count": found.stars,
        "watchers_count": found.stars,
        "forks_count": 0,
        "open_issues_count": 0,
        "language": found.language,
        "license": null,
        "topics": [],
        "archived": found.archived,
        "disabled": false,
        "has_issues": true,
        "visibility": if found.private { "private" } else { "public" },
        "default_branch": found.default_branch,
    })
}

/// As when asked for by itself: with the parent of a fork and the organisation.
pub(super) fn whole(forge: &Forge, found: &Repository, site: &Site) -> Value {
    let mut value = brief(forge, found, site);
    if let Some(parent) = found.fork_of.and_then(|id| forge.by_id(id)) {
        value["parent"] = brief(forge, parent, site);
        value["source"] = value["parent"].clone();
    }
    if let Some(owner) = forge.owner(&found.owner)
        && owner.kind == OwnerKind::Organisation
    {
        value["organization"] = actor(owner, site);
    }
    value
}

/// An account asked for by itself.
pub(super) fn account(forge: &Forge, owner: &Owner, site: &Site, caller: &Caller) -> Value {
    let mut value = actor(owner, site);
    let repositories = forge
        .repositories()
        .filter(|found| found.owner == owner.path);
    let (public, private): (Vec<_>, Vec<_>) = repositories
        .filter(|found| caller.sees(found))
        .partition(|found| !found.private);
    value["public_repos"] = public.len().into();
    if caller.sees_private() {
        value["total_private_repos"] = private.len().into();
    }
    value
}

pub(super) fn actor(owner: &Owner, site: &Site) -> Value {
    let kind = match owner.kind {
        OwnerKind::Organisation => "Organization",
        OwnerKind::User => "User",
    };
    json!({
        "login": owner.path,
        "id": owner.id,
        "node_id": format!("O_{:012x}", owner.id),
        "url": format!("{}/users/{}", site.base_url, owner.path),
        "html_url": format!("https://{}/{}", site.name, owner.path),
        "type": kind,
        "site_admin": false,
    })
}
