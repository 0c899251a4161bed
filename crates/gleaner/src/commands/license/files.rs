//! `gleaner license files`: the files of a repository in which something was found.

use clap::Args;
use serde::Serialize;
use store::license::{self, FileFilter, FileReport};

use crate::{
    commands::repo,
    error::{Exit, Failure, Result, codes},
    printer::Row,
    session::Session,
};

/// Rows that are read at once; lists are written as they are read.
const PAGE: usize = 500;

/// List the files of a repository with findings or problems
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner license files github.com/owner/name
  gleaner license files 12 --license GPL --format csv")]
pub(crate) struct FilesArgs {
    /// Address, path, owner/name or number
    #[arg(value_name = "REPO")]
    repository: String,
    /// Only files whose expression contains this
    #[arg(long, value_name = "TEXT")]
    license: Option<String>,
    /// Only files that could not be scanned
    #[arg(long)]
    problems: bool,
    /// The most to list
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

#[derive(Serialize)]
struct FileRow {
    path: String,
    spdx: Option<String>,
    expression: Option<String>,
    copyrights: Vec<String>,
    holders: Vec<String>,
    authors: Vec<String>,
    packages: Vec<String>,
    size: Option<u64>,
    language: Option<String>,
    percentage: Option<f64>,
    place: String,
    problem: Option<String>,
    detail: Option<String>,
    errors: Vec<String>,
    blob: String,
    license_from: Vec<String>,
}

impl Row for FileRow {
    const COLUMNS: &'static [&'static str] = &[
        "path",
        "spdx",
        "expression",
        "copyrights",
        "holders",
        "authors",
        "packages",
        "size",
        "language",
        "percentage",
        "place",
        "problem",
        "detail",
        "errors",
        "blob",
        "license_from",
    ];
    const TABLE: &'static [&'static str] = &["path", "spdx", "holders", "problem"];
}

impl From<FileReport> for FileRow {
    fn from(file: FileReport) -> Self {
        let packages = file.findings.purls();
        let values =
            |lines: Vec<facts::license::Line>| lines.into_iter().map(|line| line.value).collect();
        Self {
            path: file.path,
            spdx: file.spdx,
            expression: file.findings.expression,
            copyrights: values(file.findings.copyrights),
            holders: values(file.findings.holders),
            authors: values(file.findings.authors),
            packages,
            size: file.findings.size,
            language: file.findings.programming_language,
            percentage: file.findings.percentage_of_license_text,
            place: file.place,
            problem: file.problem,
            detail: file.detail,
            errors: file.findings.scan_errors,
            blob: file.blob,
            license_from: file.spdx_from,
        }
    }
}

pub(super) async fn run(session: &Session, args: &FilesArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let db = engine.db();
    let repository = repo::find(db, &args.repository).await?;
    let Some(current) = license::current(db, repository.id).await? else {
        let message = format!(
            "the licenses of `{}` were not scanned yet",
            repository.slug()
        );
        return Err(Failure::new(&codes::NOT_FOUND, message)
            .hint("`gleaner license show` tells when they will be"));
    };
    let mut list = session.printer.list()?;
    let mut left = args.limit.unwrap_or(usize::MAX);
    let mut after = None;
    while left > 0 {
        let filter = FileFilter {
            after: after.take(),
            limit: left.min(PAGE),
            license: args.license.clone(),
            problems: args.problems,
        };
        let page = license::files(db, current.id, &filter).await?;
        let last = page.len() < filter.limit;
        left -= page.len();
        after = page.last().map(|file| file.path.clone());
        for file in page {
            list.push(&FileRow::from(file))?;
        }
        if last {
            break;
        }
    }
    list.finish()?;
    Ok(Exit::Ok)
}
