//! How a process that stays is asked to leave.
//!
//! The first Ctrl-C or SIGTERM asks nicely: nothing new is begun, what runs may finish within the
//! grace. The second leaves at once. Nothing is lost either way: runs that did not commit are taken
//! up again by whoever comes next.

use tokio_util::sync::CancellationToken;

use crate::printer::Printer;

/// Turns signals into tokens; ends with the process.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    /// Begin nothing new and finish.
    pub(crate) gently: CancellationToken,
    /// Leave.
    pub(crate) at_once: CancellationToken,
}

impl Stop {
    pub(crate) fn on_signals(printer: Printer) -> Self {
        let stop = Self {
            gently: CancellationToken::new(),
            at_once: CancellationToken::new(),
        };
        let tokens = stop.clone();
        tokio::spawn(async move {
            next_signal().await;
            printer.note("stopping: what runs may finish; once more to leave at once");
            tokens.gently.cancel();
            next_signal().await;
            tokens.at_once.cancel();
        });
        stop
    }
}

/// Waits for Ctrl-C or SIGTERM.
#[cfg(unix)]
pub(crate) async fn next_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

#[cfg(not(unix))]
pub(crate) async fn next_signal() {
    let _ = tokio::signal::ctrl_c().await;
}
