//! Contents of manifests that were fetched before. All of it is best effort: when the database
//! does not answer, contents are fetched once more.

use std::{
    collections::HashMap,
    io::{self, Read as _, Write as _},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use db::{Db, DbError, Timestamp};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use scan::manifest::MAX_BYTES;
use store::manifest_blobs::{self, BATCH, Bounds};

/// The kept contents, as one process sees them.
#[derive(Clone, Debug)]
pub(super) struct KeptBlobs {
    bounds: Bounds,
    /// Bytes written since the last sweep by this process. The first contents that are kept also
    /// tidy up what earlier processes left.
    written: Arc<AtomicI64>,
}

impl Default for KeptBlobs {
    fn default() -> Self {
        Self {
            bounds: Bounds::default(),
            written: Arc::new(AtomicI64::new(i64::MAX / 2)),
        }
    }
}

impl KeptBlobs {
    /// Those of the contents that are kept.
    pub(super) async fn take_up(
        &self,
        db: &Db,
        ids: &[&str],
        now: Timestamp,
    ) -> HashMap<String, Vec<u8>> {
        let mut found = HashMap::new();
        for ids in ids.chunks(BATCH) {
            let packed = heard(manifest_blobs::take_up(db, ids, now).await).unwrap_or_default();
            let unpacked = packed
                .into_iter()
                .filter_map(|(id, body)| Some((id, unpack(&body).ok()?)));
            found.extend(unpacked);
        }
        found
    }

    /// Keeps contents. Their ids have been checked.
    pub(super) async fn keep(&self, db: &Db, blobs: &[(String, Vec<u8>)], now: Timestamp) {
        for blobs in blobs.chunks(BATCH) {
            let packed = blobs
                .iter()
                .filter(|(_, body)| body.len() <= MAX_BYTES)
                .filter_map(|(id, body)| Some((id.clone(), pack(body).ok()?)))
                .collect();
            let Some(bytes) = heard(manifest_blobs::keep(db, packed, now).await) else {
                return;
            };
            let written = self.written.fetch_add(bytes, Ordering::Relaxed);
            if written.saturating_add(bytes) > self.bounds.bytes / 16 {
                self.written.store(0, Ordering::Relaxed);
                heard(manifest_blobs::sweep(db, self.bounds, now).await);
            }
        }
    }
}

fn heard<T>(result: Result<T, DbError>) -> Option<T> {
    result
        .inspect_err(|error| tracing::debug!(%error, "the kept contents are not at hand"))
        .ok()
}

fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes)?;
    packer.finish()
}

fn unpack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let most = MAX_BYTES as u64;
    let mut unpacked = Vec::new();
    let mut unpacker = GzDecoder::new(bytes).take(most + 1);
    unpacker.read_to_end(&mut unpacked)?;
    if unpacked.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(unpacked)
}
