//! Hooks: whoever proves to know the secret makes a repository due, and nobody else does.

use std::{fmt::Write as _, time::Duration};

use db::{
    Clock, DbError,
    testing::{TestDb, both},
    transact,
};
use engine::{Ending, Engine, Enqueue, Handler, Kind, Outcome, Run, RunError, Worker};
use futures_util::future::BoxFuture;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tokio_util::sync::CancellationToken;

use crate::site::{Answer, Site};

const PARTS: &[db::Part] = &[engine::PART, store::PART];
const TAGS: Kind = Kind::recurring("goindex/tags", Duration::from_hours(24));
const METADATA: Kind = Kind::recurring("repo-metadata", Duration::from_hours(24));
/// The most that is taken.
const MOST: usize = 25 << 20;

/// What forges send when a tag is pushed, as far as it matters here.
const GITHUB: &str = r#"{"ref":"refs/tags/v1","before":"0","after":"1","repository":{"id":7,"clone_url":"https://forge.example/team/a.git","html_url":"https://forge.example/team/a"}}"#;
const GITEA: &str = r#"{"ref":"v1","ref_type":"tag","repository":{"id":7,"full_name":"team/a","html_url":"https://forge.example/team/a","clone_url":"https://forge.example/team/a.git"}}"#;
const GITLAB: &str = r#"{"object_kind":"tag_push","ref":"refs/tags/v1","project_id":7,"project":{"id":7,"web_url":"https://forge.example/team/a","git_http_url":"https://forge.example/team/a.git"},"repository":{"name":"a","homepage":"https://forge.example/team/a"}}"#;

/// A repository, its units due in some hours, and the web.
struct Stage {
    site: Site,
    engine: Engine,
}

impl Stage {
    async fn new(db: &TestDb) -> Self {
        crate::feed(db, 1).await;
        let number: Result<_, DbError> = transact!(db, |tx| {
            store::repositories::set_forge_id(tx, 1, "7").await
        });
        number.unwrap();
        let stage = Self {
            site: Site::open(db).await,
            engine: Engine::new((**db).clone(), Clock::system()),
        };
        stage.put_off().await;
        stage
    }

    /// Nothing is due for a while: as after a run that ended well.
    async fn put_off(&self) {
        let later = self.engine.clock().now().plus(Duration::from_hours(5));
        for kind in [TAGS, METADATA] {
            let unit = Enqueue::new(&kind, "1").due_at(later);
            self.engine.enqueue(vec![unit]).await.unwrap();
            let worker = Worker::new(self.engine.clone()).kind(kind, Nothing);
            worker
                .run_until_idle(CancellationToken::new())
                .await
                .unwrap();
        }
    }

    async fn is_due(&self, kind: &Kind) -> bool {
        let unit = self.engine.find(&format!("{}:1", kind.name)).await.unwrap();
        let unit = self.engine.unit(unit.unwrap()).await.unwrap().unwrap();
        unit.unit.rank == "run-now"
    }

    async fn send(&self, forge: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.site
            .post(&format!("/hooks/{forge}"), headers, body)
            .await
    }
}

/// Work that is always done.
struct Nothing;

impl Handler for Nothing {
    fn run<'a>(&'a self, run: &'a Run) -> BoxFuture<'a, Result<Ending, RunError>> {
        Box::pin(async move { Ok(run.end(Outcome::Done, ())) })
    }
}

fn signed(secret: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    let mut text = String::new();
    for byte in mac.finalize().into_bytes() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The headers of a hook that is right, by forge.
fn proof(forge: &str, secret: &str, body: &str) -> (&'static str, String) {
    match forge {
        "github" => (
            "X-Hub-Signature-256",
            format!("sha256={}", signed(secret, body)),
        ),
        "gitea" => ("X-Gitea-Signature", signed(secret, body)),
        _ => ("X-Gitlab-Token", secret.to_owned()),
    }
}

const FORGES: [(&str, &str); 3] = [("github", GITHUB), ("gitea", GITEA), ("gitlab", GITLAB)];

both! {
    const PARTS: &[db::Part] = super::PARTS;

    async fn who_knows_a_secret_is_believed(db: TestDb) {
        let stage = Stage::new(&db).await;
        for (forge, body) in FORGES {
            for secret in ["hush", "older"] {
                // Another body, or it would be the same hook again.
                let body = &format!("{body}{}", " ".repeat(secret.len()));
                stage.put_off().await;
                let (name, value) = proof(forge, secret, body);
                let answer = stage.send(forge, &[(name, &value)], body).await;
                assert_eq!((answer.status, answer.text().as_str()), (202, r#"{"due":true}"#), "{forge}");
                assert!(stage.is_due(&TAGS).await, "{forge}");
                assert!(!stage.is_due(&METADATA).await, "only its tags have changed");
            }
        }
    }

    async fn who_does_not_is_refused_and_nothing_happens(db: TestDb) {
        let stage = Stage::new(&db).await;
        for (forge, body) in FORGES {
            let (name, right) = proof(forge, "hush", body);
            let changed = format!("{body} ");
            let wrong = [
                proof(forge, "guess", body).1,
                proof(forge, "", body).1,
                String::new(),
                right.to_uppercase(),
                format!("{right}0"),
                right[..right.len() - 1].to_owned(),
                "sha256=".to_owned(),
                "sha1=0".to_owned(),
            ];
            for value in wrong {
                let answer = stage.send(forge, &[(name, &value)], body).await;
                assert_eq!(answer.status, 403, "{forge} {value}");
            }
            assert_eq!(stage.send(forge, &[], body).await.status, 403, "{forge} without any");
            if forge != "gitlab" {
                // The signature is that of the body, and of no other forge.
                assert_eq!(stage.send(forge, &[(name, &right)], &changed).await.status, 403);
                assert_eq!(stage.send("gitlab", &[(name, &right)], body).await.status, 403);
            }
            assert_eq!(stage.send("sourceforge", &[(name, &right)], body).await.status, 404);
        }
        assert!(!stage.is_due(&TAGS).await);
    }

    async fn a_hook_that_comes_again_does_nothing(db: TestDb) {
        let stage = Stage::new(&db).await;
        let (name, value) = proof("github", "hush", GITHUB);
        let first = stage.send("github", &[(name, &value)], GITHUB).await;
        assert_eq!(first.text(), r#"{"due":true}"#);
        let again = stage.send("github", &[(name, &value)], GITHUB).await;
        assert_eq!((again.status, again.text().as_str()), (202, r#"{"due":false}"#));
        // The next one is another one.
        let next = GITHUB.replace(r#""after":"1""#, r#""after":"2""#);
        let (name, value) = proof("github", "hush", &next);
        assert_eq!(stage.send("github", &[(name, &value)], &next).await.text(), r#"{"due":true}"#);
    }

    async fn what_makes_no_sense_is_told(db: TestDb) {
        let stage = Stage::new(&db).await;
        for body in ["[", "", "7", "{\"repository\":7}", "null"] {
            let (name, value) = proof("gitea", "hush", body);
            assert_eq!(stage.send("gitea", &[(name, &value)], body).await.status, 400, "{body}");
        }
        let unknown = [
            "{}",
            r#"{"repository":null}"#,
            r#"{"repository":{"clone_url":"https://forge.example/team/other.git"}}"#,
            r#"{"repository":{"clone_url":"/etc"}}"#,
            r#"{"repository":{"id":[7],"clone_url":"not an address"}}"#,
            r#"{"repository":{"id":7,"clone_url":"https://elsewhere.example/team/b"}}"#,
        ];
        for body in unknown {
            let (name, value) = proof("gitea", "hush", body);
            let answer = stage.send("gitea", &[(name, &value)], body).await;
            assert_eq!((answer.status, answer.text().as_str()), (202, r#"{"due":false}"#), "{body}");
        }
        assert!(!stage.is_due(&TAGS).await);
    }

    async fn a_hook_may_be_large_and_not_larger(db: TestDb) {
        let stage = Stage::new(&db).await;
        let filled = |bytes: usize| {
            let rest = GITHUB.strip_prefix('{').unwrap();
            let fill = "x".repeat(bytes - rest.len() - r#"{"fill":"","#.len());
            format!(r#"{{"fill":"{fill}",{rest}"#)
        };
        let large = filled(MOST);
        let (name, value) = proof("github", "hush", &large);
        assert_eq!(stage.send("github", &[(name, &value)], &large).await.status, 202);
        let larger = filled(MOST + 1);
        let (name, value) = proof("github", "hush", &larger);
        let answer = stage.send("github", &[(name, &value)], &larger).await;
        assert_eq!(answer.status, 413);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    }

    async fn a_renamed_repository_is_known_by_its_number(db: TestDb) {
        let stage = Stage::new(&db).await;
        let body = GITHUB.replace("team/a", "team/renamed");
        let (name, value) = proof("github", "hush", &body);
        let event = ("X-GitHub-Event", "repository");
        let answer = stage.send("github", &[(name, &value), event], &body).await;
        assert_eq!(answer.text(), r#"{"due":true}"#);
        assert!(stage.is_due(&TAGS).await && stage.is_due(&METADATA).await);
    }
}
