//! The license round over one repository, by every scanner that is installed: a first scan, a rescan
//! after a commit that touches one file in a hundred, and a look at an unchanged HEAD; beside them
//! stock ScanCode over the same tree.
//!
//! Everything is real: git over HTTP on the loopback, the engine, SQLite, the scanners. What counts
//! is CPU time, of this process and of all that it started, git and the git server included; so the
//! figures are above what the product alone takes.

mod cpu;
mod repository;

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::Args;
use collect::license::{Choice, Desk, stock};

use self::{cpu::spent, repository::Repository};
use crate::figure::{Figure, remark};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// A directory whose files are scanned; without it, the source of this workspace.
    #[arg(long)]
    tree: Option<PathBuf>,
    /// At most so many files of it.
    #[arg(long, default_value_t = 300)]
    files: usize,
    /// The private place of a ScanCode, as `gleaner license setup` makes it; `GLEANER_SCANCODE`
    /// names one too.
    #[arg(long)]
    scancode: Option<PathBuf>,
    /// Provenant, by name or path.
    #[arg(long, default_value = "provenant")]
    provenant: PathBuf,
}

pub(crate) async fn run(options: &Options) -> anyhow::Result<()> {
    let mut repository = Repository::new(options).await?;
    let files = repository.files();
    remark(&format!("{files} files in {}", repository.tree().display()));
    let figure = Figure::new("license", "sqlite");
    let stock = stock_scan(&repository, &figure).await?;
    for choice in [Choice::Builtin, Choice::ScanCode, Choice::Provenant] {
        let name = choice.as_str();
        let desk = Desk::new(repository.settings(choice));
        // Its start belongs to no figure: it stays for the whole fleet.
        if let Err(broken) = desk.scanner().await {
            remark(&format!("{name} is not measured: {broken}"));
            continue;
        }
        let figure = figure.of(name);
        let first = repository.look(&desk).await?;
        ensure!(first.scanned > 0, "nothing was scanned");
        let per_file = first.cpu * 1_000.0 / first.scanned as f64;
        figure.print("first_scan", per_file, "CPU ms/file")?;
        let touched = repository.touch()?;
        let rescan = repository.look(&desk).await?;
        ensure!(
            rescan.scanned <= touched,
            "{} files were scanned, and {touched} have changed",
            rescan.scanned
        );
        figure.print("rescan", rescan.cpu, "CPU s")?;
        let unchanged = repository.look(&desk).await?;
        ensure!(unchanged.scanned == 0, "nothing has changed");
        figure.print("unchanged", unchanged.cpu, "CPU s")?;
        figure.print("unchanged_ref_listings", unchanged.listings, "requests")?;
        figure.print("unchanged_fetches", unchanged.packs, "requests")?;
        if let Some(stock) = stock {
            let ratio = stock / rescan.cpu.max(0.01);
            figure
                .peer("scancode-stock")
                .print("rescan_ratio", ratio, "x less CPU")?;
            let ratio = stock / first.cpu.max(0.01);
            figure
                .peer("scancode-stock")
                .print("first_scan_ratio", ratio, "x less CPU")?;
        }
    }
    repository.remove().await
}

/// CPU seconds of stock ScanCode over the tree, where there is one.
async fn stock_scan(repository: &Repository, figure: &Figure) -> anyhow::Result<Option<f64>> {
    let settings = repository.settings(Choice::ScanCode);
    if !collect::license::python_in(&settings.venv).is_file() {
        remark("no stock ScanCode to compare with: `--scancode` names one");
        return Ok(None);
    }
    let before = spent();
    stock(&settings, repository.tree())
        .await
        .context("stock ScanCode")?;
    let took = spent() - before;
    figure
        .peer("scancode-stock")
        .print("whole_tree", took, "CPU s")?;
    Ok(Some(took))
}
