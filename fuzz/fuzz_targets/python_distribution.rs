//! Any file under any name: wheels, eggs and source distributions within their limits.
//!
//! The first line of the input is the file's name, the rest is the file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scan::python::{Limits, read_distribution};

fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|&byte| byte == b'\n');
    let (name, file) = input.split_at(end.unwrap_or(input.len()));
    let Ok(name) = std::str::from_utf8(name) else {
        return;
    };
    let mut file = file.get(1..).unwrap_or_default();
    let length = file.len() as u64;
    if let Ok(read) = read_distribution(name, None, &mut file, &Limits::default()) {
        let _ = (read.name(), read.version(), read.import_names());
        assert!(read.bytes_read <= length, "a part was read twice");
    }
});
