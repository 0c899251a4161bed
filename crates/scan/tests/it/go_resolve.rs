//! What a tag names, decided from the tag, the go.mod files and the known roots.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use scan::go::{
    GoMod, ImportRoot, PathOrigin, Rejection, TaggedFiles, VersionTag, latest, resolve,
    visible_incompatible,
};

const OWN: &str = "git.example.org/team/repo";

fn module(path: &str) -> GoMod {
    GoMod::read(format!("module {path}\n").as_bytes()).unwrap()
}

fn root(path: &str, subdir: &str) -> ImportRoot {
    ImportRoot {
        path: path.to_owned(),
        subdir: subdir.to_owned(),
    }
}

/// Resolves a tag in a repository with these go.mod files, given as (directory, path).
fn named_under(
    roots: &[ImportRoot],
    tag: &str,
    tree: &[(&str, &str)],
) -> Result<Vec<String>, String> {
    let told = |rejection: Rejection| rejection.code().to_owned();
    let tag = VersionTag::parse(tag).map_err(|fault| told(fault.into()))?;
    let files: Vec<Option<GoMod>> = tag
        .go_mod_paths()
        .iter()
        .map(|wanted| {
            let dir = wanted.strip_suffix("go.mod").unwrap().trim_end_matches('/');
            tree.iter()
                .find(|(at, _)| *at == dir)
                .map(|(_, path)| module(path))
        })
        .collect();
    let files = TaggedFiles {
        at_prefix: files[0].as_ref(),
        at_major: files.get(1).and_then(Option::as_ref),
    };
    let versions = resolve(roots, &tag, files).map_err(told)?;
    Ok(versions
        .iter()
        .map(|v| format!("{}@{} in {:?}", v.path, v.version, v.directory))
        .collect())
}

fn named(tag: &str, tree: &[(&str, &str)]) -> Result<Vec<String>, String> {
    named_under(&[root(OWN, "")], tag, tree)
}

fn own(rest: &str) -> String {
    format!("{OWN}{rest}")
}

#[test]
fn plain_tags_of_the_top_module() {
    let tree = [("", OWN)];
    assert_eq!(named("v1.2.3", &tree), Ok(vec![own("@v1.2.3 in \"\"")]));
    assert_eq!(
        named("v0.1.0-rc.1", &tree),
        Ok(vec![own("@v0.1.0-rc.1 in \"\"")])
    );
    assert_eq!(named("v2.0.0", &tree), Err("major-mismatch".into()));
}

#[test]
fn tags_that_are_no_versions() {
    for (tag, code) in [
        ("release-7", "not-a-version"),
        ("1.2.3", "not-a-version"),
        ("v1", "not-canonical"),
        ("v1.2", "not-canonical"),
        ("v1.2.3+meta", "not-canonical"),
        ("v2.0.0+incompatible", "not-canonical"),
        ("v0.0.0-20200101000000-abcdefabcdef", "pseudo-version"),
        ("/v1.2.3", "bad-directory"),
        ("a/../v1.2.3", "bad-directory"),
    ] {
        assert_eq!(named(tag, &[("", OWN)]), Err(code.into()), "{tag}");
    }
}

#[test]
fn nested_modules_take_prefixed_tags_only() {
    let (sub, deep) = (own("/sub"), own("/sub/deep"));
    let tree = [
        ("", OWN),
        ("sub", sub.as_str()),
        ("sub/deep", deep.as_str()),
    ];
    assert_eq!(
        named("sub/v1.0.0", &tree),
        Ok(vec![own("/sub@v1.0.0 in \"sub\"")])
    );
    assert_eq!(
        named("sub/deep/v0.1.0", &tree),
        Ok(vec![own("/sub/deep@v0.1.0 in \"sub/deep\"")])
    );
    assert_eq!(named("other/v1.0.0", &tree), Err("no-go-mod".into()));
}

#[test]
fn major_versions_in_a_branch_or_in_a_directory() {
    let v2 = own("/v2");
    assert_eq!(
        named("v2.1.0", &[("", &v2)]),
        Ok(vec![own("/v2@v2.1.0 in \"\"")])
    );
    assert_eq!(
        named("v2.1.0", &[("", OWN), ("v2", &v2)]),
        Ok(vec![own("/v2@v2.1.0 in \"v2\"")])
    );
    assert_eq!(
        named("v2.1.0", &[("", &v2), ("v2", &v2)]),
        Err("two-go-mods".into())
    );
    assert_eq!(
        named("v2.1.0", &[("", &v2), ("v2", OWN)]),
        Err("major-mismatch".into())
    );
    assert_eq!(named("v1.0.0", &[("", &v2)]), Err("major-mismatch".into()));
    assert_eq!(named("v3.0.0", &[("", &v2)]), Err("major-mismatch".into()));
    // The directory of the major version is no part of the tag.
    assert_eq!(
        named("v2/v2.1.0", &[("", OWN), ("v2", &v2)]),
        Err("wrong-directory".into())
    );
    let sub = own("/sub/v3");
    let below = Ok(vec![own("/sub/v3@v3.0.0 in \"sub/v3\"")]);
    assert_eq!(named("sub/v3.0.0", &[("sub/v3", &sub)]), below);
}

#[test]
fn repositories_without_go_mod() {
    assert_eq!(named("v1.0.0", &[]), Ok(vec![own("@v1.0.0 in \"\"")]));
    assert_eq!(
        named("v2.0.0", &[]),
        Ok(vec![own("@v2.0.0+incompatible in \"\"")])
    );
    assert_eq!(named("sub/v2.0.0", &[]), Err("no-go-mod".into()));
    assert_eq!(named_under(&[], "v1.0.0", &[]), Err("no-go-mod".into()));
    let both = [
        root(OWN, ""),
        root("go.example.com/x", ""),
        root("go.example.com/y", "sub"),
    ];
    assert_eq!(named_under(&both, "v1.0.0", &[]).unwrap().len(), 2);
    let own_v2 = [root("git.example.org/team/v2", "")];
    assert_eq!(named_under(&own_v2, "v2.0.0", &[]), Err("no-go-mod".into()));
}

#[test]
fn a_lone_major_directory_leaves_the_top_incompatible() {
    let v2 = own("/v2");
    assert_eq!(
        named("v2.0.0", &[("v2", &v2)]),
        Ok(vec![
            own("/v2@v2.0.0 in \"v2\""),
            own("@v2.0.0+incompatible in \"\"")
        ])
    );
}

#[test]
fn gopkg_in_has_its_own_suffix() {
    let yaml = [("", "gopkg.in/yaml.v2")];
    assert_eq!(
        named("v2.4.0", &yaml),
        Ok(vec!["gopkg.in/yaml.v2@v2.4.0 in \"\"".to_owned()])
    );
    assert_eq!(named("v3.0.0", &yaml), Err("major-mismatch".into()));
    assert_eq!(named("v1.0.0", &[("", "gopkg.in/x.v1")]).unwrap().len(), 1);
    assert_eq!(
        named("v2.0.0", &[("", "gopkg.in/x.v2-unstable")]),
        Err("major-mismatch".into())
    );
    let roots = [root("gopkg.in/old.v3", "")];
    let legacy = Ok(vec!["gopkg.in/old.v3@v3.1.0 in \"\"".to_owned()]);
    assert_eq!(named_under(&roots, "v3.1.0", &[]), legacy);
}

#[test]
fn declared_paths_must_lie_where_the_root_says() {
    assert_eq!(
        named("tools/v1.0.0", &[("tools", &own("/utils"))]),
        Err("wrong-directory".into())
    );
    assert_eq!(
        named("v1.0.0", &[("", &own("/sub"))]),
        Err("wrong-directory".into())
    );
    assert_eq!(
        named("sub/v1.0.0", &[("sub", OWN)]),
        Err("wrong-directory".into())
    );
    assert_eq!(
        named("v1.0.0", &[("", "not a path")]),
        Err("invalid-path".into())
    );
    assert_eq!(named("v1.0.0", &[("", "")]), Err("no-module-path".into()));
}

#[test]
fn known_roots_with_and_without_subdirectory() {
    let roots = [
        root(OWN, ""),
        root("go.example.com/kit", "src/kit"),
        root("go.example.com/all/v2", ""),
    ];
    assert_eq!(
        named_under(
            &roots,
            "src/kit/v1.0.0",
            &[("src/kit", "go.example.com/kit")]
        ),
        Ok(vec!["go.example.com/kit@v1.0.0 in \"src/kit\"".to_owned()])
    );
    assert_eq!(
        named_under(&roots, "kit/v1.0.0", &[("kit", "go.example.com/kit")]),
        Err("wrong-directory".into())
    );
    // A root that is the whole path leaves no room for a directory v2.
    let all = [
        ("", "go.example.com/all/v2"),
        ("v2", "go.example.com/all/v2"),
    ];
    assert_eq!(
        named_under(&roots, "v2.0.0", &all),
        Ok(vec!["go.example.com/all/v2@v2.0.0 in \"\"".to_owned()])
    );
    let below = [("v2", "go.example.com/all/v2")];
    assert_eq!(
        named_under(&roots[1..], "v2.0.0", &below),
        Err("wrong-directory".into())
    );
}

#[test]
fn unknown_hosts_must_answer_for_the_path() {
    let origin = |tag: &str, path: &str| {
        let tag = VersionTag::parse(tag).unwrap();
        let file = module(path);
        let files = TaggedFiles {
            at_prefix: Some(&file),
            at_major: None,
        };
        resolve(&[root(OWN, "")], &tag, files)
            .unwrap()
            .remove(0)
            .origin
    };
    let vanity = |root: &str| PathOrigin::Vanity {
        root: root.to_owned(),
    };
    assert_eq!(
        origin("v1.0.0", "go.example.com/x"),
        vanity("go.example.com/x")
    );
    assert_eq!(
        origin("v2.0.0", "go.example.com/x/v2"),
        vanity("go.example.com/x")
    );
    assert_eq!(
        origin("a/b/v1.0.0", "go.example.com/x/a/b"),
        vanity("go.example.com/x")
    );
    assert_eq!(
        origin("a/b/v1.0.0", "go.example.com/y"),
        PathOrigin::VanitySubdirectory {
            root: "go.example.com/y".into(),
            subdir: "a/b".into()
        }
    );
    assert_eq!(
        origin("v1.0.0", OWN),
        PathOrigin::Known { root: OWN.into() }
    );
}

#[test]
fn listings_hide_incompatible_versions_of_modules() {
    assert_eq!(
        visible_incompatible(&[("v1.0.0", false), ("v3.0.0", false), ("v2.1.0", false)]),
        ["v2.1.0", "v3.0.0"]
    );
    assert!(visible_incompatible(&[("v1.0.0", true), ("v2.0.0", false)]).is_empty());
    assert_eq!(
        visible_incompatible(&[("v2.0.0", false), ("v2.1.0", true), ("v3.0.0", false)]),
        ["v3.0.0"]
    );
    assert_eq!(
        visible_incompatible(&[("v0.9.0", true), ("v1.0.0", false), ("v2.0.0", false)]),
        ["v2.0.0"]
    );
}

#[test]
fn the_latest_version_is_a_release_if_there_is_one() {
    assert_eq!(latest(["v1.0.0", "v1.2.0-rc.1", "v1.1.0"]), Some("v1.1.0"));
    assert_eq!(latest(["v0.1.0-a", "v0.1.0-b"]), Some("v0.1.0-b"));
    assert_eq!(latest(["main"]), None);
}
