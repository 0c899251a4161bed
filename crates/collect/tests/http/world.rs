//! A client with a database, a clock that stands still, and an upstream called `forge`.

use std::time::Duration;

use collect::http::{
    Ask, Class, Http, Limits, Reply, Response, Session, Settings, Token, UpstreamSettings,
};
use db::{Clock, FakeClock, Part, Timestamp, testing::TestDb};
use engine::Upstreams;

use crate::server::Server;

pub(crate) const PARTS: &[Part] = &[engine::PART, store::PART];

/// What must never be seen.
pub(crate) const SECRET: &str = "ghp_S3cretOfTheForge0123456789";

pub(crate) struct World {
    pub(crate) db: TestDb,
    pub(crate) clock: Clock,
    pub(crate) hand: FakeClock,
    pub(crate) http: Http,
    pub(crate) session: Session,
}

/// The defaults for a server of ours, with limits that a test can wait for.
pub(crate) fn upstream(server: &Server) -> UpstreamSettings {
    UpstreamSettings {
        allow_private: true,
        limits: Limits {
            body: 1 << 20,
            total: Duration::from_secs(20),
            idle: Duration::from_secs(10),
            ..Limits::default()
        },
        ..UpstreamSettings::at(server.base())
    }
}

pub(crate) fn with_token(server: &Server) -> UpstreamSettings {
    UpstreamSettings {
        tokens: vec![Token::new("first", SECRET)],
        ..upstream(server)
    }
}

pub(crate) fn start() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

impl World {
    pub(crate) async fn new(server: &Server) -> Self {
        Self::with(upstream(server)).await
    }

    pub(crate) async fn with(forge: UpstreamSettings) -> Self {
        let db = TestDb::memory(PARTS).await;
        let (clock, hand) = Clock::fake(start());
        let mut settings = Settings::new("https://gleaner.example/contact");
        settings.version = "1.2.3".into();
        settings.upstreams.insert("forge".into(), forge);
        let upstreams = Upstreams::new((*db).clone(), clock.clone());
        let http = Http::new(&settings, (*db).clone(), clock.clone(), upstreams).unwrap();
        let session = http.for_person();
        Self {
            db,
            clock,
            hand,
            http,
            session,
        }
    }

    /// Another process on the same database.
    pub(crate) fn again(&self, forge: UpstreamSettings) -> Session {
        let mut settings = Settings::new("https://gleaner.example/contact");
        settings.upstreams.insert("forge".into(), forge);
        let upstreams = Upstreams::new((*self.db).clone(), self.clock.clone());
        let http = Http::new(&settings, (*self.db).clone(), self.clock.clone(), upstreams);
        http.unwrap().for_person()
    }

    pub(crate) async fn ask(&self, path: &str) -> Reply<Response> {
        self.session.ask(&Ask::get("forge", path)).await
    }
}

/// The answer that must be there.
pub(crate) fn found(reply: Reply<Response>) -> Response {
    match reply {
        Reply::Found(response) => response,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn body(reply: Reply<Response>) -> String {
    String::from_utf8(found(reply).body).unwrap()
}

pub(crate) fn is_absent<T>(reply: &Reply<T>) -> bool {
    matches!(reply, Reply::Absent)
}

/// The class and the message of a reply that must be unknown.
#[track_caller]
pub(crate) fn unknown<T: std::fmt::Debug>(reply: Reply<T>) -> (Class, String) {
    let (class, message, _) = unknown_until(reply);
    (class, message)
}

/// With the seconds until it should be asked again.
#[track_caller]
pub(crate) fn unknown_until<T: std::fmt::Debug>(reply: Reply<T>) -> (Class, String, Option<u64>) {
    match reply {
        Reply::Unknown(why) => (
            why.class,
            why.to_string(),
            why.retry_at.map(|at| at.since(start()).as_secs()),
        ),
        other => panic!("{other:?}"),
    }
}
