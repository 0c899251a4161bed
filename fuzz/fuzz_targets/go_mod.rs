//! Any go.mod: reading it never panics, and what it declares can be asked about.
//!
//! The first line of the input is a tag, the rest is the file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scan::go::{GoMod, VersionTag, check_path, escape_path, split_major, unescape_path};

fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|&byte| byte == b'\n');
    let (tag, file) = input.split_at(end.unwrap_or(input.len()));
    let Ok(read) = GoMod::read(file) else {
        return;
    };
    if let Some(path) = &read.module {
        let _ = (check_path(path), split_major(path));
        if let Some(escaped) = escape_path(path) {
            let back = unescape_path(&escaped);
            assert_eq!(back.as_ref(), Some(path), "escaped as {escaped}");
        }
    }
    if let Ok(tag) = std::str::from_utf8(tag) {
        let _ = read.retraction_of(tag);
        if let Ok(version) = VersionTag::parse(tag) {
            let _ = (version.go_mod_paths(), version.major_directory());
        }
    }
});
