//! Which package comes from which manifest.

use facts::{
    distribution::{Confidence, Grade, How},
    manifest::{Intent, Place},
};

use crate::case::{NONE, case};

#[test]
fn a_monorepo_is_paired_package_by_package() {
    let mono = case()
        .declared("package.json", "npm", "root")
        .manifest(|fact| fact.intent = Intent::Denied)
        .declared("packages/a/package.json", "npm", "@m/a")
        .declared("packages/b/package.json", "npm", "@m/b")
        .declared("packages/b/test/fixture/package.json", "npm", "@m/a")
        .manifest(|fact| fact.place = Place::Test)
        .declared("py/pyproject.toml", "pypi", "m-py")
        .declared("py/setup.py", "pypi", "m_py")
        .with(
            "depsdev",
            "npm",
            "@m/a",
            r#"{"provenance":"SLSA_ATTESTATION"}"#,
        )
        .published("ecosystems", "npm", "@m/a")
        .published("depsdev", "pypi", "m-py")
        .published("ecosystems", "conda", "m-py")
        .absent("npm", "@m/b");
    assert_eq!(mono.gaps(), ["orphan npm @m/b"]);
    assert_eq!(
        mono.pairs(),
        [
            "conda m-py py/pyproject.toml name likely",
            "npm @m/a packages/a/package.json name sure",
            "pypi m-py py/pyproject.toml name likely",
        ]
    );
    assert_eq!(mono.judge().pairings[1].directory, "packages/a");
    assert_eq!(
        mono.judge().pairings[1].purl.as_deref(),
        Some("pkg:npm/%40m/a")
    );
}

#[test]
fn directories_identifiers_and_outputs_pair_too() {
    let by_path = case()
        .declared("js/one/package.json", "npm", "new-one")
        .declared("js/two/package.json", "npm", "new-two")
        .published("ecosystems", "npm", "old-two")
        .at("./js/two/")
        .absent("npm", "new-one")
        .absent("npm", "new-two");
    assert_eq!(
        by_path.pairs(),
        ["npm old-two js/two/package.json directory likely"]
    );
    assert_eq!(
        by_path.gaps(),
        ["orphan npm new-one", "name-differs npm new-two"]
    );

    let module = case()
        .declared("sub/go.mod", "go", "example.org/sub")
        .published("depsdev", "go", "github.com/o/r/sub/v3")
        .absent("go", "example.org/sub");
    assert_eq!(
        module.pairs(),
        ["go github.com/o/r/sub/v3 sub/go.mod directory likely"]
    );

    let uuid = r#"{"uuid":"7876AF07-990D-54B4-AB0E-23690620F79A"}"#;
    let julia = case()
        .declared("Project.toml", "julia", "Foo")
        .manifest(|fact| fact.attributes = uuid.to_lowercase().parse().unwrap())
        .with("ecosystems", "julia", "Bar", uuid);
    assert_eq!(julia.pairs(), ["julia Bar Project.toml uuid likely"]);
    assert_eq!(julia.gaps(), NONE);

    let recipe = case()
        .declared("recipe/meta.yaml", "conda", "foo-split")
        .manifest(|fact| fact.attributes = r#"{"outputs":["libfoo"]}"#.parse().unwrap())
        .published("ecosystems", "conda", "libfoo");
    assert_eq!(
        recipe.pairs(),
        ["conda libfoo recipe/meta.yaml output likely"]
    );
    assert_eq!(recipe.gaps(), NONE);

    let swift = case()
        .declared("Package.swift", "swiftpm", "Foo")
        .published("ecosystems", "swiftpm", "github.com/o/foo");
    assert_eq!(
        swift.pairs(),
        ["swiftpm github.com/o/foo Package.swift repository likely"]
    );
}

#[test]
fn names_that_resemble_each_other_are_told_from_the_rest() {
    let mono = case()
        .declared("core/Cargo.toml", "cargo", "meadow-core")
        .declared("cli/Cargo.toml", "cargo", "meadow-cli")
        .published("depsdev", "cargo", "meadow_core-ng")
        .absent("cargo", "meadow-core")
        .absent("cargo", "meadow-cli");
    assert_eq!(
        mono.gaps(),
        ["orphan cargo meadow-cli", "name-differs cargo meadow-core"]
    );
    assert_eq!(
        mono.pairs(),
        ["cargo meadow_core-ng core/Cargo.toml resemblance weak"]
    );
    // When it may be either, nothing is called anything.
    let either = case()
        .declared("a/Cargo.toml", "cargo", "one")
        .declared("b/Cargo.toml", "cargo", "two")
        .published("depsdev", "cargo", "three")
        .absent("cargo", "one")
        .absent("cargo", "two");
    assert_eq!(
        either.gaps(),
        [
            "unknown cargo one",
            "unknown cargo three",
            "unknown cargo two"
        ]
    );
}

#[test]
fn a_forges_own_registry_has_names_of_its_own() {
    let owner = r#"{"owner":"Meadow"}"#;
    let npm = case()
        .declared("package.json", "npm", "clover")
        .with("packages", "npm", "@meadow/clover", owner)
        .absent("npm", "clover");
    assert_eq!(npm.gaps(), NONE);
    assert_eq!(npm.pairs(), ["npm @meadow/clover package.json name likely"]);
    let maven = case()
        .declared("pom.xml", "maven", "org.meadow:clover")
        .with("packages", "maven", "org.meadow.clover", owner)
        .absent("maven", "org.meadow:clover");
    assert_eq!(maven.gaps(), NONE);
    let both = case()
        .declared("package.json", "npm", "clover")
        .with("packages", "npm", "@meadow/clover", owner)
        .published("depsdev", "npm", "clover-ng")
        .absent("npm", "clover");
    assert_eq!(both.gaps(), NONE);
    assert_eq!(
        both.pairs(),
        [
            "npm @meadow/clover package.json name likely",
            "npm clover-ng package.json resemblance weak"
        ]
    );
    // Elsewhere a scope is part of the name.
    let scoped = case()
        .declared("package.json", "npm", "clover")
        .with("depsdev", "npm", "@meadow/clover", owner)
        .absent("npm", "clover");
    assert_eq!(scoped.gaps(), ["name-differs npm clover"]);
}

#[test]
fn words_are_stable() {
    let grades: Vec<&str> = Grade::ALL.iter().map(|grade| grade.as_str()).collect();
    assert_eq!(
        grades,
        [
            "orphan",
            "name-differs",
            "name-conflict",
            "undeclared",
            "unknown"
        ]
    );
    assert!(Grade::ALL.is_sorted_by(|a, b| a > b));
    assert!(Confidence::Sure > Confidence::Likely && Confidence::Likely > Confidence::Weak);
    assert_eq!(How::from_word("leftover"), Some(How::Leftover));
}
