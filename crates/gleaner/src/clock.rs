//! Which clock the process goes by: the host's, or in drills that of a simulated world.
//!
//! `GLEANER_CLOCK=world:http://127.0.0.1:8788` asks the world that `gleaner sim` serves what time
//! it is there and how fast it passes, once, and goes on from there. Due times, backoffs, breakers
//! and budgets follow; heartbeats and time limits of runs stay real. It is for the simulated world
//! only: real services tell their resets in real time.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use db::{Clock, Timestamp};
use serde::Deserialize;

use crate::error::{Failure, Result, codes};

/// The variable that names another clock.
pub(crate) const VARIABLE: &str = "GLEANER_CLOCK";

const TIMEOUT: Duration = Duration::from_secs(5);
/// A clock's answer is short.
const MOST_BYTES: u64 = 4096;

/// What a world says of its time.
#[derive(Deserialize)]
struct WorldTime {
    now_us: i64,
    factor: f64,
}

/// The clock that the environment names, else the host's.
pub(crate) fn clock() -> Result<Clock> {
    match std::env::var(VARIABLE) {
        Ok(text) if !text.is_empty() => named(&text),
        _ => Ok(Clock::system()),
    }
}

fn named(text: &str) -> Result<Clock> {
    let refused = |why: &str| {
        Failure::new(&codes::CONFIG_VALUE, format!("{VARIABLE}: {why}"))
            .hint("write world:http://HOST:PORT, with the address that `gleaner sim` tells")
    };
    let address = text.strip_prefix("world:http://");
    let address = address.ok_or_else(|| refused(&format!("`{text}` names no clock")))?;
    let told = ask(address.trim_end_matches('/')).map_err(|error| {
        let why = format!(
            "the simulated world does not tell its time: {}",
            error.kind()
        );
        refused(&why)
    })?;
    if told.factor <= 0.0 {
        return Err(refused("the time of that world stands still"));
    }
    Ok(Clock::scaled(
        Timestamp::from_micros(told.now_us),
        told.factor,
    ))
}

/// One request to a server on this machine; a whole client would be too much for two numbers.
fn ask(address: &str) -> std::io::Result<WorldTime> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let request =
        format!("GET /__sim/clock HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.take(MOST_BYTES).read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    serde_json::from_str(body).map_err(|_| ErrorKind::InvalidData.into())
}
