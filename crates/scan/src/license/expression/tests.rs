use super::*;

#[test]
fn parentheses_stand_where_they_mean_something() {
    for (text, expected) in [
        ("mit", "MIT"),
        ("mit or apache-2.0", "MIT OR Apache-2.0"),
        ("(MIT OR Apache-2.0)", "MIT OR Apache-2.0"),
        (
            "(MIT OR Apache-2.0) AND BSD-3-Clause",
            "(MIT OR Apache-2.0) AND BSD-3-Clause",
        ),
        ("MIT AND (ISC AND MIT)", "MIT AND ISC"),
        ("GPL-2.0+", "GPL-2.0-or-later"),
        (
            "GPL-2.0 with Classpath-exception-2.0",
            "GPL-2.0-only WITH Classpath-exception-2.0",
        ),
        ("MIT OR ISC AND Zlib", "MIT OR (ISC AND Zlib)"),
    ] {
        assert_eq!(normalise(text).as_deref(), Some(expected), "{text}");
    }
    for wrong in [
        "",
        "MIT OR",
        "AND",
        "(MIT",
        "MIT)",
        "no license at all",
        "MIT MIT",
    ] {
        assert_eq!(normalise(wrong), None, "{wrong}");
    }
}

#[test]
fn all_of_keeps_order_and_says_nothing_twice() {
    let all = all_of(["MIT OR Apache-2.0", "BSD-3-Clause", "MIT OR Apache-2.0"]);
    assert_eq!(all.as_deref(), Some("(MIT OR Apache-2.0) AND BSD-3-Clause"));
    assert_eq!(
        all_of(["MIT OR Apache-2.0"]).as_deref(),
        Some("MIT OR Apache-2.0")
    );
    assert_eq!(
        all_of(["MIT AND ISC", "ISC"]).as_deref(),
        Some("MIT AND ISC")
    );
    assert_eq!(all_of([]), None);
}

#[test]
fn what_people_write_is_understood() {
    for (text, expected) in [
        ("MIT License", "MIT"),
        ("Apache License, Version 2.0", "Apache-2.0"),
        ("The Apache Software License, Version 2.0", "Apache-2.0"),
        ("MIT/Apache-2.0", "MIT OR Apache-2.0"),
        ("BSD", "BSD-3-Clause"),
        ("GPLv3+", "GPL-3.0-or-later"),
        ("GNU General Public License v2.0 only", "GPL-2.0-only"),
        ("'ISC'", "ISC"),
    ] {
        assert_eq!(of_name(text).as_deref(), Some(expected), "{text}");
    }
    assert_eq!(of_name("see the file of that name"), None);
}

#[test]
fn keys_are_those_of_scancode() {
    assert_eq!(keys("MIT OR Apache-2.0"), "mit OR apache-2.0");
    assert_eq!(
        keys("(MIT OR BSD-3-Clause) AND GPL-2.0-or-later"),
        "(mit OR bsd-new) AND gpl-2.0-plus"
    );
    assert_eq!(keys(UNKNOWN_REFERENCE), "unknown-license-reference");
}

#[test]
fn deep_nesting_is_refused() {
    let text = format!("{}MIT{}", "(".repeat(500), ")".repeat(500));
    assert_eq!(normalise(&text), None);
}
