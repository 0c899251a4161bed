//! Reading addresses as people and files write them.
//!
//! Whatever the shape, it is brought to one `https`-like address first and then given to the `url`
//! crate, so that there is one set of rules for hosts, ports, escapes and users.

use percent_encoding::percent_decode_str;
use url::Url;

use super::{Forge, RepositoryUrl, RepositoryUrlError, Scheme};

/// Real addresses are far shorter; this bounds what is copied about.
const MAX_BYTES: usize = 2048;

/// Short forms that package managers use.
const SHORTHANDS: &[(&str, &str)] = &[
    ("github:", "github.com"),
    ("gitlab:", "gitlab.com"),
    ("bitbucket:", "bitbucket.org"),
    ("codeberg:", "codeberg.org"),
];

/// Hosts that are another name of one.
const ALIASES: &[(&str, &str)] = &[
    ("altssh.bitbucket.org", "bitbucket.org"),
    ("altssh.gitlab.com", "gitlab.com"),
    ("raw.githubusercontent.com", "github.com"),
    ("ssh.github.com", "github.com"),
];

pub(super) fn parse(text: &str) -> Result<RepositoryUrl, RepositoryUrlError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(RepositoryUrlError::Empty);
    }
    if text.len() > MAX_BYTES {
        return Err(RepositoryUrlError::TooLong { limit: MAX_BYTES });
    }
    if text.chars().any(char::is_control) {
        return Err(RepositoryUrlError::Invisible);
    }
    // Maven writes `scm:git:https://…`, npm `git+https://…`.
    let text = strip_prefix(text, "scm:").unwrap_or(text);
    let text = strip_prefix(text, "git:")
        .filter(|rest| !rest.starts_with("//"))
        .unwrap_or(text);
    let text = strip_prefix(text, "git+").unwrap_or(text);

    if text.starts_with('/') || is_drive(text) {
        return local(text);
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        return with_scheme(&scheme.to_ascii_lowercase(), rest);
    }
    for (prefix, host) in SHORTHANDS {
        if let Some(path) = strip_prefix(text, prefix) {
            return remote(Scheme::Https, &format!("{host}/{path}"), false);
        }
    }
    without_scheme(text)
}

pub(super) fn local(path: &str) -> Result<RepositoryUrl, RepositoryUrlError> {
    if path.len() > MAX_BYTES {
        return Err(RepositoryUrlError::TooLong { limit: MAX_BYTES });
    }
    if path.chars().any(char::is_control) {
        return Err(RepositoryUrlError::Invisible);
    }
    let path = if is_drive(path) {
        path.replace('\\', "/")
    } else if path.starts_with('/') {
        path.to_owned()
    } else {
        return Err(RepositoryUrlError::RelativePath);
    };
    let mut segments: Vec<&str> = path
        .split('/')
        .filter(|segment| !segment.is_empty() && *segment != ".")
        .collect();
    if segments.contains(&"..") {
        return Err(RepositoryUrlError::RelativePath);
    }
    // `x/.git` is the inside of `x`.
    if segments.last() == Some(&".git") {
        segments.pop();
    }
    build(Forge::Local, Scheme::File, String::new(), &segments)
}

fn with_scheme(scheme: &str, rest: &str) -> Result<RepositoryUrl, RepositoryUrlError> {
    match scheme {
        "https" => remote(Scheme::Https, rest, false),
        "http" => remote(Scheme::Http, rest, false),
        "git" => remote(Scheme::Git, rest, false),
        "ssh" => remote(Scheme::Https, rest, true),
        "file" => {
            // `file:///path` and `file://localhost/path`.
            let rest = strip_prefix(rest, "localhost").unwrap_or(rest);
            let rest = rest.split(['?', '#']).next().unwrap_or(rest);
            let path = decode(rest, "this machine")?;
            match path.strip_prefix('/') {
                Some(drive) if is_drive(drive) => local(drive),
                _ => local(&path),
            }
        }
        // Only a word is shown: anything else could be a misplaced secret.
        word if word.len() <= 20
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+') =>
        {
            Err(RepositoryUrlError::Scheme(word.to_owned()))
        }
        _ => Err(RepositoryUrlError::NoHost),
    }
}

/// `git@host:owner/name`, `host:3000/owner/name` or `host/owner/name`.
fn without_scheme(text: &str) -> Result<RepositoryUrl, RepositoryUrlError> {
    let colon = text.find(':');
    let slash = text.find('/').unwrap_or(text.len());
    let Some(colon) = colon.filter(|colon| *colon < slash) else {
        // A host has a dot; without one it is a word, an owner or a relative path.
        let host = without_user(&text[..slash]);
        return if text.starts_with(['.', '~']) {
            Err(RepositoryUrlError::RelativePath)
        } else if !host.contains('.') || slash == text.len() {
            Err(RepositoryUrlError::NoHost)
        } else {
            remote(Scheme::Https, text, false)
        };
    };
    // `user:password@host/owner/name`.
    if text[colon..slash].contains('@') {
        return remote(Scheme::Https, text, false);
    }
    let (host, path) = (&text[..colon], &text[colon + 1..]);
    let first = path.split('/').next().unwrap_or_default();
    let port = !first.is_empty() && first.len() <= 5 && first.bytes().all(|b| b.is_ascii_digit());
    if port && !host.contains('@') {
        return remote(Scheme::Https, text, false);
    }
    // In this form a number is a directory. Where it cannot be one, a port was meant.
    let deep = path.split('/').filter(|part| !part.is_empty()).count() > 2;
    let forge = Forge::of_host(&without_user(host).to_ascii_lowercase());
    if port && deep && matches!(forge, Forge::GitHub | Forge::Gitea | Forge::Bitbucket) {
        return remote(Scheme::Https, text, true);
    }
    remote(Scheme::Https, &format!("{host}/{path}"), true)
}

/// `rest` is what follows `://`. The port of an ssh address says nothing about the repository.
fn remote(
    scheme: Scheme,
    rest: &str,
    drop_port: bool,
) -> Result<RepositoryUrl, RepositoryUrlError> {
    let name = if scheme == Scheme::Http {
        "http"
    } else {
        "https"
    };
    if rest.starts_with('/') {
        return Err(RepositoryUrlError::NoHost);
    }
    let url = Url::parse(&format!("{name}://{rest}")).map_err(|error| match error {
        url::ParseError::EmptyHost => RepositoryUrlError::NoHost,
        _ => RepositoryUrlError::Host,
    })?;
    let host = url.host_str().ok_or(RepositoryUrlError::NoHost)?;
    let mut host = host.trim_end_matches('.');
    while let Some(rest) = host.strip_prefix("www.").filter(|rest| rest.contains('.')) {
        host = rest;
    }
    let (host, api) = match host.strip_prefix("api.") {
        Some("github.com") => ("github.com", true),
        _ => (host, false),
    };
    let host = ALIASES
        .iter()
        .find(|(alias, _)| *alias == host)
        .map_or(host, |(_, host)| host);
    if host.is_empty() {
        return Err(RepositoryUrlError::NoHost);
    }
    // Names to the url crate only because of their dots: `x.0..` would be a broken number without
    // them, and `0..` another number.
    if !url::Host::parse(host).is_ok_and(|again| again.to_string() == host) {
        return Err(RepositoryUrlError::Host);
    }
    let forge = Forge::of_host(host);
    let usual = scheme == Scheme::Git && url.port() == Some(9418);
    let host = match url.port() {
        Some(port) if !drop_port && !usual => format!("{host}:{port}"),
        _ => host.to_owned(),
    };
    let path = url
        .path()
        .split('/')
        .filter(|segment| !segment.is_empty())
        .map(|segment| decode(segment, &host))
        .collect::<Result<Vec<_>, _>>()?;
    let mut path: Vec<&str> = path.iter().map(String::as_str).collect();
    if api && path.first() == Some(&"repos") {
        path.remove(0);
    }
    // gitweb names the repository in the query, where no git client would find it.
    if forge == Forge::Git && url.query().is_some_and(|query| query.starts_with("p=")) {
        return Err(RepositoryUrlError::Page {
            page: path.last().copied().unwrap_or("gitweb").to_owned(),
            host,
        });
    }
    let path = forge.cut(&host, path)?;
    // Where the forge is known, so is its web address.
    let scheme = match (forge, scheme) {
        (Forge::Git, scheme) => scheme,
        (_, Scheme::Http) if host.contains(':') => Scheme::Http,
        _ => Scheme::Https,
    };
    build(forge, scheme, host, &path)
}

fn build(
    forge: Forge,
    scheme: Scheme,
    host: String,
    path: &[&str],
) -> Result<RepositoryUrl, RepositoryUrlError> {
    let place = || {
        if host.is_empty() {
            "this machine".to_owned()
        } else {
            host.clone()
        }
    };
    let Some((name, owner)) = path.split_last() else {
        return Err(RepositoryUrlError::NoName { host: place() });
    };
    let (name, dot_git) = without_dot_git(forge, name);
    for segment in owner.iter().chain([&name]) {
        if !forge.allows(segment) {
            return Err(RepositoryUrlError::Name {
                segment: segment.chars().take(80).collect(),
                host: place(),
            });
        }
    }
    Ok(RepositoryUrl {
        forge,
        scheme,
        owner: owner.join("/"),
        name: name.to_owned(),
        dot_git,
        host,
    })
}

/// Forges allow no name that ends so, and serve both; a plain host may serve only what is written.
fn without_dot_git(forge: Forge, name: &str) -> (&str, bool) {
    let Some(mut short) = name.strip_suffix(".git") else {
        return (name, false);
    };
    if !forge.ignores_case() {
        return (short, true);
    }
    while let Some(shorter) = short.strip_suffix(".git") {
        short = shorter;
    }
    (short, false)
}

fn decode(segment: &str, host: &str) -> Result<String, RepositoryUrlError> {
    let wrong = || RepositoryUrlError::Name {
        segment: segment.chars().take(80).collect(),
        host: host.to_owned(),
    };
    let text = percent_decode_str(segment)
        .decode_utf8()
        .map_err(|_| wrong())?;
    if text.chars().any(char::is_control) {
        return Err(RepositoryUrlError::Invisible);
    }
    Ok(text.into_owned())
}

fn strip_prefix<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix)
        .then(|| &text[prefix.len()..])
}

fn without_user(authority: &str) -> &str {
    authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host)
}

/// `C:\…` or `C:/…`.
fn is_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 2
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'\\' | b'/')
}

/// Whether a path without its leading slash starts with a drive: such a path has none.
pub(super) fn starts_with_drive(path: &str) -> bool {
    is_drive(&format!("{path}/"))
}
