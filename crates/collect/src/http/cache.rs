//! Which answers are kept, and under which key.

use std::{
    collections::BTreeMap,
    io::{self, Read as _, Write as _},
    sync::atomic::{AtomicI64, Ordering},
};

use db::{Clock, Db, DbError};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use sha2::{Digest as _, Sha256};
use store::http_cache::{self, Bounds, Kept, Validators};

use super::{ask::Ask, reply::Response, upstream::Upstream};

/// The kept answers. All of it is best effort: when the database does not answer, questions are
/// asked in full.
#[derive(Debug)]
pub(super) struct Cache {
    db: Db,
    clock: Clock,
    bounds: Bounds,
    largest: usize,
    /// Bytes written since the last sweep by this process.
    written: AtomicI64,
}

impl Cache {
    pub(super) fn new(db: Db, clock: Clock, bounds: Bounds, largest: usize) -> Self {
        Self {
            db,
            clock,
            bounds,
            largest,
            // The first answer that is kept also tidies up what earlier processes left.
            written: AtomicI64::new(i64::MAX / 2),
        }
    }

    pub(super) async fn validators(&self, key: &str) -> Option<Validators> {
        let found = http_cache::validators(&self.db, key).await;
        heard(found).flatten()
    }

    /// The kept answer that the validators belong to.
    pub(super) async fn take_up(
        &self,
        key: &str,
        validators: &Validators,
    ) -> Option<(BTreeMap<String, String>, Vec<u8>)> {
        let now = self.clock.now();
        let found = http_cache::take_up(&self.db, key, validators.stored_at, now).await;
        let (headers, packed) = heard(found)??;
        let headers = serde_json::from_str(&headers).ok()?;
        let largest = self.largest as u64;
        let body = off_the_runtime(packed, move |packed| unpack(packed, largest)).await?;
        Some((headers, body))
    }

    pub(super) async fn keep(&self, key: &str, path: &str, response: &Response) {
        if response.body.len() > self.largest {
            return;
        }
        let Ok(headers) = serde_json::to_string(&response.headers) else {
            return;
        };
        let Some(body) = off_the_runtime(response.body.clone(), pack).await else {
            return;
        };
        let kept = Kept {
            path: path.to_owned(),
            etag: response.etag().map(str::to_owned),
            last_modified: response.header("last-modified").map(str::to_owned),
            headers,
            body,
        };
        let now = self.clock.now();
        let Some(bytes) = heard(http_cache::keep(&self.db, key, &kept, now).await) else {
            return;
        };
        let written = self.written.fetch_add(bytes, Ordering::Relaxed);
        if written.saturating_add(bytes) > self.bounds.bytes / 16 {
            self.written.store(0, Ordering::Relaxed);
            heard(http_cache::sweep(&self.db, self.bounds, now).await);
        }
    }

    pub(super) async fn forget(&self, key: &str) {
        heard(http_cache::forget(&self.db, key).await);
    }
}

/// All that an answer depends on. None where answers are not kept.
pub(super) fn key(upstream: &Upstream, ask: &Ask, token: Option<usize>) -> Option<String> {
    if !ask.cached {
        return None;
    }
    let whose = token
        .filter(|_| upstream.settings.answers_differ_by_token && !ask.same_for_all)
        .and_then(|token| upstream.fingerprint(token))
        .unwrap_or_default();
    let mut digest = Sha256::new();
    let mut part = |bytes: &[u8]| {
        // With lengths, so that no two lists of parts run into the same text.
        digest.update((bytes.len() as u64).to_be_bytes());
        digest.update(bytes);
    };
    part(upstream.name.as_bytes());
    part(upstream.base().as_bytes());
    part(ask.path.as_bytes());
    part(ask.accept.as_bytes());
    part(&whose);
    for (name, value) in &ask.headers {
        part(name.as_bytes());
        part(value.as_bytes());
    }
    Some(facts::hex::lower(digest.finalize()))
}

fn heard<T>(result: Result<T, DbError>) -> Option<T> {
    result
        .inspect_err(|error| tracing::debug!(%error, "the cache of answers is not at hand"))
        .ok()
}

/// Small bodies take microseconds; large ones would hold up everybody on this thread.
async fn off_the_runtime(
    bytes: Vec<u8>,
    work: impl FnOnce(&[u8]) -> io::Result<Vec<u8>> + Send + 'static,
) -> Option<Vec<u8>> {
    if bytes.len() < 32 << 10 {
        return work(&bytes).ok();
    }
    tokio::task::spawn_blocking(move || work(&bytes))
        .await
        .ok()?
        .ok()
}

fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes)?;
    packer.finish()
}

fn unpack(bytes: &[u8], most: u64) -> io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    let mut unpacker = GzDecoder::new(bytes).take(most.saturating_add(1));
    unpacker.read_to_end(&mut unpacked)?;
    if unpacked.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(unpacked)
}
