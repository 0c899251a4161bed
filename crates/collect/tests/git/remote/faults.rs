//! Every fault is the right one of found, absent and unknown, with a message that can be shown.

use std::{fmt::Write as _, time::Duration};

use collect::{
    answer::Answer,
    git::remote::{Contents, RemoteError, Retry, USUAL_REFS, Want},
};
use sim::git_server::{Fault, Speaks, Stage};

use super::{SECRET, World};

fn status(status: u16, headers: &[(&'static str, &str)]) -> Fault {
    let headers = headers
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()))
        .collect();
    Fault::Status { status, headers }
}

fn word<T>(answer: &Answer<T>) -> &'static str {
    match answer {
        Answer::Found(_) => "found",
        Answer::Absent => "absent",
        Answer::Unknown(_) => "unknown",
    }
}

#[tokio::test]
async fn each_fault_has_its_answer_and_its_message() {
    let world = World::new(60).await;
    let echo = format!("Basic {SECRET}");
    let faults = [
        ("clean", None),
        ("page", Some(Fault::Wall)),
        (
            "401",
            Some(status(401, &[("www-authenticate", "Basic realm=\"x\"")])),
        ),
        ("403", Some(status(403, &[]))),
        ("403 limited", Some(status(403, &[("retry-after", "60")]))),
        ("404", Some(status(404, &[]))),
        ("410", Some(status(410, &[]))),
        ("429 seconds", Some(status(429, &[("retry-after", "17")]))),
        (
            "429 date",
            Some(status(
                429,
                &[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")],
            )),
        ),
        ("429 bare", Some(status(429, &[]))),
        ("451", Some(status(451, &[]))),
        ("500", Some(status(500, &[("x-echo", &echo)]))),
        ("503", Some(status(503, &[("retry-after", "5")]))),
        (
            "sign-in",
            Some(Fault::SignIn {
                to: "/users/sign_in".to_owned(),
            }),
        ),
        ("cut", Some(Fault::Cut { after: 20 })),
        ("short", Some(Fault::Short { after: 20 })),
        ("nothing", Some(Fault::Short { after: 0 })),
        ("hang", Some(Fault::Hang { after: 20 })),
        ("endless", Some(Fault::Endless)),
    ];
    let mut table = String::new();
    for stage in [Stage::Advertisement, Stage::Refs, Stage::Pack] {
        let _ = writeln!(table, "{stage:?}");
        for (name, fault) in &faults {
            match fault {
                Some(fault) => world.server.spoil(stage, fault.clone()),
                None => world.server.heal(),
            }
            let mut settings = world.with_token();
            settings.limits.listing_bytes = 1 << 20;
            if *name == "hang" {
                settings.limits.idle = Duration::from_secs(1);
            }
            let remote = world.remote_with(settings).await;
            let result = if stage == Stage::Pack {
                let fetched = remote.fetch(&[Want::Head], Contents::Blobless).await;
                // The next one must not have it already.
                std::fs::remove_dir_all(world.settings().directory).unwrap();
                fetched.map(drop)
            } else {
                remote.refs(&USUAL_REFS).await.map(drop)
            };
            let message = result
                .as_ref()
                .err()
                .map_or_else(String::new, |error| world.shown(error));
            // What follows is in git's own words, which depend on how far it had come.
            let told = ["damaged: ", "reached: "].iter().find_map(|end| {
                let at = message.find(end)? + end.len();
                Some(message[..at].trim_end_matches([':', ' ']).to_owned())
            });
            let message = told.unwrap_or(message);
            let answer: Answer<()> = result.into();
            let _ = writeln!(table, "  {name}: {} {message}", word(&answer));
            assert_eq!(
                matches!(answer, Answer::Found(())),
                fault.is_none(),
                "{stage:?} {name}"
            );
            assert!(
                answer != Answer::Absent || ["404", "410"].contains(name),
                "{stage:?} {name}: {message}"
            );
        }
    }
    assert!(!table.contains(SECRET), "{table}");
    insta::assert_snapshot!("answers", table);
}

#[tokio::test]
async fn a_wall_before_plain_files_is_no_repository_without_refs() {
    let world = World::new(1).await;
    world
        .server
        .switch(|switches| switches.speaks = Speaks::Files);
    let empty = [("content-type", "text/plain")];
    world
        .server
        .spoil(Stage::Advertisement, status(200, &empty));
    let remote = world.remote().await;
    let answer: Answer<()> = remote.refs(&USUAL_REFS).await.map(drop).into();
    assert_eq!(word(&answer), "unknown", "{answer:?}");
    let fetched = remote.fetch(&[Want::Head], Contents::Whole).await;
    let answer: Answer<()> = fetched.map(drop).into();
    assert_eq!(word(&answer), "unknown", "{answer:?}");
}

#[tokio::test]
async fn a_server_says_when_to_come_back() {
    let world = World::new(1).await;
    world
        .server
        .spoil(Stage::Advertisement, status(429, &[("retry-after", "17")]));
    let error = world.remote().await.refs(&USUAL_REFS).await.unwrap_err();
    assert_eq!(error.retry(), Some(&Retry::After(Duration::from_secs(17))));
}

#[tokio::test]
async fn asking_for_a_password_is_absence_only_where_that_is_known() {
    let world = World::new(1).await;
    world
        .server
        .switch(|switches| switches.authorization = Some("Basic no".to_owned()));
    let error = world.remote().await.refs(&USUAL_REFS).await.unwrap_err();
    assert!(
        matches!(
            error,
            RemoteError::Unauthorized {
                with_token: false,
                ..
            }
        ),
        "{error}"
    );
    let mut settings = world.settings();
    settings
        .unauthorized_means_absent
        .insert("127.0.0.1".to_owned());
    let error = world
        .remote_with(settings)
        .await
        .refs(&USUAL_REFS)
        .await
        .unwrap_err();
    assert!(error.is_absent(), "{error}");
    // A token that is refused says nothing about the repository.
    let mut settings = world.with_token();
    settings
        .unauthorized_means_absent
        .insert("127.0.0.1".to_owned());
    let error = world
        .remote_with(settings)
        .await
        .refs(&USUAL_REFS)
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            RemoteError::Unauthorized {
                with_token: true,
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_missing_ref_or_a_nonsensical_one_is_not_there() {
    let world = World::new(1).await;
    let remote = world.remote().await;
    for name in [
        "refs/heads/nowhere",
        "refs/heads/a\nrefs/heads/trunk",
        "--upload-pack=x",
        "refs/heads/*",
    ] {
        let want = Want::Ref(name.to_owned());
        let error = remote.fetch(&[want], Contents::Blobless).await.unwrap_err();
        assert!(matches!(error, RemoteError::NoRef { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_header_of_ten_megabytes_is_refused() {
    let world = World::new(1).await;
    for stage in [Stage::Advertisement, Stage::Refs] {
        let fault = Fault::LongHeader { bytes: 10 << 20 };
        world.server.spoil(stage, fault);
        let error = world.remote().await.refs(&USUAL_REFS).await.unwrap_err();
        let message = "http://HOST/a.git sent more than 307200 bytes of headers";
        assert_eq!(world.shown(&error), message);
    }
}
