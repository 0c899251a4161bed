//! The rules by which an answer becomes facts; see the module above.

use std::collections::{HashMap, HashSet};

use db::{Bulk, DbError, Row, Statement, Timestamp, Tx};

use super::{Fact, Recorded, all_columns, joined};
use crate::sources::{Asked, Extent, answered};

/// A fact as the database has it.
struct Existing<F> {
    id: i64,
    fact: F,
    gone: bool,
    last_seen: Timestamp,
}

/// Writes an answer down, and that there was one.
pub(super) async fn record<F: Fact>(
    tx: &mut Tx,
    asked: &Asked<'_>,
    facts: &[F],
    extent: Extent<'_>,
) -> Result<Recorded, DbError> {
    let recorded = write(tx, asked, facts, extent).await?;
    answered(tx, asked, extent).await?;
    Ok(recorded)
}

/// Writes down what an answer says, or what was derived from several.
pub(crate) async fn write<F: Fact>(
    tx: &mut Tx,
    asked: &Asked<'_>,
    facts: &[F],
    extent: Extent<'_>,
) -> Result<Recorded, DbError> {
    let existing = existing::<F>(tx, asked).await?;
    let mut new = Vec::new();
    let mut replaced: Vec<(i64, &F)> = Vec::new();
    let mut same: Vec<(i64, &F)> = Vec::new();
    let mut named = HashSet::new();
    let mut recorded = Recorded::default();
    for fact in facts {
        let key = fact.key();
        let before = existing.get(&key);
        if !named.insert(key) {
            // A source that names a thing twice has said it with the first.
            continue;
        }
        match before {
            None => new.push(fact),
            Some(before) if before.gone => {
                recorded.returned += 1;
                replaced.push((before.id, fact));
            }
            Some(before) if before.fact.same(fact) => same.push((before.id, fact)),
            Some(before) => {
                recorded.changed += 1;
                replaced.push((before.id, fact));
            }
        }
    }
    recorded.new = new.len();
    recorded.same = same.len();

    insert(tx, asked, &new).await?;
    replace(tx, asked, &replaced).await?;
    see_again(tx, asked, &same).await?;
    if extent == Extent::Whole {
        let ended: Vec<i64> = existing
            .iter()
            .filter(|(key, before)| !before.gone && !named.contains(*key))
            // Another part of this same answer may have named it.
            .filter(|(_, before)| before.last_seen != asked.now)
            .map(|(_, before)| before.id)
            .collect();
        recorded.gone = end::<F>(tx, asked, ended).await?;
    }
    Ok(recorded)
}

async fn existing<F: Fact>(
    tx: &mut Tx,
    asked: &Asked<'_>,
) -> Result<HashMap<(String, String), Existing<F>>, DbError> {
    let text = format!(
        "SELECT id, {}, gone_at IS NOT NULL AS gone, last_seen FROM {}
         WHERE repository = $1 AND source = $2",
        all_columns::<F>(""),
        F::TABLE
    );
    let statement = Statement::built(text)
        .bind(asked.repository)
        .bind(asked.source);
    let rows = tx.fetch_all(statement).await?;
    let read = |row: &Row| {
        let fact = F::read(row)?;
        let existing = Existing {
            id: row.get("id")?,
            gone: row.get("gone")?,
            last_seen: row.get("last_seen")?,
            fact,
        };
        Ok((existing.fact.key(), existing))
    };
    rows.iter().map(read).collect()
}

async fn insert<F: Fact>(tx: &mut Tx, asked: &Asked<'_>, new: &[&F]) -> Result<(), DbError> {
    let text = format!(
        "INSERT INTO {table} (repository, source, collector_version, first_seen, changed_at,
            last_seen, {columns})
         SELECT $1, $2, $3, $4, $4, $4, {from} FROM {{rows}}",
        table = F::TABLE,
        columns = all_columns::<F>(""),
        from = all_columns::<F>("r."),
    );
    let statement = Statement::built(text)
        .bind(asked.repository)
        .bind(asked.source)
        .bind(asked.collector_version)
        .bind(asked.now);
    tx.execute_bulk(statement, F::columns(Bulk::new(), new))
        .await?;
    Ok(())
}

/// Moves the present states into history and writes new ones.
async fn replace<F: Fact>(
    tx: &mut Tx,
    asked: &Asked<'_>,
    replaced: &[(i64, &F)],
) -> Result<(), DbError> {
    let table = F::TABLE;
    let kept = || joined("", F::STATE.iter().chain(F::BESIDE));
    let text = format!(
        "INSERT INTO {table}_history ({table}, collector_version, seen_from, seen_until, gone_at, {columns})
         SELECT x.id, x.collector_version, x.changed_at, x.last_seen, x.gone_at, {from}
         FROM {{rows}} JOIN {table} x ON x.id = r.id",
        columns = kept(),
        from = joined("x.", F::STATE.iter().chain(F::BESIDE)),
    );
    tx.execute_bulk(Statement::built(text), ids(replaced))
        .await?;

    let set: Vec<String> = F::STATE
        .iter()
        .chain(F::BESIDE)
        .map(|column| format!("{column} = r.{column}"))
        .collect();
    let text = format!(
        "UPDATE {table} SET collector_version = $1, changed_at = $2, last_seen = $2, gone_at = NULL,
            {set}
         FROM {{rows}} WHERE {table}.id = r.id",
        set = set.join(", "),
    );
    let statement = Statement::built(text)
        .bind(asked.collector_version)
        .bind(asked.now);
    let facts: Vec<&F> = replaced.iter().map(|(_, fact)| *fact).collect();
    tx.execute_bulk(statement, F::columns(ids(replaced), &facts))
        .await?;
    Ok(())
}

async fn see_again<F: Fact>(
    tx: &mut Tx,
    asked: &Asked<'_>,
    same: &[(i64, &F)],
) -> Result<(), DbError> {
    let set: Vec<String> = ["collector_version = $1".into(), "last_seen = $2".into()]
        .into_iter()
        .chain(
            F::BESIDE
                .iter()
                .map(|column| format!("{column} = r.{column}")),
        )
        .collect();
    let text = format!(
        "UPDATE {table} SET {set} FROM {{rows}} WHERE {table}.id = r.id",
        table = F::TABLE,
        set = set.join(", "),
    );
    let statement = Statement::built(text)
        .bind(asked.collector_version)
        .bind(asked.now);
    let facts: Vec<&F> = same.iter().map(|(_, fact)| *fact).collect();
    let rows = if F::BESIDE.is_empty() {
        ids(same)
    } else {
        F::columns(ids(same), &facts)
    };
    tx.execute_bulk(statement, rows).await?;
    Ok(())
}

async fn end<F: Fact>(tx: &mut Tx, asked: &Asked<'_>, ended: Vec<i64>) -> Result<usize, DbError> {
    let text = format!(
        "UPDATE {table} SET gone_at = $1 FROM {{rows}} WHERE {table}.id = r.id",
        table = F::TABLE
    );
    let count = ended.len();
    let statement = Statement::built(text).bind(asked.now);
    tx.execute_bulk(statement, Bulk::new().ints("id", ended))
        .await?;
    Ok(count)
}

fn ids<F>(facts: &[(i64, &F)]) -> Bulk {
    Bulk::new().ints("id", facts.iter().map(|(id, _)| *id))
}
