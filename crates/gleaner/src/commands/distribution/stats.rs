//! Figures.

use store::distribution::{EcosystemCount, GradeCount, Stats};

use crate::{
    error::{Exit, Result},
    printer::{Format, Row},
    session::Session,
};

impl Row for Stats {
    const COLUMNS: &'static [&'static str] = &[
        "total",
        "scanned",
        "with_registry",
        "with_manifest",
        "manifest_without_registry",
    ];
}

impl Row for EcosystemCount {
    const COLUMNS: &'static [&'static str] =
        &["ecosystem", "with_registry", "with_manifest", "packages"];
}

impl Row for GradeCount {
    const COLUMNS: &'static [&'static str] = &["grade", "gaps", "repositories"];
}

pub(super) async fn stats(session: &Session) -> Result<Exit> {
    let (db, _) = session.open().await?;
    let stats = store::distribution::stats(&db).await?;
    let printer = &session.printer;
    printer.record(&stats)?;
    // Programs have got everything in one object; people read on.
    if printer.format() == Format::Table {
        if !stats.ecosystems.is_empty() {
            printer.text("\nRepositories by ecosystem\n")?;
            printer.rows(&stats.ecosystems)?;
        }
        if !stats.gaps.is_empty() {
            printer.text("\nGaps\n")?;
            printer.rows(&stats.gaps)?;
        }
    }
    Ok(Exit::Ok)
}
