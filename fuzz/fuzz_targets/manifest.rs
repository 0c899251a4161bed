//! Any path with any bytes: no parser of manifests may panic, hang or contradict itself.
//!
//! The first line of the input is the path, the rest is the file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scan::manifest::{recognise, resolve};

fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|&byte| byte == b'\n');
    let (path, file) = input.split_at(end.unwrap_or(input.len()));
    let Ok(path) = std::str::from_utf8(path) else {
        return;
    };
    let file = file.get(1..).unwrap_or_default();
    let Some(format) = recognise(path) else {
        return;
    };
    let Ok(manifest) = format.parse(path, file) else {
        return;
    };
    let again = format.parse(path, file).expect("it could be read before");
    assert_eq!(manifest, again, "one file, two readings");
    resolve(&mut [(path.to_owned(), manifest)]);
});
