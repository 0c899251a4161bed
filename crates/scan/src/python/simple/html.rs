//! Simple pages in HTML.

use std::collections::BTreeMap;
use std::convert::Infallible;

use html5gum::{StartTag, Token, Tokenizer};

use super::{
    ListedFile, ListedProject, MAX_ENTRIES, MetadataFile, PageFault, ProjectPage, ProjectStatus,
    RootPage, Yanked, check_api,
};
use crate::python::{Filename, normalize_name};

pub(super) fn project(bytes: &[u8]) -> Result<ProjectPage, PageFault> {
    let mut files = Vec::new();
    let mut skipped = 0;
    let head = each_link(bytes, |link| match listed(&link) {
        Some(file) => files.push(file),
        None => skipped += 1,
    })?;
    check_api(head.meta.get("pypi:repository-version").map(String::as_str))?;
    let any_file = files
        .iter()
        .any(|file| Filename::parse(&file.filename, None).is_some());
    if !any_file && !head.is_index() {
        return Err(PageFault::NotAnIndex);
    }
    let meta = |name: &str| head.meta.get(name).cloned();
    Ok(ProjectPage {
        name: None,
        files,
        versions: Vec::new(),
        status: ProjectStatus::read(&meta("pypi:project-status").unwrap_or_default()),
        status_reason: meta("pypi:project-status-reason"),
        last_serial: head.serial,
        api_version: meta("pypi:repository-version"),
        skipped,
    })
}

pub(super) fn root(bytes: &[u8]) -> Result<RootPage, PageFault> {
    let mut projects = Vec::new();
    let mut strangers = 0;
    let head = each_link(bytes, |link| {
        let address = last_part(&link.href);
        let name = if link.text.is_empty() {
            address.clone()
        } else {
            link.text
        };
        if name.is_empty()
            || name.contains(char::is_whitespace)
            || normalize_name(&name) != normalize_name(&address)
        {
            strangers += 1;
        } else {
            projects.push(ListedProject {
                name,
                last_serial: None,
            });
        }
    })?;
    check_api(head.meta.get("pypi:repository-version").map(String::as_str))?;
    // Some indexes write nothing but links; then every link must be a project's.
    let plain_list = strangers == 0 && !projects.is_empty() && !head.interactive;
    if !head.is_index() && !plain_list {
        return Err(PageFault::NotAnIndex);
    }
    let api_version = head.meta.get("pypi:repository-version").cloned();
    Ok(RootPage {
        projects,
        last_serial: head.serial,
        api_version,
    })
}

struct Link {
    href: String,
    attributes: BTreeMap<String, String>,
    text: String,
}

/// What a page says besides its links.
#[derive(Default)]
struct Head {
    meta: BTreeMap<String, String>,
    serial: Option<u64>,
    /// The text of `<title>` and `<h1>`.
    titles: String,
    /// Something a person or a browser is to act upon, which an index never has.
    interactive: bool,
}

impl Head {
    /// Whether the page says that it is one of an index, which an empty one must.
    fn is_index(&self) -> bool {
        let titles = self.titles.to_lowercase();
        self.meta.contains_key("pypi:repository-version")
            || ["simple index", "simple package", "links for", "index of"]
                .iter()
                .any(|words| titles.contains(words))
    }
}

fn each_link(bytes: &[u8], mut take: impl FnMut(Link)) -> Result<Head, PageFault> {
    let text = String::from_utf8_lossy(bytes);
    let mut visit = |mut link: Link| {
        let trimmed = link.text.trim().to_owned();
        link.text = trimmed;
        take(link);
    };
    let mut head = Head::default();
    let mut open: Option<Link> = None;
    let mut in_title = false;
    let mut count = 0;
    for token in Tokenizer::new(text.as_ref()) {
        let token: Result<Token, Infallible> = token;
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => match tag.name.as_slice() {
                b"a" => {
                    open.take().into_iter().for_each(&mut visit);
                    count += 1;
                    if count > MAX_ENTRIES {
                        return Err(PageFault::TooManyEntries);
                    }
                    let mut attributes = attributes(tag);
                    let href = attributes.remove("href").unwrap_or_default();
                    open = Some(Link {
                        href,
                        attributes,
                        text: String::new(),
                    });
                }
                b"meta" => {
                    let mut attributes = attributes(tag);
                    if let (Some(name), Some(content)) =
                        (attributes.remove("name"), attributes.remove("content"))
                    {
                        head.meta.entry(name.to_lowercase()).or_insert(content);
                    }
                }
                b"title" | b"h1" => in_title = true,
                b"form" | b"script" | b"input" | b"iframe" => head.interactive = true,
                _ => {}
            },
            Token::EndTag(tag) => match tag.name.as_slice() {
                b"a" => open.take().into_iter().for_each(&mut visit),
                b"title" | b"h1" => in_title = false,
                _ => {}
            },
            Token::String(part) => {
                let part = String::from_utf8_lossy(&part);
                if let Some(link) = &mut open {
                    link.text.push_str(&part);
                } else if in_title && head.titles.len() < 1_000 {
                    head.titles.push_str(&part);
                }
            }
            Token::Comment(comment) => {
                let comment = String::from_utf8_lossy(&comment);
                let serial = comment
                    .trim()
                    .strip_prefix("SERIAL")
                    .and_then(|number| number.trim().parse().ok());
                head.serial = serial.or(head.serial);
            }
            Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    open.take().into_iter().for_each(&mut visit);
    Ok(head)
}

fn attributes(tag: StartTag<()>) -> BTreeMap<String, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    tag.attributes
        .into_iter()
        .map(|(name, value)| (text(&name), text(&value)))
        .collect()
}

fn listed(link: &Link) -> Option<ListedFile> {
    let (url, fragment) = link.href.split_once('#').unwrap_or((&link.href, ""));
    let filename = if link.text.is_empty() {
        last_part(url)
    } else {
        link.text.clone()
    };
    if url.is_empty() || filename.is_empty() {
        return None;
    }
    let attribute = |name: &str| link.attributes.get(name).map(|value| value.trim());
    let text = |name: &str| {
        attribute(name)
            .filter(|value| !value.is_empty())
            .map(str::to_owned)
    };
    Some(ListedFile {
        filename,
        url: url.to_owned(),
        hashes: digest(fragment).into_iter().collect(),
        requires_python: text("data-requires-python"),
        size: text("data-size").and_then(|size| size.parse().ok()),
        upload_time: text("data-upload-time"),
        yanked: match attribute("data-yanked") {
            None => Yanked::No,
            Some(_) => Yanked::Yes {
                reason: text("data-yanked"),
            },
        },
        core_metadata: match attribute("data-core-metadata")
            .or(attribute("data-dist-info-metadata"))
        {
            None => MetadataFile::Unsaid,
            Some("false") => MetadataFile::Absent,
            Some(value) => MetadataFile::Present {
                hashes: digest(value).into_iter().collect(),
            },
        },
        provenance: text("data-provenance"),
    })
}

/// `sha256=abc…`
fn digest(text: &str) -> Option<(String, String)> {
    let (name, digest) = text.split_once('=')?;
    let digest = digest.split('&').next().unwrap_or(digest);
    let hexadecimal = !digest.is_empty() && digest.bytes().all(|b| b.is_ascii_hexdigit());
    hexadecimal.then(|| (name.to_lowercase(), digest.to_lowercase()))
}

/// The last part of a path, with a `/` behind it or not.
fn last_part(url: &str) -> String {
    let path = url
        .split_once('?')
        .map_or(url, |(path, _)| path)
        .trim_end_matches('/');
    path.rsplit_once('/')
        .map_or(path, |(_, last)| last)
        .to_owned()
}
