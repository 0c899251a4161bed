//! Gitea's trees, blobs and releases.

use axum::{
    http::{HeaderName, header},
    response::Response,
};
use serde_json::{Value, json};

use super::{message, not_found};
use crate::{
    clock::rfc3339,
    upstream::Site,
    upstreams::answer::{self, Page, Parameters, base64, with},
    world::{Forge, Repository, releases},
};

/// A question about something of a repository.
pub(super) struct Below<'a> {
    pub(super) site: &'a Site,
    pub(super) forge: &'a Forge,
    pub(super) found: &'a Repository,
    pub(super) query: &'a Parameters,
    pub(super) trees_per_page: usize,
}

impl Below<'_> {
    pub(super) fn answer(&self, rest: &str) -> Response {
        if let Some(reference) = rest.strip_prefix("git/trees/") {
            self.tree(reference)
        } else if let Some(id) = rest.strip_prefix("git/blobs/") {
            self.blob(id)
        } else if rest == "releases" {
            self.releases()
        } else if rest == "issues" {
            self.issues()
        } else {
            not_found()
        }
    }

    /// Truncated means that there is another page.
    fn tree(&self, reference: &str) -> Response {
        if self.found.empty {
            return message(400, "object does not exist [id: HEAD, rel_path: ]");
        }
        let tree = self.forge.tree(self.found);
        let directory = if reference == "HEAD" || reference == self.found.default_branch {
            Some("")
        } else {
            tree.directory(reference)
        };
        let Some(directory) = directory else {
            return message(400, "object does not exist");
        };
        let recursive = self.query.get("recursive").is_some_and(|it| it != "false");
        let entries = tree.list(directory, recursive);
        let most = self.trees_per_page;
        let page = Page::read(self.query, "per_page", most, most);
        let total = entries.len();
        let url = |kind: &str, id: &str| {
            let base = &self.site.base_url;
            format!("{base}/repos/{}/git/{kind}/{id}", self.found.path())
        };
        let items: Vec<Value> = page
            .cut(entries)
            .into_iter()
            .map(|entry| match entry.size {
                Some(size) => json!({
                    "path": entry.path, "mode": "100644", "type": "blob", "size": size,
                    "sha": entry.id, "url": url("blobs", &entry.id),
                }),
                None => json!({
                    "path": entry.path, "mode": "040000", "type": "tree", "size": 0,
                    "sha": entry.id, "url": url("trees", &entry.id),
                }),
            })
            .collect();
        let body = json!({
            "sha": tree.id(),
            "url": url("trees", tree.id()),
            "tree": items,
            "truncated": page.offset() + page.size < total,
            "page": page.number,
            "total_count": total,
        });
        answer::json(200, &body)
    }

    fn blob(&self, id: &str) -> Response {
        let tree = self.forge.tree(self.found);
        match tree.blob(id) {
            Some(contents) => answer::json(
                200,
                &json!({
                    "sha": id,
                    "size": contents.len(),
                    "content": base64(contents, 0),
                    "encoding": "base64",
                }),
            ),
            None => message(400, "object does not exist"),
        }
    }

    fn releases(&self) -> Response {
        let all = releases(self.found);
        let page = Page::read(self.query, "limit", 30, 50);
        let total = all.len();
        let (host, path) = (&self.site.name, self.found.path());
        let items: Vec<Value> = page
            .cut(all)
            .into_iter()
            .map(|release| {
                let assets = release.assets.iter().enumerate().map(|(index, name)| {
                    let tag = &release.tag;
                    json!({
                        "id": release.id * 100 + index as u64,
                        "name": name,
                        "size": 1_000 + name.len(),
                        "download_count": 0,
                        "created_at": rfc3339(release.published_at),
                        "browser_download_url":
                            format!("https://{host}/{path}/releases/download/{tag}/{name}"),
                    })
                });
                json!({
                    "id": release.id,
                    "tag_name": release.tag,
                    "name": release.tag,
                    "draft": false,
                    "prerelease": false,
                    "created_at": rfc3339(release.published_at),
                    "published_at": rfc3339(release.published_at),
                    "assets": assets.collect::<Vec<_>>(),
                })
            })
            .collect();
        let answer = answer::json(200, &Value::Array(items));
        let count = HeaderName::from_static("x-total-count");
        let answer = with(answer, count, &total.to_string());
        let url = format!("{}/repos/{path}/releases", self.site.base_url);
        match page.links(&url, self.query, total, true) {
            Some(links) => with(answer, header::LINK, &links),
            None => answer,
        }
    }
}
