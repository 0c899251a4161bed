//! Archives, a database, an engine, and what is in the store.

use std::time::Duration;

use collect::{
    collector::Registered,
    forge_activity::ForgeActivity,
    git::remote,
    http::{self, Http, Limits, UpstreamSettings},
    mail::{
        MailFetch, MailFetchInbox, MailProject, MailResolve, MailSenders, Settings, fetch_unit,
        resolve_unit, stage_file_copy,
    },
};
use db::{Clock, DbError, FakeClock, Part, testing::TestDb, transact};
use engine::{Engine, Selection, Timing, Worker};
use facts::mail::Archive;
use sim::{
    Server,
    upstreams::{GitHub, GitHubLimits, PonyMail},
};
use store::mail::{self, KnownPart, NewList};
use tokio_util::sync::CancellationToken;

pub(crate) const PARTS: &[Part] = &[engine::PART, store::PART];
pub(crate) const LISTS: &str = "lists.apache.org";
pub(crate) const INBOX: &str = "inbox.example.org";

pub(crate) struct World {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) server: Server,
    pub(crate) pony: PonyMail,
    pub(crate) engine: Engine,
    pub(crate) hand: FakeClock,
    pub(crate) settings: Settings,
    /// Where the upstream of inboxes is.
    pub(crate) inboxes: Option<String>,
}

impl World {
    /// On the tenth of March 2018.
    pub(crate) async fn new(db: &TestDb) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let pony = PonyMail::new(LISTS);
        // Searches of people are few outside; here the fake clock would wait for more.
        let github = GitHub::public().with_limits(GitHubLimits {
            anonymous_searches_per_minute: 1_000,
            anonymous_per_hour: 1_000,
            ..GitHubLimits::default()
        });
        let config = sim::Config::default().with(pony.clone()).with(github);
        let server = Server::start(config).await.unwrap();
        let (clock, hand) = Clock::fake("2018-03-10T12:00:00Z".parse().unwrap());
        let git = remote::Settings::new(directory.path().join("objects"), "gleaner-test/1");
        let mut settings = Settings::new(directory.path().join("spool"), git);
        settings.backfill_months = 0;
        // Only tests of senders ask about them.
        settings.sender_search_after = 0;
        settings.git.limits.time = Duration::from_mins(1);
        settings.git.limits.reading.time = Duration::from_mins(1);
        Self {
            directory,
            server,
            pony,
            engine: Engine::new((**db).clone(), clock),
            hand,
            settings,
            inboxes: None,
        }
    }

    pub(crate) async fn register(&self, archive: Archive, address: &str) -> i64 {
        let base = match archive {
            Archive::PonyMail => Some(format!("https://{LISTS}")),
            Archive::PublicInbox => Some(format!("https://{INBOX}")),
            Archive::Import => None,
        };
        let list = NewList {
            archive,
            system: archive.usual_system().to_owned(),
            address: address.to_owned(),
            base,
            inbox: None,
            description: None,
            repo_group: None,
            repository: None,
        };
        let (list, now) = (&list, self.engine.clock().now());
        let made: Result<_, DbError> =
            transact!(self.engine.db(), |tx| mail::register(tx, list, now).await);
        let id = made.unwrap().id;
        let unit = fetch_unit(id, archive, list.base.as_deref());
        self.engine
            .enqueue(unit.into_iter().collect())
            .await
            .unwrap();
        id
    }

    /// Stages mail of a person's file.
    pub(crate) async fn import(&self, list: i64, mails: &[&[u8]]) {
        let copies: Vec<_> = mails
            .iter()
            .map(|bytes| stage_file_copy("file", bytes, None))
            .collect();
        let (copies, now) = (&copies, self.engine.clock().now());
        let staged: Result<usize, DbError> =
            transact!(self.engine.db(), |tx| mail::stage(tx, list, copies, now)
                .await);
        staged.unwrap();
        self.engine
            .enqueue(vec![resolve_unit(list).now()])
            .await
            .unwrap();
    }

    pub(crate) fn http(&self) -> Http {
        let mut settings = http::Settings::new("https://gleaner.example/contact");
        let mut upstream = |name: &str, base: String| {
            let upstream = UpstreamSettings {
                allow_private: true,
                limits: Limits {
                    total: Duration::from_secs(20),
                    idle: Duration::from_secs(10),
                    ..Limits::default()
                },
                ..UpstreamSettings::at(base)
            };
            settings.upstreams.insert(name.to_owned(), upstream);
        };
        upstream(LISTS, self.server.host_url(LISTS).unwrap());
        for forge in ["github.com", "gitlab.com", "codeberg.org"] {
            upstream(forge, self.server.host_url(forge).unwrap());
        }
        if let Some(base) = &self.inboxes {
            upstream(INBOX, base.clone());
        }
        let (db, clock) = (self.engine.db().clone(), self.engine.clock().clone());
        Http::new(&settings, db, clock, self.engine.upstreams().clone()).unwrap()
    }

    pub(crate) fn worker(&self) -> Worker {
        let all = [
            Registered::new(MailFetch::new(self.http(), self.settings.clone())),
            Registered::new(MailFetchInbox::new(self.http(), self.settings.clone())),
            Registered::new(MailResolve::new(self.settings.clone())),
            Registered::new(MailProject::new(self.settings.clone())),
            Registered::new(MailSenders::new(self.http(), self.settings.clone())),
            Registered::new(ForgeActivity::new(self.http())),
        ];
        let worker = Worker::new(self.engine.clone()).timing(Timing {
            poll: Duration::from_millis(20),
            grace: Duration::from_millis(50),
            ..Timing::default()
        });
        all.into_iter().fold(worker, |worker, one| {
            worker.boxed_kind(one.kind, one.handler)
        })
    }

    /// Runs all that is due.
    pub(crate) async fn run(&self) {
        let worker = self.worker();
        let idle = worker.run_until_idle(CancellationToken::new());
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        let mut idle = std::pin::pin!(idle);
        loop {
            tokio::select! {
                done = &mut idle => break drop(done.unwrap()),
                _ = ticks.tick() => self.hand.advance(Duration::from_millis(5)),
            }
        }
    }

    /// Visits every list now.
    pub(crate) async fn fetch(&self) {
        for kind in ["mail/fetch", "mail/fetch-inbox"] {
            let which = Selection {
                kind: Some(kind.to_owned()),
                ..Selection::default()
            };
            self.engine.run_now(&which, false).await.unwrap();
        }
        self.run().await;
    }

    /// The ids of all messages of a list, oldest first.
    pub(crate) async fn ids(&self, list: i64) -> Vec<String> {
        let hits = mail::in_list(self.engine.db(), list, None, 10_000)
            .await
            .unwrap();
        let mut ids: Vec<String> = hits.into_iter().map(|(_, hit)| hit.message_id).collect();
        ids.reverse();
        ids
    }

    /// A part of a list: its state, how many should be there and how many came.
    pub(crate) async fn part(&self, list: i64, name: &str) -> Option<KnownPart> {
        let parts = mail::parts(self.engine.db(), list).await.unwrap();
        parts.into_iter().find(|part| part.part == name)
    }

    /// What was asked of Pony Mail since the last look, as `mbox d=2018-01`.
    pub(crate) fn asked(&self) -> Vec<String> {
        let requests = self.server.journal().requests(LISTS);
        self.server.journal().clear();
        let shown = |path: &str| {
            let (path, query) = path.split_once('?').unwrap_or((path, ""));
            let window = query.split('&').find(|one| one.starts_with("d="));
            let handler = path.rsplit('/').next().unwrap().trim_end_matches(".lua");
            format!("{handler} {}", window.unwrap_or_default())
        };
        requests.iter().map(|one| shown(&one.path)).collect()
    }
}

/// A mail with an id, a date and a subject.
pub(crate) fn source(id: &str, date: &str, subject: &str) -> String {
    let at: jiff::Timestamp = date.parse().unwrap();
    format!(
        "From: Ada <ada@example.org>\nTo: dev@example.apache.org\nSubject: {subject}\nDate: {}\n\
         Message-ID: <{id}>\n\nWords of {id}.\nFrom here on more.\n",
        at.strftime("%a, %d %b %Y %H:%M:%S +0000")
    )
}
