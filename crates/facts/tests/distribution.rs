//! Names, pairings and gaps: tables of cases, and what holds for all of them.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

use facts::{
    distribution::{
        Confidence, Gap, Grade, How, Judgement, Likeness, NameCheck, Observed, SourceAnswer,
        Verdict, comparable, compare, covers, family, judge, package_url,
    },
    evidence::Evidence,
    manifest::{Intent, ManifestFact, Place},
};
use proptest::prelude::*;

/// A repository on GitHub of which every source has told all, until told otherwise.
#[derive(Debug)]
struct Case {
    evidence: Vec<(&'static str, Evidence)>,
    manifests: Vec<ManifestFact>,
    sources: Vec<SourceAnswer>,
    checks: Vec<NameCheck>,
}

fn case() -> Case {
    let sources = ["depsdev", "ecosystems", "manifests", "packages", "releases"];
    Case {
        evidence: Vec::new(),
        manifests: Vec::new(),
        sources: sources
            .into_iter()
            .map(|source| answer(source, true))
            .collect(),
        checks: Vec::new(),
    }
}

fn answer(source: &str, complete: bool) -> SourceAnswer {
    SourceAnswer {
        source: source.into(),
        complete,
        why: None,
    }
}

impl Case {
    fn published(mut self, source: &'static str, ecosystem: &str, name: &str) -> Self {
        self.evidence.push((source, package(ecosystem, name, "{}")));
        self
    }

    fn with(mut self, source: &'static str, ecosystem: &str, name: &str, attributes: &str) -> Self {
        self.evidence
            .push((source, package(ecosystem, name, attributes)));
        self
    }

    fn at(mut self, directory: &str) -> Self {
        self.evidence.last_mut().unwrap().1.path = Some(directory.into());
        self
    }

    fn declared(mut self, path: &str, kind: &str, name: &str) -> Self {
        self.manifests.push(manifest(path, kind, Some(name)));
        self
    }

    fn manifest(mut self, change: impl FnOnce(&mut ManifestFact)) -> Self {
        change(self.manifests.last_mut().unwrap());
        self
    }

    /// The registry has been asked for a name.
    fn check(
        mut self,
        ecosystem: &str,
        name: &str,
        verdict: Verdict,
        linked: Option<&str>,
    ) -> Self {
        self.checks.push(NameCheck {
            ecosystem: ecosystem.into(),
            name: name.into(),
            verdict,
            linked: linked.map(Into::into),
        });
        self
    }

    fn absent(self, ecosystem: &str, name: &str) -> Self {
        self.check(ecosystem, name, Verdict::Absent, None)
    }

    fn silent(mut self, source: &str) -> Self {
        self.sources
            .iter_mut()
            .find(|one| one.source == source)
            .unwrap()
            .complete = false;
        self
    }

    fn judge(&self) -> Judgement {
        let evidence: Vec<(&str, &Evidence)> = self
            .evidence
            .iter()
            .map(|(source, row)| (*source, row))
            .collect();
        let manifests: Vec<&ManifestFact> = self.manifests.iter().collect();
        judge(&Observed {
            forge: "github",
            evidence: &evidence,
            manifests: &manifests,
            sources: &self.sources,
            names_are_asked: true,
            checks: &self.checks,
        })
    }

    /// Gaps as `grade ecosystem name`.
    fn gaps(&self) -> Vec<String> {
        let told = |gap: &Gap| format!("{} {} {}", gap.grade.as_str(), gap.ecosystem, gap.name);
        self.judge().gaps.iter().map(told).collect()
    }

    /// Pairings as `ecosystem package path how confidence`.
    fn pairs(&self) -> Vec<String> {
        let judged = self.judge();
        let told = judged.pairings.iter().map(|pair| {
            let (how, sure) = (pair.how.as_str(), pair.confidence.as_str());
            format!(
                "{} {} {} {how} {sure}",
                pair.ecosystem, pair.package, pair.path
            )
        });
        told.collect()
    }
}

fn package(ecosystem: &str, name: &str, attributes: &str) -> Evidence {
    Evidence {
        ecosystem: ecosystem.into(),
        package: name.into(),
        attributes: attributes.parse().unwrap(),
        ..Evidence::default()
    }
}

fn manifest(path: &str, kind: &str, name: Option<&str>) -> ManifestFact {
    ManifestFact {
        name: name.map(Into::into),
        effective_name: name.map(Into::into),
        intent: Intent::Yes,
        ..ManifestFact::new(path, kind)
    }
}

const NONE: &[&str] = &[];

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
    assert_eq!(differs.pairs(), ["cargo foo-rs Cargo.toml leftover weak"]);
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
    // When it may be either, nothing is called an orphan.
    let either = case()
        .declared("a/Cargo.toml", "cargo", "one")
        .declared("b/Cargo.toml", "cargo", "two")
        .published("depsdev", "cargo", "three")
        .absent("cargo", "one")
        .absent("cargo", "two");
    assert_eq!(
        either.gaps(),
        [
            "name-differs cargo one",
            "undeclared cargo three",
            "name-differs cargo two"
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

const WORDS: &[&str] = &[
    "npm",
    "pypi",
    "conda",
    "cargo",
    "maven",
    "clojars",
    "rubygems",
    "nuget",
    "composer",
    "go",
    "hex",
    "pub",
    "hackage",
    "cocoapods",
    "conan",
    "julia",
    "cran",
    "bioconductor",
    "swiftpm",
    "docker",
    "container",
    "helm",
    "opam",
];

fn word() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(WORDS)
}

fn name() -> impl Strategy<Value = String> {
    "(@a/|org\\.x:|github\\.com/A/|!)?[aAbB._-]{0,3}(/v2|:a)?"
}

prop_compose! {
    fn any_case()(
        declared in prop::collection::vec((0..4usize, word(), name(), 0..6u8), 0..6),
        published in prop::collection::vec((0..4usize, word(), name(), 0..5u8), 0..6),
        complete in prop::collection::vec(any::<bool>(), 5),
        verdict in 0..3u8,
    ) -> Case {
        let mut case = case();
        for (answer, complete) in case.sources.iter_mut().zip(complete) {
            answer.complete = complete;
        }
        for (directory, kind, name, sort) in declared {
            case = case.declared(&format!("{}m", "d/".repeat(directory)), kind, &name).manifest(|fact| match sort {
                0 => fact.intent = Intent::Denied,
                1 => fact.place = Place::Test,
                2 => (fact.name, fact.effective_name) = (None, None),
                3 => fact.error = Some("broken".into()),
                _ => {}
            });
            case = match verdict {
                0 => case,
                1 => case.absent(kind, &name),
                _ => case.check(kind, &name, Verdict::Other, None),
            };
        }
        for (source, kind, name, sort) in published {
            let source = ["depsdev", "ecosystems", "packages", "releases"][source];
            let attributes = match sort {
                0 => r#"{"redistributor":true}"#,
                1 => r#"{"status":"removed"}"#,
                _ => "{}",
            };
            case = case.with(source, kind, &name, attributes);
        }
        case
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn comparing_is_symmetric_and_agrees_with_the_comparable_form(
        one in word(), a in name(), two in word(), b in name()
    ) {
        let likeness = compare((one, &a), (two, &b));
        prop_assert_eq!(likeness, compare((two, &b), (one, &a)));
        if !a.is_empty() {
            // An artifact without a group is not even sure to be itself.
            let least = if family(one) == "maven" { Likeness::Alike } else { Likeness::Same };
            prop_assert!(compare((one, &a), (one, &a)) >= least);
        }
        if family(one) != family(two) {
            prop_assert_eq!(likeness, Likeness::Different);
        }
        if one == two && likeness == Likeness::Same {
            prop_assert_eq!(comparable(one, &a), comparable(two, &b));
        }
    }

    #[test]
    fn nothing_is_missing_while_somebody_has_not_answered(case in any_case()) {
        let judged = case.judge();
        for gap in &judged.gaps {
            let relevant = case.sources.iter().filter(|one| covers(&one.source, "github", &gap.ecosystem));
            let silent = relevant.clone().any(|one| !one.complete)
                || case.sources.iter().any(|one| one.source == "manifests" && !one.complete);
            if matches!(gap.grade, Grade::Orphan | Grade::NameDiffers) {
                prop_assert!(!silent && relevant.count() > 0, "{gap:?}");
            }
            if gap.grade == Grade::Undeclared {
                prop_assert!(case.sources.iter().any(|one| one.source == "manifests" && one.complete));
            }
            // What is declared and missing is a manifest of the project that may be published.
            if let Some(path) = &gap.path {
                let there = case.manifests.iter().any(|fact| fact.path == *path
                    && fact.intent != Intent::Denied && fact.place == Place::Ordinary && fact.error.is_none());
                prop_assert!(there, "{gap:?}");
            }
        }
        // No name is told twice, and nothing that is paired by name is missing.
        for pair in &judged.pairings {
            let published = !matches!(pair.how, How::Directory | How::Leftover | How::Resemblance);
            let undeclared = judged.gaps.iter().any(|gap| gap.grade == Grade::Undeclared
                && (&gap.ecosystem, &gap.name) == (&pair.ecosystem, &pair.package));
            prop_assert!(!(published && undeclared), "{pair:?}");
        }
    }

    #[test]
    fn the_order_of_what_was_observed_does_not_matter(case in any_case()) {
        let mut turned = Case {
            evidence: case.evidence.clone(),
            manifests: case.manifests.clone(),
            sources: case.sources.clone(),
            checks: case.checks.clone(),
        };
        let once: std::collections::HashSet<_> = case.manifests.iter().map(|fact| &fact.path).collect();
        prop_assume!(once.len() == case.manifests.len());
        turned.evidence.reverse();
        turned.manifests.reverse();
        prop_assert_eq!(turned.judge(), case.judge());
    }
}
