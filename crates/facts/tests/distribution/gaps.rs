//! Which gaps there are.

use facts::{
    distribution::Verdict,
    manifest::{Intent, ManifestFact, Place},
};

use crate::case::{Case, NONE, answer, case};

#[test]
fn an_orphan_is_declared_meant_and_nowhere() {
    let orphan = || {
        case()
            .declared("setup.py", "pypi", "foo")
            .absent("pypi", "foo")
    };
    assert_eq!(orphan().gaps(), ["orphan pypi foo"]);
    // Everybody who could know must have said so.
    for source in ["depsdev", "ecosystems", "manifests"] {
        assert_eq!(
            orphan().silent(source).gaps(),
            ["unknown pypi foo"],
            "{source}"
        );
    }
    // On GitHub its package registry cannot hold Python packages, and assets are no publication.
    for source in ["packages", "releases"] {
        assert_eq!(
            orphan().silent(source).gaps(),
            ["orphan pypi foo"],
            "{source}"
        );
    }
    let unchecked = case().declared("setup.py", "pypi", "foo");
    assert_eq!(unchecked.gaps(), ["unknown pypi foo"]);
    assert_eq!(
        orphan().with("releases", "pypi", "foo", "{}").gaps(),
        ["orphan pypi foo"]
    );
    assert_eq!(
        orphan().published("depsdev", "npm", "foo").gaps(),
        ["undeclared npm foo", "orphan pypi foo"]
    );
    assert_eq!(
        orphan()
            .with("ecosystems", "pypi", "foo", r#"{"status":"removed"}"#)
            .gaps(),
        ["orphan pypi foo"]
    );
    assert_eq!(orphan().published("ecosystems", "pypi", "Foo").gaps(), NONE);
    assert_eq!(orphan().published("packages", "conda", "foo").gaps(), NONE);
    // Others who pass it on do not make it published, except for their own recipes.
    let brew = r#"{"redistributor":true}"#;
    assert_eq!(
        orphan().with("ecosystems", "homebrew", "foo", brew).gaps(),
        ["orphan pypi foo"]
    );
    assert_eq!(
        orphan().with("ecosystems", "conda", "foo", brew).gaps(),
        ["orphan pypi foo"]
    );
    let recipe =
        case()
            .declared("meta.yaml", "conda", "foo")
            .with("ecosystems", "conda", "foo", brew);
    assert_eq!(recipe.gaps(), NONE);
}

#[test]
fn what_is_not_meant_to_be_published_is_no_orphan() {
    let foo = || {
        case()
            .declared("a/package.json", "npm", "foo")
            .absent("npm", "foo")
    };
    assert_eq!(foo().gaps(), ["orphan npm foo"]);
    assert_eq!(
        foo().manifest(|fact| fact.intent = Intent::Unknown).gaps(),
        ["orphan npm foo"]
    );
    assert_eq!(
        foo().manifest(|fact| fact.intent = Intent::Denied).gaps(),
        NONE
    );
    assert_eq!(foo().manifest(|fact| fact.name = None).gaps(), NONE);
    for place in [
        Place::Test,
        Place::Example,
        Place::Vendored,
        Place::Template,
    ] {
        assert_eq!(
            foo().manifest(|fact| fact.place = place).gaps(),
            NONE,
            "{place:?}"
        );
    }
    // The repository is the publication, or somebody else keeps the recipes.
    for kind in ["swiftpm", "actions", "conan", "vcpkg", "debian"] {
        assert_eq!(case().declared("x", kind, "foo").gaps(), NONE, "{kind}");
    }
    // Nobody could be asked: that is not the same as published.
    assert_eq!(
        case().declared("a.opam", "opam", "foo").gaps(),
        ["unknown opam foo"]
    );
    let local = Case {
        sources: vec![answer("manifests", true)],
        ..foo()
    };
    assert_eq!(local.gaps(), ["unknown npm foo"]);
    // One of three files forbids it.
    let mixed = foo()
        .declared("a/jsr.json", "npm", "foo")
        .manifest(|fact| fact.intent = Intent::Denied);
    assert_eq!(mixed.gaps(), NONE);
}

#[test]
fn a_name_may_differ_or_belong_to_others() {
    let foo = || {
        case()
            .declared("Cargo.toml", "cargo", "foo")
            .absent("cargo", "foo")
    };
    let differs = foo().published("depsdev", "cargo", "foo-rs");
    assert_eq!(differs.gaps(), ["name-differs cargo foo"]);
    assert_eq!(differs.judge().gaps[0].package.as_deref(), Some("foo-rs"));
    assert_eq!(
        differs.pairs(),
        ["cargo foo-rs Cargo.toml resemblance weak"]
    );
    // Its own name may be there too, if somebody has not told all.
    assert_eq!(
        foo()
            .published("depsdev", "cargo", "foo-rs")
            .silent("ecosystems")
            .gaps(),
        ["unknown cargo foo"]
    );

    let other = "https://github.com/other/foo";
    let conflict = case().declared("Cargo.toml", "cargo", "foo").check(
        "cargo",
        "Foo",
        Verdict::Other,
        Some(other),
    );
    assert_eq!(conflict.gaps(), ["name-conflict cargo foo"]);
    assert_eq!(conflict.judge().gaps[0].linked.as_deref(), Some(other));

    // What else is published from here is then nobody's other name.
    let taken = case()
        .declared("Cargo.toml", "cargo", "foo")
        .check("cargo", "foo", Verdict::Other, Some(other))
        .published("depsdev", "cargo", "foo-extras");
    assert_eq!(
        taken.gaps(),
        ["name-conflict cargo foo", "undeclared cargo foo-extras"]
    );

    // What adds a word that means something is another package.
    let beside = foo().published("depsdev", "cargo", "foo-extras");
    assert_eq!(
        beside.gaps(),
        ["orphan cargo foo", "undeclared cargo foo-extras"]
    );
    assert_eq!(beside.pairs(), NONE);
    // Two that have nothing in common are taken for each other only where nothing else is left.
    let only = foo().published("depsdev", "cargo", "bar");
    assert_eq!(only.gaps(), ["name-differs cargo foo"]);
    assert_eq!(only.pairs(), ["cargo bar Cargo.toml leftover weak"]);
    let more = only.published("depsdev", "cargo", "baz");
    assert_eq!(
        more.gaps(),
        [
            "unknown cargo bar",
            "unknown cargo baz",
            "unknown cargo foo"
        ]
    );

    // The link may be an old address of this repository that nobody saw it leave.
    let moved = case().declared("Cargo.toml", "cargo", "foo").check(
        "cargo",
        "foo",
        Verdict::Unclear,
        Some(other),
    );
    assert_eq!(moved.gaps(), ["unknown cargo foo"]);
    assert_eq!(moved.judge().gaps[0].linked.as_deref(), Some(other));

    // A package that says nothing of its source may be ours.
    let nobodys =
        case()
            .declared("Cargo.toml", "cargo", "foo")
            .check("cargo", "foo", Verdict::Other, None);
    assert_eq!(nobodys.gaps(), ["unknown cargo foo"]);

    // No list names it, but the registry knows it as ours.
    let ours =
        case()
            .declared("Cargo.toml", "cargo", "foo")
            .check("cargo", "foo", Verdict::Ours, None);
    assert_eq!(ours.gaps(), NONE);
    assert_eq!(ours.pairs(), ["cargo foo Cargo.toml registry likely"]);
}

#[test]
fn published_without_a_manifest_is_undeclared() {
    let foo = || case().published("depsdev", "pypi", "foo");
    assert_eq!(foo().gaps(), ["undeclared pypi foo"]);
    assert_eq!(foo().silent("manifests").gaps(), ["unknown pypi foo"]);
    let unread =
        |change: fn(&mut ManifestFact)| foo().declared("setup.py", "pypi", "x").manifest(change);
    assert_eq!(
        unread(|fact| fact.error = Some("broken".into())).gaps(),
        ["unknown pypi foo"]
    );
    // A name that the file does not show may well be this one.
    let nameless = unread(|fact| (fact.name, fact.effective_name) = (None, None));
    assert_eq!(nameless.gaps(), NONE);
    assert_eq!(nameless.pairs(), ["pypi foo setup.py leftover weak"]);
    // Nobody declares images; and what others pass on is theirs.
    assert_eq!(
        case().published("packages", "container", "foo").gaps(),
        NONE
    );
    assert_eq!(
        case()
            .with("ecosystems", "homebrew", "foo", r#"{"redistributor":true}"#)
            .gaps(),
        NONE
    );
    assert_eq!(case().published("releases", "pypi", "foo").gaps(), NONE);
    // Declared in a test directory, or by a file that forbids it, it is declared all the same.
    for change in [
        |fact: &mut ManifestFact| fact.place = Place::Test,
        |fact: &mut ManifestFact| fact.intent = Intent::Denied,
    ] {
        let declared = foo().declared("a/setup.py", "pypi", "foo").manifest(change);
        assert_eq!(declared.gaps(), NONE);
        assert_eq!(declared.pairs(), ["pypi foo a/setup.py name likely"]);
    }
}
