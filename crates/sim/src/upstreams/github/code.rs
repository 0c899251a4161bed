//! GitHub's trees, blobs and releases.

use axum::{http::header, response::Response};
use serde_json::{Value, json};

use super::{Below, message, not_found};
use crate::{
    clock::rfc3339,
    upstreams::answer::{Page, base64, tagged, with},
    world::releases,
};

impl Below<'_> {
    /// A branch, `HEAD`, or the id of a directory. Whatever `recursive` is, it means yes.
    pub(super) fn tree(&self, reference: &str) -> Response {
        if self.found.empty {
            return message(409, "Git Repository is empty.");
        }
        let tree = self.forge.tree(self.found);
        let directory = if reference == "HEAD" || reference == self.found.default_branch {
            Some("")
        } else {
            tree.directory(reference)
        };
        let Some(directory) = directory else {
            return not_found();
        };
        let recursive = self.query.get("recursive").is_some_and(|it| !it.is_empty());
        let mut entries = tree.list(directory, recursive);
        let truncated = recursive && entries.len() > self.desk.tree_entries;
        if truncated {
            entries.truncate(self.desk.tree_entries);
        }
        let (api, path) = (&self.desk.site.base_url, self.found.path());
        let entries: Vec<Value> = entries
            .into_iter()
            .map(|entry| match entry.size {
                Some(size) => json!({
                    "path": entry.path, "mode": "100644", "type": "blob", "sha": entry.id,
                    "size": size, "url": format!("{api}/repos/{path}/git/blobs/{}", entry.id),
                }),
                None => json!({
                    "path": entry.path, "mode": "040000", "type": "tree", "sha": entry.id,
                    "url": format!("{api}/repos/{path}/git/trees/{}", entry.id),
                }),
            })
            .collect();
        let id = if directory.is_empty() {
            tree.id()
        } else {
            reference
        };
        let body = json!({
            "sha": id,
            "url": format!("{api}/repos/{path}/git/trees/{id}"),
            "tree": entries,
            "truncated": truncated,
        });
        tagged(self.headers, &body)
    }

    pub(super) fn blob(&self, id: &str) -> Response {
        if self.found.empty {
            return message(409, "Git Repository is empty.");
        }
        let tree = self.forge.tree(self.found);
        match tree.blob(id) {
            Some(contents) => tagged(
                self.headers,
                &json!({
                    "sha": id,
                    "size": contents.len(),
                    "content": base64(contents, 60),
                    "encoding": "base64",
                }),
            ),
            None => not_found(),
        }
    }

    /// The last one alone.
    pub(super) fn commits(&self) -> Response {
        if self.found.empty {
            return message(409, "Git Repository is empty.");
        }
        let tree = self.forge.tree(self.found);
        let date = rfc3339(self.found.pushed_at);
        let last = json!({
            "sha": tree.id(),
            "commit": { "message": "work", "committer": { "date": date } },
        });
        tagged(self.headers, &Value::Array(vec![last]))
    }

    pub(super) fn releases(&self) -> Response {
        let all = releases(self.found);
        let page = Page::read(self.query, "per_page", 30, 100);
        let total = all.len();
        let (host, path) = (&self.desk.site.name, self.found.path());
        let items: Vec<Value> = page
            .cut(all)
            .into_iter()
            .map(|release| {
                let assets = release.assets.iter().enumerate().map(|(index, name)| {
                    json!({
                        "id": release.id * 100 + index as u64,
                        "name": name,
                        "label": null,
                        "state": "uploaded",
                        "content_type": "application/octet-stream",
                        "size": 1_000 + name.len(),
                        "download_count": 0,
                        "created_at": rfc3339(release.published_at),
                        "updated_at": rfc3339(release.published_at),
                        "browser_download_url":
                            format!("https://{host}/{path}/releases/download/{}/{name}", release.tag),
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
        let answer = tagged(self.headers, &Value::Array(items));
        let base = &self.desk.site.base_url;
        let url = format!("{base}/repositories/{}/releases", self.found.id);
        match page.links(&url, self.query, total, true) {
            Some(links) => with(answer, header::LINK, &links),
            None => answer,
        }
    }
}
