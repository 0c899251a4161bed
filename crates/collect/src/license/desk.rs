//! Which scanner there is, and whether it works.
//!
//! A scanner is believed when it has scanned a file whose answer is known; exit codes and the mere
//! presence of a program prove nothing. It is proved at the start and every hour, and every minute
//! while none works. While none works that may be used, the pool of the round is paused with the reason, and nothing is marked done.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use db::DbError;
use engine::Engine;
use facts::license::ScannerIdentity;
use store::license::FileKey;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{
    Broken, Builtin, Choice, Input, Provenant, ScanCode, Scanned, Scanner, Settings,
    claims::{Claim, Claims},
    work_directory,
};

/// The slots of the round.
pub const POOL: &str = "license";
/// The time between two proofs.
pub const PROBE_EVERY: Duration = Duration::from_hours(1);
/// A scanner that does not work is tried again after this, so that an accident costs no hour.
const TRY_AGAIN: Duration = Duration::from_mins(1);
/// How a pause that is ours begins.
const OURS: &str = "license scanner: ";

/// A file with a known answer.
const PROBE: &str =
    "/* Copyright (c) 2020 Example Corp.\n * SPDX-License-Identifier: MIT\n */\nint probe;\n";
const PROBE_SPDX: &str = "MIT";
const PROBE_HOLDER: &str = "Example Corp.";

/// The scanners of this process. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Desk(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    state: Mutex<State>,
    claims: Claims,
}

#[derive(Debug, Default)]
struct State {
    probed: Option<Instant>,
    first: Option<Arc<dyn Scanner>>,
    second: Option<Arc<dyn Scanner>>,
    why: String,
}

impl Desk {
    /// With these settings; nothing is started yet.
    pub fn new(settings: Settings) -> Self {
        Self(Arc::new(Inner {
            settings,
            state: Mutex::default(),
            claims: Claims::default(),
        }))
    }

    /// With scanners that are believed without proof, for tests.
    #[doc(hidden)]
    pub fn given(
        settings: Settings,
        first: Arc<dyn Scanner>,
        second: Option<Arc<dyn Scanner>>,
    ) -> Self {
        Self(Arc::new(Inner {
            settings,
            state: Mutex::new(State {
                probed: Some(Instant::now()),
                first: Some(first),
                second,
                why: String::new(),
            }),
            claims: Claims::default(),
        }))
    }

    /// As it is set.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The first of these files that no other run is at, at most so many.
    pub(super) fn claim(
        &self,
        scanner: &ScannerIdentity,
        wanted: &[FileKey],
        most: usize,
    ) -> Claim {
        self.0.claims.take(&scanner.key(), wanted, most)
    }

    /// Some run has let go of files.
    pub(super) async fn released(&self) {
        self.0.claims.released().await;
    }

    /// The scanner to be used, proved within the last hour.
    pub async fn scanner(&self) -> Result<Arc<dyn Scanner>, Broken> {
        let mut state = self.0.state.lock().await;
        let lasts = if state.first.is_some() {
            PROBE_EVERY
        } else {
            TRY_AGAIN
        };
        if state.probed.is_none_or(|at| at.elapsed() >= lasts) {
            self.prove(&mut state).await;
        }
        state.first.clone().ok_or_else(|| Broken(state.why.clone()))
    }

    /// Another one that works, to compare with; none where there is none or none is wanted.
    pub async fn second(&self) -> Option<Arc<dyn Scanner>> {
        if self.0.settings.cross_check_one_in == 0 {
            return None;
        }
        self.0.state.lock().await.second.clone()
    }

    /// Proves the scanner now.
    pub async fn probe(&self) -> Result<Arc<dyn Scanner>, Broken> {
        let mut state = self.0.state.lock().await;
        self.prove(&mut state).await;
        state.first.clone().ok_or_else(|| Broken(state.why.clone()))
    }

    /// One scanner by its name, proved.
    pub async fn named(&self, choice: Choice) -> Result<Arc<dyn Scanner>, Broken> {
        let settings = &self.0.settings;
        let scanner: Arc<dyn Scanner> = match choice {
            Choice::Auto => return self.scanner().await,
            Choice::Builtin => Arc::new(Builtin::default()),
            Choice::ScanCode => Arc::new(ScanCode::open(settings).await?),
            Choice::Provenant => Arc::new(Provenant::open(settings).await?),
        };
        prove(scanner.as_ref()).await?;
        Ok(scanner)
    }

    async fn prove(&self, state: &mut State) {
        let directory = self.0.settings.directory.clone();
        let _ = tokio::task::spawn_blocking(move || {
            work_directory::sweep(&directory);
            work_directory::sweep(&directory.join("trees"));
        })
        .await;
        let wanted: &[Choice] = match self.0.settings.scanner {
            Choice::Auto => &[Choice::Provenant, Choice::ScanCode, Choice::Builtin],
            Choice::Builtin => &[Choice::Builtin],
            Choice::ScanCode => &[Choice::ScanCode],
            Choice::Provenant => &[Choice::Provenant],
        };
        let before = state.first.take();
        let mut complaints = Vec::new();
        for choice in wanted {
            // One that is running is asked; another would be a second index in memory.
            let running = before
                .as_ref()
                .filter(|scanner| scanner.identity().tool == choice.as_str());
            let still = match running {
                Some(scanner) if prove(scanner.as_ref()).await.is_ok() => Some(scanner.clone()),
                _ => None,
            };
            let found = match still {
                Some(scanner) => Ok(scanner),
                None => Box::pin(self.named(*choice)).await,
            };
            match found {
                Ok(scanner) => {
                    state.first = Some(scanner);
                    break;
                }
                Err(Broken(why)) => complaints.push(format!("{}: {why}", choice.as_str())),
            }
        }
        state.probed = Some(Instant::now());
        state.why = complaints.join("; ");
        state.second = self
            .other(state.first.as_deref(), state.second.take())
            .await;
        if let Some(scanner) = &state.first {
            tracing::info!(scanner = %scanner.identity().title(), "license scanner ready");
        } else {
            tracing::warn!(why = %state.why, "no license scanner works");
        }
    }

    /// One to compare with: ScanCode beside provenant where it is set up, else the built-in one.
    async fn other(
        &self,
        first: Option<&dyn Scanner>,
        before: Option<Arc<dyn Scanner>>,
    ) -> Option<Arc<dyn Scanner>> {
        let tool = first?.identity().tool.as_str();
        if self.0.settings.cross_check_one_in == 0 || tool == "builtin" {
            return None;
        }
        if before.is_some() {
            return before;
        }
        if tool == "provenant" && super::python_in(&self.0.settings.venv).is_file() {
            let other = Box::pin(self.named(Choice::ScanCode)).await;
            if let Ok(other) = other {
                return Some(other);
            }
        }
        Some(Arc::new(Builtin::default()))
    }
}

/// Scans the known file.
async fn prove(scanner: &dyn Scanner) -> Result<(), Broken> {
    let input = Input {
        path: "probe.c".to_owned(),
        bytes: PROBE.as_bytes().to_vec(),
    };
    let answers = scanner.scan(vec![input]).await?;
    match answers.first() {
        Some(Scanned::Done { findings, .. }) => {
            let licensed = findings.spdx.as_deref() == Some(PROBE_SPDX);
            let held = findings.holders.iter().any(|one| one.value == PROBE_HOLDER);
            if licensed && held {
                return Ok(());
            }
            Err(Broken(format!(
                "a known file got another answer: license {:?}, holders {:?}",
                findings.spdx,
                findings
                    .holders
                    .iter()
                    .map(|one| &one.value)
                    .collect::<Vec<_>>()
            )))
        }
        Some(Scanned::Failed { why, .. }) => Err(Broken(format!("a known file failed: {why}"))),
        None => Err(Broken("a known file got no answer".to_owned())),
    }
}

/// Proves the scanner now and every hour; pauses the pool while none works and resumes it after.
pub async fn watch(desk: Desk, engine: Engine, stop: CancellationToken) {
    loop {
        let works = look(&desk, &engine).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the pool of the license round could not be steered");
            false
        });
        let next = if works { PROBE_EVERY } else { TRY_AGAIN };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(next) => {}
        }
    }
}

/// Proves the scanner once and steers the pool by it; returns whether it works.
async fn look(desk: &Desk, engine: &Engine) -> Result<bool, DbError> {
    match desk.probe().await {
        Ok(_) => resume(engine).await.map(|()| true),
        Err(Broken(why)) => pause(engine, &why).await.map(|()| false),
    }
}

/// Nothing starts until a scanner works again.
pub(super) async fn pause(engine: &Engine, why: &str) -> Result<(), DbError> {
    engine.pause_pool(POOL, &format!("{OURS}{why}")).await
}

/// Ends a pause that is ours; one that a person made stays.
async fn resume(engine: &Engine) -> Result<(), DbError> {
    let pools = engine.pools().await?;
    let ours = pools.iter().any(|pool| {
        let why = pool.paused_why.as_deref();
        pool.pool == POOL && why.is_some_and(|why| why.starts_with(OURS))
    });
    if ours {
        engine.resume_pool(POOL).await?;
    }
    Ok(())
}
