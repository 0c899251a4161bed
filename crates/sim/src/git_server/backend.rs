//! The real git behind the server.

use std::{io, io::Read as _, path::Path, process::Stdio};

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header},
};
use tokio::{io::AsyncWriteExt as _, process::Command};

use super::{MAX_BODY, Speaks, Stage, Switches};

/// A request, its body unpacked.
pub(super) struct Asked<'a> {
    pub(super) directory: &'a Path,
    pub(super) method: &'a str,
    pub(super) uri: &'a Uri,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
}

pub(super) type Answered = (HeaderMap, StatusCode, Bytes);

/// Git sends long bodies packed.
pub(super) fn unpacked(headers: &HeaderMap, body: &Bytes) -> Vec<u8> {
    if headers
        .get(header::CONTENT_ENCODING)
        .is_none_or(|how| how != "gzip")
    {
        return body.to_vec();
    }
    let mut plain = Vec::new();
    let mut from = flate2::read::GzDecoder::new(&body[..]).take(MAX_BODY as u64);
    if from.read_to_end(&mut plain).is_err() {
        plain.clear();
    }
    plain
}

/// What git answers.
pub(super) async fn ask(
    asked: &Asked<'_>,
    allowed: &Switches,
    stage: Stage,
) -> io::Result<Answered> {
    if stage == Stage::Pack && !allowed.ids {
        let tips = tips(asked).await?;
        if let Some(id) = wants(asked.body).find(|id| !tips.contains(*id)) {
            return Ok(not_our_ref(id));
        }
    }
    let files = allowed.speaks == Speaks::Files;
    let flag = |on: bool| if on { "true" } else { "false" };
    let config = [
        ("uploadpack.allowFilter", flag(allowed.filters)),
        ("uploadpack.allowAnySHA1InWant", flag(allowed.ids)),
        ("http.uploadpack", flag(!files)),
        ("safe.directory", "*"),
    ];
    let query = if files {
        ""
    } else {
        asked.uri.query().unwrap_or_default()
    };
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_PROJECT_ROOT", asked.directory)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", asked.uri.path())
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", asked.method)
        .env("GIT_CONFIG_COUNT", config.len().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    for (place, (key, value)) in config.iter().enumerate() {
        command
            .env(format!("GIT_CONFIG_KEY_{place}"), key)
            .env(format!("GIT_CONFIG_VALUE_{place}"), value);
    }
    for (variable, name) in [
        ("CONTENT_TYPE", "content-type"),
        ("GIT_PROTOCOL", "git-protocol"),
    ] {
        let value = asked.headers.get(name).and_then(|it| it.to_str().ok());
        if let Some(value) =
            value.filter(|_| variable != "GIT_PROTOCOL" || allowed.speaks == Speaks::Newest)
        {
            command.env(variable, value);
        }
    }
    let mut child = command.spawn()?;
    let stdin = child.stdin.take();
    let body = asked.body.to_vec();
    let give = async move {
        if let Some(mut stdin) = stdin {
            // Git may have answered without reading to the end.
            let _ = stdin.write_all(&body).await;
        }
    };
    let ((), output) = tokio::join!(give, child.wait_with_output());
    read(&output?.stdout)
}

/// A CGI answer: headers, an empty line, the body.
fn read(output: &[u8]) -> io::Result<Answered> {
    let end = output
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .ok_or(io::ErrorKind::InvalidData)?;
    let mut headers = HeaderMap::new();
    let mut status = StatusCode::OK;
    for line in String::from_utf8_lossy(&output[..end]).lines() {
        let Some((name, value)) = line.split_once(": ") else {
            continue;
        };
        if name == "Status" {
            let code = value.get(..3).and_then(|code| code.parse().ok());
            status = code
                .and_then(|code| StatusCode::from_u16(code).ok())
                .unwrap_or(status);
        } else if name != "Content-Length"
            && let (Ok(name), Ok(value)) =
                (HeaderName::try_from(name), HeaderValue::from_str(value))
        {
            headers.insert(name, value);
        }
    }
    Ok((headers, status, Bytes::copy_from_slice(&output[end + 4..])))
}

/// The ids that refs of the asked repository point at.
async fn tips(asked: &Asked<'_>) -> io::Result<String> {
    let name = asked.uri.path().trim_start_matches('/');
    let name = name.trim_end_matches("/git-upload-pack");
    let said = Command::new("git")
        .args(["show-ref", "--head", "--hash"])
        .env("GIT_DIR", asked.directory.join(name))
        .output()
        .await?;
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
}

/// The ids in the `want` lines.
fn wants(body: &[u8]) -> impl Iterator<Item = &str> {
    body.windows(5)
        .enumerate()
        .filter(|(_, five)| *five == b"want ")
        .filter_map(|(place, _)| std::str::from_utf8(body.get(place + 5..place + 45)?).ok())
}

/// What servers say that serve only what refs point at.
fn not_our_ref(id: &str) -> Answered {
    let line = format!("ERR upload-pack: not our ref {id}");
    let packet = format!("{:04x}{line}", line.len() + 4);
    let mut headers = HeaderMap::new();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/x-git-upload-pack-result"),
    );
    (headers, StatusCode::OK, Bytes::from(packet))
}
