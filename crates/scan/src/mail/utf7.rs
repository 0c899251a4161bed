//! UTF-7 (RFC 2152): ASCII in which `+…-` holds UTF-16 in base64.
//!
//! The sign that ends such a run belongs to the text unless it is `-`. A run that holds no UTF-16
//! (`+1` in something that only looks like UTF-7, as signatures do) stays as it is written.

/// Decodes; what is not ASCII is told as it is where it is UTF-8.
pub(super) fn decode(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('+') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest
            .bytes()
            .position(|byte| value(byte).is_none())
            .unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        let closed = behind.strip_prefix('-');
        match (run, closed) {
            ("", Some(behind)) => {
                decoded.push('+');
                rest = behind;
            }
            _ => {
                if let Some(characters) = utf_16(run) {
                    decoded.push_str(&characters);
                    rest = closed.unwrap_or(behind);
                } else {
                    decoded.push('+');
                    decoded.push_str(run);
                    rest = behind;
                }
            }
        }
    }
    decoded.push_str(rest);
    decoded
}

/// The characters of a run; none if it is no UTF-16.
fn utf_16(run: &str) -> Option<String> {
    let mut units: Vec<u16> = Vec::with_capacity(run.len() * 6 / 16);
    let (mut bits, mut held) = (0_u32, 0);
    for byte in run.bytes() {
        bits = bits << 6 | u32::from(value(byte)?);
        held += 6;
        if held >= 16 {
            held -= 16;
            units.push(u16::try_from(bits >> held & 0xffff).ok()?);
            bits &= (1 << held) - 1;
        }
    }
    // What is left over fills up the last sign, with nothing.
    (!units.is_empty() && held < 6 && bits == 0)
        .then(|| String::from_utf16(&units).ok())
        .flatten()
}

fn value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_the_standard_are_read() {
        assert_eq!(decode(b"A+ImIDkQ."), "A\u{2262}\u{391}.");
        assert_eq!(decode(b"Hi Mom -+Jjo--!"), "Hi Mom -\u{263a}-!");
        assert_eq!(decode(b"+ZeVnLIqe-"), "日本語");
        assert_eq!(decode(b"Item 3 is +AKM-1."), "Item 3 is £1.");
        assert_eq!(decode(b"1 +- 1"), "1 + 1");
    }

    #[test]
    fn a_blank_that_ends_a_run_stays_and_so_does_what_is_none() {
        assert_eq!(
            decode(b"+AD4 On 3/1/19\n+AD4 +AD4 Can"),
            "> On 3/1/19\n> > Can"
        );
        assert_eq!(decode(b"b+1\nfkWe/w/+PE"), "b+1\nfkWe/w/+PE");
        assert_eq!(decode("schön".as_bytes()), "schön");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in any::<Vec<u8>>(), text in "[+A-Za-z0-9/ -]{0,40}") {
            let _ = decode(&bytes);
            let _ = decode(text.as_bytes());
        }
    }
}
