//! Reading go.mod: paths, language version, retractions, deprecation, and what is forgiven.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use scan::go::{GoMod, MAX_GO_MOD};

const RETRACTIONS: &str = include_str!("../../testdata/go/retractions.mod");
const BROKEN: &str = include_str!("../../testdata/go/broken.mod");

fn read(text: &str) -> GoMod {
    GoMod::read(text.as_bytes()).unwrap()
}

#[test]
fn a_full_file_is_read() {
    let file = read(RETRACTIONS);
    assert_eq!(file.module.as_deref(), Some("example.com/tools/v2"));
    assert_eq!(file.go.as_deref(), Some("1.21.3"));
    assert_eq!(
        file.deprecated.as_deref(),
        Some("use example.com/tools/v3 instead,\nit is the same code.")
    );
    assert!(file.problems.is_empty(), "{:?}", file.problems);
    let told: Vec<_> = file
        .retractions
        .iter()
        .map(|r| (r.low.as_str(), r.high.as_str(), r.rationale.as_deref()))
        .collect();
    assert_eq!(
        told,
        [
            ("v2.0.0", "v2.0.0", Some("published by accident")),
            ("v2.0.1", "v2.0.1", Some("contains retractions only")),
            ("v2.1.0", "v2.1.9", Some("tags were moved")),
            ("v2.3.0", "v2.4.0-rc.1", None),
        ]
    );
}

#[test]
fn intervals_cover_what_lies_between() {
    let file = read(RETRACTIONS);
    for covered in [
        "v2.0.0",
        "v2.1.0",
        "v2.1.5",
        "v2.1.9",
        "v2.3.7",
        "v2.4.0-alpha",
    ] {
        assert!(file.retraction_of(covered).is_some(), "{covered}");
    }
    for free in ["v2.0.2", "v2.1.10", "v2.4.0", "v2.2.0", "nonsense"] {
        assert!(file.retraction_of(free).is_none(), "{free}");
    }
    let old = read("module example.com/m\nretract v2.0.0+incompatible\n");
    assert!(old.retraction_of("v2.0.0+incompatible").is_some());
}

#[test]
fn windows_line_ends_change_nothing() {
    assert_eq!(read(&RETRACTIONS.replace('\n', "\r\n")), read(RETRACTIONS));
}

#[test]
fn a_broken_file_still_declares_its_path() {
    let file = read(BROKEN);
    assert_eq!(file.module.as_deref(), Some("example.com/broken"));
    assert_eq!(file.go, None);
    assert_eq!(file.problems.len(), 1);
}

#[test]
fn paths_may_be_quoted_and_commented() {
    for (text, path) in [
        ("module a.b/c", Some("a.b/c")),
        ("\tmodule  a.b/c // x", Some("a.b/c")),
        ("module \"a.b/c\"", Some("a.b/c")),
        ("module `a.b/c`", Some("a.b/c")),
        ("module \"a.b\\x2fc\"", Some("a.b/c")),
        ("module \"a.b\\u002fc\"", Some("a.b/c")),
        ("module \"a.b", None),
        ("modulea.b/c", None),
        ("module", None),
        ("module // a.b/c", None),
        ("// module a.b/c\nmodule d.e/f", Some("d.e/f")),
        ("", None),
        ("go 1.20\nmodule late.org/x", Some("late.org/x")),
    ] {
        assert_eq!(read(text).module.as_deref(), path, "{text:?}");
    }
}

#[test]
fn language_versions_of_the_future_give_their_beginning() {
    for (text, version) in [
        ("go 1.21", Some("1.21")),
        ("go 1.22rc1", Some("1.22rc1")),
        ("go 1.21.3", Some("1.21.3")),
        ("go v1.23-custom", Some("1.23")),
        ("go 1.24.x", Some("1.24")),
        ("go 1", None),
        ("go 1.05", None),
        ("go one", None),
        ("go 1.21 1.22", None),
    ] {
        let file = read(&format!("module a.b/c\n{text}\n"));
        assert_eq!(file.go.as_deref(), version, "{text:?}");
        assert_eq!(file.problems.is_empty(), version.is_some(), "{text:?}");
    }
}

#[test]
fn unknown_directives_and_blocks_are_passed_over() {
    let file = read("module a.b/c\nfuture thing\nfuture (\n\tx y\n)\ntool a.b/c/d\nretract soon\n");
    assert!(file.problems.is_empty());
    assert!(file.retractions.is_empty());
}

#[test]
fn a_blank_line_parts_a_comment_from_the_module() {
    assert_eq!(read("// Deprecated: no\n\nmodule a.b/c\n").deprecated, None);
    assert_eq!(
        read("// Deprecated: no\nmodule a.b/c\n")
            .deprecated
            .as_deref(),
        Some("no")
    );
    assert_eq!(
        read("module a.b/c // Deprecated: no\n")
            .deprecated
            .as_deref(),
        Some("no")
    );
    assert_eq!(
        read("// It is Deprecated: no\nmodule a.b/c\n").deprecated,
        None
    );
}

#[test]
fn a_huge_file_is_refused() {
    assert!(GoMod::read(&vec![b'\n'; MAX_GO_MOD + 1]).is_err());
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = GoMod::read(&bytes);
    }

    #[test]
    fn damaged_files_do_not_panic(at in 0..RETRACTIONS.len(), byte: u8, cut in 0..RETRACTIONS.len()) {
        let mut bytes = RETRACTIONS.as_bytes().to_vec();
        bytes[at] = byte;
        let _ = GoMod::read(&bytes);
        let _ = GoMod::read(&bytes[..cut]);
        let _ = GoMod::read(&bytes[cut..]);
    }
}
