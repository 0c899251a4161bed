//! `gleaner license verify`: what stock ScanCode says of a repository, beside what is kept.

use std::collections::BTreeMap;

use clap::Args;
use collect::license::{Difference, compare, stock_of_repository};
use facts::license::Findings;
use store::license::{self, FileFilter};

use super::scan::desk;
use crate::{
    commands::repo,
    error::{Exit, Failure, Result, codes},
    printer::Row,
    session::Session,
};

/// Run stock ScanCode over a repository and list each difference
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner license verify github.com/owner/name
  gleaner license verify 12 --format csv")]
pub(crate) struct VerifyArgs {
    /// Address, path, owner/name or number
    #[arg(value_name = "REPO")]
    repository: String,
}

impl Row for Difference {
    const COLUMNS: &'static [&'static str] = &["path", "what", "ours", "theirs"];
}

pub(super) async fn run(session: &Session, args: &VerifyArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let db = engine.db();
    let repository = repo::find(db, &args.repository).await?;
    let Some(current) = license::current(db, repository.id).await? else {
        let message = format!(
            "the licenses of `{}` were not scanned yet",
            repository.slug()
        );
        return Err(Failure::new(&codes::NOT_FOUND, message));
    };
    let desk = desk(session)?;
    session
        .printer
        .note("stock ScanCode scans the whole tree; that takes a while");
    let theirs = stock_of_repository(desk.settings(), &repository, &current.commit).await;
    let (theirs, files) = theirs.map_err(|error| {
        Failure::new(&codes::TOOL, error.to_string())
            .hint("`gleaner license setup` installs ScanCode")
    })?;
    let mut ours: BTreeMap<String, Findings> = BTreeMap::new();
    let mut after = None;
    loop {
        let filter = FileFilter {
            after: after.take(),
            limit: 1_000,
            ..FileFilter::default()
        };
        let page = license::files(db, current.id, &filter).await?;
        after = page.last().map(|file| file.path.clone());
        if page.is_empty() {
            break;
        }
        for mut file in page {
            file.findings.spdx = file.spdx;
            ours.insert(file.path, file.findings);
        }
    }
    let compared = compare(&ours, &theirs, files);
    session.printer.rows(&compared.differences)?;
    session.printer.note(&format!(
        "{} of {} files differ; {:.2} % are equal in license, holders and packages",
        compared.differing,
        compared.files,
        compared.share() * 100.0
    ));
    Ok(if compared.differing == 0 {
        Exit::Ok
    } else {
        Exit::Nothing
    })
}
