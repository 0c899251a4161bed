//! A connection that can be torn.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// A TCP stream that is closed by a reset (RST) instead of an orderly end (FIN)
/// once [`Tear::tear`] was called.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: TcpStream,
    torn: Arc<AtomicBool>,
}

/// Decides how the connection ends.
#[derive(Clone, Debug)]
pub(crate) struct Tear(Arc<AtomicBool>);

impl Tear {
    pub(crate) fn tear(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> (Self, Tear) {
        let torn = Arc::new(AtomicBool::new(false));
        let tear = Tear(Arc::clone(&torn));
        (Self { stream, torn }, tear)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.torn.load(Ordering::SeqCst) {
            // Not lingering makes the kernel send RST when the socket closes.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.torn.load(Ordering::SeqCst) {
            // An orderly end must not get ahead of the reset.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
