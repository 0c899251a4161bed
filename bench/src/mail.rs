//! Mail: parsing and classifying on one thread, and the whole way from a file into SQLite.
//!
//! The archive is generated, so that anybody can measure the same. Perceval reads a slice of the same
//! file in the same run: it is installed with pip into a virtual environment below the user's cache,
//! once, unless `GLEANER_PERCEVAL` names a python that has it. What counts is processor time: on a
//! busy machine the wall clock also counts the neighbours.

use std::{
    fmt::Write as _,
    fs::File,
    hint::black_box,
    io::{BufReader, BufWriter, Write as _},
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context as _, ensure};
use clap::Args;
use collect::{
    collector::Registered,
    git::remote,
    mail::{MailProject, MailResolve, Settings, resolve_unit, stage_file_copy},
};
use db::{Clock, Db, DbError, transact};
use engine::{Engine, Worker};
use facts::mail::Archive;
use scan::mail::{
    Hint,
    classify::{Mail, Rules},
    mbox, parse,
};
use store::mail::{self, NewCopy, NewList};
use tokio_util::sync::CancellationToken;

use crate::figure::{Figure, forget_peak, memory, remark};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How large the archive is.
    #[arg(long, default_value_t = 1024)]
    megabytes: u64,
    /// Mails of the slice that Perceval reads.
    #[arg(long, default_value_t = 3_000)]
    slice: usize,
    /// Another archive instead of a generated one.
    #[arg(long)]
    mbox: Option<PathBuf>,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let file = if let Some(file) = &options.mbox {
        file.clone()
    } else {
        let file = directory.path().join("bench.mbox");
        generate(&file, options.megabytes << 20)?;
        file
    };
    let figure = Figure::new("mail", None::<&'static str>);
    forget_peak();
    let rate = read(&file, &figure)?;
    perceval(&file, directory.path(), options.slice, rate, &figure)?;
    forget_peak();
    store(&file, directory.path()).await?;
    Ok(())
}

/// Parses and classifies all of it; answers mails per second of a core.
fn read(file: &Path, figure: &Figure) -> anyhow::Result<f64> {
    let rules = Rules::shipped("lore")?;
    let size = std::fs::metadata(file)?.len();
    let begun = on_core();
    let mut splitter = mbox::split(BufReader::with_capacity(256 << 10, File::open(file)?));
    let mut count = 0_u64;
    while let Some(raw) = splitter.next_message()? {
        let message = parse(
            &raw.bytes,
            Hint {
                envelope: raw.envelope.as_ref(),
            },
        );
        black_box(rules.classify(&Mail::from(&message)));
        count += 1;
    }
    let seconds = (on_core() - begun).max(1e-9);
    ensure!(count > 0, "there is no mail in {}", file.display());
    let rate = count as f64 / seconds;
    remark(&format!("{count} mails, {} MB", size >> 20));
    figure.print("parse_classify", rate, "messages/s/core")?;
    figure.print("parse_classify_bytes", size as f64 / seconds / 1e6, "MB/s")?;
    if let Some((_, most)) = memory() {
        figure.print("parse_classify_memory", most / 1e6, "MB")?;
    }
    Ok(rate)
}

/// The way from the file into SQLite, and what it costs.
async fn store(file: &Path, directory: &Path) -> anyhow::Result<()> {
    let url = format!("sqlite:{}", directory.join("bench.db").display());
    let db = Db::connect(&url, &db::Settings::default()).await?;
    let clock = Clock::system();
    db::migrate(&db, &[engine::PART, store::PART], &clock).await?;
    let engine = Engine::new(db.clone(), clock);
    let list = NewList {
        archive: Archive::Import,
        system: "lore".to_owned(),
        address: "bench@example.org".to_owned(),
        base: None,
        inbox: None,
        description: None,
        repo_group: None,
        repository: None,
    };
    let (new, now) = (&list, engine.clock().now());
    let registered: Result<_, DbError> = transact!(db, |tx| mail::register(tx, new, now).await);
    let list = registered?.id;
    let figure = Figure::new("mail", Some("sqlite"));
    let (begun, wall) = (process_seconds(), Instant::now());
    let mut count = 0;
    let mut splitter = mbox::split(BufReader::with_capacity(256 << 10, File::open(file)?));
    let mut batch: Vec<NewCopy> = Vec::new();
    loop {
        let next = splitter.next_message()?;
        if let Some(raw) = &next {
            batch.push(stage_file_copy("bench", &raw.bytes, raw.envelope.as_ref()));
        }
        if batch.len() == 500 || next.is_none() {
            count += batch.len();
            let (copies, now) = (&batch, engine.clock().now());
            let staged: Result<usize, DbError> =
                transact!(db, |tx| mail::stage(tx, list, copies, now).await);
            staged?;
            batch.clear();
        }
        if next.is_none() {
            break;
        }
    }
    let staged_at = process_seconds();
    engine.enqueue(vec![resolve_unit(list).now()]).await?;
    let git = remote::Settings::new(directory.join("git"), "bench");
    let mut settings = Settings::new(directory.join("spool"), git);
    // Nobody is asked in a bench.
    settings.sender_search_after = 0;
    settings.ask_for_issues = false;
    let resolve = Registered::new(MailResolve::new(settings.clone()));
    let project = Registered::new(MailProject::new(settings));
    let worker = Worker::new(engine.clone())
        .boxed_kind(resolve.kind, resolve.handler)
        .boxed_kind(project.kind, project.handler);
    Box::pin(worker.run_until_idle(CancellationToken::new())).await?;
    let (seconds, wall) = (process_seconds() - begun, wall.elapsed().as_secs_f64());
    let stats = mail::stats(&db).await?;
    ensure!(stats.dead_letters == 0, "mail could not be written");
    let count = count as f64;
    figure.print("stage", (staged_at - begun) * 1e3 / count, "CPU ms/message")?;
    figure.print("end_to_end", seconds * 1e3 / count, "CPU ms/message")?;
    figure.print("end_to_end_rate", count / wall, "messages/s")?;
    if let Some((_, most)) = memory() {
        figure.print("end_to_end_memory", most / 1e6, "MB")?;
    }
    let size = std::fs::metadata(directory.join("bench.db"))?.len();
    figure.print("database", size as f64 / count, "bytes/message")?;
    db.close().await;
    Ok(())
}

/// Perceval over the first mails of the same file.
fn perceval(
    file: &Path,
    directory: &Path,
    slice: usize,
    rate: f64,
    figure: &Figure,
) -> anyhow::Result<()> {
    const SCRIPT: &str = "import sys, time\n\
        from perceval.backends.core.mbox import MBox\n\
        begun = time.process_time()\n\
        count = sum(1 for _ in MBox('http://example.org/', sys.argv[1]).fetch())\n\
        print(count, time.process_time() - begun)\n";
    let folder = directory.join("slice");
    std::fs::create_dir_all(&folder)?;
    let mut splitter = mbox::split(BufReader::new(File::open(file)?));
    let mut out = BufWriter::new(File::create(folder.join("slice.mbox"))?);
    for _ in 0..slice {
        let Some(raw) = splitter.next_message()? else {
            break;
        };
        out.write_all(b"From x@example.org Thu Jan  1 00:00:00 1970\n")?;
        for line in raw.bytes.split_inclusive(|byte| *byte == b'\n') {
            if line.starts_with(b"From ") {
                out.write_all(b">")?;
            }
            out.write_all(line)?;
        }
        out.write_all(b"\n")?;
    }
    out.flush()?;
    let python = match python_with_perceval() {
        Ok(python) => python,
        Err(error) => {
            remark(&format!("NOT MEASURED: perceval cannot be had: {error:#}"));
            return Ok(());
        }
    };
    let said = Command::new(python)
        .args(["-c", SCRIPT])
        .arg(&folder)
        .output()?;
    ensure!(
        said.status.success(),
        "perceval failed: {}",
        String::from_utf8_lossy(&said.stderr)
    );
    let text = String::from_utf8_lossy(&said.stdout);
    let mut numbers = text
        .split_whitespace()
        .filter_map(|word| word.parse::<f64>().ok());
    let (count, seconds) = (numbers.next(), numbers.next());
    let (count, seconds) = count.zip(seconds).context("perceval told no figures")?;
    let theirs = count / seconds.max(1e-9);
    figure
        .peer("perceval")
        .print("parse_classify", theirs, "messages/s/core")?;
    figure
        .peer("perceval")
        .print("ratio", rate / theirs, "times")?;
    Ok(())
}

/// A python that has Perceval: the one that the environment names, else one of our own.
fn python_with_perceval() -> anyhow::Result<PathBuf> {
    if let Some(python) = std::env::var_os("GLEANER_PERCEVAL") {
        return Ok(python.into());
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let place = cache
        .unwrap_or_else(std::env::temp_dir)
        .join("gleaner-bench/perceval");
    let python = place.join("bin/python");
    let has = |python: &Path| {
        let said = Command::new(python)
            .args(["-c", "import perceval.backends.core.mbox"])
            .output();
        said.is_ok_and(|said| said.status.success())
    };
    if !has(&python) {
        remark(&format!("installing perceval into {}", place.display()));
        let run = |command: &mut Command| -> anyhow::Result<()> {
            let said = command.output()?;
            let complaint = String::from_utf8_lossy(&said.stderr);
            ensure!(said.status.success(), "{}", complaint.trim());
            Ok(())
        };
        run(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
        let install = ["-m", "pip", "install", "--quiet", "perceval"];
        run(Command::new(&python).args(install))?;
        ensure!(has(&python), "it was installed and cannot be imported");
    }
    Ok(python)
}

/// Seconds that this thread has had a core.
fn on_core() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = told
        .split_whitespace()
        .next()
        .and_then(|one| one.parse::<f64>().ok());
    nanos.unwrap_or_default() / 1e9
}

/// Seconds that all threads of this process have had a core, inside the kernel too.
fn process_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = told.rsplit(')').next().unwrap_or_default();
    let ticks = after.split_whitespace().skip(11).take(2);
    let ticks: f64 = ticks.filter_map(|one| one.parse::<f64>().ok()).sum();
    ticks / 100.0
}

/// An archive as lists of patches have it: threads of patches, reviews with quotations, talk.
fn generate(file: &Path, size: u64) -> anyhow::Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    let mut state: u64 = 0x2545_f491_4f6c_dd1d;
    let mut roll = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let words = [
        "branch", "commit", "tree", "index", "remote", "fetch", "merge", "patch", "ref", "object",
        "should", "because", "instead", "however", "which", "would", "the", "and", "not", "with",
    ];
    let mut written = 0;
    let mut number = 0_u64;
    while written < size {
        let thread = number - number % 9;
        let is_root = number == thread;
        let patch = !(thread / 9).is_multiple_of(3);
        let second = 1_500_000_000 + number * 311;
        let mut mail = format!(
            "From mboxrd@z Thu Jan  1 00:00:00 1970\nReceived: from mx{a}.example.org (mx{a}.example.org [192.0.2.{a}])\n\
             \tby lists.example.org (Postfix) with ESMTP id {number:X}\n\tfor <things@example.org>; Thu, 1 Jan 2015 00:00:00 +0000 (UTC)\n\
             From: Person {p} <person{p}@example.org>\nTo: things@example.org\nDate: @{second}\nMessage-ID: <{number}.bench@example.org>\n",
            a = roll(200),
            p = roll(4000),
        );
        mail = mail.replace(&format!("@{second}"), &date(second));
        let _ = writeln!(
            mail,
            "Subject: {}{}{} {}",
            if is_root || patch { "" } else { "Re: " },
            if patch {
                format!("[PATCH v{} {}/8] ", 1 + thread % 3, number - thread)
            } else {
                String::new()
            },
            words[roll(20) as usize],
            words[roll(20) as usize],
        );
        if !is_root {
            let _ = writeln!(
                mail,
                "In-Reply-To: <{thread}.bench@example.org>\nReferences: <{thread}.bench@example.org>"
            );
        }
        mail.push_str("List-Id: <things.example.org>\nMIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n");
        for _ in 0..4 + roll(30) {
            let quoted = if roll(3) == 0 { "> " } else { "" };
            mail.push_str(quoted);
            for _ in 0..10 {
                mail.push_str(words[roll(20) as usize]);
                mail.push(' ');
            }
            mail.push('\n');
        }
        if patch && !is_root {
            mail.push_str("\nSigned-off-by: Person <person@example.org>\n---\n file.c | 4 ++--\n 1 file changed, 2 insertions(+), 2 deletions(-)\n\ndiff --git a/file.c b/file.c\n--- a/file.c\n+++ b/file.c\n@@ -1,90 +1,90 @@\n");
            for _ in 0..40 + roll(120) {
                let sign = [" ", "+", "-"][roll(3) as usize];
                let _ = writeln!(
                    mail,
                    "{sign}\tif ({} == {}) return {};",
                    words[roll(20) as usize],
                    roll(100),
                    words[roll(20) as usize]
                );
            }
        }
        mail.push_str("-- \n2.30.0\n\n");
        out.write_all(mail.as_bytes())?;
        written += mail.len() as u64;
        number += 1;
    }
    out.flush()?;
    Ok(())
}

/// A date as mail has it; days of the week do not matter to anybody.
fn date(second: u64) -> String {
    let days = second / 86_400;
    // Civil from days, by the usual shift to March.
    let z = days as i64 + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let names = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let name = names[(month - 1).clamp(0, 11) as usize];
    let rest = second % 86_400;
    format!(
        "{day} {name} {year} {:02}:{:02}:{:02} +0000",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}
