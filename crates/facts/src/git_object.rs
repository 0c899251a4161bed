//! The ids that git gives to contents: equal contents have one id, wherever they lie.

use std::fmt::Write as _;

/// The id of a file's contents in a repository of the usual, SHA-1, format.
///
/// It is here to find out whether somebody handed over what was asked for, and to name contents;
/// it guards nothing: SHA-1 collisions can be made.
pub fn blob_id(contents: &[u8]) -> String {
    let header = format!("blob {}\0", contents.len());
    let mut id = String::with_capacity(40);
    for word in sha1(header.as_bytes(), contents) {
        let _ = write!(id, "{word:08x}");
    }
    id
}

/// SHA-1 of two pieces, one after the other (FIPS 180-4, 6.1).
fn sha1(first: &[u8], second: &[u8]) -> [u32; 5] {
    let bits = (first.len() as u64 + second.len() as u64).wrapping_mul(8);
    let mut state = [
        0x6745_2301,
        0xefcd_ab89,
        0x98ba_dcfe,
        0x1032_5476,
        0xc3d2_e1f0,
    ];
    let mut block = [0_u8; 64];
    let mut filled = 0;
    let mut take = |bytes: &mut dyn Iterator<Item = u8>, filled: &mut usize| {
        for byte in bytes {
            block[*filled] = byte;
            *filled += 1;
            if *filled == 64 {
                compress(&mut state, &block);
                *filled = 0;
            }
        }
    };
    take(&mut first.iter().chain(second).copied(), &mut filled);
    take(&mut std::iter::once(0x80), &mut filled);
    let zeros = (120 - filled) % 64;
    take(&mut std::iter::repeat_n(0, zeros), &mut filled);
    take(&mut bits.to_be_bytes().into_iter(), &mut filled);
    state
}

#[expect(
    clippy::many_single_char_names,
    reason = "the letters are the standard's"
)]
fn compress(state: &mut [u32; 5], block: &[u8; 64]) {
    let mut words = [0_u32; 80];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for at in 16..80 {
        let mixed = words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16];
        words[at] = mixed.rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for (round, word) in words.into_iter().enumerate() {
        let (mixed, constant) = match round {
            0..20 => ((b & c) | (!b & d), 0x5a82_7999),
            20..40 => (b ^ c ^ d, 0x6ed9_eba1),
            40..60 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6_u32),
        };
        let next = a
            .rotate_left(5)
            .wrapping_add(mixed)
            .wrapping_add(e)
            .wrapping_add(constant)
            .wrapping_add(word);
        (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
    }
    for (part, add) in state.iter_mut().zip([a, b, c, d, e]) {
        *part = part.wrapping_add(add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        let cases: [(&[u8], &str); 3] = [
            (b"", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
            (b"hello\n", "ce013625030ba8dba906f756967f9e9ca394464a"),
            (
                b"test content\n",
                "d670460b4b4aece5915caf5c68d12f560a9fe3e4",
            ),
        ];
        for (contents, id) in cases {
            assert_eq!(blob_id(contents), id);
        }
        // Around the end of a block, where padding goes wrong.
        let lengths = [
            (47, "efa0f42a77be579f2de7cc6d1cf9d7eff842dd82"),
            (48, "b644ad8e113ed092aa1e02606a477da840383184"),
            (55, "6e411897149124c15da530474fea0cd9eff34575"),
            (56, "f1423cec03057b93dc5b3b05b9008d9c5e5bddfb"),
            (64, "9c7bc66b599e243e10b893537a99fbdb16850286"),
            (117, "4cab42399117b1a7587fb10afed3995eece42849"),
        ];
        for (length, id) in lengths {
            assert_eq!(blob_id(&vec![b'0'; length]), id, "{length}");
        }
    }
}
