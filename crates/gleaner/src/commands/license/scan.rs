//! `gleaner license scan`: a local file or tree, without a database.

use std::{
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Args, ValueEnum};
use collect::license::{Builtin, Choice, Desk, Input, Scanned, Scanner};
use facts::license::Findings;
use scan::license::{MAX_BYTES, expression};
use serde::Serialize;

use crate::{
    config,
    error::{Exit, Failure, Result, codes},
    outside,
    printer::Row,
    session::Session,
};

/// Scan a file or a directory on this machine; nothing is kept
///
/// The builtin scanner needs nothing. It knows SPDX tags, the texts of the SPDX list, the usual
/// notices, manifests and copyright lines; it does not see licenses that are on no list, rewritten
/// texts, binaries and archives.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner license scan .
  gleaner license scan src --scanner scancode --format jsonl")]
pub(crate) struct ScanArgs {
    /// A file, or a directory that is walked
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Who scans
    #[arg(long, value_name = "NAME", default_value = "builtin")]
    scanner: Who,
    /// List every file, those without a finding too
    #[arg(long)]
    all: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Who {
    Auto,
    Builtin,
    Scancode,
    Provenant,
}

impl From<Who> for Choice {
    fn from(who: Who) -> Self {
        match who {
            Who::Auto => Self::Auto,
            Who::Builtin => Self::Builtin,
            Who::Scancode => Self::ScanCode,
            Who::Provenant => Self::Provenant,
        }
    }
}

/// One file.
#[derive(Serialize)]
struct ScanRow {
    path: String,
    spdx: Option<String>,
    expression: Option<String>,
    copyrights: Vec<String>,
    holders: Vec<String>,
    packages: Vec<String>,
    scanner: String,
    errors: Vec<String>,
    authors: Vec<String>,
    /// The files that "see LICENSE" led to.
    license_from: Vec<String>,
}

impl Row for ScanRow {
    const COLUMNS: &'static [&'static str] = &[
        "path",
        "spdx",
        "expression",
        "copyrights",
        "holders",
        "packages",
        "scanner",
        "errors",
        "authors",
        "license_from",
    ];
    const TABLE: &'static [&'static str] = &["path", "spdx", "holders", "packages", "errors"];
}

/// Files that are read and scanned together.
const AT_ONCE: usize = 200;

pub(super) async fn run(session: &Session, args: &ScanArgs) -> Result<Exit> {
    let about =
        fs::metadata(&args.path).map_err(|error| Failure::unreadable(&args.path, &error))?;
    let files = if about.is_dir() {
        walk(session, &args.path)
    } else {
        let name = args.path.file_name().unwrap_or_default();
        vec![(name.to_string_lossy().into_owned(), args.path.clone())]
    };
    let scanner = scanner(session, args.scanner).await?;
    let mut found: Vec<(String, Findings)> = Vec::with_capacity(files.len());
    for chunk in files.chunks(AT_ONCE) {
        let mut inputs = Vec::with_capacity(chunk.len());
        for (path, place) in chunk {
            match read(place) {
                Ok(bytes) => inputs.push(Input {
                    path: path.clone(),
                    bytes,
                }),
                Err(error) => found.push((
                    path.clone(),
                    Findings {
                        scan_errors: vec![format!("cannot be read: {error}")],
                        ..Findings::default()
                    },
                )),
            }
        }
        let paths: Vec<String> = inputs.iter().map(|input| input.path.clone()).collect();
        let answers = scanner
            .scan(inputs)
            .await
            .map_err(|broken| Failure::new(&codes::TOOL, broken.to_string()))?;
        found.extend(paths.into_iter().zip(answers).map(|(path, answer)| {
            let findings = match answer {
                Scanned::Done { findings, .. } => *findings,
                Scanned::Failed { why, .. } => Findings {
                    scan_errors: vec![why],
                    ..Findings::default()
                },
            };
            (path, findings)
        }));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let title = scanner.identity().title();
    let settling = scanner.settle(found).await;
    let mut list = session.printer.list()?;
    for (at, (path, findings)) in settling.files.into_iter().enumerate() {
        if findings.is_empty() && !args.all {
            continue;
        }
        let resolved = settling.settled.resolved.get(&at);
        list.push(&row(path, findings, resolved, &title))?;
    }
    list.finish()?;
    Ok(Exit::Ok)
}

fn row(
    path: String,
    findings: Findings,
    resolved: Option<&scan::license::tree::Resolved>,
    scanner: &str,
) -> ScanRow {
    let packages = findings.purls();
    let values =
        |lines: Vec<facts::license::Line>| lines.into_iter().map(|line| line.value).collect();
    let (spdx, expression) = match resolved {
        Some(resolved) => (
            Some(resolved.spdx.clone()),
            Some(expression::keys(&resolved.spdx)),
        ),
        None => (findings.spdx, findings.expression),
    };
    ScanRow {
        path,
        spdx,
        expression,
        copyrights: values(findings.copyrights),
        holders: values(findings.holders),
        packages,
        scanner: scanner.to_owned(),
        errors: findings.scan_errors,
        authors: values(findings.authors),
        license_from: resolved.map(|one| one.from.clone()).unwrap_or_default(),
    }
}

/// The scanner that was asked for; the built-in one works beside a broken configuration.
async fn scanner(session: &Session, who: Who) -> Result<Arc<dyn Scanner>> {
    if matches!(who, Who::Builtin) {
        return Ok(Arc::new(Builtin::default()));
    }
    let desk = desk(session)?;
    desk.named(who.into()).await.map_err(|broken| {
        Failure::new(&codes::TOOL, broken.to_string())
            .hint("`gleaner license setup` installs ScanCode; `--scanner builtin` needs nothing")
    })
}

/// The scanners as they are configured.
pub(super) fn desk(session: &Session) -> Result<Desk> {
    let settings = session.settings()?;
    let about = outside::about(settings, &config::environment())?;
    Ok(Desk::new(outside::license(settings, &about)?))
}

/// All files below a directory with their paths from it, by path; links are not followed, and what
/// git keeps for itself is left out.
fn walk(session: &Session, top: &Path) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    let mut open = vec![(String::new(), top.to_owned())];
    while let Some((prefix, directory)) = open.pop() {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) => {
                let place = directory.display();
                session
                    .printer
                    .warning(&format!("cannot list `{place}`: {error}"));
                continue;
            }
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && name != ".git" => {
                    open.push((format!("{path}/"), entry.path()));
                }
                Ok(kind) if kind.is_file() => files.push((path, entry.path())),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

/// The contents, as far as a scanner would look at them.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
