//! `/index` as clients meet it: over HTTP, from places all over the feed.

use std::{net::SocketAddr, sync::Arc, time::Instant};

use anyhow::{Context as _, ensure};
use engine::Engine;
use serve::{Readiness, Recorder, Web};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::since;

/// What a client asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Want {
    /// So many lines.
    Lines(usize),
    /// Whether there is anything new.
    News,
}

/// The web over a database, until it is dropped.
pub(super) struct Site {
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Site {
    pub(super) async fn open(engine: &Engine, recorder: &Recorder) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let readiness: Readiness = Arc::new(|| Box::pin(async { Vec::new() }));
        let web = Web::new(engine.clone(), recorder.clone(), readiness);
        let task = tokio::spawn(async move {
            // It ends with the bench.
            let _ = serve::serve(listener, web, std::future::pending()).await;
        });
        Ok(Self { address, task })
    }

    /// Requests in a second, by so many clients at once that ask so often each.
    pub(super) async fn rate(
        &self,
        want: Want,
        clients: usize,
        each: usize,
        lines: i64,
    ) -> anyhow::Result<f64> {
        let tag = match want {
            Want::Lines(_) => None,
            Want::News => Some(self.tag().await?),
        };
        let begun = Instant::now();
        let mut asking = Vec::new();
        for client in 0..clients {
            let (address, tag) = (self.address, tag.clone());
            asking.push(tokio::spawn(async move {
                for turn in 0..each {
                    let from = since(lines, client * each + turn)?;
                    let (path, expected) = match want {
                        Want::Lines(limit) => (format!("/index?since={from}&limit={limit}"), limit),
                        Want::News => ("/index".to_owned(), 0),
                    };
                    let answer = ask(address, &path, tag.as_deref()).await?;
                    let found = answer.split(|byte| *byte == b'\n').count();
                    let head = if tag.is_some() { b" 304 " } else { b" 200 " };
                    ensure!(
                        answer.windows(5).take(20).any(|five| five == head),
                        "{path}"
                    );
                    ensure!(found > expected, "{path}: {found} lines");
                }
                anyhow::Ok(())
            }));
        }
        for client in asking {
            client.await??;
        }
        Ok((clients * each) as f64 / begun.elapsed().as_secs_f64())
    }

    async fn tag(&self) -> anyhow::Result<String> {
        let answer = ask(self.address, "/index?limit=1", None).await?;
        let text = String::from_utf8_lossy(&answer);
        let mut lines = text.lines();
        let tag = lines.find_map(|line| line.strip_prefix("etag: "));
        Ok(tag.context("an answer without an entity tag")?.to_owned())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The whole answer. By HTTP 1.0, which has neither chunks nor a next question.
async fn ask(address: SocketAddr, path: &str, tag: Option<&str>) -> anyhow::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    let known = tag.map_or_else(String::new, |tag| format!("If-None-Match: {tag}\r\n"));
    let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n{known}\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}
