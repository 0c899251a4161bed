//! A claim of a worker for some units only. It looks at the units themselves and
//! leaves their hints behind, as stale ones.

use db::{DbError, Dialect, Tx};

use super::{Ask, CLAIM, PAST, PLACE, Round, bind, known, read};
use crate::queue;

pub(super) async fn take(tx: &mut Tx, ask: Ask<'_>) -> Result<Round, DbError> {
    let due = format!(
        "SELECT id FROM {} AND {PLACE} AND due_at <= $5 AND {} LIMIT $6",
        queue::among(ask.only),
        known("kind", ask.kinds.len())
    );
    let which = match tx.dialect() {
        Dialect::Sqlite => format!("id IN ({due})"),
        Dialect::Postgres => format!("id = ANY(ARRAY({due} FOR UPDATE SKIP LOCKED))"),
    };
    let text = format!("{CLAIM} WHERE {which} RETURNING id, kind, key, attempt, {PAST} AS past");
    let rows = tx.fetch_all(bind(text, ask, ask.now)).await?;
    let units: Vec<_> = rows
        .iter()
        .map(|row| read(row, ask))
        .collect::<Result<_, _>>()?;
    Ok(Round {
        hints: units.len(),
        units,
        ..Round::default()
    })
}
