//! Files that some run of this process is scanning right now.
//!
//! Forks are often scanned side by side; what one of them is at, the others leave to it. Another
//! process may scan the same file meanwhile: that costs a scan and harms nothing, since the first
//! answer stays.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use store::license::FileKey;
use tokio::sync::Notify;

#[derive(Clone, Debug, Default)]
pub(super) struct Claims(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// With the scanner's key: two scanners may be at the same file.
    taken: Mutex<HashSet<(String, FileKey)>>,
    released: Notify,
}

/// Files that are ours until this is dropped.
#[derive(Debug)]
pub(super) struct Claim {
    claims: Claims,
    scanner: String,
    keys: Vec<FileKey>,
}

impl Claims {
    /// Takes the first of these that nobody has, at most so many.
    pub(super) fn take(&self, scanner: &str, wanted: &[FileKey], most: usize) -> Claim {
        let mut taken = self.0.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut keys = Vec::new();
        for key in wanted {
            if keys.len() >= most {
                break;
            }
            if taken.insert((scanner.to_owned(), key.clone())) {
                keys.push(key.clone());
            }
        }
        Claim {
            claims: self.clone(),
            scanner: scanner.to_owned(),
            keys,
        }
    }

    /// Somebody has let go of something.
    pub(super) async fn released(&self) {
        self.0.released.notified().await;
    }
}

impl Claim {
    pub(super) fn keys(&self) -> &[FileKey] {
        &self.keys
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut taken = self
            .claims
            .0
            .taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for key in self.keys.drain(..) {
            taken.remove(&(self.scanner.clone(), key));
        }
        drop(taken);
        self.claims.0.released.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(blob: &str) -> FileKey {
        FileKey {
            blob: blob.to_owned(),
            name_class: "*.c".to_owned(),
        }
    }

    #[test]
    fn nobody_has_what_another_has() {
        let claims = Claims::default();
        let wanted = [key("a"), key("b"), key("c")];
        let first = claims.take("s", &wanted, 2);
        assert_eq!(first.keys().len(), 2);
        let second = claims.take("s", &wanted, 2);
        assert_eq!(second.keys(), [key("c")]);
        assert!(claims.take("s", &wanted, 2).keys().is_empty());
        assert_eq!(claims.take("other", &wanted, 3).keys().len(), 3);
        drop(first);
        assert_eq!(claims.take("s", &wanted, 3).keys().len(), 2);
    }
}
