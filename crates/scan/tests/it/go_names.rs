//! Versions, pseudo-versions, module paths and their escaped forms.

use proptest::prelude::*;
use scan::go::{
    Semver, VersionTag, check_path, escape_path, escape_version, is_pseudo_version, split_major,
    unescape_path, unescape_version,
};

#[test]
fn versions_compare_by_meaning() {
    let ordered = [
        "v0.0.0-1",
        "v0.0.0",
        "v0.9.9",
        "v1.0.0-1",
        "v1.0.0-2",
        "v1.0.0-10",
        "v1.0.0-alpha",
        "v1.0.0-alpha.1",
        "v1.0.0-alpha.beta",
        "v1.0.0-rc.1",
        "v1.0.0",
        "v1.0.1",
        "v1.9.0",
        "v1.10.0",
        "v2.0.0",
        "v10.0.0",
        "v99999999999999999999999.0.0",
    ];
    for pair in ordered.windows(2) {
        assert!(
            Semver::parse(pair[0]).unwrap() < Semver::parse(pair[1]).unwrap(),
            "{pair:?}"
        );
    }
}

#[test]
fn only_full_versions_without_build_are_canonical() {
    for (text, canonical) in [
        ("v1", "v1.0.0"),
        ("v1.2", "v1.2.0"),
        ("v1.2.3", "v1.2.3"),
        ("v1.2.3-rc.1+meta", "v1.2.3-rc.1"),
        ("v2.0.0+incompatible", "v2.0.0"),
    ] {
        let version = Semver::parse(text).unwrap();
        assert_eq!(version.canonical(), canonical);
        assert_eq!(version.is_canonical(), text == canonical);
    }
    for wrong in [
        "",
        "v",
        "1.2.3",
        "v01.2.3",
        "v1.2.3.4",
        "v1.2.3-",
        "v1.2.3-01",
        "v1-rc",
        "v1.2.3+",
        "v1.2.3-a..b",
        "V1.2.3",
        "release-7",
    ] {
        assert!(Semver::parse(wrong).is_none(), "{wrong}");
    }
}

#[test]
fn made_up_versions_are_recognised() {
    for text in [
        "v0.0.0-20200101000000-abcdefabcdef",
        "v2.0.0-20200101000000-abcdefabcdef",
        "v1.2.4-0.20200101000000-abcdefabcdef",
        "v1.2.3-pre.0.20200101000000-abcdefabcdef",
        "v2.0.1-0.20200101000000-abcdefabcdef+incompatible",
    ] {
        assert!(is_pseudo_version(text), "{text}");
    }
    for text in [
        "v1.2.3",
        "v1.2.3-20200101000000-abcdefabcdef",
        "v0.0.0-2020010100000-abcdefabcdef",
        "v1.2.3-pre.20200101000000-abcdefabcdef",
        "v1.2.3-0.20200101000000",
    ] {
        assert!(!is_pseudo_version(text), "{text}");
    }
}

#[test]
fn paths_are_checked() {
    for path in [
        "example.com",
        "example.com/A/b_c~d",
        "gopkg.in/yaml.v2",
        "a.b/c/v2",
        "a.b/v2x",
    ] {
        assert!(check_path(path).is_ok(), "{path}");
    }
    for path in [
        "",
        "a/b",
        "a.b/",
        "/a.b",
        "a.b//c",
        "-a.b",
        "A.b/c",
        "a.b/c d",
        "a.b/.c",
        "a.b/c.",
        "a.b/con",
        "a.b/x~1",
        "a.b/c/v1",
        "a.b/c/v0",
        "a.b/c/v02",
        "a.b/c/v2.1",
        "gopkg.in/yaml",
        "a.b/c@v1",
        "a.b/\u{e9}",
    ] {
        assert!(check_path(path).is_err(), "{path}");
    }
}

#[test]
fn upper_case_is_escaped() {
    assert_eq!(
        escape_path("github.com/Azure/Go").unwrap(),
        "github.com/!azure/!go"
    );
    assert_eq!(escape_version("v1.0.0-RC1").unwrap(), "v1.0.0-!r!c1");
    assert_eq!(
        unescape_path("github.com/!azure/!go").unwrap(),
        "github.com/Azure/Go"
    );
    for wrong in [
        "github.com/Azure",
        "github.com/!Azure",
        "github.com/a!",
        "github.com/!1",
    ] {
        assert_eq!(unescape_path(wrong), None, "{wrong}");
    }
    assert_eq!(escape_version("v1/2"), None);
    assert_eq!(escape_path("no-host/x"), None);
}

proptest! {
    #[test]
    fn escaping_goes_there_and_back(path in "[a-z]{1,5}\\.[a-z]{2}(/[A-Za-z][A-Za-z0-9_~.-]{0,6}[a-zA-Z]){0,4}", version in "v[0-9]\\.[0-9]\\.[0-9](-[A-Za-z]{1,6})?") {
        if let Some(escaped) = escape_path(&path) {
            prop_assert!(!escaped.bytes().any(|b| b.is_ascii_uppercase()));
            prop_assert_eq!(unescape_path(&escaped), Some(path));
        }
        if let Some(escaped) = escape_version(&version) {
            prop_assert_eq!(unescape_version(&escaped), Some(version));
        }
    }

    #[test]
    fn nothing_panics(text in "\\PC{0,40}", tag in "[v0-9./+-]{0,30}") {
        for text in [&text, &tag] {
            let _ = (check_path(text), split_major(text), is_pseudo_version(text));
            let _ = (unescape_path(text), unescape_version(text), escape_version(text));
            let _ = VersionTag::parse(text);
        }
    }

    #[test]
    fn the_order_is_total(mut versions in proptest::collection::vec("v[0-3]\\.[0-3]\\.[0-3](-(rc|1|a)(\\.[0-9]{1,2})?)?", 3)) {
        versions.sort_by(|a, b| Semver::parse(a).cmp(&Semver::parse(b)));
        let parsed: Vec<_> = versions.iter().filter_map(|text| Semver::parse(text)).collect();
        prop_assert!(parsed.is_sorted());
        for version in parsed {
            let canonical = version.canonical();
            prop_assert!(Semver::parse(&canonical).unwrap().is_canonical());
        }
    }
}
