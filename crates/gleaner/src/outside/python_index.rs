//! Which Python index is crawled: the configured one, else the one that pip is configured with.
//!
//! A password in pip's settings is shown to the index and to nobody else: it is taken out of the
//! address before that goes anywhere.

use std::path::PathBuf;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use collect::{
    http::{self, Auth, Token, UpstreamSettings},
    pypi::{self, Chosen, IndexAddress, UPSTREAM},
};
use percent_encoding::percent_decode_str;
use url::Url;

use crate::{
    config::Settings,
    error::{Failure, Result, codes},
};

/// What is set about the index; its upstream is put among the others.
pub(super) fn settings(
    settings: &Settings,
    environment: &[(String, String)],
    about: &mut http::Settings,
) -> Result<pypi::Settings> {
    let set = &settings.pypi;
    let mut round = pypi::Settings::default();
    round.chosen = Chosen {
        allow: set.allow.clone(),
        deny: set.deny.clone(),
    };
    round.overlap = i64::from(set.overlap);
    round.page_cadence = set.page_cadence;
    round.dump = set.dump;
    round.datasets = set.datasets;
    round.keep_bytes = i64::try_from(set.keep).unwrap_or(i64::MAX);
    // What is wrong with pip's settings is told to whoever has the index crawled, and keeps nobody
    // else from working.
    let found = match find(settings, environment) {
        Err(failure) if set.index_url.is_some() => return Err(failure),
        found => found.ok().flatten(),
    };
    if let Some(found) = found {
        let usual = UpstreamSettings::at(found.address.origin());
        let upstream = about
            .upstreams
            .entry(UPSTREAM.to_owned())
            .or_insert_with(|| usual.clone());
        upstream.base = usual.base;
        // Whoever names an index wants it asked, wherever it lies.
        upstream.allow_private = true;
        upstream.concurrency = upstream.concurrency.max(16);
        if let Some(secret) = found.secret {
            upstream.auth = Auth::Header("authorization");
            upstream.tokens = vec![Token::new("pip", &secret)];
        }
        round.address = Some(found.address);
    }
    Ok(round)
}

/// An index, and what to show it.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) address: IndexAddress,
    /// `Basic …`
    secret: Option<String>,
    /// Who said so.
    pub(crate) said_by: &'static str,
}

/// The index by the configuration, the environment or pip's files; none where they say nothing.
pub(crate) fn find(settings: &Settings, environment: &[(String, String)]) -> Result<Option<Found>> {
    if let Some(url) = &settings.pypi.index_url {
        return read(url, "`index_url` under `[pypi]`").map(Some);
    }
    let variable = |name: &str| {
        let found = environment.iter().find(|(key, _)| key == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    };
    if let Some(url) = variable("PIP_INDEX_URL") {
        return read(url, "PIP_INDEX_URL").map(Some);
    }
    let mut files = Vec::new();
    files.extend(variable("PIP_CONFIG_FILE").map(PathBuf::from));
    files.extend(variable("VIRTUAL_ENV").map(|place| PathBuf::from(place).join("pip.conf")));
    if let Some(home) = variable("HOME") {
        let config = variable("XDG_CONFIG_HOME")
            .map_or_else(|| PathBuf::from(home).join(".config"), PathBuf::from);
        files.push(config.join("pip/pip.conf"));
        files.push(PathBuf::from(home).join(".pip/pip.conf"));
        files.push(PathBuf::from("/etc/pip.conf"));
    }
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if let Some(url) = index_in(&text) {
            return read(&url, "pip's configuration").map(Some);
        }
    }
    Ok(None)
}

/// The index that pip takes when nobody tells it another, by its own words.
pub(crate) fn usual_of_pip() -> Option<Found> {
    let help = std::process::Command::new("python3")
        .args(["-m", "pip", "install", "--help"])
        .output()
        .ok()?;
    let words = String::from_utf8_lossy(&help.stdout).into_owned();
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, after) = words.split_once("--index-url")?;
    let (_, after) = after.split_once("(default ")?;
    let url = after.split([')', ' ']).next()?;
    read(url, "pip itself").ok()
}

/// `index-url` in one of pip's files, the section for all commands before others.
fn index_in(text: &str) -> Option<String> {
    let mut section = String::new();
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            section = name.trim().to_lowercase();
            continue;
        }
        let Some((key, value)) = line.split_once(['=', ':']) else {
            continue;
        };
        let is_index = matches!(key.trim(), "index-url" | "index_url");
        if is_index && matches!(section.as_str(), "global" | "install" | "download") {
            let value = value.trim().to_owned();
            if section == "global" {
                return Some(value);
            }
            found = found.or(Some(value));
        }
    }
    found
}

fn read(url: &str, said_by: &'static str) -> Result<Found> {
    let refuse = |why: &str| {
        let message = format!("the address of the Python index cannot be used: {why}");
        Failure::new(&codes::CONFIG_VALUE, message)
            .hint(format!("it comes from {said_by}"))
            .hint("it looks like https://index.example.org/simple")
    };
    let mut parsed = Url::parse(url.trim()).map_err(|error| refuse(&error.to_string()))?;
    let secret = parsed.password().is_some() || !parsed.username().is_empty();
    let secret = secret.then(|| {
        let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let user = plain(parsed.username());
        let password = plain(parsed.password().unwrap_or_default());
        format!(
            "Basic {}",
            BASE64_STANDARD.encode(format!("{user}:{password}"))
        )
    });
    let _ = parsed.set_username("");
    let _ = parsed.set_password(None);
    let address =
        IndexAddress::parse(parsed.as_str()).map_err(|fault| refuse(&fault.to_string()))?;
    Ok(Found {
        address,
        secret,
        said_by,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pip_files_and_passwords_are_understood() {
        let text = "[install]\nindex-url = https://two.example/simple\n[global]\ntimeout = 60\n\
                    index-url=https://user:p%40ss@one.example/root/simple/\n";
        let url = index_in(text).unwrap();
        let found = read(&url, "pip's configuration").unwrap();
        assert_eq!(found.address.as_str(), "https://one.example/root/simple/");
        let secret = found.secret.unwrap();
        assert_eq!(
            secret,
            format!("Basic {}", BASE64_STANDARD.encode("user:p@ss"))
        );
        assert_eq!(index_in("[list]\nindex-url = x\n"), None);
        let failure = read("ftp://user:secret@x/simple", "pip itself").unwrap_err();
        assert!(!format!("{failure:?}").contains("secret"), "{failure:?}");
    }
}
