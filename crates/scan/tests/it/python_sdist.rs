//! Source distributions: layouts, metadata from whatever there is, and what is refused.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::python_archives::{bzip2, gzip, noise, tar, tar_gz, zip};
use proptest::prelude::*;
use scan::python::{
    Distribution, Limits, PartialFile, ReadError, SourceError, Warning, read_distribution,
};

const PKG_INFO: &[u8] = b"Metadata-Version: 1.1\nName: sample\nVersion: 1.0\n";

fn read(name: &str, bytes: &[u8]) -> Result<Distribution, ReadError> {
    read_distribution(name, None, &mut &*bytes, &Limits::default())
}

fn refused(name: &str, bytes: &[u8]) -> &'static str {
    match read(name, bytes) {
        Err(ReadError::Refused(refusal)) => refusal.code(),
        other => panic!("{other:?}"),
    }
}

/// The importable names of a source tree named `sample-1.0`.
fn modules(files: &[(&str, &str)]) -> String {
    let members: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    let found = read("sample-1.0.tar.gz", &tar_gz(&members)).unwrap();
    found.importable().collect::<Vec<_>>().join(" ")
}

fn setuptools_tree() -> Vec<(&'static str, &'static [u8])> {
    vec![
        ("sample-1.0/PKG-INFO", PKG_INFO),
        ("sample-1.0/setup.py", b""),
        ("sample-1.0/sample/__init__.py", b""),
        ("sample-1.0/sample/core.py", b""),
        ("sample-1.0/speed.c", b""),
        ("sample-1.0/._sample.py", b""),
        ("sample-1.0/tests/__init__.py", b""),
        ("sample-1.0/sample.egg-info/PKG-INFO", PKG_INFO),
        (
            "sample-1.0/sample.egg-info/top_level.txt",
            b"sample\n_speed\n",
        ),
        (
            "sample-1.0/sample.egg-info/requires.txt",
            b"six\n\n[fast]\nlibfast>=2\n",
        ),
        (
            "sample-1.0/sample.egg-info/entry_points.txt",
            b"[console_scripts]\nx = sample:main\n",
        ),
    ]
}

#[test]
fn all_kinds_of_archives_say_the_same() {
    let tree = setuptools_tree();
    let wanted = read("sample-1.0.tar.gz", &tar_gz(&tree)).unwrap();
    assert_eq!(
        wanted.requires_dist,
        ["six", "libfast>=2; extra == \"fast\""]
    );
    assert_eq!(wanted.extras, ["fast"]);
    assert_eq!(
        wanted.importable().collect::<Vec<_>>(),
        ["_speed", "sample", "sample.core"]
    );
    assert_eq!(wanted.entry_points.len(), 1);
    assert!(wanted.warnings.is_empty());
    for (name, bytes) in [
        ("sample-1.0.tar.bz2", bzip2(&tar(&tree))),
        ("sample-1.0.tgz", tar_gz(&tree)),
        ("sample-1.0.tar", tar(&tree)),
        ("sample-1.0.zip", zip(&tree)),
        // Mislabelled, but readable.
        ("sample-1.0.tar.gz", bzip2(&tar(&tree))),
    ] {
        let found = read(name, &bytes).unwrap();
        assert_eq!(found.requires_dist, wanted.requires_dist, "{name}");
        assert_eq!(found.modules, wanted.modules, "{name}");
    }
}

#[test]
fn settled_metadata_are_believed_over_requires_txt() {
    let tree = |info: &'static [u8]| {
        tar_gz(&[
            ("a-1/PKG-INFO", info),
            ("a-1/a.egg-info/requires.txt", b"old\n"),
            ("a-1/a.py", b""),
        ])
    };
    let requires = |info| read("a-1.tar.gz", &tree(info)).unwrap().requires_dist;
    assert!(requires(b"Metadata-Version: 2.2\nName: a\nVersion: 1\n").is_empty());
    assert_eq!(
        requires(b"Metadata-Version: 2.1\nName: a\nVersion: 1\n"),
        ["old"]
    );
    assert_eq!(
        requires(b"Metadata-Version: 2.2\nName: a\nDynamic: Requires-Dist\n"),
        ["old"]
    );
    assert_eq!(
        requires(b"Metadata-Version: 2.1\nName: a\nRequires-Dist: new\n"),
        ["new"]
    );
}

#[test]
fn flat_and_src_layouts() {
    assert_eq!(
        modules(&[
            ("s/setup.py", ""),
            ("s/sample/__init__.py", ""),
            ("s/other/__init__.py", ""),
            ("s/docs/__init__.py", ""),
            ("s/helper.py", "")
        ]),
        "other sample"
    );
    assert_eq!(
        modules(&[
            ("s/setup.py", ""),
            ("s/src/sample/__init__.py", ""),
            ("s/src/sample/x.pyx", ""),
            ("s/src/one.py", ""),
            ("s/tests/t.py", "")
        ]),
        "one sample sample.x"
    );
    assert_eq!(
        modules(&[
            ("s/setup.py", ""),
            ("s/sample.py", ""),
            ("s/conftest.py", ""),
            ("s/_hidden.py", "")
        ]),
        "sample"
    );
    assert_eq!(
        modules(&[("setup.py", ""), ("pkg/__init__.py", ""), ("pkg/a.py", "")]),
        "pkg pkg.a"
    );
    assert_eq!(
        modules(&[("s/setup.py", ""), ("s/deep/down/thing.py", "")]),
        "down down.thing"
    );
    assert_eq!(
        modules(&[("./s/setup.py", ""), ("./s/sample/__init__.py", "")]),
        "sample"
    );
    assert_eq!(modules(&[("s/README", "")]), "");
}

#[test]
fn declared_names_are_found_where_they_are() {
    let top = ("s/sample.egg-info/top_level.txt", "yaml\n_yaml\nassets\n");
    assert_eq!(
        modules(&[
            ("s/setup.py", ""),
            top,
            ("s/lib/yaml/__init__.py", ""),
            ("s/yaml/_yaml.pyx", ""),
            ("s/assets/x.png", "")
        ]),
        "_yaml yaml"
    );
    let namespace = ("s/sample.egg-info/top_level.txt", "twitter\n");
    assert_eq!(
        modules(&[
            ("s/setup.py", ""),
            namespace,
            ("s/src/twitter/common/log/__init__.py", "")
        ]),
        "twitter twitter.common twitter.common.log"
    );
}

#[test]
fn declared_names_may_be_installed_from_anywhere() {
    let top = ("s/sample.egg-info/top_level.txt", "skill\n");
    assert_eq!(
        modules(&[
            ("s/setup.py", ""),
            top,
            ("s/__init__.py", ""),
            ("s/version.py", ""),
            ("s/test/t.py", "")
        ]),
        "skill skill.version"
    );
    assert_eq!(
        modules(&[
            ("s/setup.py", ""),
            top,
            ("s/src/__init__.py", ""),
            ("s/src/sub/__init__.py", "")
        ]),
        "skill skill.sub"
    );
    assert_eq!(
        modules(&[
            ("s/setup.py", ""),
            top,
            ("s/custom/skill/__init__.py", ""),
            ("s/custom/skill/a.py", "")
        ]),
        "skill skill.a"
    );
    assert_eq!(modules(&[("s/setup.py", ""), top]), "");
    assert_eq!(
        modules(&[("s/setup.py", ""), top, ("s/skillmodule.c", "")]),
        "skill"
    );
}

#[test]
fn build_tools_say_what_they_take() {
    let flit = "[build-system]\nbuild-backend = 'flit_core.buildapi'\n";
    assert_eq!(
        modules(&[
            ("s/pyproject.toml", flit),
            ("s/sample.py", ""),
            ("s/src/sample.py", ""),
            ("s/src/test_sample.py", "")
        ]),
        "sample"
    );
    let hatch = "[build-system]\nbuild-backend = 'hatchling.build'\n[tool.hatch.build.targets.wheel]\npackages = ['src/attr', 'src/attrs']\n";
    assert_eq!(
        modules(&[
            ("s/pyproject.toml", hatch),
            ("s/src/attr/__init__.py", ""),
            ("s/src/attrs/__init__.py", ""),
            ("s/src/no/__init__.py", "")
        ]),
        "attr attrs"
    );
    let poetry = "[build-system]\nbuild-backend = 'poetry.core.masonry.api'\n[[tool.poetry.packages]]\ninclude = 'kit'\nfrom = 'code'\n";
    assert_eq!(
        modules(&[
            ("s/pyproject.toml", poetry),
            ("s/code/kit/__init__.py", ""),
            ("s/code/x.py", "")
        ]),
        "kit"
    );
    assert_eq!(
        modules(&[
            ("s/pyproject.toml", "not = [toml"),
            ("s/sample/__init__.py", "")
        ]),
        "sample"
    );
}

#[test]
fn rust_projects() {
    let cargo = "[package]\nname = 'sample-rs'\nversion = '2.0.0'\n[package.metadata.maturin]\nrequires-dist = ['cffi']\n[lib]\nname = 'raptor'\n";
    let found = read(
        "sample-1.0.tar.gz",
        &tar_gz(&[("s/Cargo.toml", cargo.as_bytes()), ("s/src/lib.rs", b"")]),
    )
    .unwrap();
    assert_eq!((found.name(), found.version()), ("sample-rs", "2.0.0"));
    assert_eq!(found.requires_dist, ["cffi"]);
    assert_eq!(found.importable().collect::<Vec<_>>(), ["raptor"]);
    let maturin = "[build-system]\nbuild-backend = 'maturin'\n[tool.maturin]\nmodule-name = 'sample._rust'\npython-source = 'src'\n";
    assert_eq!(
        modules(&[
            ("s/pyproject.toml", maturin),
            ("s/Cargo.toml", cargo),
            ("s/src/sample/__init__.py", ""),
            ("s/src/_build/__init__.py", "")
        ]),
        "sample sample._rust"
    );
    let mixed = "[build-system]\nbuild-backend = 'maturin'\n";
    assert_eq!(
        modules(&[
            ("s/pyproject.toml", mixed),
            ("s/Cargo.toml", cargo),
            ("s/python/raptor/__init__.py", "")
        ]),
        "raptor raptor.raptor"
    );
}

#[test]
fn pyproject_stands_in_for_missing_metadata() {
    let project = b"[project]\nname = 'sample'\nversion = '1.0'\nrequires-python = '>=3.9'\ndependencies = ['a>=1']\n[project.optional-dependencies]\nx = ['b; os_name == \"nt\"']\n";
    let found = read(
        "sample-1.0.tar.gz",
        &tar_gz(&[("s/pyproject.toml", project)]),
    )
    .unwrap();
    assert_eq!(
        found.requires_dist,
        ["a>=1", "b; (os_name == \"nt\") and extra == \"x\""]
    );
    assert_eq!(found.metadata.requires_python.as_deref(), Some(">=3.9"));
    let bare = read("sample-1.0.tar.gz", &tar_gz(&[("s/sample.py", b"")])).unwrap();
    assert_eq!(bare.warnings, [Warning::NoMetadata]);
    assert_eq!((bare.name(), bare.version()), ("sample", "1.0"));
}

#[test]
fn long_names_are_read() {
    let deep = format!("s/sample/{}/mod.py", "d".repeat(120));
    let found = read(
        "sample-1.0.tar.gz",
        &tar_gz(&[("s/sample/__init__.py", b""), (&deep, b"")]),
    )
    .unwrap();
    assert!(
        found
            .importable()
            .any(|name| name.split('.').next_back() == Some("mod"))
    );
}

#[test]
fn what_is_no_source_is_refused_with_a_reason() {
    let whole = tar_gz(&[("s/PKG-INFO", PKG_INFO), ("s/data", &noise(50_000))]);
    assert_eq!(refused("a-1.tar.gz", b"<html>"), "wrong-content");
    assert_eq!(refused("a-1.tar.gz", b""), "wrong-content");
    assert_eq!(
        refused("a-1.tar.gz", &whole[..whole.len() / 2]),
        "truncated"
    );
    assert_eq!(
        refused("a-1.tar.gz", &tar_gz(&[("../evil", b"")])),
        "path-escape"
    );
    assert_eq!(
        refused("a-1.tar.gz", &tar_gz(&[("/abs/olute", b"")])),
        "path-escape"
    );
    assert_eq!(
        refused("a-1.tar.gz", &gzip(b"this is no tar at all, only text")),
        "damaged"
    );
    assert_eq!(
        refused("a-1.tar.xz", b"\xfd7zXZ\x00\x00\x00"),
        "wrong-content"
    );
}

#[test]
fn bombs_are_stopped_early() {
    let bomb = tar_gz(&[("s/zeros", &vec![0; 4 << 20])]);
    let code =
        |limits: Limits| match read_distribution("a-1.tar.gz", None, &mut bomb.as_slice(), &limits)
        {
            Err(ReadError::Refused(refusal)) => refusal.code(),
            Err(error) => panic!("{error}"),
            Ok(_) => "read",
        };
    assert_eq!(code(Limits::default()), "read");
    assert_eq!(
        code(Limits {
            ratio_from: 1 << 20,
            ..Limits::default()
        }),
        "bomb"
    );
    assert_eq!(
        code(Limits {
            unpacked: 1 << 20,
            ..Limits::default()
        }),
        "bomb"
    );
    let limits = Limits {
        members: 2,
        ..Limits::default()
    };
    let many = tar_gz(&[("s/a", b""), ("s/b", b""), ("s/c", b"")]);
    let error = read_distribution("a-1.tar.gz", None, &mut many.as_slice(), &limits).unwrap_err();
    assert!(error.to_string().contains("more than 2 members"), "{error}");
}

#[test]
fn a_tree_of_very_many_packages_is_read() {
    let names: Vec<String> = (0..20_000).map(|n| format!("s/d{n}/__init__.py")).collect();
    let declared: String = (0..20_000)
        .map(|n| format!("d{n}\nm{n}\n"))
        .collect::<Vec<_>>()
        .concat();
    let mut members: Vec<(&str, &[u8])> =
        names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let flat = read("sample-1.0.tar.gz", &tar_gz(&members)).unwrap();
    assert_eq!(flat.importable().count(), 20_000);
    members.push(("s/sample.egg-info/top_level.txt", declared.as_bytes()));
    let listed = read("sample-1.0.tar.gz", &tar_gz(&members)).unwrap();
    assert!(listed.importable().count() >= 5_000);
}

#[test]
fn a_source_elsewhere_is_asked_for_at_once() {
    let bytes = tar_gz(&setuptools_tree());
    let mut partial = PartialFile::new(bytes.len() as u64);
    let error =
        read_distribution("sample-1.0.tar.gz", None, &mut partial, &Limits::default()).unwrap_err();
    let ReadError::Source(SourceError::Missing(range)) = error else {
        panic!("{error}")
    };
    assert_eq!(range, 0..bytes.len() as u64);
    partial.supply(0, bytes.clone());
    let found =
        read_distribution("sample-1.0.tar.gz", None, &mut partial, &Limits::default()).unwrap();
    assert_eq!(
        found.modules,
        read("sample-1.0.tar.gz", &bytes).unwrap().modules
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_sources_are_survived(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut: prop::sample::Index) {
        let mut bytes = tar(&setuptools_tree());
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        let _ = read("sample-1.0.tar", &bytes);
        let _ = read("sample-1.0.tar.gz", &gzip(&bytes));
    }

    #[test]
    fn any_tree_is_survived(files in proptest::collection::vec("[a-c._/-]{0,12}(setup|__init__|PKG-INFO|top_level|x)(\\.py|\\.txt|)", 0..20)) {
        let members: Vec<(&str, &[u8])> = files.iter().map(|name| (name.as_str(), name.as_bytes())).collect();
        let _ = read("sample-1.0.tar.gz", &tar_gz(&members));
    }
}
