//! One scan of one repository: what is new in its tree is scanned, and the tree is put together.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use db::Timestamp;
use engine::{Ending, Outcome, Run, RunError};
use facts::license::Findings;
use store::{
    license::{self, Again, Answer, FileKey, NewResult, State},
    repositories::Repository,
};

use super::{
    Desk, Input, Scanner,
    collector::Progress,
    cross_check,
    gather::{Leads, Source, Tree},
    kept_answer::answer,
    stop::Stop,
    tree_step::{Problems, ToldApart, count_place, key, put_together},
    whole_tree,
    written::{Batch, Begin, Portion, Report},
};
use crate::git::{Blob, Entry, EntryKind};

/// Trees with more files are scanned as far as this, and are told to be in part.
const MOST_FILES: usize = 500_000;
/// Between two looks at what another run is scanning.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// One run.
pub(super) struct Scan<'a> {
    pub(super) desk: &'a Desk,
    pub(super) scanner: &'a dyn Scanner,
    pub(super) repository: &'a Repository,
    pub(super) cx: &'a Run,
    pub(super) began: Timestamp,
}

/// What is known of the files of a tree.
#[derive(Default)]
struct Seen {
    problems: Problems,
    /// Files by what tells them apart for a scanner, one path each.
    paths: HashMap<FileKey, String>,
}

impl Scan<'_> {
    pub(super) async fn run(&self, source: &Source) -> Result<Ending, Stop> {
        let mut report = Report {
            scanner: self.scanner.identity().title(),
            ..Report::default()
        };
        let whole_tree = whole_tree::is_wanted(self.desk.settings(), self.scanner);
        if whole_tree && let Some(ending) = whole_tree::take_up(self).await? {
            return Ok(ending);
        }
        let Leads::To(announced) = source.head(Some(self.cx)).await? else {
            report.unchanged = true;
            return Ok(self.cx.end(Outcome::Done, report));
        };
        let current = license::head(self.cx.db(), self.repository.id).await?;
        let identity = if whole_tree {
            whole_tree::identity(self.scanner.identity())
        } else {
            self.scanner.identity().clone()
        };
        if let Some(current) = &current
            && current.commit == announced
            && current.scanner == identity.key()
            && current.again.is_none()
        {
            report.unchanged = true;
            report.commit = Some(announced);
            let facts = (current.id, self.cx.clock().now());
            return Ok(self
                .cx
                .finish(Outcome::Done, report, facts, |tx, (id, now)| {
                    Box::pin(async move { Ok(license::stamp(tx, *id, *now).await?) })
                }));
        }
        tracing::info!(
            repository = self.repository.id,
            name = %self.repository.slug(),
            scanner = %report.scanner,
            "license scan started"
        );
        let tree = source.tree(current.is_none(), Some(self.cx)).await?;
        let commit = tree.commit(&announced);
        let mut entries = tree.entries(&commit).await?;
        report.commit = Some(commit.clone());
        Self::leave_out(&mut entries, &mut report);
        if whole_tree {
            return whole_tree::run(self, tree, &commit, &entries, report).await;
        }
        let again = current.and_then(|current| current.again);
        let mut seen = Seen::default();
        self.scan_missing(&tree, &entries, again, &mut seen, &mut report)
            .await?;
        let tree_id = tree.id(&commit).await?;
        // Nobody else need wait for the objects any longer.
        drop(tree);
        self.put_together(&entries, seen, commit, tree_id, report)
            .await
    }

    /// What is no file, and what is too large.
    fn leave_out(entries: &mut Vec<Entry>, report: &mut Report) {
        entries.retain(|entry| match entry.kind {
            EntryKind::File => true,
            EntryKind::Link => {
                *report.skipped.entry("symlink".into()).or_default() += 1;
                false
            }
            EntryKind::Submodule => {
                *report.skipped.entry("submodule".into()).or_default() += 1;
                false
            }
        });
        if entries.len() > MOST_FILES {
            report
                .skipped
                .insert("too-many-files".into(), entries.len() - MOST_FILES);
            entries.truncate(MOST_FILES);
        }
        report.files = entries.len();
    }

    /// Scans what has no answer yet, batch by batch, each written down before the next.
    async fn scan_missing(
        &self,
        tree: &Tree,
        entries: &[Entry],
        again: Option<Again>,
        seen: &mut Seen,
        report: &mut Report,
    ) -> Result<(), Stop> {
        for entry in entries {
            seen.paths
                .entry(key(entry))
                .or_insert_with(|| entry.path.clone());
        }
        report.distinct = seen.paths.len();
        let mut all: Vec<FileKey> = seen.paths.keys().cloned().collect();
        // By path: a batch holds neighbours, and every run goes the same way.
        all.sort_by(|a, b| seen.paths[a].cmp(&seen.paths[b]));
        if again == Some(Again::Files) {
            self.forget(&all).await?;
        }
        let known = self.known(&all).await?;
        report.known = known.len();
        let mut todo: Vec<FileKey> = all.into_iter().filter(|key| !known.contains(key)).collect();
        let size = self.desk.settings().batch_files.max(1);
        while !todo.is_empty() {
            if self.cx.cancelled().is_cancelled() {
                return Err(RunError::Interrupted.into());
            }
            let claim = self.desk.claim(self.scanner.identity(), &todo, size);
            if claim.keys().is_empty() {
                // Others are at all that is left: their answers will do.
                tokio::select! {
                    () = self.cx.cancelled().cancelled() => return Err(RunError::Interrupted.into()),
                    () = tokio::time::sleep(LOOK_AGAIN) => {}
                    () = self.desk.released() => {}
                }
                let known = self.known(&todo).await?;
                report.known += known.len();
                todo.retain(|key| !known.contains(key));
                continue;
            }
            let known = self.known(claim.keys()).await?;
            let batch: Vec<FileKey> = claim
                .keys()
                .iter()
                .filter(|key| !known.contains(key))
                .cloned()
                .collect();
            report.known += known.len();
            self.batch(tree, &batch, seen, report).await?;
            let done: HashSet<&FileKey> = claim.keys().iter().collect();
            todo.retain(|key| !done.contains(key));
        }
        // What has no answer under any of its paths has none under all of them.
        let by_key: HashMap<FileKey, (&'static str, String)> = seen
            .paths
            .iter()
            .filter_map(|(key, path)| Some((key.clone(), seen.problems.get(path)?.clone())))
            .collect();
        for entry in entries {
            if let Some(problem) = by_key.get(&key(entry)) {
                seen.problems
                    .entry(entry.path.clone())
                    .or_insert_with(|| problem.clone());
            }
        }
        Ok(())
    }

    async fn known(&self, keys: &[FileKey]) -> Result<HashSet<FileKey>, Stop> {
        let Some(scanner) = license::scanner_number(self.cx.db(), self.scanner.identity()).await?
        else {
            return Ok(HashSet::new());
        };
        let known = license::known(self.cx.db(), scanner, keys).await?;
        Ok(known.into_keys().collect())
    }

    async fn forget(&self, keys: &[FileKey]) -> Result<(), Stop> {
        for keys in keys.chunks(license::KEYS_AT_ONCE) {
            let facts = (
                self.scanner.identity().clone(),
                keys.to_vec(),
                self.cx.clock().now(),
            );
            self.cx
                .commit(&Progress {}, &facts, |tx, (identity, keys, now)| {
                    Box::pin(async move {
                        let scanner = license::scanner(tx, identity, *now).await?;
                        license::forget_answers(tx, scanner, keys).await?;
                        Ok(())
                    })
                })
                .await?;
        }
        Ok(())
    }

    /// Reads, scans and writes down one batch.
    async fn batch(
        &self,
        tree: &Tree,
        keys: &[FileKey],
        seen: &mut Seen,
        report: &mut Report,
    ) -> Result<(), Stop> {
        if keys.is_empty() {
            return Ok(());
        }
        let ids: Vec<&str> = keys.iter().map(|key| key.blob.as_str()).collect();
        let blobs = tree.blobs(&unique(&ids), Some(self.cx)).await?;
        let blobs: HashMap<&str, Blob> = unique(&ids).into_iter().zip(blobs).collect();
        let mut scanned: Vec<(FileKey, Input)> = Vec::new();
        for key in keys {
            let path = seen.paths[key].clone();
            match blobs.get(key.blob.as_str()) {
                Some(Blob::Bytes(bytes)) => {
                    report.bytes += bytes.len() as u64;
                    let bytes = bytes.clone();
                    scanned.push((key.clone(), Input { path, bytes }));
                }
                Some(Blob::TooLarge { bytes }) => {
                    report.too_large += 1;
                    let limit = self.desk.settings().max_file_bytes;
                    let why = format!("{bytes} bytes is over the limit of {limit}");
                    seen.problems.insert(path, ("too-large", why));
                }
                Some(Blob::Missing) | None => {
                    report.missing += 1;
                    let why = "the server did not hand it out".to_owned();
                    seen.problems.insert(path, ("missing", why));
                }
            }
        }
        let inputs = scanned.iter().map(|(_, input)| input.clone()).collect();
        let work = self.scanner.scan(inputs);
        let outcomes = tokio::select! {
            () = self.cx.cancelled().cancelled() => return Err(RunError::Interrupted.into()),
            outcomes = work => outcomes?,
        };
        let mut answers: Vec<Answer> = Vec::new();
        let mut sample: Vec<(FileKey, Input, Findings)> = Vec::new();
        let one_in = self.desk.settings().cross_check_one_in;
        for ((key, input), outcome) in scanned.into_iter().zip(outcomes) {
            report.scanned += 1;
            let answer = answer(&key, &input, outcome);
            match answer.state {
                State::Failed => {
                    report.failed += 1;
                    let why = answer.findings.scan_errors.join("; ");
                    seen.problems.insert(input.path.clone(), ("failed", why));
                }
                State::Degraded => {
                    report.degraded += 1;
                    let why = format!(
                        "it took {} ms, and may have been cut short",
                        answer.elapsed_ms
                    );
                    seen.problems.insert(input.path.clone(), ("degraded", why));
                }
                State::Found | State::Nothing => {
                    if cross_check::is_sampled(&key.blob, one_in) {
                        sample.push((key, input, answer.findings.clone()));
                    }
                }
            }
            answers.push(answer);
        }
        let mut batch = Batch {
            scanner: self.scanner.identity().clone(),
            answers,
            other: None,
            checks: Vec::new(),
            now: self.cx.clock().now(),
        };
        if !sample.is_empty()
            && let Some(other) = self.desk.second().await
        {
            batch.checks = cross_check::compare(other.as_ref(), sample).await;
            batch.other = Some(other.identity().clone());
        }
        self.cx
            .commit(&Progress {}, &batch, |tx, batch| Box::pin(batch.write(tx)))
            .await?;
        Ok(())
    }

    /// The tree step, and the result.
    async fn put_together(
        &self,
        entries: &[Entry],
        seen: Seen,
        commit: String,
        tree: String,
        report: Report,
    ) -> Result<Ending, Stop> {
        let keys: Vec<FileKey> = seen.paths.keys().cloned().collect();
        let number = license::scanner_number(self.cx.db(), self.scanner.identity()).await?;
        let answers = match number {
            Some(number) => license::answers(self.cx.db(), number, &keys).await?,
            None => HashMap::new(),
        };
        let mut told_apart = ToldApart::new();
        if let Some(number) = number {
            let sorts = license::sorts(self.cx.db(), number, &keys).await?;
            for entry in entries {
                count_place(&entry.path, &mut told_apart);
                if let Some(sort) = sorts.get(&key(entry)) {
                    *told_apart.entry(sort.clone()).or_default() += 1;
                }
            }
        }
        let together = put_together(self.scanner, entries, &answers, &seen.problems).await;
        let done = Done {
            identity: self.scanner.identity().clone(),
            mode: "files",
            commit,
            tree,
            files: together.files,
            settled: together.settled,
            found: together.found,
            told_apart,
        };
        self.finish(done, report).await
    }

    /// Writes a result in portions and makes it the current one.
    pub(super) async fn finish(&self, done: Done, mut report: Report) -> Result<Ending, Stop> {
        let now = self.cx.clock().now();
        report.found = done.found;
        report.license.clone_from(&done.settled.primary);
        let new = NewResult {
            repository: self.repository.id,
            scanner: 0,
            commit: done.commit,
            tree: done.tree,
            mode: done.mode,
            began_at: self.began,
            files: report.files as i64,
            files_found: report.found as i64,
            files_scanned: report.scanned as i64,
            files_failed: done
                .files
                .iter()
                .filter(|file| file.problem.is_some())
                .count() as i64,
            bytes_scanned: i64::try_from(report.bytes).unwrap_or(i64::MAX),
            skipped: (!report.skipped.is_empty())
                .then(|| serde_json::to_string(&report.skipped).ok())
                .flatten(),
            told_apart: (!done.told_apart.is_empty())
                .then(|| serde_json::to_string(&done.told_apart).ok())
                .flatten(),
            primary_spdx: done.settled.primary.clone(),
            primary_from: done.settled.primary_from.map(str::to_owned),
        };
        let repository = self.repository.id;
        let more = std::sync::atomic::AtomicBool::new(true);
        while more.load(std::sync::atomic::Ordering::Relaxed) {
            self.cx
                .commit(
                    &Progress {},
                    &(repository, &more),
                    |tx, (repository, more)| {
                        Box::pin(async move {
                            let left = license::discard_staged(tx, *repository).await?;
                            more.store(left, std::sync::atomic::Ordering::Relaxed);
                            Ok(())
                        })
                    },
                )
                .await?;
        }
        let begin = Begin {
            new,
            scanner: done.identity,
            now,
        };
        self.cx
            .commit(&Progress {}, &begin, |tx, begin| Box::pin(begin.write(tx)))
            .await?;
        for portion in Portion::all(repository, done.files, &done.settled) {
            self.cx
                .commit(&Progress {}, &portion, |tx, portion| {
                    Box::pin(portion.write(tx))
                })
                .await?;
        }
        tracing::info!(
            repository,
            name = %self.repository.slug(),
            scanner = %report.scanner,
            files = report.files,
            scanned = report.scanned,
            license = report.license.as_deref().unwrap_or("none"),
            "license scan complete"
        );
        let outcome = match (report.missing, report.skipped.get("too-many-files")) {
            (0, None) => Outcome::Done,
            (0, Some(more)) => Outcome::Partial {
                why: format!("{more} files are beyond the limit of {MOST_FILES}"),
                retry_at: Some(now.plus(Duration::from_hours(180 * 24))),
            },
            (missing, _) => Outcome::Partial {
                why: format!("{missing} files could not be had"),
                retry_at: None,
            },
        };
        let facts = (repository, now);
        Ok(self
            .cx
            .finish(outcome, report, facts, |tx, (repository, now)| {
                Box::pin(async move { Ok(license::make_current(tx, *repository, *now).await?) })
            }))
    }
}

/// A result, ready to be written.
pub(super) struct Done {
    pub(super) identity: facts::license::ScannerIdentity,
    pub(super) mode: &'static str,
    pub(super) commit: String,
    pub(super) tree: String,
    pub(super) files: Vec<license::NewFile>,
    pub(super) settled: scan::license::tree::Settled,
    pub(super) found: usize,
    pub(super) told_apart: ToldApart,
}

fn unique<'a>(ids: &[&'a str]) -> Vec<&'a str> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    ids
}
