//! What repositories say of their license: some in a file, some by a tag, some not at all.

use super::{File, Repository};

/// The files that tell.
pub(super) fn licenses(repository: &Repository) -> Vec<File> {
    match repository.id % 4 {
        0 => Vec::new(),
        1 => vec![
            File::new("LICENSE", "SPDX-License-Identifier: Apache-2.0\n"),
            tagged("Apache-2.0"),
        ],
        // Many have the very same text.
        _ => vec![File::new("LICENSE", MIT), tagged("MIT")],
    }
}

fn tagged(license: &str) -> File {
    let text = format!(
        "/* Copyright 2020 The Meadow Authors\n * SPDX-License-Identifier: {license}\n */\n"
    );
    File::new("src/lib.c", text)
}

const MIT: &str = "MIT License

Copyright (c) 2020 The Meadow Authors

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the \"Software\"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
";
