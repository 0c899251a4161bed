//! What git is told about the world: all of it by environment, nothing from files of the machine.

use std::ffi::OsString;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use secrecy::ExposeSecret as _;

use super::{
    Protocol, Settings, Token,
    address::{Place, without_secrets},
};

/// Faults that old and honest repositories have in their objects. None of them can hurt a reader
/// that checks nothing out; refusing them would refuse a good part of the world's history.
const FORGIVEN: [&str; 24] = [
    "badDate",
    "badDateOverflow",
    "badEmail",
    "badFilemode",
    "badName",
    "badTagName",
    "badTimezone",
    "emptyName",
    "fullPathname",
    "gitmodulesLarge",
    "gitmodulesMissing",
    "gitmodulesName",
    "gitmodulesParse",
    "gitmodulesPath",
    "gitmodulesSymlink",
    "gitmodulesUpdate",
    "gitmodulesUrl",
    "missingEmail",
    "missingNameBeforeEmail",
    "missingSpaceBeforeDate",
    "missingSpaceBeforeEmail",
    "missingTaggerEntry",
    "zeroPaddedDate",
    "zeroPaddedFilemode",
];

/// The whole environment but what belongs to the single run.
pub(super) fn environment(
    place: &Place,
    pin: Option<String>,
    settings: &Settings,
) -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> = Vec::new();
    for kept in ["PATH", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"] {
        if let Some(value) = std::env::var_os(kept) {
            all.push((kept.into(), value));
        }
    }
    // Only a configured protocol may use the keys of whoever runs this; it never asks a person.
    if place.protocol == Protocol::Ssh {
        for kept in ["SSH_AUTH_SOCK"] {
            if let Some(value) = std::env::var_os(kept) {
                all.push((kept.into(), value));
            }
        }
        let ssh = "ssh -oBatchMode=yes -oConnectTimeout=30 -oForwardAgent=no";
        all.push(("GIT_SSH_COMMAND".into(), ssh.into()));
    }
    let fixed = [
        ("LC_ALL", "C"),
        ("LANG", "C"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ASKPASS", ""),
        ("SSH_ASKPASS", ""),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_TRACE_CURL_NO_DATA", "1"),
        ("GIT_TRACE_REDACT", "1"),
        ("GIT_ALLOW_PROTOCOL", place.protocol.as_str()),
        ("GIT_HTTP_USER_AGENT", &settings.user_agent),
    ];
    all.extend(fixed.map(|(name, value)| (name.into(), value.into())));

    let pairs = config(place, pin, settings);
    all.push(("GIT_CONFIG_COUNT".into(), pairs.len().to_string().into()));
    for (place, (key, value)) in pairs.into_iter().enumerate() {
        all.push((format!("GIT_CONFIG_KEY_{place}").into(), key.into()));
        all.push((format!("GIT_CONFIG_VALUE_{place}").into(), value.into()));
    }
    all
}

fn config(place: &Place, pin: Option<String>, settings: &Settings) -> Vec<(String, String)> {
    let idle = settings.limits.idle.as_secs().max(1).to_string();
    let mut pairs: Vec<(String, String)> = [
        ("remote.origin.url", place.as_str()),
        ("protocol.version", "2"),
        ("http.userAgent", &settings.user_agent),
        // Where it leads is checked here, and the token stays behind.
        ("http.followRedirects", "false"),
        ("http.sslVerify", "true"),
        ("http.lowSpeedLimit", "1"),
        ("http.lowSpeedTime", &idle),
        ("credential.helper", ""),
        ("core.askPass", ""),
        ("core.hooksPath", "/dev/null"),
        ("core.fsmonitor", "false"),
        ("core.packedGitWindowSize", "32m"),
        ("core.packedGitLimit", "256m"),
        ("core.bigFileThreshold", "32m"),
        ("pack.threads", "1"),
        ("safe.directory", "*"),
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
        ("submodule.recurse", "false"),
        ("fetch.recurseSubmodules", "false"),
        ("fetch.unpackLimit", "1"),
        ("fetch.fsckObjects", "true"),
        ("transfer.bundleURI", "false"),
        ("transfer.credentialsInUrl", "die"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    pairs.extend(FORGIVEN.map(|fault| (format!("fetch.fsck.{fault}"), "ignore".to_owned())));
    if let Some(pin) = pin.filter(|_| place.protocol.is_http()) {
        pairs.push(("http.curloptResolve".to_owned(), pin));
    }
    if let Some(token) = token(place, settings) {
        let header = format!("Authorization: Basic {}", encoded(token));
        pairs.push((format!("http.{}/.extraHeader", place.origin()), header));
    }
    pairs
}

/// The token for exactly this scheme, host and port.
pub(super) fn token<'a>(place: &Place, settings: &'a Settings) -> Option<&'a Token> {
    settings
        .tokens
        .get(&place.origin())
        .filter(|_| place.protocol.is_http())
}

fn encoded(token: &Token) -> String {
    BASE64_STANDARD.encode(format!("{}:{}", token.user, token.secret.expose_secret()))
}

/// Text of a stranger without anything that must not be shown.
pub(super) fn redacted(text: &str, settings: &Settings) -> String {
    let mut text = without_secrets(text);
    for token in settings.tokens.values() {
        for secret in [token.secret.expose_secret(), encoded(token).as_str()] {
            if !secret.is_empty() {
                text = text.replace(secret, "[redacted]");
            }
        }
    }
    text
}
