//! What files of one tree say together: inheritance, and what paths alone tell.

use scan::manifest::{Intent, Manifest, Place, place, recognise, resolve};

fn tree(files: &[(&str, &str)]) -> Vec<(String, Manifest)> {
    let mut tree: Vec<(String, Manifest)> = files
        .iter()
        .map(|(path, text)| {
            let format = recognise(path).expect("a known name");
            let manifest = format.parse(path, text.as_bytes()).expect("a manifest");
            ((*path).to_owned(), manifest)
        })
        .collect();
    resolve(&mut tree);
    tree
}

fn of<'t>(tree: &'t [(String, Manifest)], path: &str) -> &'t Manifest {
    &tree
        .iter()
        .find(|(found, _)| found == path)
        .expect("in the tree")
        .1
}

#[test]
fn cargo_members_inherit_from_the_nearest_workspace() {
    let member = "[package]\nname = \"m\"\nversion.workspace = true\npublish.workspace = true\n\
                  repository.workspace = true\n";
    let tree = tree(&[
        (
            "Cargo.toml",
            "[workspace.package]\nversion = \"3.0.0\"\npublish = false\nrepository = \"https://git.example/w\"\n",
        ),
        ("crates/m/Cargo.toml", member),
        (
            "inner/Cargo.toml",
            "[workspace.package]\nversion = \"4.0.0\"\n",
        ),
        ("inner/n/Cargo.toml", member),
    ]);
    let m = of(&tree, "crates/m/Cargo.toml");
    assert_eq!(m.version.as_deref(), Some("3.0.0"));
    assert_eq!(m.repository.as_deref(), Some("https://git.example/w"));
    assert_eq!(
        (m.intent, m.reason.as_deref()),
        (Intent::Denied, Some("publish = false"))
    );
    let n = of(&tree, "inner/n/Cargo.toml");
    assert_eq!(
        (n.version.as_deref(), n.intent),
        (Some("4.0.0"), Intent::Yes)
    );
}

#[test]
fn a_python_package_is_named_by_any_of_its_three_files() {
    let tree = tree(&[
        ("a/setup.py", "from setuptools import setup\nsetup()\n"),
        ("a/setup.cfg", "[metadata]\nname = cfg\nversion = 1\n"),
        ("a/pyproject.toml", "[build-system]\nrequires = []\n"),
        ("b/setup.py", "from setuptools import setup\nsetup()\n"),
        (
            "c/setup.py",
            "from setuptools import setup\nsetup(name=\"own\")\n",
        ),
        (
            "c/pyproject.toml",
            "[project]\nname = \"other\"\nclassifiers = [\"Private :: Do Not Upload\"]\n",
        ),
    ]);
    for path in ["a/setup.py", "a/setup.cfg", "a/pyproject.toml"] {
        let manifest = of(&tree, path);
        assert_eq!(manifest.name.as_deref(), Some("cfg"), "{path}");
        assert_eq!(manifest.intent, Intent::Yes, "{path}");
    }
    assert_eq!(of(&tree, "b/setup.py").name, None);
    // What a file says itself stays, and a refusal counts for the whole package.
    assert_eq!(of(&tree, "c/setup.py").name.as_deref(), Some("own"));
    assert_eq!(of(&tree, "c/setup.py").intent, Intent::Denied);
}

#[test]
fn poms_inherit_groups_properties_and_refusals() {
    let tree = tree(&[
        (
            "pom.xml",
            "<project><groupId>org.root</groupId><artifactId>root</artifactId><version>${rev}</version>\
             <properties><rev>7</rev><g>org.prop</g></properties></project>",
        ),
        (
            "a/pom.xml",
            "<project><parent><groupId>org.root</groupId><artifactId>root</artifactId>\
             <version>${rev}</version></parent><groupId>${g}</groupId><artifactId>a</artifactId>\
             <properties><maven.deploy.skip>true</maven.deploy.skip></properties></project>",
        ),
        (
            "a/b/pom.xml",
            "<project><parent><groupId>org.prop</groupId><artifactId>a</artifactId>\
             <version>7</version><relativePath>..</relativePath></parent>\
             <artifactId>${g}.b</artifactId></project>",
        ),
        (
            "c/pom.xml",
            "<project><parent><groupId>org.far</groupId><artifactId>elsewhere</artifactId></parent>\
             <groupId>${g}</groupId><artifactId>c</artifactId></project>",
        ),
    ]);
    assert_eq!(of(&tree, "pom.xml").version.as_deref(), Some("7"));
    let a = of(&tree, "a/pom.xml");
    assert_eq!(a.name.as_deref(), Some("org.prop:a"));
    assert_eq!(a.version.as_deref(), Some("7"));
    let b = of(&tree, "a/b/pom.xml");
    assert_eq!(b.name.as_deref(), Some("org.prop:org.prop.b"));
    assert_eq!(
        (b.intent, b.reason.as_deref()),
        (Intent::Denied, Some("maven.deploy.skip"))
    );
    // The pom next door is not the parent that is meant.
    assert_eq!(of(&tree, "c/pom.xml").name, None);
}

#[test]
fn poms_in_a_circle_end() {
    let pom = |own: &str, other: &str| {
        format!(
            "<project><parent><artifactId>{other}</artifactId><relativePath>../{other}/pom.xml</relativePath>\
             </parent><groupId>${{nowhere}}</groupId><artifactId>{own}</artifactId></project>"
        )
    };
    let tree = tree(&[("a/pom.xml", &pom("a", "b")), ("b/pom.xml", &pom("b", "a"))]);
    assert_eq!(of(&tree, "a/pom.xml").name, None);
}

#[test]
fn gradle_artifacts_are_called_after_the_build_or_the_directory() {
    let publishes = "plugins { id 'maven-publish' }\ngroup = 'org.g'\n";
    let tree = tree(&[
        ("settings.gradle", "rootProject.name = 'root'\n"),
        ("build.gradle", publishes),
        ("sub/build.gradle", publishes),
        ("plain/build.gradle", "group = 'org.g'\n"),
    ]);
    assert_eq!(
        of(&tree, "build.gradle").effective_name.as_deref(),
        Some("org.g:root")
    );
    assert_eq!(of(&tree, "build.gradle").name, None);
    assert_eq!(
        of(&tree, "sub/build.gradle").effective_name.as_deref(),
        Some("org.g:sub")
    );
    assert_eq!(of(&tree, "plain/build.gradle").effective_name, None);
}

#[test]
fn paths_tell_the_format() {
    for (path, expected) in [
        ("a/b/package.json", Some("npm")),
        ("debian/control", Some("debian")),
        ("x/debian/control", Some("debian")),
        ("control", None),
        ("notdebian/control", None),
        (".csproj", None),
        ("A.csproj", Some("nuget")),
        ("Lib.podspec.json", Some("cocoapods")),
        ("package-lock.json", None),
        ("Package.json", None),
        ("environment.yml", None),
        ("DESCRIPTION", Some("cran")),
        ("DESCRIPTION/x", None),
        ("", None),
    ] {
        assert_eq!(
            recognise(path).map(scan::manifest::Format::manifest_type),
            expected,
            "{path}"
        );
    }
}

#[test]
fn paths_tell_the_place() {
    for (path, expected) in [
        ("package.json", Place::Ordinary),
        ("packages/a/package.json", Place::Ordinary),
        ("src/latest/package.json", Place::Ordinary),
        ("tests/a/package.json", Place::Test),
        ("src/A.Tests/A.Tests.csproj", Place::Test),
        ("spec/fixtures/x/Gemfile", Place::Test),
        ("examples/a/Cargo.toml", Place::Example),
        ("docs/package.json", Place::Example),
        ("node_modules/a/package.json", Place::Vendored),
        ("examples/a/node_modules/b/package.json", Place::Vendored),
        ("third_party/x/setup.py", Place::Vendored),
        ("templates/app/package.json", Place::Template),
        ("{{cookiecutter.slug}}/setup.py", Place::Template),
        ("tests/package.json", Place::Test),
        ("crates/tokio-test/Cargo.toml", Place::Ordinary),
        ("packages/testing/package.json", Place::Ordinary),
        ("test", Place::Ordinary),
    ] {
        assert_eq!(place(path), expected, "{path}");
    }
}
