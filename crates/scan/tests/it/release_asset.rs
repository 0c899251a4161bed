//! What file names of releases say.

use proptest::prelude::*;
use scan::release_asset::{Around, Reading, read};

/// Ecosystem, name and version of a package.
fn package(file: &str) -> Option<(&'static str, Option<String>, Option<String>)> {
    match read(file)? {
        Reading::Package(asset) => Some((asset.ecosystem, asset.name, asset.version)),
        Reading::Tarball(_) => None,
    }
}

#[test]
fn every_format_gives_its_name_and_version() {
    let cases = [
        ("my_pkg-1.2.3-py3-none-any.whl", "pypi", "my_pkg", "1.2.3"),
        (
            "numpy-2.0.0-1-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
            "pypi",
            "numpy",
            "2.0.0",
        ),
        ("rails-8.0.1.gem", "rubygems", "rails", "8.0.1"),
        (
            "nokogiri-1.16.0-x86_64-linux-gnu.gem",
            "rubygems",
            "nokogiri",
            "1.16.0",
        ),
        ("guava-33.0.0-jre.jar", "maven", "guava", "33.0.0-jre"),
        ("guava-33.0-sources.jar", "maven", "guava", "33.0"),
        (
            "log4j-1.2-api-2.17.1.jar",
            "maven",
            "log4j-1.2-api",
            "2.17.1",
        ),
        (
            "app-1.0-20240131.123456-1.war",
            "maven",
            "app",
            "1.0-20240131.123456-1",
        ),
        ("Polly.Core.8.5.0.nupkg", "nuget", "Polly.Core", "8.5.0"),
        (
            "Polly.8.5.0-beta.1.symbols.nupkg",
            "nuget",
            "Polly",
            "8.5.0-beta.1",
        ),
        ("Foo.2.1.0.0.NUPKG", "nuget", "Foo", "2.1.0.0"),
        ("serde-1.0.200.crate", "cargo", "serde", "1.0.200"),
        ("a-2-1.0.0-alpha.1.crate", "cargo", "a-2", "1.0.0-alpha.1"),
        (
            "ripgrep_14.1.0-1_amd64.deb",
            "debian",
            "ripgrep",
            "14.1.0-1",
        ),
        ("tool-1.2.3-amd64.deb", "debian", "tool", "1.2.3"),
        ("tool-1.2.3-linux-x86_64.deb", "debian", "tool", "1.2.3"),
        ("bat-0.24.0-1.x86_64.rpm", "rpm", "bat", "0.24.0"),
        ("a-b-1.0-2.fc40.src.rpm", "rpm", "a-b", "1.0"),
        ("tool-1.2.3.rpm", "rpm", "tool", "1.2.3"),
        ("py3-foo-1.2.3-r0.apk", "apk", "py3-foo", "1.2.3"),
    ];
    for (file, ecosystem, name, version) in cases {
        let expected = (ecosystem, Some(name.to_owned()), Some(version.to_owned()));
        assert_eq!(package(file), Some(expected), "{file}");
    }
}

#[test]
fn a_name_without_a_rule_names_no_package() {
    for (file, ecosystem) in [
        ("app.jar", "maven"),
        ("app-release.apk", "apk"),
        ("Setup_amd64.deb", "debian"),
        ("broken.whl", "pypi"),
        ("x.nupkg", "nuget"),
    ] {
        assert_eq!(package(file), Some((ecosystem, None, None)), "{file}");
    }
    for file in [
        "",
        ".whl",
        "whl",
        "source.tar.gz",
        "tool.exe",
        "a/b-1.0.0.crate",
        "checksums.txt",
        "tool-1.2.3-linux-amd64.tgz",
        "tool-linux-x86_64-1.2.3.tgz",
        "tool-latest.tgz",
    ] {
        assert_eq!(read(file), None, "{file}");
    }
}

#[test]
fn a_tarball_is_what_lies_around_it() {
    let around = Around::default();
    let tell = |around: &Around<'_>| {
        let Some(Reading::Tarball(tarball)) = read("acme-web-1.2.3.tgz") else {
            panic!("a tarball of this form");
        };
        let asset = tarball.belongs_to(around)?;
        Some((asset.ecosystem, asset.name.unwrap_or_default()))
    };
    let is = |ecosystem, name: &str| Some((ecosystem, name.to_owned()));
    assert_eq!(tell(&around), None, "nothing tells");
    let npm: &[&str] = &["@acme/web"];
    let helm: &[&str] = &["acme-web"];
    assert_eq!(tell(&Around { npm, ..around }), is("npm", "@acme/web"));
    assert_eq!(tell(&Around { helm, ..around }), is("helm", "acme-web"));
    let both = Around {
        npm,
        helm,
        ..around
    };
    assert_eq!(tell(&both), None);
    let tagged = |tag| Around { tag, ..both };
    assert_eq!(tell(&tagged("@acme/web@1.2.3")), is("npm", "@acme/web"));
    assert_eq!(tell(&tagged("acme-web-1.2.3")), is("helm", "acme-web"));
    assert_eq!(tell(&tagged("v1.2.3")), None);
    let files: &[&str] = &["acme-web-1.2.3.tgz.prov"];
    assert_eq!(tell(&Around { files, ..both }), is("helm", "acme-web"));
    let tag = "@acme/web@1.2.3";
    assert_eq!(tell(&Around { tag, ..around }), is("npm", "@acme/web"));
}

proptest! {
    #[test]
    fn any_name_is_read_or_refused(file in any::<String>(), tag in any::<String>()) {
        check(&file, &tag)?;
    }

    #[test]
    fn what_is_read_stands_in_the_name(
        file in "[a-z0-9._-]{0,20}-[0-9._-]{0,12}[a-z0-9._+-]{0,20}",
        ending in prop::sample::select(&[
            ".whl", ".gem", ".jar", ".war", ".ear", ".nupkg", ".crate", ".deb", ".rpm", ".apk", ".tgz",
        ][..]),
        tag in "[a-z@/.0-9-]{0,20}",
    ) {
        check(&format!("{file}{ending}"), &tag)?;
    }
}

/// Names and versions are pieces of the file's name, and never empty.
fn check(file: &str, tag: &str) -> Result<(), TestCaseError> {
    let asset = match read(file) {
        None => return Ok(()),
        Some(Reading::Package(asset)) => asset,
        Some(Reading::Tarball(tarball)) => {
            let around = Around {
                tag,
                ..Around::default()
            };
            match tarball.belongs_to(&around) {
                Some(asset) if asset.ecosystem == "helm" => asset,
                _ => return Ok(()),
            }
        }
    };
    for part in [asset.name, asset.version].into_iter().flatten() {
        prop_assert!(!part.is_empty(), "{file}");
        prop_assert!(file.contains(&part), "{file}: {part}");
    }
    Ok(())
}
