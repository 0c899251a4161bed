//! What follows from evidence and manifests: pairings, gaps and events, and figures of them all.
//!
//! Pairings and gaps are facts as observed ones are, with first and last observation and every
//! earlier state; their observer is the unit that derives them. Events are not written anywhere:
//! they are read from evidence and its history, so they can neither be lost nor contradict it.

mod events;
mod gaps;
mod pairings;
mod recheck;
mod report;
mod stats;

use db::{Bulk, Db, DbError, Row, Tx, sql};
use facts::distribution::{Gap, NameCheck, Pairing, Verdict};

pub use events::{Event, EventFilter, EventPlace, events};
pub use gaps::{GapFilter, KeptGap, ManifestWithoutRegistry, gap_history, gaps, orphan_candidates};
pub use pairings::pairings;
pub use recheck::to_recheck;
pub use report::{Report, report};
pub use stats::{EcosystemCount, GradeCount, Stats, stats};

use crate::{
    observed::{Recorded, word, write},
    sources::{Asked, Extent},
};

/// Writes down how packages and manifests belong together. `Extent` as for observed facts: what a
/// whole judgement does not name is no longer so.
pub async fn record_pairings(
    tx: &mut Tx,
    asked: &Asked<'_>,
    pairings: &[Pairing],
    extent: Extent<'_>,
) -> Result<Recorded, DbError> {
    write(tx, asked, pairings, extent).await
}

/// Writes down where declaring and publishing disagree.
pub async fn record_gaps(
    tx: &mut Tx,
    asked: &Asked<'_>,
    gaps: &[Gap],
    extent: Extent<'_>,
) -> Result<Recorded, DbError> {
    write(tx, asked, gaps, extent).await
}

/// Writes down which sources are switched on and can be asked about a repository.
pub async fn expect_sources(
    tx: &mut Tx,
    repository: i64,
    sources: &[String],
) -> Result<(), DbError> {
    tx.execute(sql!(
        "DELETE FROM expected_source WHERE repository = $1",
        repository
    ))
    .await?;
    tx.execute_bulk(
        sql!(
            "INSERT INTO expected_source (repository, source) SELECT $1, r.source FROM {rows}",
            repository
        ),
        Bulk::new().texts("source", sources.iter().cloned()),
    )
    .await?;
    Ok(())
}

/// What the registry says of the names that a repository declares.
pub async fn name_checks(db: &Db, repository: i64) -> Result<Vec<NameCheck>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT ecosystem, name, verdict, linked_repository FROM declared_name
             WHERE repository = $1 ORDER BY ecosystem, name",
            repository
        ))
        .await?;
    let read = |row: &Row| {
        Ok(NameCheck {
            ecosystem: row.get("ecosystem")?,
            name: row.get("name")?,
            verdict: word(row, "verdict", Verdict::from_word)?,
            linked: row.get("linked_repository")?,
        })
    };
    rows.iter().map(read).collect()
}
