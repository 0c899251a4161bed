//! A token's secret is in no error, no log line and no debug output, whatever the service does.

use std::{
    fmt::Write as _,
    io,
    sync::{Arc, Mutex},
};

use collect::http::{Ask, Reply, Token, UpstreamSettings};
use serde::Deserialize;

use crate::{
    server::{Server, Step, answer, json},
    world::{SECRET, World, upstream, with_token},
};

/// Echoes what it was sent, in every place that could end in a message.
fn echo(path: &str, shown: &str) -> Vec<Step> {
    let kind = [("content-type", "application/json")];
    let said = format!(r#"{{"message": "Bad credentials: {shown}", "id": "{shown}"}}"#);
    match path {
        "/401" => answer(401, &kind, said),
        "/403" => answer(403, &kind, format!("{shown} {shown}")),
        "/422" => answer(422, &kind, said),
        "/limited" => answer(429, &[("retry-after", shown)], said),
        "/500" => answer(500, &[], said),
        "/wall" => answer(200, &[], format!("<html>{shown}")),
        "/shape" => json(&said),
        "/syntax" => json(&format!("{{\"a\": {shown}}}")),
        "/location" => answer(
            302,
            &[("location", &format!("http://10.0.0.1/{shown}"))],
            "",
        ),
        "/scheme" => answer(302, &[("location", &format!("x:{shown}"))], ""),
        "/host" => answer(
            302,
            &[("location", &format!("http://{}/", shown.replace(' ', "")))],
            "",
        ),
        "/reset" => vec![Step::Reset],
        _ => vec![Step::Send(format!("HTTP/1.1 {shown}\r\n\r\n").into_bytes())],
    }
}

#[derive(Debug, Deserialize)]
struct Shape {
    #[expect(dead_code, reason = "only its shape matters here")]
    id: i64,
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_secret_is_ever_shown() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    // For all threads: one for this thread alone would compete with tests that have none.
    tracing::subscriber::set_global_default(subscriber).unwrap();

    let server = Server::start(|seen| {
        let shown = seen.header("authorization").unwrap_or_default();
        assert!(shown.contains(SECRET));
        echo(&seen.path, shown)
    })
    .await;
    let settings = with_token(&server);
    let mut shown = format!("{settings:?}");
    let world = World::with(settings).await;
    for path in [
        "/401",
        "/403",
        "/422",
        "/limited",
        "/500",
        "/wall",
        "/shape",
        "/syntax",
        "/location",
        "/scheme",
        "/host",
        "/reset",
        "/other",
    ] {
        // A token rests after 401 and 429: each path is asked with another name for it.
        let session = world.again(UpstreamSettings {
            tokens: vec![Token::new(path, SECRET)],
            ..upstream(&server)
        });
        let ask = Ask::get("forge", path);
        let reply = session.ask_json::<Shape>(&ask).await;
        let Reply::Unknown(why) = &reply else {
            panic!("{path}: {reply:?}");
        };
        let error = engine::RunError::upstream(why.to_string());
        write!(
            shown,
            "{why}\n{why:?}\n{reply:?}\n{ask:?}\n{session:?}\n{error:?}\n"
        )
        .unwrap();
        shown += &serde_json::to_string(&session.log()).unwrap();
    }
    write!(shown, "{:?}", world.http).unwrap();
    shown += &String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(shown.contains("came to"), "the log is being read");
    // Host names are compared without case.
    let (shown, secret) = (shown.to_lowercase(), SECRET.to_lowercase());
    for part in [secret.as_str(), &secret[..=secret.len() / 2]] {
        if let Some(at) = shown.find(part) {
            let from = shown.floor_char_boundary(at.saturating_sub(200));
            panic!("…{}", &shown[from..at + part.len()]);
        }
    }
}
