//! Reading manifests: how many files, and how many bytes, one core reads in a second.
//!
//! The whole corpus lies in memory, and one thread reads it again and again. What counts is the
//! time that this thread had a core: on a busy machine the wall clock also counts the neighbours.

use std::{
    collections::BTreeMap,
    hint::black_box,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use clap::Args;
use scan::manifest::{Format, recognise};

use crate::figure::{Figure, forget_peak, median, memory, remark};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// A directory of manifests, at any depth. Without it the corpus beside the checkout, and where
    /// that is not installed, the parsers' own fixtures.
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Seconds that each round takes at least.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Repetitions; the figures are medians.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// One manifest, with its format.
struct File {
    path: String,
    bytes: Vec<u8>,
    format: &'static Format,
}

/// What one reading of some files took.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    files: usize,
    bytes: usize,
    seconds: f64,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let root = match &options.corpus {
        Some(given) => given.clone(),
        None => installed().unwrap_or_else(fixtures),
    };
    let files = gather(&root)?;
    ensure!(!files.is_empty(), "no manifest lies in {}", root.display());
    remark(&format!("{} manifests in {}", files.len(), root.display()));
    // What the allocator keeps and what is set up once belongs to no figure.
    let files: Vec<&File> = files.iter().collect();
    read(&files);
    let before = memory();
    forget_peak();

    let least = Duration::from_secs_f64(options.seconds);
    let rounds = options.rounds.max(1);
    let all: Vec<Reading> = (0..rounds).map(|_| read_for(&files, least)).collect();
    let figure = Figure::new("manifests", None::<&'static str>);
    let rate = |of: fn(&Reading) -> f64| median(&mut all.iter().map(of).collect::<Vec<_>>());
    figure.print(
        "parse",
        rate(|one| one.files as f64 / one.seconds),
        "files/s/core",
    )?;
    figure.print(
        "bytes",
        rate(|one| one.bytes as f64 / one.seconds / 1e6),
        "MB/s",
    )?;
    if let (Some((start, _)), Some((_, most))) = (before, memory()) {
        figure.print("peak_memory", (most - start).max(0.0) / 1e6, "MB")?;
    }
    by_format(&files, least / 10, &figure)
}

/// The rate of each format by itself, and the slowest of them.
fn by_format(files: &[&File], least: Duration, figure: &Figure) -> anyhow::Result<()> {
    let mut formats: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for &file in files {
        let word = file.format.manifest_type();
        formats.entry(word).or_default().push(file);
    }
    let mut slowest: Option<(&str, f64)> = None;
    for (word, files) in formats {
        let reading = read_for(&files, least);
        let rate = reading.files as f64 / reading.seconds;
        figure.of(word).print("format", rate, "files/s/core")?;
        if slowest.is_none_or(|(_, least)| rate < least) {
            slowest = Some((word, rate));
        }
    }
    if let Some((word, rate)) = slowest {
        figure
            .of(word)
            .print("slowest_format", rate, "files/s/core")?;
    }
    Ok(())
}

/// Reads all files as often as fits, at least once.
fn read_for(files: &[&File], least: Duration) -> Reading {
    let begun = Instant::now();
    let mut all = Reading::default();
    while all.files == 0 || begun.elapsed() < least {
        let one = read(files);
        all.files += one.files;
        all.bytes += one.bytes;
        all.seconds += one.seconds;
    }
    all
}

fn read(files: &[&File]) -> Reading {
    let begun = on_core();
    let mut reading = Reading::default();
    for file in files {
        // What is broken counts too: it must be found out as quickly.
        let _ = black_box(
            file.format
                .parse(black_box(&file.path), black_box(&file.bytes)),
        );
        reading.files += 1;
        reading.bytes += file.bytes.len();
    }
    reading.seconds = (on_core() - begun).max(1e-9);
    reading
}

/// Seconds that this thread has had a core; where the system does not tell, seconds.
fn on_core() -> f64 {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|told| told.split_whitespace().next()?.parse::<f64>().ok());
    if let Some(nanos) = nanos {
        return nanos / 1e9;
    }
    BEGUN.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// The corpus beside the checkout, or beside the one that this is a worktree of.
fn installed() -> Option<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|directory| directory.join("../shared/corpora/manifests/files"))
        .find(|directory| directory.is_dir())
}

/// What the parsers are tested with.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/scan/testdata/manifest")
}

/// Every file below that has the name of a manifest, by path.
fn gather(root: &Path) -> anyhow::Result<Vec<File>> {
    let mut files = Vec::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        let entries = std::fs::read_dir(&directory)
            .with_context(|| format!("cannot list {}", directory.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                left.push(path);
                continue;
            }
            let below = path.strip_prefix(root).unwrap_or(&path);
            let below = below.to_string_lossy().replace('\\', "/");
            if let Some(format) = recognise(&below) {
                let bytes = std::fs::read(&path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                files.push(File {
                    path: below,
                    bytes,
                    format,
                });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}
