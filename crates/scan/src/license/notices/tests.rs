use super::*;

fn spdx(text: &str) -> Vec<String> {
    let found = find(&Words::new(text));
    found.into_iter().map(|one| one.spdx).collect()
}

#[test]
fn headers_name_their_license() {
    for (text, expected) in [
        (
            "// Licensed under the Apache License, Version 2.0 (the \"License\");\n// you may not use this file except in compliance with the License.",
            &["Apache-2.0"][..],
        ),
        (
            "This program is free software; you can redistribute it and/or modify it under the terms of the GNU General Public License as published by the Free Software Foundation; either version 2 of the License, or (at your option) any later version.\nThis program is distributed WITHOUT ANY WARRANTY. See the GNU General Public License for more details.\nYou should have received a copy of the GNU General Public License along with this program",
            &["GPL-2.0-or-later"],
        ),
        (
            "under the terms and conditions of the GNU General Public License, version 2, as published by the Free Software Foundation.",
            &["GPL-2.0-only"],
        ),
        (
            "under the terms of version 2 of the GNU General Public License as published by the FSF",
            &["GPL-2.0-only"],
        ),
        (
            "the GNU Lesser General Public License as published by the Free Software Foundation; either version 2.1 of the License, or (at your option) any later version",
            &["LGPL-2.1-or-later"],
        ),
        (
            "GNU Affero General Public License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version",
            &["AGPL-3.0-or-later"],
        ),
        ("This is licensed under the GPLv3+.", &["GPL-3.0-or-later"]),
        (
            "This Source Code Form is subject to the terms of the Mozilla Public License, v. 2.0.",
            &["MPL-2.0"],
        ),
        (
            "Distributed under the Boost Software License, Version 1.0.",
            &["BSL-1.0"],
        ),
        (
            "Licensed under either of Apache License, Version 2.0 or MIT license at your option.",
            &["Apache-2.0 OR MIT"],
        ),
        ("released under the MIT License", &["MIT"]),
        ("nothing is said here of anything", &[]),
    ] {
        assert_eq!(spdx(text), expected, "{text}");
    }
}

#[test]
fn a_file_may_be_named_instead() {
    let found = find(&Words::new(
        "Licensed under the BSD license. See LICENSE file in the project root.",
    ));
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].spdx, "BSD-3-Clause");
    assert_eq!(found[1].files, ["license"]);
    let go = find(&Words::new(
        "Use of this source code is governed by a BSD-style\nlicense that can be found in the LICENSE file.",
    ));
    assert_eq!(go[0].spdx, "BSD-3-Clause");
    assert_eq!(go[1].files, ["license"]);
    assert!(
        find(&Words::new(
            "see the license for the specific language governing permissions"
        ))
        .is_empty()
    );
}
