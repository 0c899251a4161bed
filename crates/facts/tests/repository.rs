//! Addresses as people write them, and what must hold for all of them.

use facts::repository::{Forge, RepositoryUrl, RepositoryUrlError};
use proptest::prelude::*;

fn read(text: &str) -> RepositoryUrl {
    RepositoryUrl::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> RepositoryUrlError {
    match RepositoryUrl::parse(text) {
        Ok(url) => panic!("{text} was read as {url}"),
        Err(error) => error,
    }
}

#[test]
fn all_ways_to_write_one_repository_mean_it() {
    for text in [
        "https://github.com/Pallets/Flask",
        "http://github.com/pallets/flask/",
        "HTTPS://WWW.GitHub.com/pallets/flask.git",
        "https://github.com:443/pallets/flask",
        "https://github.com./pallets/flask",
        "github.com/pallets/flask",
        "www.github.com/pallets/flask#readme",
        "git@github.com:pallets/flask.git",
        "github.com:pallets/flask",
        "git@github.com:/pallets/flask.git",
        "git@github.com:22/pallets/flask.git",
        "ssh://git@github.com/pallets/flask.git",
        "ssh://git@ssh.github.com:443/pallets/flask.git",
        "git://github.com/pallets/flask.git",
        "git+https://github.com/pallets/flask.git",
        "git+ssh://git@github.com/pallets/flask.git",
        "scm:git:https://github.com/pallets/flask.git",
        "scm:git:git@github.com:pallets/flask.git",
        "github:pallets/flask",
        "https://user@github.com/pallets/flask",
        "https://user:secret@github.com/pallets/flask",
        "user:secret@github.com/pallets/flask",
        "me@example.org:secret@github.com/pallets/flask",
        "https://github.com/pallets/flask/tree/main/src/flask",
        "https://github.com/pallets/flask/blob/main/README.md?plain=1#L3",
        "https://github.com/pallets/flask/issues/1",
        "https://github.com/pallets/flask.git/info/refs?service=git-upload-pack",
        "https://raw.githubusercontent.com/pallets/flask/main/README.md",
        "https://api.github.com/repos/pallets/flask",
        "  https://github.com//pallets//flask  ",
        "https://github.com/%70allets/flask",
    ] {
        let url = read(text);
        assert_eq!(url.key(), "github.com/pallets/flask", "{text}");
        assert_eq!(url.forge(), Forge::GitHub, "{text}");
        assert!(!format!("{url:?}{url}").contains("secret"), "{text}");
    }
    let shown = read("git@github.com:Pallets/Flask.git");
    assert_eq!(
        (shown.host(), shown.owner(), shown.name()),
        ("github.com", "Pallets", "Flask")
    );
    assert_eq!(shown.url(), "https://github.com/Pallets/Flask");
}

#[test]
fn every_forge_has_its_own_layout() {
    // text, canonical address, key
    for (text, url, key) in [
        (
            "https://gitlab.com/Group/Sub/Deep/Project.git",
            "https://gitlab.com/Group/Sub/Deep/Project",
            "gitlab.com/group/sub/deep/project",
        ),
        (
            "https://gitlab.gnome.org/GNOME/gtk/-/blob/main/README.md",
            "https://gitlab.gnome.org/GNOME/gtk",
            "gitlab.gnome.org/gnome/gtk",
        ),
        (
            "https://gitlab.com/group/project/tree/master",
            "https://gitlab.com/group/project",
            "gitlab.com/group/project",
        ),
        (
            "git@gitlab.example.org:2222/group/project.git",
            "https://gitlab.example.org/2222/group/project",
            "gitlab.example.org/2222/group/project",
        ),
        (
            "https://codeberg.org/Forgejo/forgejo/src/branch/forgejo",
            "https://codeberg.org/Forgejo/forgejo",
            "codeberg.org/forgejo/forgejo",
        ),
        (
            "https://bitbucket.org/Team/Repo/src/main/",
            "https://bitbucket.org/Team/Repo",
            "bitbucket.org/team/repo",
        ),
        (
            "http://gitea.localhost:3000/Owner/Repo",
            "http://gitea.localhost:3000/Owner/Repo",
            "gitea.localhost:3000/owner/repo",
        ),
        (
            "localhost:3000/Owner/Repo",
            "https://localhost:3000/Owner/Repo",
            "localhost:3000/Owner/Repo",
        ),
        (
            "ssh://git@git.example.org:2222/Owner/Repo.git",
            "https://git.example.org/Owner/Repo.git",
            "git.example.org/Owner/Repo",
        ),
        (
            "git://git.kernel.org/pub/scm/git/git.git",
            "git://git.kernel.org/pub/scm/git/git.git",
            "git.kernel.org/pub/scm/git/git",
        ),
        (
            "https://git.kernel.org/pub/scm/git/git.git/tree/Makefile",
            "https://git.kernel.org/pub/scm/git/git.git",
            "git.kernel.org/pub/scm/git/git",
        ),
        (
            "https://go.googlesource.com/tools/+/refs/heads/master",
            "https://go.googlesource.com/tools",
            "go.googlesource.com/tools",
        ),
        (
            "https://git.sr.ht/%7Esircmpwn/aerc/tree",
            "https://git.sr.ht/~sircmpwn/aerc",
            "git.sr.ht/~sircmpwn/aerc",
        ),
    ] {
        let read = read(text);
        assert_eq!(read.url(), url, "{text}");
        assert_eq!(read.key(), key, "{text}");
    }
}

#[test]
fn a_directory_is_a_repository_too() {
    let url = read("/srv/git/My Project/");
    assert!(url.is_local());
    assert_eq!(url.url(), "file:///srv/git/My%20Project");
    assert_eq!(url.path().unwrap(), "/srv/git/My Project");
    assert_eq!((url.host(), url.name()), ("", "My Project"));
    assert_eq!(read("file:///srv/git/My%20Project"), url);
    assert_eq!(read("file://localhost/srv/git/./My%20Project/.git"), url);

    let bare = read("/srv/git/x.git");
    assert_eq!(bare.path().unwrap(), "/srv/git/x.git");
    assert_eq!(bare.name(), "x");
    assert_ne!(bare.key(), read("/srv/git/x").key());
    assert_ne!(read("/srv/X").key(), read("/srv/x").key());

    let windows = read(r"C:\src\x");
    assert_eq!(windows.url(), "file:///C:/src/x");
    assert_eq!(windows.path().unwrap(), "C:/src/x");
    assert_eq!(read(&windows.url()), windows);
}

#[test]
fn a_host_can_be_told_what_it_runs() {
    let plain = read("https://git.example.org/Owner/Repo");
    assert_eq!(plain.forge(), Forge::Git);
    assert_eq!(plain.key(), "git.example.org/Owner/Repo");
    assert_eq!(plain.on(Forge::Gitea).key(), "git.example.org/owner/repo");
}

#[test]
fn what_is_wrong_is_said_with_a_hint() {
    use RepositoryUrlError as E;
    assert_eq!(refused(" "), E::Empty);
    assert_eq!(refused("./here"), E::RelativePath);
    assert_eq!(refused("../here"), E::RelativePath);
    assert_eq!(refused("~/here"), E::RelativePath);
    assert_eq!(refused("/a/../b"), E::RelativePath);
    assert_eq!(refused("owner/name"), E::NoHost);
    assert_eq!(refused("word"), E::NoHost);
    assert_eq!(refused("example.org"), E::NoHost);
    assert_eq!(refused("ftp://example.org/x"), E::Scheme("ftp".into()));
    assert_eq!(refused("https:///x/y"), E::NoHost);
    assert_eq!(refused("https://a b/x/y"), E::Host);
    // A name only as long as the dots are there, and they are dropped.
    assert_eq!(refused("git.0..:owner/name"), E::Host);
    assert_eq!(refused("git://0../name"), E::Host);
    assert_eq!(refused("https://github.com/o\u{7}/r"), E::Invisible);
    assert_eq!(refused("https://github.com/o%0a/r"), E::Invisible);
    assert!(matches!(
        refused("https://github.com/owner"),
        E::NoName { .. }
    ));
    assert!(matches!(refused("https://gitlab.com/"), E::NoName { .. }));
    assert!(matches!(refused("/"), E::NoName { .. }));
    assert!(matches!(
        refused("https://github.com/orgs/chaoss/repositories"),
        E::Page { .. }
    ));
    assert!(matches!(
        refused("https://gitlab.com/groups/x/-/issues"),
        E::Page { .. }
    ));
    assert!(matches!(
        refused("https://git.example.org/gitweb/?p=x.git"),
        E::Page { .. }
    ));
    assert!(matches!(
        refused("https://github.com/o/.git"),
        E::Name { .. }
    ));
    assert!(matches!(
        refused("https://github.com/o/a%2Fb"),
        E::Name { .. }
    ));
    assert!(matches!(
        refused(&format!("https://github.com/o/{}", "r".repeat(3000))),
        E::TooLong { .. }
    ));
    for text in [
        "",
        "owner/name",
        "./x",
        "ftp://x.y/z",
        "https://github.com/o",
        "https://github.com/orgs/x",
    ] {
        assert!(refused(text).hint().is_some(), "{text}");
    }
}

#[test]
fn no_error_repeats_a_secret() {
    for text in [
        "https://user:hunter2@github.com/owner",
        "https://hunter2@github.com/owner",
        "user:hunter2@github.com",
        "hunter2@github.com/owner",
        "https://user:hunter2@",
        "https://user:hunter2@bad host/x/y",
        "user:hunter2://x",
        "https://user:hunter2@github.com/o/a%2Fb",
    ] {
        let error = refused(text);
        assert!(
            !format!("{error:?} {error}").contains("hunter2"),
            "{text}: {error}"
        );
    }
}

fn segment() -> impl Strategy<Value = String> {
    "[A-Za-z0-9][A-Za-z0-9._-]{0,12}[A-Za-z0-9]"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_canonical_address_reads_as_itself(
        scheme in prop::sample::select(vec!["https://", "http://", "git://", "ssh://git@", "", "git+https://"]),
        host in prop::sample::select(vec![
            "github.com", "gitlab.com", "codeberg.org", "bitbucket.org", "Git.Example.org",
            "www.gitlab.example.org", "git.example.org:8443", "raw.githubusercontent.com",
        ]),
        owner in prop::collection::vec(segment(), 1..4),
        name in segment(),
        tail in prop::sample::select(vec!["", "/", ".git", ".git/", "?x=1", "#y", "/tree/main", ".git.git"]),
    ) {
        let text = format!("{scheme}{host}/{}/{name}{tail}", owner.join("/"));
        if let Ok(url) = RepositoryUrl::parse(&text) {
            let again = read(&url.url());
            prop_assert_eq!(&again, &url);
            prop_assert_eq!(again.key(), url.key());
            if url.forge().ignores_case() {
                prop_assert_eq!(read(&url.url().to_ascii_uppercase().replace("HTTP", "http")).key(), url.key());
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused_and_stays_what_it_is(text in "\\PC{0,60}") {
        if let Ok(url) = RepositoryUrl::parse(&text) {
            prop_assert_eq!(read(&url.url()), url);
        }
    }

    #[test]
    fn texts_near_an_address_too(
        text in "(https|ssh|file|git|http|)(://|:|)([a-z.@:~/%\\\\ +-]|www\\.|\\.git|%2e|%2F|github\\.com|[0-9]){0,20}"
    ) {
        if let Ok(url) = RepositoryUrl::parse(&text) {
            prop_assert_eq!(read(&url.url()), url);
        }
    }

    #[test]
    fn any_absolute_path_comes_back(path in "(/[^/\\\\\\p{C}]{1,12}){1,5}") {
        if let Ok(url) = RepositoryUrl::local(&path) {
            prop_assert_eq!(read(&url.url()), url);
        }
    }
}
