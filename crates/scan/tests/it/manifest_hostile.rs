//! Manifests come from strangers: no input may panic a parser, keep it busy or fill the memory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use scan::manifest::{MAX_BYTES, ManifestError, recognise};

/// One file name for each format, or more where the name chooses between dialects.
const NAMES: &[&str] = &[
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "conanfile.py",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "build.sbt",
    "a.gemspec",
    "a.podspec",
    "composer.json",
    "mix.exs",
    "Package.swift",
    "pubspec.yaml",
    "a.csproj",
    "a.nuspec",
    "a.cabal",
    "package.yaml",
    "Project.toml",
    "DESCRIPTION",
    "meta.yaml",
    "recipe.yaml",
    "go.mod",
    "Chart.yaml",
    "action.yml",
    "deno.json",
    "a.opam",
    "dub.sdl",
    "a.rockspec",
    "a.nimble",
    "build.zig.zon",
    "gleam.toml",
    "elm.json",
    "vcpkg.json",
    "MODULE.bazel",
    "project.clj",
    "debian/control",
    "a.spec",
    "PKGBUILD",
    "galaxy.yml",
];

/// What is repeated to be hostile.
const PATTERNS: &[&str] = &[
    "(",
    "[",
    "{",
    ")",
    "\"",
    "'",
    "`",
    "\\",
    "/",
    "\n",
    " ",
    "\t\n",
    "a",
    "é",
    "#",
    "%",
    "$",
    "|",
    "<",
    "&",
    "@",
    "([{",
    "a(",
    "a{\n",
    "a[",
    "'a' ",
    "\"a\" + ",
    "a + ",
    "a.",
    "a = ",
    "a=a\n",
    "a = a + a\n",
    "a, ",
    "a: ",
    "a:\n",
    "- ",
    "? ",
    "a: &a\n",
    "*a ",
    "!a ",
    "{a: ",
    "[a, ",
    "| \n",
    "---\n",
    "<<: *a\n",
    "{{",
    "{{ a",
    "{%",
    "{% set a = a ~ a %}",
    "{% if ",
    "{#",
    "${",
    "${{",
    "${a}",
    "$(",
    "$(a)",
    "%{",
    "%a",
    "%{a}",
    "#{",
    "\"#{",
    "\\(",
    "\"\\(",
    "\"${",
    "'''",
    "\"\"\"",
    "\\\n",
    "\\\"",
    "= /\\/",
    "x /",
    "= / ",
    "<<A\n",
    "<<~A\n",
    "%q(",
    "%w[",
    "~s(",
    "--[[",
    "[=",
    "--[==[",
    "[==[",
    "(*",
    "/*",
    "#[",
    "=begin\n",
    "r\"",
    "f\"{",
    "#\"",
    "?a",
    ":a",
    ":\"",
    "<a>",
    "<a b='c'>",
    "<a/>",
    "&a;",
    "<!--",
    "<![CDATA[",
    "<!DOCTYPE a [",
    "</a>",
    "{\"a\":",
    "[[",
    "\"a\":1,",
    "// a\n",
    "a = {a = ",
    "[a.a]\n",
    "[[a]]\n",
    "a.a.a = 1\n",
    "val val ",
    "def def ",
    "def a(a):\n",
    "for a in ",
    "import a, ",
    "class R(ConanFile):\n name = a\n",
    "setup(",
    "setup(name=a)\n",
    "setup(**a)\n",
    "a['a'] = 'a'\n",
    "a.update(",
    " a = 1\n",
    "Gem::Specification.new do |s|\n",
    "s.name = a\n",
    "Pod::Spec.new(",
    "def project do\n [",
    "app: :a, ",
    "Package(",
    "Package(name: a)",
    "artifactId = a\n",
    "a { artifactId = a\n",
    "publishing {",
    "mavenPublishing { coordinates(",
    "name := a\n",
    "name :=",
    "(defproject ",
    "module(",
    ".{ .name = ",
    ".name = ",
    "name = a\n",
    "name: a\n",
    "name \"a\"\n",
    "module a\n",
    "module (\n",
    "Name: %{a}\n",
    "%global a %{a}%{a}\n",
    "pkgname=(",
    "pkgname=$pkgname$pkgname\n",
    "Source: a\n\n",
    "[metadata]\n",
    "library\n",
    "<Project><PropertyGroup><PackageId>$(PackageId)$(PackageId)</PackageId></PropertyGroup></Project>",
];

/// What stands before, so that the parser gets to where it matters.
const OPENINGS: &[(&str, &str)] = &[
    ("setup.py", "from setuptools import setup\nNAME = 'a'\n"),
    ("setup.py", "setup(name="),
    ("conanfile.py", "class R(ConanFile):\n    name = "),
    ("a.gemspec", "Gem::Specification.new do |s|\n  s.name = "),
    ("a.podspec", "Pod::Spec.new do |s|\n  s.source = { "),
    ("mix.exs", "defmodule A do\n  def project do\n    [app: "),
    ("Package.swift", "let package = Package(name: "),
    (
        "build.gradle",
        "publishing { publications { a { artifactId = 'a'\n",
    ),
    ("build.sbt", "lazy val a = project.settings(name := "),
    ("pom.xml", "<project><groupId>g</groupId>"),
    ("a.csproj", "<Project Sdk='a'><PropertyGroup>"),
    ("meta.yaml", "package:\n  name: "),
    ("recipe.yaml", "context:\n  a: "),
    ("pubspec.yaml", "name: "),
    ("build.zig.zon", ".{ .name = "),
    ("MODULE.bazel", "module(name = "),
    ("project.clj", "(defproject "),
    ("PKGBUILD", "pkgname="),
    ("a.spec", "Name: a\nVersion: 1\n"),
    ("a.opam", "opam-version: \"2.0\"\n"),
    ("setup.cfg", "[metadata]\nname = "),
    ("DESCRIPTION", "Package: "),
];

#[test]
fn what_is_over_the_limit_is_refused_unread() {
    let large = vec![b' '; MAX_BYTES + 1];
    for name in NAMES {
        let format = recognise(name).expect("a known name");
        assert!(
            matches!(format.parse(name, &large), Err(ManifestError::TooLarge { bytes }) if bytes == large.len()),
            "{name}"
        );
    }
}

#[test]
fn time_grows_no_faster_than_the_input() {
    let mut cases: Vec<(&str, &str)> = NAMES.iter().map(|name| (*name, "")).collect();
    cases.extend(OPENINGS);
    let quarter = if is_long() { 64 << 10 } else { 4 << 10 };
    let mut slow = Vec::new();
    for (name, opening) in cases {
        for pattern in PATTERNS {
            let small = hostile(opening, pattern, quarter);
            // Too quick to measure. What hides below this at 64 kB cannot pass a second at the
            // size limit, even if it were quadratic; the long version looks there.
            if time(name, &small) < Duration::from_millis(1) {
                continue;
            }
            let large = hostile(opening, pattern, 4 * quarter);
            let grows =
                || best_time(name, &large) > best_time(name, &small) * 8 + Duration::from_millis(4);
            // A busy machine disturbs single runs; a law holds in all of them.
            if (0..3).all(|_| grows()) {
                slow.push(format!("{name}: {opening:?} + {pattern:?}"));
            }
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

/// Whether the long versions of tests are asked for.
fn is_long() -> bool {
    std::env::var_os("GLEANER_LONG").is_some()
}

fn hostile(opening: &str, pattern: &str, length: usize) -> Vec<u8> {
    let mut text = String::with_capacity(length + pattern.len());
    text.push_str(opening);
    while text.len() < length {
        text.push_str(pattern);
    }
    text.into_bytes()
}

fn time(name: &str, bytes: &[u8]) -> Duration {
    let format = recognise(name).expect("a known name");
    let before = thread_time();
    let _ = format.parse(name, bytes);
    thread_time().saturating_sub(before)
}

/// The least of a few runs: what is left when others disturb least.
fn best_time(name: &str, bytes: &[u8]) -> Duration {
    (0..3).map(|_| time(name, bytes)).min().unwrap_or_default()
}

/// Processor time of this thread: what others do on the machine does not count.
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}

#[test]
fn mutated_files_neither_panic_nor_hang() {
    let mut files = fixtures();
    files.extend(corpus());
    let rounds = if is_long() { 2_000 } else { 40 };
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for index in 0..files.len() {
        for _ in 0..rounds {
            let (path, bytes) = &files[index];
            let other = &files[random.below(files.len())].1;
            let mutated = mutate(bytes, other, &mut random);
            let format = recognise(path).expect("a known name");
            let before = thread_time();
            if let Ok(manifest) = format.parse(path, &mutated) {
                let texts = [&manifest.name, &manifest.effective_name, &manifest.version];
                for text in texts.into_iter().flatten() {
                    assert!(!text.is_empty() && text.len() <= 1100, "{path}: {text}");
                    assert!(!text.contains(['\n', '\0', '\u{FFFD}']), "{path}: {text}");
                    assert!(
                        !text.contains("{{") && !text.contains("${"),
                        "{path}: {text}"
                    );
                }
            }
            let spent = thread_time().saturating_sub(before);
            assert!(
                spent < Duration::from_secs(2),
                "{path} took {spent:?}: {mutated:?}"
            );
        }
    }
}

/// A few random changes: bytes replaced, pieces cut, doubled, moved in from elsewhere.
fn mutate(bytes: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut mutated = bytes.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(mutated.len() + 1);
        let end = (at + random.below(40)).min(mutated.len());
        match random.below(7) {
            0 if at < mutated.len() => mutated[at] = random.next().to_le_bytes()[0],
            1 => drop(mutated.drain(at..end)),
            2 => {
                let piece = mutated[at..end].to_vec();
                mutated.splice(at..at, piece);
            }
            3 if !other.is_empty() => {
                let start = random.below(other.len());
                let piece = &other[start..(start + random.below(60)).min(other.len())];
                mutated.splice(at..at, piece.iter().copied());
            }
            4 => {
                let pattern = PATTERNS[random.below(PATTERNS.len())].repeat(1 + random.below(3));
                mutated.splice(at..at, pattern.into_bytes());
            }
            5 => mutated.truncate(at),
            _ => mutated
                .splice(at..end, [0xC3, 0x28, 0xF0, 0x9F])
                .for_each(drop),
        }
    }
    mutated
}

/// Splitmix64: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

fn fixtures() -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/manifest");
    listed(&root)
}

/// Real files, where the corpora lie beside the checkout.
fn corpus() -> Vec<(String, Vec<u8>)> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|directory| directory.join("../shared/corpora/manifests"))
        .find(|directory| directory.is_dir())
        .map_or_else(Vec::new, |root: PathBuf| listed(&root))
}

/// The files that a directory's table names, with their contents.
fn listed(root: &Path) -> Vec<(String, Vec<u8>)> {
    let table = std::fs::read_to_string(root.join("expected.tsv")).expect("a table");
    let paths = table
        .lines()
        .skip(1)
        .filter_map(|row| row.split('\t').next());
    paths
        .map(|path| {
            (
                path.to_owned(),
                std::fs::read(root.join(path)).expect("a file"),
            )
        })
        .collect()
}
