//! One real request to a service whose breaker is open.

use futures_util::future::BoxFuture;

/// Sends the one request that decides whether a failing upstream is asked
/// again. Given to [`crate::Worker::probe`].
pub trait Probe: Send + Sync + 'static {
    /// Asks the upstream anything cheap. Any answer that shows that it works is
    /// a success. The result decides: an upstream that this probe does not know
    /// how to ask must be answered with `Ok`, else it is never asked again.
    fn probe<'a>(&'a self, upstream: &'a str) -> BoxFuture<'a, Result<(), String>>;
}
