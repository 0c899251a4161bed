//! The lines of git's protocol: four hexadecimal digits of length, then the bytes.

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::run::Break;

/// One line, or one of the marks between lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packet {
    Line(String),
    /// The end of a message.
    Flush,
    /// Between the parts of a message, or after its end.
    Mark,
}

/// Writes a line.
pub(super) fn line(text: &str) -> String {
    format!("{:04x}{text}\n", text.len() + 5)
}

/// Reads a line, and takes its length from what may still come.
pub(super) async fn read(
    from: &mut (impl AsyncRead + Unpin),
    left: &mut usize,
) -> Result<Packet, Break> {
    let mut length = [0; 4];
    from.read_exact(&mut length).await?;
    let digits = std::str::from_utf8(&length)
        .ok()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let length = digits
        .and_then(|text| usize::from_str_radix(text, 16).ok())
        .ok_or_else(|| Break::Garbled("a line begins without its length".to_owned()))?;
    *left = left.checked_sub(length.max(4)).ok_or(Break::TooMuch)?;
    match length {
        0 => Ok(Packet::Flush),
        1..=3 => Ok(Packet::Mark),
        _ => {
            let mut bytes = vec![0; length - 4];
            from.read_exact(&mut bytes).await?;
            if bytes.last() == Some(&b'\n') {
                bytes.pop();
            }
            // A ref may be named by bytes that are no text; nothing here can ask for it then.
            Ok(Packet::Line(String::from_utf8_lossy(&bytes).into_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(bytes: &[u8]) -> (Vec<Packet>, Break) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (mut from, mut left, mut packets) = (bytes, 100, Vec::new());
            loop {
                match read(&mut from, &mut left).await {
                    Ok(packet) => packets.push(packet),
                    Err(end) => return (packets, end),
                }
            }
        })
    }

    #[test]
    fn lines_and_marks_are_read() {
        let (packets, _) = all(format!("{}000100000002", line("peel")).as_bytes());
        let line = Packet::Line("peel".to_owned());
        assert_eq!(packets, [line, Packet::Mark, Packet::Flush, Packet::Mark]);
        assert_eq!(all("0000".repeat(30).as_bytes()).1, Break::TooMuch);
        assert!(matches!(all(b"<htm").1, Break::Garbled(_)));
        assert!(matches!(all(b"+00a").1, Break::Garbled(_)));
    }

    proptest! {
        #[test]
        fn any_stream_ends(bytes in prop::collection::vec(prop_oneof![b'0'..=b'9', any::<u8>()], 0..200)) {
            all(&bytes);
        }
    }
}
