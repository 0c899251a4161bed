//! Names and package URLs.

use facts::distribution::{Likeness, compare, package_url};

#[test]
fn names_are_compared_by_the_rules_of_their_ecosystem() {
    use Likeness::{Alike, Different, Same};
    for (one, two, expected) in [
        (("pypi", "Foo.Bar__baz"), ("pypi", "foo-bar-baz"), Same),
        (("pypi", "foo"), ("npm", "foo"), Different),
        (("conda", "Foo-Bar"), ("pypi", "foo_bar"), Same),
        (("conda", "Foo-bar"), ("conda", "foo-bar"), Same),
        (("conda", "foo_bar"), ("conda", "foo-bar"), Different),
        (("npm", "@a/b"), ("npm", "@a/b"), Same),
        (("npm", "JSONStream"), ("npm", "jsonstream"), Alike),
        (("npm", "a-b"), ("npm", "a_b"), Different),
        (("cargo", "serde_json"), ("cargo", "Serde-JSON"), Same),
        (("maven", "org.x:y"), ("maven", "org.x:y"), Same),
        (("maven", "org.x:y"), ("maven", "org.z:y"), Different),
        (("maven", "y"), ("maven", "org.x:y"), Alike),
        (("maven", "org/x/y"), ("maven", "org.x:y"), Same),
        (("clojars", "ring"), ("clojars", "ring/ring"), Same),
        (("clojars", "org.x/y"), ("maven", "org.x:y"), Same),
        (("rubygems", "RedCloth"), ("rubygems", "redcloth"), Alike),
        (
            ("nuget", "Newtonsoft.Json"),
            ("nuget", "newtonsoft.json"),
            Same,
        ),
        (
            ("composer", "Monolog/Monolog"),
            ("packagist", "monolog/monolog"),
            Same,
        ),
        (("go", "github.com/A/b/v2"), ("go", "github.com/!a/b"), Same),
        (
            ("go", "github.com/a/b"),
            ("go", "github.com/A/b"),
            Different,
        ),
        (
            ("go", "github.com/a/b/sub"),
            ("go", "github.com/a/b"),
            Different,
        ),
        (("hex", "Plug"), ("gleam", "plug"), Same),
        (("hackage", "HTTP"), ("hackage", "http"), Alike),
        (("cocoapods", "A/Core"), ("cocoapods", "A"), Same),
        (("cran", "Rcpp"), ("bioconductor", "Rcpp"), Same),
        (("cran", "Rcpp"), ("cran", "rcpp"), Different),
        (
            ("swiftpm", "https://github.com/A/b.git"),
            ("swiftpm", "github.com/a/B"),
            Same,
        ),
        (("docker", "a/b"), ("container", "A/b"), Same),
        (("pypi", ""), ("pypi", ""), Different),
    ] {
        assert_eq!(compare(one, two), expected, "{one:?} {two:?}");
        assert_eq!(compare(two, one), expected, "{two:?} {one:?}");
    }
}

#[test]
fn packages_have_their_urls() {
    for (ecosystem, name, uuid, expected) in [
        ("packagist", "a/b", None, Some("pkg:composer/a/b")),
        (
            "swiftpm",
            "https://github.com/a/b",
            None,
            Some("pkg:swift/github.com/a/b"),
        ),
        (
            "julia",
            "Foo",
            Some("7876af07-990d-54b4-ab0e-23690620f79a"),
            Some("pkg:julia/Foo?uuid=7876af07-990d-54b4-ab0e-23690620f79a"),
        ),
        ("julia", "Foo", None, None),
        (
            "bioconductor",
            "limma",
            None,
            Some("pkg:bioconductor/limma"),
        ),
        ("container", "a/b", None, Some("pkg:docker/a/b")),
    ] {
        assert_eq!(
            package_url(ecosystem, name, uuid).as_deref(),
            expected,
            "{ecosystem} {name}"
        );
    }
}
