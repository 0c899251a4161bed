//! Detached subprocesses and what becomes of them, with real processes. A
//! worker process that dies is a dropped `Hand`; real kills are in `tests/kills`.

use std::{
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use db::{Clock, sql, testing::both};
use engine::{
    Engine, HostFacts, Outcome, Recovered, RunError, Selection, State, Subprocesses, ThisHost, Why,
    Worker,
    steps::{Hand, Held},
};
use tokio_util::sync::CancellationToken;

use crate::{
    drill::{DEAD_AFTER, Drill, ONCE, act, claim, finish, once, quick, until},
    scanner::{
        GRACE, Lies, Scanners, adopt, alive, finish_scan, home, kill, lies, on, output,
        still_running, take_back, tell,
    },
};

/// A unit whose process on `home` died with a scanner at work, freed by another host.
struct Orphan {
    drill: Drill,
    scanners: Scanners,
    scanner: (u32, engine::Place),
    unit: i64,
}

impl Orphan {
    async fn new(db: &db::testing::TestDb) -> Self {
        Self::on(db, home()).await
    }

    async fn on(db: &db::testing::TestDb, host: Subprocesses) -> Self {
        let mut drill = Drill::new(db).await;
        drill.hand = drill.hand.on(on(lies("elsewhere", Some("boot x"))));
        let scanners = Scanners::new();
        drill.enqueue(once("tree")).await;
        let dead = drill.another(&[ONCE]).await.on(host);
        let held = claim(&dead, 1).await.remove(0);
        let scanner = scanners.start(db, &dead, &held).await;
        drop(dead);
        drill.hand.look().await.unwrap();
        drill.time.advance(DEAD_AFTER);
        drill.hand.beat().await.unwrap();
        assert_eq!(drill.hand.look().await.unwrap(), 1);
        Self {
            unit: held.id(),
            drill,
            scanners,
            scanner,
        }
    }

    /// Gleaner starts again on a host.
    async fn back(&self, host: Subprocesses) -> Hand {
        self.drill.another(&[ONCE]).await.on(host)
    }

    async fn done(&self, hand: &Hand, held: Held) {
        let ending = hand.run(&held).end(Outcome::Done, ());
        assert!(finish(hand, held, Ok(ending)).await);
        assert_eq!(self.drill.state("test/once:tree").await, State::Done);
        // The end makes it unwanted, and the next look removes it.
        assert!(hand.recover().await.unwrap().is_empty());
        assert!(
            self.drill
                .engine
                .subprocesses(None)
                .await
                .unwrap()
                .is_empty()
        );
        assert!(!self.scanner.1.directory().exists());
    }

    /// Nobody wants the scanner: its host ends it, and clears it when all of it is gone.
    async fn is_ended(&self, db: &db::Db, hand: &Hand) {
        until(db, "it is ended and cleared", || async {
            assert!(hand.recover().await.unwrap().is_empty());
            !self.scanner.1.directory().exists()
        })
        .await;
        assert!(!alive(self.scanner.0));
    }

    /// Nothing usable was left: the record is cleared and anybody may run the unit.
    async fn is_lost(&self, hand: &Hand) {
        assert!(hand.recover().await.unwrap().is_empty());
        assert!(hand.take_back("p").await.unwrap().is_none());
        let held = self.drill.claim_one().await;
        assert!(matches!(
            self.drill
                .hand
                .run(&held)
                .recovered("scanner")
                .await
                .unwrap(),
            Recovered::Nothing
        ));
        hand.recover().await.unwrap();
        assert!(
            self.drill
                .engine
                .subprocesses(None)
                .await
                .unwrap()
                .is_empty()
        );
        assert!(self.drill.end(held, Outcome::Done).await);
    }
}

/// The pid of the one subprocess, as soon as it is written down.
async fn recorded(engine: &Engine) -> u32 {
    let pid = || async { engine.subprocesses(None).await.unwrap()[0].pid };
    until(engine.db(), "its pid is recorded", || async {
        pid().await.is_some()
    })
    .await;
    pid().await.unwrap().try_into().unwrap()
}

both! {
    const PARTS: &[db::Part] = &[engine::PART];

    async fn a_subprocess_is_recorded_while_it_runs(db: TestDb) {
        let mut drill = Drill::new(&db).await;
        drill.hand = drill.hand.on(home());
        drill.enqueue(once("tree")).await;
        let (scanners, held) = (Scanners::new(), drill.claim_one().await);
        let run = drill.hand.run(&held);
        let scan = tokio::spawn({ let spec = scanners.spec(); async move { run.spawn_or_adopt(spec).await } });
        scanners.started(&db, 1).await;
        let pid = recorded(&drill.engine).await;
        let seen = drill.engine.subprocesses(Some(held.id())).await.unwrap().remove(0);
        assert_eq!((seen.unit, seen.attempt, seen.name.as_str()), (held.id(), 1, "scanner"));
        assert_eq!((seen.machine.as_str(), seen.host.as_str()), ("home", "home.example.org"));
        assert!(alive(pid));
        assert_eq!((seen.state, seen.since), ("watched", drill.now()));
        tell(&scanners.places()[0], "MIT", 0).await;
        assert_eq!(output(scan.await.unwrap().unwrap()), ("MIT".into(), false));
        assert!(drill.end(held, Outcome::Done).await);
        assert_eq!(drill.engine.subprocesses(None).await.unwrap()[0].state, "unwanted");
        drill.hand.recover().await.unwrap();
        assert!(drill.engine.subprocesses(None).await.unwrap().is_empty());
        assert!(scanners.places().is_empty());
    }

    async fn a_bad_end_tells_the_status_and_the_complaint(db: TestDb) {
        let mut drill = Drill::new(&db).await;
        drill.hand = drill.hand.on(home());
        drill.enqueue(once("tree")).await;
        let (base, held) = (tempfile::tempdir().unwrap(), drill.claim_one().await);
        let spec = engine::Subprocess::new("scanner", base.path(), |place| {
            let partial = place.partial();
            ["sh", "-c", "echo half >\"$1\"; echo 'no space' >&2; exit 3", "sh", partial.to_str().unwrap()].map(str::to_owned)
        });
        let ended = drill.hand.run(&held).spawn_or_adopt(spec).await.unwrap();
        let engine::Ended::Badly { status, complaint, place } = ended else { panic!("{ended:?}") };
        assert_eq!((status, complaint.as_str()), (Some(3), "no space"));
        assert!(place.partial().exists() && !place.output().exists(), "half an output is none");
    }

    async fn a_finished_output_is_taken_under_a_new_attempt(db: TestDb) {
        let orphan = Orphan::new(&db).await;
        finish_scan(&db, &orphan.scanner, 0).await;
        let hand = orphan.back(home()).await;
        let held = take_back(&hand, orphan.unit).await;
        assert_eq!(held.attempt(), 2);
        let ended = adopt(&hand.run(&held), &orphan.scanners).await.unwrap();
        assert_eq!(output(ended), ("MIT".into(), true));
        assert_eq!(orphan.scanners.starts(), 1);
        orphan.done(&hand, held).await;
    }

    async fn finished_before_the_reboot_is_finished(db: TestDb) {
        let orphan = Orphan::new(&db).await;
        finish_scan(&db, &orphan.scanner, 0).await;
        let hand = orphan.back(on(lies("home", Some("boot 2")))).await;
        let held = take_back(&hand, orphan.unit).await;
        let ended = adopt(&hand.run(&held), &orphan.scanners).await.unwrap();
        assert_eq!(output(ended), ("MIT".into(), true));
        orphan.done(&hand, held).await;
    }

    async fn a_live_one_is_adopted_and_watched_until_it_ends(db: TestDb) {
        let orphan = Orphan::new(&db).await;
        let hand = orphan.back(home()).await;
        let held = take_back(&hand, orphan.unit).await;
        let run = hand.run(&held);
        let scanner = still_running(&run).await;
        assert_eq!(scanner.pid(), Some(orphan.scanner.0));
        let spec = orphan.scanners.spec();
        let watch = tokio::spawn(async move { run.spawn_or_adopt(spec).await });
        tell(orphan.scanner.1.directory(), "MIT", 0).await;
        assert_eq!(output(watch.await.unwrap().unwrap()), ("MIT".into(), true));
        assert_eq!(orphan.scanners.starts(), 1);
        orphan.done(&hand, held).await;
    }

    async fn one_that_died_without_an_output_is_cleared_and_runs_again(db: TestDb) {
        let orphan = Orphan::new(&db).await;
        kill(&db, &orphan.scanner).await;
        orphan.is_lost(&orphan.back(home()).await).await;
    }

    async fn one_that_failed_is_cleared_and_runs_again(db: TestDb) {
        let orphan = Orphan::new(&db).await;
        finish_scan(&db, &orphan.scanner, 1).await;
        orphan.is_lost(&orphan.back(home()).await).await;
    }

    async fn after_a_reboot_a_pid_means_nothing(db: TestDb) {
        let host = lies("home", Some("boot 1"));
        let orphan = Orphan::on(&db, on(host)).await;
        let (pid, started) = (orphan.scanner.0, ThisHost.started(orphan.scanner.0));
        kill(&db, &orphan.scanner).await;
        // The worst case: the same pid, started at the same time after the boot.
        let rebooted = lies("home", Some("boot 2"));
        rebooted.started.lock().unwrap().insert(pid, started);
        orphan.is_lost(&orphan.back(on(rebooted)).await).await;
    }

    async fn a_reused_pid_is_somebody_else_and_comes_to_no_harm(db: TestDb) {
        let orphan = Orphan::new(&db).await;
        kill(&db, &orphan.scanner).await;
        let mut bystander = tokio::process::Command::new("cat")
            .stdin(std::process::Stdio::piped()).process_group(0).spawn().unwrap();
        let pid = bystander.id().unwrap();
        db.execute(sql!("UPDATE subprocess SET pid = $1", pid)).await.unwrap();
        orphan.is_lost(&orphan.back(home()).await).await;
        assert!(alive(pid), "nobody harmed it");
        drop(bystander.stdin.take());
        assert!(bystander.wait().await.unwrap().success());
    }

    async fn without_proc_pid_and_start_time_decide(db: TestDb) {
        let orphan = Orphan::on(&db, on(lies("home", None))).await;
        let (pid, started) = (orphan.scanner.0, ThisHost.started(orphan.scanner.0));
        // Nor are there locks here.
        std::fs::remove_file(orphan.scanner.1.stderr()).unwrap();
        let blind = lies("home", None);
        blind.started.lock().unwrap().insert(pid, started);
        let hand = orphan.back(on(blind.clone())).await;
        let held = take_back(&hand, orphan.unit).await;
        let run = hand.run(&held);
        let watch = { let scanner = still_running(&run).await; tokio::spawn(scanner.ended()) };
        kill(&db, &orphan.scanner).await;
        assert!(!watch.is_finished(), "the host still says that it lives");
        blind.started.lock().unwrap().insert(pid, Some("another time".into()));
        let ended = watch.await.unwrap().unwrap();
        assert!(matches!(ended, engine::Ended::Badly { status: None, .. }), "{ended:?}");
    }

    async fn an_intent_without_a_pid_is_completed(db: TestDb) {
        let orphan = Orphan::new(&db).await;
        db.execute(sql!("UPDATE subprocess SET pid = NULL, started = NULL")).await.unwrap();
        let hand = orphan.back(home()).await;
        let held = take_back(&hand, orphan.unit).await;
        let run = hand.run(&held);
        assert_eq!(still_running(&run).await.pid(), Some(orphan.scanner.0));
        let seen = orphan.drill.engine.subprocesses(None).await.unwrap().remove(0);
        assert_eq!(seen.pid, Some(i64::from(orphan.scanner.0)));
        // Even one that left no pid is known by its lock.
        std::fs::remove_file(orphan.scanner.1.directory().join("pid")).unwrap();
        db.execute(sql!("UPDATE subprocess SET pid = NULL, started = NULL")).await.unwrap();
        assert_eq!(still_running(&run).await.pid(), None);
        finish_scan(&db, &orphan.scanner, 0).await;
        assert_eq!(output(adopt(&run, &orphan.scanners).await.unwrap()), ("MIT".into(), true));
        orphan.done(&hand, held).await;
    }

    async fn an_intent_that_never_started_is_cleared(db: TestDb) {
        let orphan = Orphan::new(&db).await;
        kill(&db, &orphan.scanner).await;
        std::fs::remove_file(orphan.scanner.1.directory().join("pid")).unwrap();
        db.execute(sql!("UPDATE subprocess SET pid = NULL, started = NULL")).await.unwrap();
        orphan.is_lost(&orphan.back(home()).await).await;
    }

    async fn others_leave_the_unit_alone_for_the_grace(db: TestDb) {
        let orphan = Orphan::new(&db).await;
        let drill = &orphan.drill;
        let why = drill.engine.why(orphan.unit).await.unwrap().unwrap();
        assert!(matches!(&why[0], Why::Subprocess { name, host, pid, until }
            if name == "scanner" && host == "home.example.org" && *until == drill.now().plus(GRACE)
                && *pid == Some(orphan.scanner.0.into())), "{why:?}");
        drill.time.advance(GRACE.checked_sub(Duration::from_secs(1)).unwrap());
        assert!(drill.claim(1).await.is_empty());
        drill.time.advance(Duration::from_secs(1));
        let held = drill.claim_one().await;
        let fresh = orphan.scanners.start(&db, &drill.hand, &held).await;
        let states: Vec<_> = drill.engine.subprocesses(None).await.unwrap().iter().map(|one| one.state).collect();
        assert_eq!(states, ["unwanted", "watched"]);
        // The old host comes back: it ends what nobody waits for, and takes nothing.
        let hand = orphan.back(home()).await;
        orphan.is_ended(&db, &hand).await;
        assert_eq!(drill.engine.subprocesses(None).await.unwrap().len(), 1);
        finish_scan(&db, &fresh, 0).await;
        let ended = adopt(&drill.hand.run(&held), &orphan.scanners).await.unwrap();
        assert_eq!(output(ended).0, "MIT");
    }

    async fn a_host_that_is_there_keeps_its_unit_for_as_long_as_it_takes(db: TestDb) {
        let orphan = Orphan::new(&db).await;
        let hand = orphan.back(home()).await;
        for _ in 0..3 {
            assert_eq!(hand.recover().await.unwrap(), [orphan.unit]);
            orphan.drill.time.advance(GRACE.checked_sub(Duration::from_secs(1)).unwrap());
            assert!(orphan.drill.claim(1).await.is_empty(), "all slots of its host are taken, others wait");
        }
        let held = take_back(&hand, orphan.unit).await;
        finish_scan(&db, &orphan.scanner, 0).await;
        assert_eq!(output(adopt(&hand.run(&held), &orphan.scanners).await.unwrap()).0, "MIT");
        orphan.done(&hand, held).await;
    }

    async fn run_now_elsewhere_starts_nothing_and_gives_it_back(db: TestDb) {
        let orphan = Orphan::new(&db).await;
        let drill = &orphan.drill;
        drill.engine.run_now(&Selection::default(), false).await.unwrap();
        let held = drill.claim_one().await;
        let error = adopt(&drill.hand.run(&held), &orphan.scanners).await.unwrap_err();
        assert!(matches!(error, RunError::Interrupted));
        assert!(drill.fail(held, error).await);
        assert_eq!(drill.due_in("test/once:tree").await, GRACE);
        assert_eq!(orphan.scanners.starts(), 1);
        let hand = orphan.back(home()).await;
        let held = take_back(&hand, orphan.unit).await;
        finish_scan(&db, &orphan.scanner, 0).await;
        assert_eq!(output(adopt(&hand.run(&held), &orphan.scanners).await.unwrap()).0, "MIT");
        orphan.done(&hand, held).await;
    }

    async fn an_adopted_one_has_no_more_time_than_the_kind_allows(db: TestDb) {
        let orphan = Orphan::new(&db).await;
        let hand = orphan.back(home()).await;
        let held = take_back(&hand, orphan.unit).await;
        orphan.drill.time.advance(ONCE.max_run);
        let error = adopt(&hand.run(&held), &orphan.scanners).await.unwrap_err();
        assert!(error.to_string().contains("ran longer than"), "{error}");
        assert!(finish(&hand, held, Err(error)).await);
        orphan.is_ended(&db, &hand).await;
        assert!(orphan.drill.engine.subprocesses(None).await.unwrap().is_empty());
        assert_eq!(orphan.drill.unit("test/once:tree").await.unit.strikes, 1);
    }

    async fn a_cancelled_unit_has_its_subprocess_ended(db: TestDb) {
        let orphan = Orphan::new(&db).await;
        orphan.drill.engine.cancel(&Selection::default(), false).await.unwrap();
        let hand = orphan.back(home()).await;
        orphan.is_ended(&db, &hand).await;
        assert!(orphan.drill.engine.subprocesses(None).await.unwrap().is_empty());
    }

    async fn shutdown_leaves_it_running_and_the_next_start_takes_it_up(db: TestDb) {
        let engine = Engine::new((*db).clone(), Clock::system());
        engine.enqueue(vec![once("tree")]).await.unwrap();
        let scanners = Arc::new(Scanners::new());
        let found = Arc::new(Mutex::new(Vec::new()));
        let worker = || {
            let (scanners, found) = (scanners.clone(), found.clone());
            let handler = act(move |run| {
                let (scanners, found) = (scanners.clone(), found.clone());
                Box::pin(async move {
                    let ended = run.spawn_or_adopt(scanners.spec()).await?;
                    found.lock().unwrap().push(output(ended));
                    Ok(run.end(Outcome::Done, ()))
                })
            });
            Worker::new(engine.clone()).kind(ONCE, handler).timing(quick()).subprocesses(home())
        };
        let stop = CancellationToken::new();
        let running = tokio::spawn(worker().run(stop.clone()));
        scanners.started(&db, 1).await;
        let pid = recorded(&engine).await;
        stop.cancel();
        running.await.unwrap().unwrap();
        assert!(alive(pid));
        let seen = engine.subprocesses(None).await.unwrap().remove(0);
        assert_eq!(seen.state, "held");
        let left = seen.held_until.unwrap().since(engine.clock().now());
        assert!(left > GRACE / 2, "{left:?}");
        let id = engine.find("test/once:tree").await.unwrap().unwrap();
        let unit = engine.unit(id).await.unwrap().unwrap().unit;
        assert_eq!((unit.state, unit.lost, unit.strikes), (State::Ready, 0, 0));
        let running = tokio::spawn(worker().run_until_idle(CancellationToken::new()));
        until(&db, "it is watched again", || async {
            engine.subprocesses(None).await.unwrap()[0].state == "watched"
        }).await;
        tell(&scanners.places()[0], "MIT", 0).await;
        running.await.unwrap().unwrap();
        assert_eq!(*found.lock().unwrap(), [("MIT".to_owned(), true)]);
        assert_eq!(scanners.starts(), 1);
        assert_eq!(engine.unit(id).await.unwrap().unwrap().unit.state, State::Done);
    }

    async fn nothing_is_claimed_before_recovery_is_done(db: TestDb) {
        let orphan = Orphan::new(&db).await;
        finish_scan(&db, &orphan.scanner, 0).await;
        orphan.drill.enqueue(once("other")).await;
        let (asked, asks) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let slow = Slow { facts: lies("home", Some("boot 1")), asked, answers: Mutex::new(answers) };
        let done = act(|run| Box::pin(async move { Ok(run.end(Outcome::Done, ())) }));
        let worker = Worker::new(orphan.drill.engine.clone()).kind(ONCE, done).timing(quick()).subprocesses(on(Arc::new(slow)));
        let working = tokio::spawn(worker.run_until_idle(CancellationToken::new()));
        tokio::task::spawn_blocking(move || asks.recv().unwrap()).await.unwrap();
        // It has begun to recover, and is kept from ending: its lanes do not even exist.
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        let claimed = "SELECT count(*) AS n FROM unit WHERE state <> 'ready' OR (key = 'other' AND attempt > 0)";
        assert_eq!(orphan.drill.count(claimed).await, 0);
        drop(answer);
        working.await.unwrap().unwrap();
        assert_eq!(orphan.drill.count("SELECT count(*) AS n FROM unit WHERE state = 'done'").await, 2);
    }
}

/// A host that takes its time to tell its boot.
#[derive(Debug)]
struct Slow {
    facts: Arc<Lies>,
    asked: mpsc::Sender<()>,
    answers: Mutex<mpsc::Receiver<()>>,
}

impl HostFacts for Slow {
    fn machine(&self) -> String {
        self.facts.machine()
    }

    fn name(&self) -> String {
        self.facts.name()
    }

    fn boot(&self) -> Option<String> {
        let _ = self.asked.send(());
        // Until the test drops its end.
        let _ = self.answers.lock().unwrap().recv();
        self.facts.boot()
    }

    fn started(&self, pid: u32) -> Option<String> {
        self.facts.started(pid)
    }
}
