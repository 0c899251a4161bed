//! GitLab's trees, blobs and releases.

use axum::{
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Desk, message};
use crate::{
    upstreams::answer::{Page, Parameters, address, tagged, with},
    world::{Forge, Repository, releases},
};

/// A question about something of a project.
pub(super) struct Below<'a> {
    pub(super) desk: &'a Desk,
    pub(super) forge: &'a Forge,
    pub(super) found: &'a Repository,
    pub(super) headers: &'a HeaderMap,
    pub(super) query: &'a Parameters,
}

impl Below<'_> {
    pub(super) fn answer(&self, rest: &str) -> Response {
        let blob = rest.strip_prefix("repository/blobs/");
        if let Some(id) = blob.and_then(|blob| blob.strip_suffix("/raw")) {
            return self.blob(id);
        }
        match rest {
            "repository/tree" => self.tree(),
            "repository/commits" => self.commits(),
            "releases" => self.releases(),
            "packages" => self.packages(),
            "issues" => self.issues(false),
            "merge_requests" => self.issues(true),
            _ => message(404, "404 Not Found"),
        }
    }

    /// Pages go on behind the entry that `page_token` names.
    fn tree(&self) -> Response {
        let parameter = |name: &str| self.query.get(name).map_or("", String::as_str);
        if self.found.empty {
            return message(404, "404 Tree Not Found");
        }
        let tree = self.forge.tree(self.found);
        // Only the present is remembered.
        let reference = parameter("ref");
        let known = ["", "HEAD", self.found.default_branch.as_str(), tree.id()];
        if !known.contains(&reference) {
            return message(404, "404 Tree Not Found");
        }
        let entries = tree.list(parameter("path"), parameter("recursive") == "true");
        let size = Page::read(self.query, "per_page", 20, 100).size;
        let begin = match parameter("page_token") {
            "" => 0,
            token => entries
                .iter()
                .position(|entry| entry.path == token)
                .map_or(entries.len(), |at| at + 1),
        };
        let rest = &entries[begin..];
        let shown = &rest[..rest.len().min(size)];
        let items: Vec<Value> = shown
            .iter()
            .map(|entry| {
                let (kind, mode) = match entry.size {
                    Some(_) => ("blob", "100644"),
                    None => ("tree", "040000"),
                };
                json!({
                    "id": entry.id,
                    "name": entry.path.rsplit('/').next(),
                    "type": kind,
                    "path": entry.path,
                    "mode": mode,
                })
            })
            .collect();
        let answer = tagged(self.headers, &Value::Array(items));
        let Some(last) = shown.last().filter(|_| rest.len() > size) else {
            return answer;
        };
        let mut query = self.query.clone();
        query.insert("page_token".to_owned(), last.path.clone());
        let url = format!(
            "{}/projects/{}/repository/tree",
            self.desk.site.base_url, self.found.id
        );
        let link = format!("<{}>; rel=\"next\"", address(&url, &query));
        with(answer, header::LINK, &link)
    }

    /// The last one alone, whose id is that of its tree: both change together.
    fn commits(&self) -> Response {
        if self.found.empty {
            return message(404, "404 Repository Not Found");
        }
        let id = self.forge.tree(self.found).id().to_owned();
        let last = json!({
            "id": id,
            "short_id": &id[..8.min(id.len())],
            "title": "work",
            "committed_date": time(self.found.pushed_at),
        });
        tagged(self.headers, &Value::Array(vec![last]))
    }

    fn blob(&self, id: &str) -> Response {
        let tree = self.forge.tree(self.found);
        let Some(contents) = tree.blob(id) else {
            return message(404, "404 Blob Not Found");
        };
        let mut answer = contents.to_vec().into_response();
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        answer.headers_mut().insert(header::CONTENT_TYPE, plain);
        answer
    }

    fn releases(&self) -> Response {
        let all = releases(self.found);
        let page = Page::read(self.query, "per_page", 20, 100);
        let total = all.len();
        let (host, path) = (&self.desk.site.name, self.found.path());
        let items: Vec<Value> = page
            .cut(all)
            .into_iter()
            .map(|release| {
                let tag = &release.tag;
                let links = release.assets.iter().enumerate().map(|(index, name)| {
                    json!({
                        "id": release.id * 100 + index as u64,
                        "name": name,
                        "url": format!("https://{host}/{path}/-/package_files/{index}/{name}"),
                        "direct_asset_url":
                            format!("https://{host}/{path}/-/releases/{tag}/downloads/{name}"),
                        "link_type": "package",
                    })
                });
                let source = format!("https://{host}/{path}/-/archive/{tag}/source.zip");
                json!({
                    "tag_name": tag,
                    "name": tag,
                    "description": "",
                    "created_at": time(release.published_at),
                    "released_at": time(release.published_at),
                    "upcoming_release": false,
                    "assets": {
                        "count": release.assets.len() + 1,
                        "sources": [{ "format": "zip", "url": source }],
                        "links": links.collect::<Vec<_>>(),
                    },
                })
            })
            .collect();
        let answer = tagged(self.headers, &Value::Array(items));
        let base = &self.desk.site.base_url;
        let url = format!("{base}/projects/{}/releases", self.found.id);
        match page.links(&url, self.query, total, true) {
            Some(links) => with(answer, header::LINK, &links),
            None => answer,
        }
    }
}

/// Milliseconds, always three digits.
pub(super) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}
