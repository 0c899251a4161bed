//! `gleaner repo show`: all that is known about one repository.

use facts::{evidence::Evidence, kept::Kept, manifest::ManifestFact};
use store::{
    repositories::Repository,
    show::{Overview, overview},
    sources::SourceState,
};

use crate::{
    error::{Exit, Failure, Result, codes},
    printer::{Format, Row},
    session::Session,
};

/// The most manifests and packages that are shown; the counts beside them tell of the rest.
const MOST: usize = 1000;

impl Row for Overview {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "url",
        "forge",
        "forge_id",
        "archived",
        "default_branch",
        "added_at",
        "gone_at",
        "former_names",
        "groups",
        "manifest_count",
        "evidence_count",
    ];
}

impl Row for SourceState {
    const COLUMNS: &'static [&'static str] =
        &["source", "last_asked", "last_answered", "complete", "error"];
}

impl Row for Kept<ManifestFact> {
    const COLUMNS: &'static [&'static str] = &[
        "path",
        "manifest_type",
        "effective_name",
        "version",
        "intent",
        "reason",
        "last_seen",
        "error",
    ];
}

impl Row for Kept<Evidence> {
    const COLUMNS: &'static [&'static str] = &[
        "source",
        "ecosystem",
        "package",
        "version",
        "first_seen",
        "last_seen",
    ];
}

pub(super) async fn show(session: &Session, text: &str) -> Result<Exit> {
    let (db, _) = session.open().await?;
    let Repository { id, .. } = super::find(&db, text).await?;
    let overview = overview(&db, id, MOST).await?.ok_or_else(|| {
        Failure::new(
            &codes::NOT_FOUND,
            format!("the repository `{text}` has just gone"),
        )
    })?;
    let printer = &session.printer;
    printer.record(&overview)?;
    // Programs have got everything in one object; people read on.
    if printer.format() == Format::Table {
        if !overview.sources.is_empty() {
            printer.text("\nSources\n")?;
            printer.rows(&overview.sources)?;
        }
        if !overview.manifests.is_empty() {
            printer.text("\nManifests\n")?;
            printer.rows(&overview.manifests)?;
        }
        if !overview.evidence.is_empty() {
            printer.text("\nPublished\n")?;
            printer.rows(&overview.evidence)?;
        }
    }
    Ok(Exit::Ok)
}
