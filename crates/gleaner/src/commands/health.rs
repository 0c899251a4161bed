//! `gleaner health`: asks the running server whether it is alive, for containers without curl.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use clap::Args;

use crate::{
    error::{Exit, Result},
    session::Session,
};

const TIMEOUT: Duration = Duration::from_secs(5);

/// Ask the running server whether it is alive; exit code 0 or 1
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner health
  gleaner health --ready --listen 127.0.0.1:8787")]
pub(crate) struct HealthArgs {
    /// The address of the server
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Ask whether it is ready for work (/readyz), not only alive (/healthz)
    #[arg(long)]
    ready: bool,
}

pub(crate) fn run(session: &Session, args: &HealthArgs) -> Result<Exit> {
    let settings = session.settings_with(args.listen.as_deref())?;
    let address = reachable(settings.server.listen);
    let path = if args.ready { "/readyz" } else { "/healthz" };
    match status(address, path) {
        Ok(200) => {
            session
                .printer
                .note(&format!("http://{address}{path} is fine"));
            Ok(Exit::Ok)
        }
        Ok(status) => {
            session
                .printer
                .warning(&format!("http://{address}{path} answers {status}"));
            Ok(Exit::Nothing)
        }
        Err(error) => {
            session
                .printer
                .warning(&format!("http://{address}{path} does not answer: {error}"));
            Ok(Exit::Nothing)
        }
    }
}

/// A server that listens everywhere is asked on the loopback.
fn reachable(mut listen: SocketAddr) -> SocketAddr {
    if listen.ip().is_unspecified() {
        listen.set_ip(match listen {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    listen
}

/// The status of one request; a whole HTTP client would be too much for twelve bytes.
fn status(address: SocketAddr, path: &str) -> std::io::Result<u16> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: gleaner-health\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    // "HTTP/1.1 200"
    let mut head = [0; 12];
    stream.read_exact(&mut head)?;
    let head = String::from_utf8_lossy(&head);
    let status = head
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.get(2..)?.parse().ok());
    status.ok_or_else(|| std::io::Error::other("that is no web server"))
}
