//! Core metadata, requirements of eggs, entry points.

use proptest::prelude::*;
use scan::python::{CoreMetadata, EntryPoint, ImportName, RequiresTxt};

const METADATA: &[u8] = include_bytes!("../../testdata/python/METADATA");
const PKG_INFO: &[u8] = include_bytes!("../../testdata/python/PKG-INFO-1.1");

#[test]
fn a_modern_file_is_read() {
    let metadata = CoreMetadata::parse(METADATA);
    assert_eq!(metadata.metadata_version.as_deref(), Some("2.5"));
    assert_eq!(metadata.name.as_deref(), Some("Sample-Project"));
    assert_eq!(metadata.version.as_deref(), Some("1.2.0"));
    assert_eq!(
        metadata.summary.as_deref(),
        Some("A sample, told in two lines")
    );
    assert_eq!(metadata.requires_python.as_deref(), Some(">=3.9"));
    assert_eq!(
        metadata.requires_dist,
        [
            "urllib3 (<3,>=1.21.1)",
            "PySocks!=1.5.7,>=1.5.6; extra == \"socks\"",
            "old-thing ; python_version in '2.4, 2.5'",
        ]
    );
    assert_eq!(metadata.extras, ["socks", "dev"]);
    assert_eq!(
        (metadata.home_page.as_deref(), metadata.license.as_deref()),
        (None, None)
    );
    assert_eq!(
        metadata.license_expression.as_deref(),
        Some("MIT OR Apache-2.0")
    );
    assert_eq!(metadata.classifiers.len(), 2);
    assert_eq!(
        metadata.project_urls,
        [(
            "Source".to_owned(),
            "https://example.com/sample,project".to_owned()
        )]
    );
    let name = |name: &str, private, namespace| ImportName {
        name: name.to_owned(),
        private,
        namespace,
    };
    assert_eq!(
        metadata.import_names,
        [
            name("sample", false, false),
            name("_sample_speed", true, false),
            name("company", false, true)
        ]
    );
}

#[test]
fn only_new_metadata_promise_that_a_field_stays() {
    let settled = |text: &str| CoreMetadata::parse(text.as_bytes()).is_settled("Requires-Dist");
    assert!(settled("Metadata-Version: 2.2\nName: a\n"));
    assert!(settled("Metadata-Version: 2.10\nName: a\n"));
    assert!(!settled("Metadata-Version: 2.1\nName: a\n"));
    assert!(!settled("Metadata-Version: 2.4\nDynamic: requires-dist\n"));
    assert!(!settled("Name: a\n"));
}

#[test]
fn an_old_file_is_read_in_any_encoding_and_line_end() {
    let metadata = CoreMetadata::parse(PKG_INFO);
    assert_eq!(metadata.name.as_deref(), Some("old"));
    assert_eq!(metadata.summary, None);
    assert_eq!(metadata.requires, ["os (>=1)"]);
    assert!(metadata.requires_dist.is_empty());
    let text = String::from_utf8_lossy(PKG_INFO).into_owned();
    for ends in ["\r\n", "\r"] {
        assert_eq!(
            CoreMetadata::parse(text.replace('\n', ends).as_bytes()),
            metadata
        );
    }
    let latin1: Vec<u8> = text.chars().map(|c| c as u32 as u8).collect();
    assert_eq!(CoreMetadata::parse(&latin1).name.as_deref(), Some("old"));
    let marked = [b"\xef\xbb\xbf", PKG_INFO].concat();
    assert_eq!(CoreMetadata::parse(&marked), metadata);
}

#[test]
fn the_first_line_that_is_no_header_ends_them() {
    let metadata = CoreMetadata::parse(b"Name: a\nthis is no header\nVersion: 1\n");
    assert_eq!(metadata.name.as_deref(), Some("a"));
    assert_eq!(metadata.version, None);
}

#[test]
fn no_value_holds_a_nul() {
    let metadata = CoreMetadata::parse(b"Name: a\0b\nSummary: \0\n");
    assert_eq!(metadata.name.as_deref(), Some("a\u{fffd}b"));
}

#[test]
fn sections_of_requires_txt_become_markers() {
    let file = RequiresTxt::parse(
        b"six\n# a comment\n\n[:python_version < '3']\nfutures>=3\n\n[test]\npytest\nbackport; os_name == 'nt'\nlocal @ file:///a;b\n\n[test:os_name == 'posix']\nforked\n",
    );
    assert_eq!(
        file.requires_dist,
        [
            "six",
            "futures>=3; python_version < '3'",
            "pytest; extra == \"test\"",
            "backport; (os_name == 'nt') and extra == \"test\"",
            "local @ file:///a;b ; extra == \"test\"",
            "forked; (os_name == 'posix') and extra == \"test\"",
        ]
    );
    assert_eq!(file.extras, ["test"]);
}

#[test]
fn entry_points_have_groups() {
    let found = EntryPoint::parse_all(b"lost = a:b\n[console_scripts]\n# no\nrun = pkg.cli:main [extra]\nbroken\n\n[my.plugins]\nx=pkg\n");
    let told: Vec<_> = found
        .iter()
        .map(|e| (e.group.as_str(), e.name.as_str(), e.target.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("console_scripts", "run", "pkg.cli:main [extra]"),
            ("my.plugins", "x", "pkg")
        ]
    );
}

proptest! {
    #[test]
    fn damaged_files_are_survived(at in 0..METADATA.len(), byte: u8, cut in 0..METADATA.len()) {
        let mut bytes = METADATA.to_vec();
        bytes[at] = byte;
        for bytes in [&bytes[..], &bytes[..cut], &bytes[cut..]] {
            let _ = (CoreMetadata::parse(bytes), RequiresTxt::parse(bytes), EntryPoint::parse_all(bytes));
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = (CoreMetadata::parse(&bytes), RequiresTxt::parse(&bytes), EntryPoint::parse_all(&bytes));
    }

    #[test]
    fn requirements_come_out_as_they_stand(requirements in proptest::collection::vec("[a-z]{1,9}(>=[0-9.]{1,4}[0-9])?", 0..9)) {
        let lines: Vec<_> = requirements.iter().map(|r| format!("Requires-Dist: {r}")).collect();
        prop_assert_eq!(CoreMetadata::parse(lines.join("\n").as_bytes()).requires_dist, requirements);
    }
}
