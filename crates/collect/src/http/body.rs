//! Reading a body under limits.
//!
//! A body is refused when it is declared too large, when it becomes too large, or when
//! decompression makes much of little; nothing beyond the limit is ever held. Decompression is
//! done here and not by the client library, which would hide both numbers.

use std::{io, path::Path, time::Duration};

use flate2::write::MultiGzDecoder;
use reqwest::{
    Response,
    header::{CONTENT_ENCODING, CONTENT_LENGTH},
};
use tokio::io::AsyncWriteExt as _;

use super::{failure, settings::Limits, unknown::Class};

/// Of a body that goes to a file this much is looked at.
const SPOOLED_START: usize = 4 << 10;

/// Decompression is not looked at before this much has come out.
const RATIO_FROM: u64 = 1 << 20;

/// A body as it came.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// Decompressed.
    pub(super) bytes: Vec<u8>,
    /// Bytes on the wire.
    pub(super) wire: u64,
}

/// Why there is none.
pub(super) type Fault = (Class, String);

/// The whole body, or why not.
pub(super) async fn read(
    mut response: Response,
    limits: &Limits,
    most: u64,
) -> Result<Body, (Fault, u64)> {
    let mut wire = 0;
    match read_whole(&mut response, limits, most, &mut wire).await {
        Ok(bytes) => Ok(Body { bytes, wire }),
        Err(fault) => Err((fault, wire)),
    }
}

/// Writes the body to a file as it comes; holds only its beginning.
pub(super) async fn spool(
    mut response: Response,
    limits: &Limits,
    most: u64,
    file: &Path,
) -> Result<Body, (Fault, u64)> {
    let mut body = Body::default();
    match spool_whole(&mut response, limits, most, file, &mut body).await {
        Ok(()) => Ok(body),
        Err(fault) => Err((fault, body.wire)),
    }
}

async fn spool_whole(
    response: &mut Response,
    limits: &Limits,
    most: u64,
    file: &Path,
    body: &mut Body,
) -> Result<(), Fault> {
    if encoding(response)? != Encoding::Plain {
        let why = "the body is in an encoding that was not asked for";
        return Err((Class::Undecodable, why.into()));
    }
    let unwritten = |error: io::Error| {
        let why = format!("the body cannot be written to {}: {error}", file.display());
        (Class::Settings, why)
    };
    let mut out = tokio::fs::File::create(file).await.map_err(unwritten)?;
    loop {
        let chunk = match tokio::time::timeout(limits.idle, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => break,
            Ok(Err(error)) => return Err(failure::in_body(&error)),
            Err(_) => {
                let why = format!("the body stood still for {:?}", limits.idle);
                return Err((Class::Transient, why));
            }
        };
        body.wire += chunk.len() as u64;
        if body.wire > most {
            return Err(too_large(most));
        }
        let missing = SPOOLED_START - body.bytes.len();
        body.bytes
            .extend_from_slice(&chunk[..missing.min(chunk.len())]);
        out.write_all(&chunk).await.map_err(unwritten)?;
    }
    out.flush().await.map_err(unwritten)
}

/// The beginning of the body of an error, which is only quoted: whatever goes wrong cuts it short.
pub(super) async fn read_start(mut response: Response, idle: Duration, most: usize) -> Body {
    let mut body = Body::default();
    let plain = encoding(&response) == Ok(Encoding::Plain);
    let mut decoder = MultiGzDecoder::new(Sink::new(most as u64, u64::MAX));
    while body.wire < most as u64 {
        let Ok(Ok(Some(chunk))) = tokio::time::timeout(idle, response.chunk()).await else {
            break;
        };
        body.wire += chunk.len() as u64;
        if plain {
            body.bytes.extend_from_slice(&chunk);
        } else if io::Write::write_all(&mut decoder, &chunk).is_err() {
            break;
        }
    }
    if !plain {
        let _ = decoder.try_finish();
        body.bytes = std::mem::take(&mut decoder.get_mut().bytes);
    }
    body.bytes.truncate(most);
    body
}

async fn read_whole(
    response: &mut Response,
    limits: &Limits,
    most: u64,
    wire: &mut u64,
) -> Result<Vec<u8>, Fault> {
    let declared = response
        .headers()
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if let Some(declared) = declared
        && declared > most
    {
        return Err((
            Class::TooLarge,
            format!("the body has {declared} bytes, more than the {most} that are taken"),
        ));
    }
    let mut decoder = match encoding(response)? {
        Encoding::Plain => None,
        Encoding::Gzip => Some(MultiGzDecoder::new(Sink::new(most, limits.ratio))),
    };
    let mut plain = Vec::new();
    loop {
        let chunk = match tokio::time::timeout(limits.idle, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => break,
            Ok(Err(error)) => return Err(failure::in_body(&error)),
            Err(_) => {
                return Err((
                    Class::Transient,
                    format!("the body stood still for {:?}", limits.idle),
                ));
            }
        };
        *wire += chunk.len() as u64;
        if *wire > most {
            return Err(too_large(most));
        }
        match &mut decoder {
            None => plain.extend_from_slice(&chunk),
            Some(decoder) => {
                decoder.get_mut().wire = *wire;
                io::Write::write_all(decoder, &chunk)
                    .map_err(|_| bad_gzip(decoder.get_ref(), most))?;
            }
        }
    }
    let Some(mut decoder) = decoder else {
        return Ok(plain);
    };
    // Nothing at all is what HEAD and 204 have, whatever encoding they claim.
    if *wire > 0 && decoder.try_finish().is_err() {
        // What was written so far was sound: an end is missing, or the sum at the end is wrong.
        return Err(match decoder.get_ref().over {
            Some(_) => bad_gzip(decoder.get_ref(), most),
            None => (Class::Transient, "the compressed body is truncated".into()),
        });
    }
    Ok(std::mem::take(&mut decoder.get_mut().bytes))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Plain,
    Gzip,
}

fn encoding(response: &Response) -> Result<Encoding, Fault> {
    let Some(value) = response.headers().get(CONTENT_ENCODING) else {
        return Ok(Encoding::Plain);
    };
    match value
        .as_bytes()
        .trim_ascii()
        .to_ascii_lowercase()
        .as_slice()
    {
        b"" | b"identity" => Ok(Encoding::Plain),
        b"gzip" | b"x-gzip" => Ok(Encoding::Gzip),
        _ => Err((
            Class::Undecodable,
            "the body is in an encoding that was not asked for".into(),
        )),
    }
}

fn too_large(most: u64) -> Fault {
    (
        Class::TooLarge,
        format!("the body has more than the {most} bytes that are taken"),
    )
}

fn bad_gzip(sink: &Sink, most: u64) -> Fault {
    match sink.over {
        Some(Over::Size) => too_large(most),
        Some(Over::Ratio) => (
            Class::TooLarge,
            format!(
                "decompression makes more than {} times as much of the body",
                sink.ratio
            ),
        ),
        None => (Class::Undecodable, "the body is no valid gzip".into()),
    }
}

/// Takes what comes out of decompression, up to the limits.
#[derive(Debug)]
struct Sink {
    bytes: Vec<u8>,
    /// Bytes that went in so far.
    wire: u64,
    most: u64,
    ratio: u64,
    over: Option<Over>,
}

#[derive(Clone, Copy, Debug)]
enum Over {
    Size,
    Ratio,
}

impl Sink {
    fn new(most: u64, ratio: u64) -> Self {
        Self {
            bytes: Vec::new(),
            wire: 0,
            most,
            ratio,
            over: None,
        }
    }
}

impl io::Write for Sink {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        let size = (self.bytes.len() + more.len()) as u64;
        if size > RATIO_FROM && size > self.wire.saturating_mul(self.ratio) {
            self.over = Some(Over::Ratio);
        } else if size > self.most {
            self.over = Some(Over::Size);
        }
        if self.over.is_some() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
