//! Pages and files.

use std::fmt::Write as _;

use axum::{
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::Response,
};
use serde_json::{Value, json};

use super::{
    At, normal,
    stock::{Form, Project},
};
use crate::{dice::fingerprint, upstreams::answer::with};

const JSON: &str = "application/vnd.pypi.simple.v1+json";
const SERIAL: HeaderName = HeaderName::from_static("x-pypi-last-serial");

pub(super) async fn root(State(desk): At, headers: HeaderMap) -> Response {
    let stock = desk.index.stock();
    let offers = stock.offers;
    let listed = stock
        .projects
        .values()
        .filter(|project| project.status != "quarantined");
    let serial = offers.serials.then_some(stock.serial);
    let (body, kind) = if wants_json(&headers, offers.json) {
        let entry = |project: &Project| {
            let mut entry = json!({ "name": project.shown });
            if offers.root_serials {
                entry["_last-serial"] = json!(project.serial);
            }
            entry
        };
        let projects: Vec<Value> = listed.map(entry).collect();
        let page = json!({ "meta": meta(serial), "projects": projects });
        (page.to_string(), JSON)
    } else {
        let mut page = head("Simple index");
        for project in listed {
            let (name, shown) = (normal(&project.shown), &project.shown);
            let _ = writeln!(page, "<a href=\"{name}/\">{shown}</a>");
        }
        (foot(page, serial), "text/html; charset=utf-8")
    };
    page(&headers, offers.tags, body, kind, serial)
}

pub(super) async fn project(
    State(desk): At,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    if name != normal(&name) {
        let answer = plain(301, "");
        let to = format!("{}/simple/{}/", desk.host_url, normal(&name));
        return with(answer, header::LOCATION, &to);
    }
    let mut stock = desk.index.stock();
    let offers = stock.offers;
    let Some(found) = stock.projects.get_mut(&name) else {
        return plain(404, "404 Not Found");
    };
    let old = match &mut found.stale {
        Some((old, times)) if *times > 0 => {
            *times -= 1;
            Some((**old).clone())
        }
        _ => None,
    };
    let found = old.as_ref().unwrap_or(found);
    let serial = offers.serials.then_some(found.serial);
    let (body, kind) = if wants_json(&headers, offers.json) {
        let mut page = json!({
            "meta": meta(serial),
            "name": name,
            "files": files(&name, found, offers.metadata),
            "versions": versions(found),
        });
        if found.status != "active" {
            page["project-status"] = json!({ "status": found.status });
        }
        (page.to_string(), JSON)
    } else {
        let mut page = head(&format!("Links for {name}"));
        if found.status != "active" {
            let _ = writeln!(
                page,
                "<meta name=\"pypi:project-status\" content=\"{}\">",
                found.status
            );
        }
        for file in files(&name, found, offers.metadata) {
            let text = |key: &str| file[key].as_str().unwrap_or_default();
            let _ = write!(
                page,
                "<a href=\"{}#sha256={}\"",
                text("url"),
                file["hashes"]["sha256"].as_str().unwrap_or_default()
            );
            if file["requires-python"].is_string() {
                let python = text("requires-python").replace('>', "&gt;");
                let _ = write!(page, " data-requires-python=\"{python}\"");
            }
            if file["yanked"].is_string() {
                let _ = write!(page, " data-yanked=\"{}\"", text("yanked"));
            }
            if let Some(digest) = file["core-metadata"]["sha256"].as_str() {
                let _ = write!(page, " data-core-metadata=\"sha256={digest}\"");
            }
            let _ = writeln!(page, ">{}</a><br/>", text("filename"));
        }
        (foot(page, serial), "text/html; charset=utf-8")
    };
    page(&headers, offers.tags, body, kind, serial)
}

pub(super) async fn json(
    State(desk): At,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    let stock = desk.index.stock();
    let Some(found) = stock.projects.get(&normal(&name)) else {
        return plain(404, "{\"message\": \"Not Found\"}");
    };
    let mut releases = json!({});
    for version in versions(found) {
        let of_version = found
            .files
            .iter()
            .filter(|(_, file)| file.version == version);
        let listed: Vec<Value> = of_version
            .map(|(filename, file)| {
                json!({
                    "filename": filename,
                    "url": format!("{}/packages/{}/{filename}", desk.host_url, normal(&name)),
                    "digests": { "sha256": file.sha256, "md5": "", "blake2b_256": "" },
                    "size": file.size,
                    "upload_time_iso_8601": file.uploaded.to_string(),
                    "requires_python": file.requires_python,
                    "yanked": file.yanked.is_some(),
                    "yanked_reason": file.yanked,
                    "packagetype": packagetype(&file.form),
                    "python_version": "py3",
                })
            })
            .collect();
        releases[&version] = Value::from(listed);
    }
    let latest = versions(found).pop();
    let info = json!({ "name": found.shown, "version": latest, "summary": null });
    let serial = found.serial;
    let body = json!({ "info": info, "last_serial": serial, "releases": releases, "urls": [], "vulnerabilities": [] });
    page(
        &headers,
        stock.offers.tags,
        body.to_string(),
        "application/json",
        Some(serial),
    )
}

/// A file, whole or in part, or the metadata of one.
pub(super) async fn file(
    State(desk): At,
    Path((project, filename)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let (bytes, ranges) = {
        let stock = desk.index.stock();
        let offers = stock.offers;
        let found = |name: &str| stock.projects.get(&project)?.files.get(name);
        let bytes = match filename.strip_suffix(".metadata") {
            Some(wheel) => found(wheel)
                .filter(|file| offers.metadata && file.metadata_sha256.is_some())
                .and_then(|file| file.form.contents())
                .map(|contents| contents.metadata().into_bytes()),
            None => found(&filename).map(|file| file.form.bytes()),
        };
        (bytes, offers.ranges)
    };
    let Some(bytes) = bytes else {
        return plain(404, "404 Not Found");
    };
    let asked = headers.get(header::RANGE).filter(|_| ranges);
    let part = asked
        .and_then(|value| value.to_str().ok())
        .and_then(|value| part(value, bytes.len()));
    let total = bytes.len();
    let mut answer = match part {
        Some((first, last)) => {
            let mut answer = Response::new(Body::from(bytes[first..=last].to_vec()));
            *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
            let told = format!("bytes {first}-{last}/{total}");
            with(answer, header::CONTENT_RANGE, &told)
        }
        None => Response::new(Body::from(bytes)),
    };
    if ranges {
        answer = with(answer, header::ACCEPT_RANGES, "bytes");
    }
    with(answer, header::CONTENT_TYPE, "application/octet-stream")
}

/// `bytes=0-99`, `bytes=-100` or `bytes=100-`.
fn part(asked: &str, length: usize) -> Option<(usize, usize)> {
    let (first, last) = asked.strip_prefix("bytes=")?.split_once('-')?;
    let end = length.checked_sub(1)?;
    let (first, last) = match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) => (first, last.min(end)),
        (Ok(first), Err(_)) => (first, end),
        (Err(_), Ok(last)) => (length.saturating_sub(last), end),
        _ => return None,
    };
    (first <= last).then_some((first, last))
}

fn packagetype(form: &Form) -> &'static str {
    match form {
        Form::Wheel(_) => "bdist_wheel",
        Form::Egg(_) => "bdist_egg",
        Form::Sdist(_) | Form::Given(_) => "sdist",
    }
}

fn files(name: &str, project: &Project, metadata: bool) -> Vec<Value> {
    if project.status == "quarantined" {
        return Vec::new();
    }
    let entry = |(filename, file): (&String, &super::stock::File)| {
        let mut entry = json!({
            "filename": filename,
            "url": format!("../../packages/{name}/{filename}"),
            "hashes": { "sha256": file.sha256 },
            "requires-python": file.requires_python,
            "size": file.size,
            "upload-time": file.uploaded.to_string(),
            "yanked": match &file.yanked {
                None => Value::from(false),
                Some(reason) => Value::from(reason.as_str()),
            },
        });
        if metadata {
            let told = match &file.metadata_sha256 {
                Some(digest) => json!({ "sha256": digest }),
                None => Value::from(false),
            };
            entry["core-metadata"] = told;
        }
        entry
    };
    project.files.iter().map(entry).collect()
}

fn versions(project: &Project) -> Vec<String> {
    let mut versions: Vec<String> = project
        .files
        .values()
        .map(|file| file.version.clone())
        .collect();
    versions.sort();
    versions.dedup();
    versions
}

fn meta(serial: Option<u64>) -> Value {
    match serial {
        Some(serial) => json!({ "api-version": "1.4", "_last-serial": serial }),
        None => json!({ "api-version": "1.4" }),
    }
}

fn wants_json(headers: &HeaderMap, offered: bool) -> bool {
    let accept = headers.get(header::ACCEPT);
    let accept = accept.and_then(|value| value.to_str().ok());
    offered && accept.is_some_and(|accept| accept.contains(JSON))
}

fn head(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html><head><meta name=\"pypi:repository-version\" content=\"1.4\">\
         <title>{title}</title></head><body><h1>{title}</h1>\n"
    )
}

fn foot(mut page: String, serial: Option<u64>) -> String {
    page.push_str("</body></html>\n");
    if let Some(serial) = serial {
        let _ = writeln!(page, "<!--SERIAL {serial}-->");
    }
    page
}

fn page(
    headers: &HeaderMap,
    tags: bool,
    body: String,
    kind: &str,
    serial: Option<u64>,
) -> Response {
    let tag = format!("\"{:016x}\"", fingerprint(body.as_bytes()));
    let known = headers.get(header::IF_NONE_MATCH);
    let known = known.and_then(|value| value.to_str().ok()) == Some(tag.as_str());
    let mut answer = if tags && known {
        plain(304, "")
    } else {
        with(Response::new(Body::from(body)), header::CONTENT_TYPE, kind)
    };
    if tags {
        answer = with(answer, header::ETAG, &tag);
    }
    match serial {
        Some(serial) => with(answer, SERIAL, &serial.to_string()),
        None => answer,
    }
}

fn plain(status: u16, text: &str) -> Response {
    let mut answer = Response::new(Body::from(text.to_owned()));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    answer
}
