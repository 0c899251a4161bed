//! Wheels and eggs: what is read of them, how much, and what is refused.

use std::sync::LazyLock;

use crate::python_archives::{noise, zip};
use proptest::prelude::*;
use scan::python::{
    Distribution, Limits, PartialFile, RangeSource, ReadError, Refusal, SeekSource, SourceError,
    Warning, read_distribution, read_listing, wheel_modules,
};

const NAME: &str = "sample_project-1.2.0-py3-none-any.whl";
const METADATA: &[u8] = include_bytes!("../../testdata/python/METADATA");

fn wheel() -> Vec<u8> {
    zip(&[
        ("sample/__init__.py", b"import os\n"),
        ("sample/core.py", b""),
        ("sample/_native.abi3.so", &[0; 3000]),
        ("vendored/other-9.dist-info/METADATA", b"Name: wrong\n"),
        ("sample_project-1.2.0.dist-info/METADATA", METADATA),
        ("sample_project-1.2.0.dist-info/top_level.txt", b"sample\n"),
        (
            "sample_project-1.2.0.dist-info/entry_points.txt",
            b"[console_scripts]\nsample = sample:main\n",
        ),
        (
            "sample_project-1.2.0.dist-info/RECORD",
            b"sample/__init__.py,,\n",
        ),
    ])
}

fn read(name: &str, bytes: &[u8]) -> Result<Distribution, ReadError> {
    read_distribution(name, None, &mut &*bytes, &Limits::default())
}

fn refusal(name: &str, bytes: &[u8]) -> Refusal {
    match read(name, bytes) {
        Err(ReadError::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_wheel_is_read() {
    let found = read(NAME, &wheel()).unwrap();
    assert_eq!((found.name(), found.version()), ("Sample-Project", "1.2.0"));
    assert_eq!(found.requires_dist.len(), 3);
    assert_eq!(found.extras, ["socks", "dev"]);
    assert_eq!(
        found.importable().collect::<Vec<_>>(),
        ["sample", "sample._native", "sample.core"]
    );
    assert_eq!(found.import_names(), ["sample", "_sample_speed"]);
    assert_eq!(found.top_level, ["sample"]);
    assert_eq!(found.entry_points[0].target, "sample:main");
    assert_eq!(found.listing.len(), 8);
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
}

#[test]
fn broken_requirements_are_kept_with_a_warning() {
    let metadata = b"Name: other\nVersion: 9\nRequires-Dist: pytz (>dev)\nRequires-Dist: fine\n";
    let found = read(
        "a-1-py3-none-any.whl",
        &zip(&[("a-1.dist-info/METADATA", metadata)]),
    )
    .unwrap();
    assert_eq!(found.requires_dist, ["pytz (>dev)", "fine"]);
    assert!(matches!(
        found.warnings.as_slice(),
        [
            Warning::OtherName(_),
            Warning::OtherVersion(_),
            Warning::Requirement { .. }
        ]
    ));
}

#[test]
fn an_egg_is_read() {
    let egg = zip(&[
        (
            "EGG-INFO/PKG-INFO",
            b"Metadata-Version: 1.0\nName: froglabs\nVersion: 0.1\n",
        ),
        ("EGG-INFO/requires.txt", b"six\n[x]\ny>=1\n"),
        ("EGG-INFO/top_level.txt", b"frog\n"),
        ("frog/__init__.py", b""),
        ("frog/__init__.pyc", b""),
    ]);
    let found = read("froglabs-0.1-py3.6.egg", &egg).unwrap();
    assert_eq!(found.requires_dist, ["six", "y>=1; extra == \"x\""]);
    assert_eq!(found.extras, ["x"]);
    assert_eq!(found.importable().collect::<Vec<_>>(), ["frog"]);
}

/// A wheel of three megabytes with its metadata at the end, as build tools write it.
static LARGE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    zip(&[
        ("sample/__init__.py", b""),
        ("sample/data.bin", &noise(3 << 20)),
        ("sample_project-1.2.0.dist-info/METADATA", METADATA),
        ("sample_project-1.2.0.dist-info/RECORD", &noise(40_000)),
    ])
});

#[test]
fn little_of_a_large_wheel_is_read() {
    let bytes = LARGE.as_slice();
    let found = read(NAME, bytes).unwrap();
    assert_eq!(found.importable().collect::<Vec<_>>(), ["sample"]);
    assert!(
        found.bytes_read * 20 <= bytes.len() as u64,
        "{} of {}",
        found.bytes_read,
        bytes.len()
    );
}

#[test]
fn a_file_elsewhere_is_read_range_by_range() {
    let bytes = LARGE.as_slice();
    let mut partial = PartialFile::new(bytes.len() as u64);
    let mut rounds = 0;
    let found = loop {
        match read_distribution(NAME, None, &mut partial, &Limits::default()) {
            Ok(found) => break found,
            Err(ReadError::Source(SourceError::Missing(range))) => {
                rounds += 1;
                let piece = &bytes[range.start as usize..range.end as usize];
                partial.supply(range.start, piece.to_vec());
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(found, read(NAME, bytes).unwrap());
    assert!(rounds <= 3, "{rounds} rounds");
}

#[test]
fn an_open_file_is_read() {
    let bytes = wheel();
    let mut source = SeekSource::new(std::io::Cursor::new(bytes.clone())).unwrap();
    let found = read_distribution(NAME, None, &mut source, &Limits::default()).unwrap();
    assert_eq!(found, read(NAME, &bytes[..]).unwrap());
}

#[test]
fn a_listing_alone_costs_less() {
    let bytes = LARGE.as_slice();
    let listing = read_listing(&mut &*bytes, &Limits::default()).unwrap();
    let found = read(NAME, bytes).unwrap();
    assert_eq!(listing.names, found.listing);
    assert!(listing.bytes_read <= found.bytes_read);
    assert_eq!(
        wheel_modules(listing.names.iter().map(String::as_str)),
        found.modules
    );
}

/// A connection that breaks.
struct Broken;

impl RangeSource for Broken {
    fn len(&self) -> u64 {
        1 << 20
    }

    fn read_at(&mut self, _: u64, _: usize) -> Result<Vec<u8>, SourceError> {
        Err(SourceError::Io(std::io::Error::other("reset")))
    }
}

/// A server that promised more than it has.
struct Short(Vec<u8>);

impl RangeSource for Short {
    fn len(&self) -> u64 {
        self.0.len() as u64 + 5_000
    }

    fn read_at(&mut self, offset: u64, length: usize) -> Result<Vec<u8>, SourceError> {
        self.0.as_slice().read_at(offset, length)
    }
}

#[test]
fn what_cannot_be_fetched_is_no_fault_of_the_file() {
    for name in [NAME, "a-1.tar.gz", "a-1.zip", "a-1-py3.6.egg"] {
        let error = read_distribution(name, None, &mut Broken, &Limits::default()).unwrap_err();
        assert!(
            matches!(error, ReadError::Source(SourceError::Io(_))),
            "{name}: {error}"
        );
    }
    let error = read_distribution(NAME, None, &mut Short(wheel()), &Limits::default()).unwrap_err();
    assert!(
        matches!(error, ReadError::Source(SourceError::Short)),
        "{error}"
    );
}

#[test]
fn what_is_no_wheel_is_refused_with_a_reason() {
    let bytes = wheel();
    assert_eq!(refusal("notes.txt", &bytes).code(), "unknown-kind");
    assert_eq!(refusal("a-1.win32.exe", &bytes).code(), "installer");
    assert_eq!(
        refusal(NAME, b"<!DOCTYPE html><html>Please log in</html>"),
        Refusal::WrongContent {
            expected: "a zip archive",
            found: "a web page"
        }
    );
    assert_eq!(refusal(NAME, b"").code(), "wrong-content");
    assert_eq!(
        refusal(NAME, &crate::python_archives::gzip(b"x")).code(),
        "wrong-content"
    );
    assert_eq!(refusal(NAME, &bytes[..bytes.len() / 2]).code(), "truncated");
    assert_eq!(
        refusal(NAME, &zip(&[("a/__init__.py", b"")])).code(),
        "no-metadata"
    );
}

#[test]
fn members_may_not_leave_the_archive() {
    for name in [
        "../evil.py",
        "/etc/passwd",
        "a/../../b.py",
        "..\\evil.py",
        "C:/x.py",
    ] {
        assert_eq!(
            refusal(NAME, &zip(&[(name, b"x")])).code(),
            "path-escape",
            "{name}"
        );
    }
}

#[test]
fn limits_hold() {
    let refused =
        |limits: Limits, bytes: &[u8]| match read_distribution(NAME, None, &mut &*bytes, &limits) {
            Err(ReadError::Refused(refusal)) => refusal.code(),
            other => panic!("{other:?}"),
        };
    let bytes = wheel();
    assert_eq!(
        refused(
            Limits {
                members: 3,
                ..Limits::default()
            },
            &bytes
        ),
        "too-many-members"
    );
    assert_eq!(
        refused(
            Limits {
                directory: 100,
                ..Limits::default()
            },
            &bytes
        ),
        "directory-too-large"
    );
    assert_eq!(
        refused(
            Limits {
                member: 100,
                ..Limits::default()
            },
            &bytes
        ),
        "member-too-large"
    );
    assert_eq!(
        refused(
            Limits {
                name: 20,
                ..Limits::default()
            },
            &bytes
        ),
        "name-too-long"
    );
    let bomb = zip(&[(
        "sample_project-1.2.0.dist-info/METADATA",
        &vec![b' '; 2 << 20],
    )]);
    assert!(bomb.len() < 10_000);
    assert_eq!(
        refused(
            Limits {
                member: 1 << 20,
                ..Limits::default()
            },
            &bomb
        ),
        "member-too-large"
    );
}

#[test]
fn a_huge_member_is_refused_before_it_is_fetched() {
    let data = noise(1 << 20);
    let bytes = zip(&[("sample_project-1.2.0.dist-info/METADATA", &data)]);
    let limits = Limits {
        member: 1 << 16,
        ..Limits::default()
    };
    let mut partial = PartialFile::new(bytes.len() as u64);
    let tail = bytes.len() - 40_000;
    partial.supply(tail as u64, bytes[tail..].to_vec());
    let error = read_distribution(NAME, None, &mut partial, &limits).unwrap_err();
    assert!(
        matches!(error, ReadError::Refused(Refusal::MemberTooLarge { .. })),
        "{error}"
    );
}

#[test]
fn a_lie_about_the_size_does_not_help_a_bomb() {
    let mut bytes = zip(&[(
        "sample_project-1.2.0.dist-info/METADATA",
        &vec![b' '; 2 << 20],
    )]);
    // The unpacked size stands 24 bytes into the directory's only record.
    let record = bytes
        .windows(4)
        .rposition(|four| four == b"PK\x01\x02")
        .unwrap();
    bytes[record + 24..record + 28].copy_from_slice(&10_u32.to_le_bytes());
    let limits = Limits {
        member: 1 << 20,
        ..Limits::default()
    };
    let error = read_distribution(NAME, None, &mut bytes.as_slice(), &limits).unwrap_err();
    assert!(
        matches!(
            error,
            ReadError::Refused(Refusal::MemberTooLarge { .. } | Refusal::Damaged(_))
        ),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_wheels_are_survived(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut: prop::sample::Index) {
        let mut bytes = wheel();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        for name in [NAME, "sample-1.egg", "sample-1.zip"] {
            let _ = read(name, &bytes);
        }
        let _ = read(NAME, &bytes[..cut.index(bytes.len())]);
        let _ = read(NAME, &bytes[cut.index(bytes.len())..]);
    }

    #[test]
    fn any_pieces_give_the_same_answer(sizes in proptest::collection::vec(1_u64..5_000, 1..20)) {
        let bytes = wheel();
        let whole = read(NAME, &bytes).unwrap();
        let mut partial = PartialFile::new(bytes.len() as u64);
        let mut sizes = sizes.into_iter().cycle();
        loop {
            match read_distribution(NAME, None, &mut partial, &Limits::default()) {
                Ok(found) => {
                    prop_assert_eq!(found, whole);
                    break;
                }
                Err(ReadError::Source(SourceError::Missing(range))) => {
                    // Supplies less or more than was asked for.
                    let end = (range.start + sizes.next().unwrap()).min(bytes.len() as u64);
                    partial.supply(range.start, bytes[range.start as usize..end as usize].to_vec());
                }
                Err(error) => prop_assert!(false, "{}", error),
            }
        }
    }
}
