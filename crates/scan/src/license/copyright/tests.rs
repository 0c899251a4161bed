use super::*;

fn one(text: &str) -> (Option<String>, Option<String>) {
    let said = find(text);
    let first = |lines: &[Line]| lines.first().map(|line| line.value.clone());
    (first(&said.copyrights), first(&said.holders))
}

#[test]
fn statements_of_many_shapes() {
    for (text, statement, holder) in [
        (
            "Copyright 2010 Pallets",
            "Copyright 2010 Pallets",
            Some("Pallets"),
        ),
        (
            "// Copyright 2014 The Rust Project Developers. See the COPYRIGHT",
            "Copyright 2014 The Rust Project Developers",
            Some("The Rust Project Developers"),
        ),
        (
            "# Copyright (c) 2009, Jane Doe', John Roe. All rights reserved.",
            "Copyright (c) 2009, Jane Doe John Roe.",
            Some("Jane Doe John Roe"),
        ),
        (
            "Copyright 2007 by the Meadow team, see AUTHORS.",
            "Copyright 2007 by the Meadow team",
            Some("the Meadow team"),
        ),
        (
            "# Copyright (C) 2015 CERN.",
            "Copyright (c) 2015 CERN.",
            Some("CERN"),
        ),
        (
            " * Copyright © 2020 Example Corp.",
            "Copyright (c) 2020 Example Corp.",
            Some("Example Corp."),
        ),
        (
            "copyright = \"2010 Pallets\"",
            "copyright 2010 Pallets",
            Some("Pallets"),
        ),
        (
            "// Copyright 2009 The Go Authors. All rights reserved.",
            "Copyright 2009 The Go Authors.",
            Some("The Go Authors"),
        ),
        (
            "/* Copyright (c) 1999-2004, 2007 Jane Doe <jane@example.org> */",
            "Copyright (c) 1999-2004, 2007 Jane Doe <jane@example.org>",
            Some("Jane Doe"),
        ),
        (
            "Copyright (c) 2014 by Foo and contributors",
            "Copyright (c) 2014 by Foo and contributors",
            Some("Foo and contributors"),
        ),
        (
            "&copy; Copyright 2010 by <a href=\"http://domain.invalid/\">",
            "(c) Copyright 2010",
            None,
        ),
        (
            "Copyright 2016 Google Inc.",
            "Copyright 2016 Google Inc.",
            Some("Google Inc."),
        ),
        (
            "SPDX-FileCopyrightText: 2020 Jane Doe",
            "Copyright 2020 Jane Doe",
            Some("Jane Doe"),
        ),
    ] {
        let (found, whose) = one(text);
        assert_eq!(found.as_deref(), Some(statement), "{text}");
        assert_eq!(whose.as_deref(), holder, "{text}");
    }
}

#[test]
fn prose_and_templates_are_none() {
    for text in [
        "The above copyright notice and this permission notice shall be included",
        "Copyright [yyyy] [name of copyright owner]",
        "Copyright (c) <year> <owner>",
        "copyright holders be liable for any claim",
        "grants you a perpetual copyright license",
        "a = b(c)",
        "if (c) { return 2010; }",
        "",
    ] {
        let (found, _) = one(text);
        assert_eq!(found, None, "{text}");
    }
}

#[test]
fn authors_are_named() {
    let said = find("/**\n * @author Jane Doe <jane@example.org>\n */\n# Author: John Roe\n");
    let names: Vec<&str> = said
        .authors
        .iter()
        .map(|line| line.value.as_str())
        .collect();
    assert_eq!(names, ["Jane Doe <jane@example.org>", "John Roe"]);
    assert_eq!(said.authors[0].start_line, 2);
}

#[test]
fn a_statement_may_go_on_in_the_next_line() {
    let said = find("# Copyright (c) 2001, 2002,\n# 2003 Jane Doe\n#\n");
    assert_eq!(
        said.copyrights[0].value,
        "Copyright (c) 2001, 2002, 2003 Jane Doe"
    );
    assert_eq!(said.copyrights[0].end_line, 2);
}
