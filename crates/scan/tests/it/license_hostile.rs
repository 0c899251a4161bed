//! Files come from strangers: none may panic the scanner, keep it busy or make it say nonsense.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use scan::license::{
    MAX_BYTES, expression, scan_file,
    tree::{TreeFile, settle},
};

/// Names that lead to every reader.
const NAMES: &[&str] = &[
    "a.c",
    "LICENSE",
    "README.md",
    "Cargo.toml",
    "package.json",
    "composer.json",
    "pyproject.toml",
    "PKG-INFO",
    "setup.cfg",
    "setup.py",
    "pom.xml",
    "DESCRIPTION",
    "a.gemspec",
    "a.podspec",
    "a.cabal",
    "a.opam",
    "a.spec",
    "a.nuspec",
    "a.csproj",
    "mix.exs",
    "debian/copyright",
];

/// What scanners look for.
const PIECES: &[&str] = &[
    "SPDX-License-Identifier: ",
    "(MIT OR ",
    "Apache-2.0",
    ") AND ",
    "WITH ",
    "Copyright ",
    "(c) ",
    "©",
    "2010-",
    "2020 ",
    "Jane Doe ",
    "<jane@example.org>",
    "All rights reserved",
    "License: ",
    "licence ",
    "GNU General Public License ",
    "version 2 ",
    "or any later version ",
    "GPLv3+ ",
    "gplv ",
    "lgpl- ",
    "see the LICENSE file ",
    "\n",
    "\r\n",
    "\0",
    "\u{feff}",
    "İ",
    "\t",
    "\"",
    "'",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "=",
    ":",
    "license = ",
    "</licenses>",
    "<licenses>",
    "<name>",
    "Permission is hereby granted ",
    "Redistribution and use in source and binary forms ",
    "appendix ",
    "how to apply ",
    "dnl ",
    "é",
    "\u{a0}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_scanned(name in 0..NAMES.len(), bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(NAMES[name], &bytes);
    }

    #[test]
    fn any_mixture_of_what_it_looks_for_is_scanned(
        name in 0..NAMES.len(),
        pieces in prop::collection::vec(0..PIECES.len(), 0..60),
    ) {
        let text: String = pieces.iter().map(|piece| PIECES[*piece]).collect();
        check(NAMES[name], text.as_bytes());
    }

    #[test]
    fn a_damaged_license_is_scanned(at in 0_usize..1000, cut in 0_usize..200, with in any::<u8>()) {
        let mut bytes = TEXT.as_bytes().to_vec();
        let at = at.min(bytes.len() - 1);
        bytes[at] = with;
        let end = (at + cut).min(bytes.len());
        bytes.drain(at..end);
        check("LICENSE", &bytes);
    }

    #[test]
    fn normal_expressions_stay_as_they_are(pieces in prop::collection::vec(0..6_usize, 1..12)) {
        let words = ["MIT", "OR", "AND", "(", ")", "GPL-2.0-only"];
        let text = pieces.iter().map(|piece| words[*piece]).collect::<Vec<_>>().join(" ");
        if let Some(normal) = expression::normalise(&text) {
            prop_assert_eq!(expression::normalise(&normal), Some(normal.clone()));
        }
    }
}

const TEXT: &str = "Copyright (c) 2020 Jane Doe\n\nPermission to use, copy, modify, and/or distribute this software for any\npurpose with or without fee is hereby granted, provided that the above\ncopyright notice and this permission notice appear in all copies.\n\nTHE SOFTWARE IS PROVIDED \"AS IS\" AND THE AUTHOR DISCLAIMS ALL WARRANTIES\nWITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF\nMERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR\nANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES\nWHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN\nACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF\nOR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.\n";

/// Scans, puts together, and checks what must always hold.
fn check(path: &str, bytes: &[u8]) {
    let found = scan_file(path, bytes);
    let lines = String::from_utf8_lossy(bytes).lines().count().max(1) as u32 + 1;
    for one in found.license_detections.iter().flat_map(|one| &one.matches) {
        assert!(
            one.start_line >= 1 && one.start_line <= one.end_line,
            "{one:?}"
        );
        assert!(one.end_line <= lines + 1, "{one:?} of {lines} lines");
        assert!((0.0..=100.0).contains(&one.score), "{one:?}");
    }
    for line in found
        .copyrights
        .iter()
        .chain(&found.holders)
        .chain(&found.authors)
    {
        assert!(!line.value.trim().is_empty());
        assert!(line.value.len() <= 500);
    }
    assert_eq!(
        scan_file(path, bytes),
        found,
        "the same file, the same answer"
    );
    let files = [TreeFile {
        path,
        findings: &found,
    }];
    settle(&files);
}

/// The largest file of every hostile sort is done in bounded time, in a build without optimisation.
#[test]
fn the_largest_files_take_no_time() {
    // The texts are read once.
    scan_file("LICENSE", TEXT.as_bytes());
    for pattern in [
        "(",
        "a ",
        "the license ",
        "copyright 2010 Jane\n",
        "gnu general public license ",
        "gplv ",
        "see the LICENSE file ",
        "SPDX-License-Identifier: (",
        "Permission is hereby granted, free of charge ",
    ] {
        let text = pattern.repeat(MAX_BYTES / 4 / pattern.len());
        let began = Instant::now();
        scan_file("a.c", text.as_bytes());
        let took = began.elapsed();
        assert!(took < Duration::from_mins(1), "{pattern:?} took {took:?}");
    }
}
