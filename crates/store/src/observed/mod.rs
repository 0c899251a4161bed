//! Facts that last: what sources report about a repository, and how it changed.
//!
//! The rules are the same for evidence and manifests and stand in `record`:
//!
//! * a fact that is new is written with its first observation;
//! * one that is the same as before is only seen again;
//! * one that has changed, or comes back after it was gone, leaves its former state in history;
//! * a whole answer ends the facts of *its own source* that it does not name, and no others;
//! * a part of an answer ends nothing, and no answer at all
//!   ([`sources::could_not_answer`](crate::sources::could_not_answer)) changes no fact.
//!
//! An answer of more than [`MAX_ROWS`](crate::MAX_ROWS) facts is written in several transactions:
//! all but the last as [`Extent::Part`], the last as [`Extent::Whole`], and all with the same time.
//! The time is what tells one answer from another, so two answers of one source must differ in it.

mod evidence;
mod manifests;
mod record;

use db::{Bulk, DbError, Row, Statement, Timestamp, Tx};
use facts::{evidence::Evidence, kept::Kept, manifest::ManifestFact};
use serde::Serialize;

pub use evidence::{Appearance, evidence, evidence_history, first_appearances};
pub(crate) use evidence::{read_span, spans_text};
pub(crate) use manifests::word;
pub use manifests::{manifest_history, manifests};
pub(crate) use record::write;

use crate::sources::{Asked, Extent};

/// How many facts went which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// Never seen before.
    pub new: usize,
    /// Seen before in another state.
    pub changed: usize,
    /// Gone and back.
    pub returned: usize,
    /// As before.
    pub same: usize,
    /// No longer there.
    pub gone: usize,
}

impl Recorded {
    /// Whether anything is otherwise than it was.
    pub fn is_news(&self) -> bool {
        self.new + self.changed + self.returned + self.gone > 0
    }
}

/// Writes down what a source says about published packages.
pub async fn record_evidence(
    tx: &mut Tx,
    asked: &Asked<'_>,
    facts: &[Evidence],
    extent: Extent<'_>,
) -> Result<Recorded, DbError> {
    record::record(tx, asked, facts, extent).await
}

/// Writes down the manifests found in a repository.
pub async fn record_manifests(
    tx: &mut Tx,
    asked: &Asked<'_>,
    facts: &[ManifestFact],
    extent: Extent<'_>,
) -> Result<Recorded, DbError> {
    record::record(tx, asked, facts, extent).await
}

/// What `record` must know about a sort of fact. The table's history is `<table>_history` with a
/// column named as the table.
pub(crate) trait Fact: Sized + Clone {
    const TABLE: &'static str;
    /// What tells two facts of one source apart.
    const KEY: &'static [&'static str];
    /// What may change, and is kept in history when it does.
    const STATE: &'static [&'static str];
    /// What is kept up to date without being part of the state.
    const BESIDE: &'static [&'static str];

    fn key(&self) -> (String, String);
    fn same(&self, other: &Self) -> bool;
    /// One column for each name in `KEY`, `STATE` and `BESIDE`.
    fn columns(bulk: Bulk, facts: &[&Self]) -> Bulk;
    fn read(row: &Row) -> Result<Self, DbError>;
}

/// The names, each with a prefix, joined by commas.
fn joined<'n>(prefix: &str, names: impl IntoIterator<Item = &'n &'static str>) -> String {
    let names: Vec<String> = names
        .into_iter()
        .map(|name| format!("{prefix}{name}"))
        .collect();
    names.join(", ")
}

/// All columns of a fact, those of `key` and `state` first.
fn all_columns<F: Fact>(prefix: &str) -> String {
    joined(prefix, F::KEY.iter().chain(F::STATE).chain(F::BESIDE))
}

fn read_kept<F: Fact>(row: &Row) -> Result<Kept<F>, DbError> {
    let moment = |column: &str| Ok::<_, DbError>(row.get::<Timestamp>(column)?.into());
    Ok(Kept {
        fact: F::read(row)?,
        source: row.get("source")?,
        collector_version: row.get("collector_version")?,
        first_seen: moment("first_seen")?,
        changed_at: moment("changed_at")?,
        last_seen: moment("last_seen")?,
        gone_at: row.get::<Option<Timestamp>>("gone_at")?.map(Into::into),
    })
}

/// The facts of a repository, in the order of their keys. Those that are gone only when asked for.
pub(crate) async fn kept<F: Fact>(
    db: &db::Db,
    repository: i64,
    with_gone: bool,
    limit: usize,
) -> Result<Vec<Kept<F>>, DbError> {
    let text = format!(
        "SELECT {columns}, source, collector_version, first_seen, changed_at, last_seen, gone_at
         FROM {table} WHERE repository = $1 AND ($2 OR gone_at IS NULL)
         ORDER BY {key}, source LIMIT $3",
        columns = all_columns::<F>(""),
        table = F::TABLE,
        key = joined("", F::KEY),
    );
    let statement = Statement::built(text)
        .bind(repository)
        .bind(with_gone)
        .bind(limit);
    let rows = db.fetch_all(statement).await?;
    rows.iter().map(read_kept).collect()
}
