//! Names, file names, versions and requirement strings.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cmp::Ordering;

use proptest::prelude::*;
use scan::python::{
    FileKind, Filename, Requirement, RequirementFault, SdistFormat, compare_versions,
    is_valid_name, is_version_specifier, normalize_name, normalize_version,
};

fn parsed(filename: &str, project: Option<&str>) -> (String, String, FileKind) {
    let found = Filename::parse(filename, project).unwrap();
    (found.name, found.version, found.kind)
}

#[test]
fn names_have_one_spelling() {
    for name in [
        "zope.interface",
        "Zope_Interface",
        "zope-_.interface",
        "ZOPE--INTERFACE",
    ] {
        assert_eq!(normalize_name(name), "zope-interface");
    }
    assert!(is_valid_name("a") && is_valid_name("a.b-c_d9"));
    for name in ["", "-a", "a-", ".a", "a b", "\u{e9}", "a/b"] {
        assert!(!is_valid_name(name), "{name}");
    }
}

#[test]
fn wheel_names_carry_tags() {
    let (name, version, kind) = parsed(
        "Foo_bar-1.0-2b-cp311.cp312-abi3-manylinux_2_17_x86_64.whl",
        None,
    );
    assert_eq!((name.as_str(), version.as_str()), ("Foo_bar", "1.0"));
    let FileKind::Wheel(tags) = kind else {
        panic!("{kind:?}")
    };
    assert_eq!(tags.build.as_deref(), Some("2b"));
    assert_eq!(tags.python, ["cp311", "cp312"]);
    assert_eq!(tags.abi, ["abi3"]);
    assert_eq!(tags.platform, ["manylinux_2_17_x86_64"]);
    for wrong in [
        "a.whl",
        "a-1.whl",
        "a-1-py3-none.whl",
        "-1-py3-none-any.whl",
        "a-1-b-c-py3-none-any-x.whl",
    ] {
        assert_eq!(Filename::parse(wrong, None), None, "{wrong}");
    }
}

#[test]
fn source_names_are_split_where_the_version_begins() {
    let sdist = |filename, project| {
        let (name, version, kind) = parsed(filename, project);
        assert!(matches!(kind, FileKind::Sdist(_)), "{filename}");
        (name, version)
    };
    let pair = |name: &str, version: &str| (name.to_owned(), version.to_owned());
    assert_eq!(
        sdist("requests-2.22.0.tar.gz", None),
        pair("requests", "2.22.0")
    );
    assert_eq!(
        sdist("python-dateutil-2.8.tar.bz2", None),
        pair("python-dateutil", "2.8")
    );
    assert_eq!(sdist("a-2to3-1.0.ZIP", None), pair("a-2to3", "1.0"));
    assert_eq!(
        sdist("micropython-hashlib5-2.4.2.post7.tar.gz", None),
        pair("micropython-hashlib5", "2.4.2.post7")
    );
    assert_eq!(
        sdist("a-1.0-beta-2.tar.gz", Some("a")),
        pair("a", "1.0-beta-2")
    );
    assert_eq!(sdist("odd-1-2-3.tgz", Some("odd-1")), pair("odd-1", "2-3"));
    assert_eq!(
        sdist("pyobject---1.2.0.tar.gz", None),
        pair("pyobject--", "1.2.0")
    );
    assert_eq!(
        sdist("thing-unknown.tar.gz", None),
        pair("thing", "unknown")
    );
    assert_eq!(parsed("x-1.zip", None).2, FileKind::Sdist(SdistFormat::Zip));
}

#[test]
fn eggs_and_installers() {
    let (name, version, kind) = parsed("zope.interface-4.4.2-py2.7-win32.egg", None);
    assert_eq!(
        (name.as_str(), version.as_str()),
        ("zope.interface", "4.4.2")
    );
    assert_eq!(
        kind,
        FileKind::Egg {
            python: Some("2.7".into()),
            platform: Some("win32".into())
        }
    );
    assert_eq!(
        parsed("numpy-1.0.win32-py2.4.exe", None).2,
        FileKind::Installer("exe")
    );
    let (name, version, kind) = parsed("foo-1.0.linux-x86_64.tar.gz", None);
    assert_eq!(
        (name.as_str(), version.as_str(), kind),
        ("foo", "1.0", FileKind::Installer("dumb"))
    );
    for wrong in [
        "index.html",
        "foo.tar.gz",
        "a/b-1.zip",
        ".whl",
        "foo-1.whl.metadata",
        &"x".repeat(400),
    ] {
        assert_eq!(Filename::parse(wrong, None), None, "{wrong}");
    }
}

#[test]
fn versions_are_ordered_by_meaning() {
    let ordered = [
        "not-a-version",
        "1.0.dev1",
        "1.0a1",
        "1.0rc1",
        "1.0",
        "1.0.post1",
        "1.10",
        "2!0.1",
    ];
    for pair in ordered.windows(2) {
        assert_eq!(
            compare_versions(pair[0], pair[1]),
            Ordering::Less,
            "{pair:?}"
        );
    }
    assert_eq!(compare_versions("1.0", "1.0.0"), Ordering::Equal);
    assert_eq!(normalize_version("v1.0-RC.1").as_deref(), Some("1.0rc1"));
    assert_eq!(normalize_version("latest"), None);
    assert_eq!(normalize_version(&"1.".repeat(500)), None);
    for good in [
        ">=1.0",
        ">=1,<2",
        "==1.*",
        "~=1.4",
        "===anything-goes",
        "!= 1.5 , < 3",
    ] {
        assert!(is_version_specifier(good), "{good}");
    }
    for wrong in ["1.0", ">=1.*", "=>1", ">dev", ">=1;"] {
        assert!(!is_version_specifier(wrong), "{wrong}");
    }
}

#[test]
fn requirements_are_taken_apart() {
    let full = Requirement::parse(
        "requests [security,tests] (>=2.8.1,==2.8.*) ; python_version < \"2.7\"",
    )
    .unwrap();
    assert_eq!(full.name, "requests");
    assert_eq!(full.extras, ["security", "tests"]);
    assert_eq!(full.versions, ">=2.8.1,==2.8.*");
    assert_eq!(full.marker, Some("python_version < \"2.7\""));
    let url = Requirement::parse("pip @ https://example.com/a;b.zip#x ; extra == 'y'").unwrap();
    assert_eq!(url.url, Some("https://example.com/a;b.zip#x"));
    assert_eq!(url.marker, Some("extra == 'y'"));
    for sound in [
        "a",
        "A.b-c_d",
        "a[x]",
        "a[]",
        "a>=1",
        "a (>=1)",
        "a ; os_name=='nt' or (extra == 'b' and python_version>'3')",
        "a ; python_version in '2.4, 2.5'",
        "a ; 'linux' not in sys_platform",
        "a ; sys.platform == 'win32'",
        "a===1.0-weird",
    ] {
        assert!(Requirement::parse(sound).is_ok(), "{sound}");
    }
}

#[test]
fn broken_requirements_say_what_is_wrong() {
    let fault = |text: &str| Requirement::parse(text).unwrap_err();
    assert_eq!(fault("#objectpath>=0.5"), RequirementFault::Name);
    assert_eq!(fault(""), RequirementFault::Name);
    assert_eq!(fault("a[x"), RequirementFault::Extras);
    assert_eq!(fault("a[x y]"), RequirementFault::Extras);
    assert_eq!(fault("a @ "), RequirementFault::Url);
    for text in ["pytz (>dev)", "a >=1 <2", "a 1.0", "a=1", "a>=1.*"] {
        assert!(
            matches!(fault(text), RequirementFault::Versions(_)),
            "{text}"
        );
    }
    for text in [
        "a;",
        "a; python_version",
        "a; x == 'y'",
        "a; extra == 'b",
        "a; extra == 'b') or",
        "a; extra & 'b'",
    ] {
        assert!(matches!(fault(text), RequirementFault::Marker(_)), "{text}");
    }
    let nested = format!("a; {}extra == 'b'{}", "(".repeat(5_000), ")".repeat(5_000));
    assert!(matches!(fault(&nested), RequirementFault::Marker(_)));
    assert_eq!(fault(&"a".repeat(20_000)), RequirementFault::TooLong);
}

proptest! {
    #[test]
    fn normalising_twice_changes_nothing(name in "[A-Za-z0-9._-]{0,20}") {
        let once = normalize_name(&name);
        prop_assert_eq!(normalize_name(&once), once);
    }

    #[test]
    fn any_text_is_survived(text in "\\PC{0,60}", other in "[a-z0-9>=<!~;,'\"() \\[\\]@._-]{0,60}") {
        for text in [&text, &other] {
            let _ = (Requirement::parse(text), normalize_version(text), is_version_specifier(text));
            let _ = (Filename::parse(text, Some(&other)), normalize_name(text), compare_versions(text, &other));
            let _ = Requirement::parse(&format!("a; {text}"));
        }
    }

    #[test]
    fn built_file_names_come_apart(name in "[A-Za-z][A-Za-z0-9_]{0,8}", version in "[0-9]\\.[0-9]{1,2}(rc[0-9])?") {
        let wheel = Filename::parse(&format!("{name}-{version}-py3-none-any.whl"), None).unwrap();
        prop_assert_eq!((&wheel.name, &wheel.version), (&name, &version));
        let sdist = Filename::parse(&format!("{name}-{version}.tar.gz"), None).unwrap();
        prop_assert_eq!((&sdist.name, &sdist.version), (&name, &version));
    }
}
