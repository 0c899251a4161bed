//! How GitLab writes projects and groups.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    upstream::{Caller, Site},
    world::{Forge, Owner, OwnerKind, Repository},
};

/// A project. Those without a token get the basic fields only.
pub(super) fn project(forge: &Forge, found: &Repository, site: &Site, caller: &Caller) -> Value {
    let mut value = basic(forge, found, site);
    if caller.token().is_some() {
        value["archived"] = found.archived.into();
        value["empty_repo"] = found.empty.into();
        value["updated_at"] = time(found.updated_at).into();
        value["issues_enabled"] = true.into();
        value["open_issues_count"] = 0.into();
        value["creator_id"] = 1.into();
    }
    if let Some(parent) = found.fork_of.and_then(|id| forge.by_id(id)) {
        value["forked_from_project"] = basic(forge, parent, site);
    }
    value
}

fn basic(forge: &Forge, found: &Repository, site: &Site) -> Value {
    let path = found.path();
    let host = &site.name;
    let spaced = path.replace('/', " / ");
    json!({
        "id": found.id,
        "description": found.description,
        "name": found.name,
        "name_with_namespace": spaced,
        "path": found.name,
        "path_with_namespace": path,
        "created_at": time(found.created_at),
        "default_branch": (!found.empty).then_some(&found.default_branch),
        "tag_list": [],
        "topics": [],
        "ssh_url_to_repo": format!("git@{host}:{path}.git"),
        "http_url_to_repo": format!("https://{host}/{path}.git"),
        "web_url": format!("https://{host}/{path}"),
        "readme_url": null,
        "forks_count": 0,
        "avatar_url": null,
        "star_count": found.stars,
        // Archiving and renaming are no activity.
        "last_activity_at": time(found.pushed_at),
        "visibility": if found.private { "private" } else { "public" },
        "namespace": forge.owner(&found.owner).map(|owner| namespace(owner, site)),
    })
}

fn namespace(owner: &Owner, site: &Site) -> Value {
    let last = owner.path.rsplit('/').next();
    json!({
        "id": owner.id,
        "name": last,
        "path": last,
        "kind": match owner.kind {
            OwnerKind::Organisation => "group",
            OwnerKind::User => "user",
        },
        "full_path": owner.path,
        "web_url": web_url(owner, site),
    })
}

/// A group asked for by itself.
pub(super) fn group(forge: &Forge, owner: &Owner, site: &Site) -> Value {
    let parent = owner.path.rsplit_once('/').map(|(parent, _)| parent);
    let last = owner.path.rsplit('/').next();
    json!({
        "id": owner.id,
        "name": last,
        "path": last,
        "full_name": owner.path.replace('/', " / "),
        "full_path": owner.path,
        "visibility": "public",
        "web_url": web_url(owner, site),
        "parent_id": parent.and_then(|path| forge.owner(path)).map(|parent| parent.id),
    })
}

fn web_url(owner: &Owner, site: &Site) -> String {
    let groups = match owner.kind {
        OwnerKind::Organisation => "groups/",
        OwnerKind::User => "",
    };
    format!("https://{}/{groups}{}", site.name, owner.path)
}

/// Milliseconds, always three digits.
fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}
