//! `--until-idle`: how far it is, and what is left when there is nothing to do now.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use ::db::{DbError, Timestamp};
use engine::{Engine, Idle, State, UnitFilter, UnitId};
use serde::Serialize;

use crate::{
    commands::unit,
    error::Result,
    printer::{Gauge, Row},
    session::Session,
};

/// Between two looks at the pools.
const LOOK: Duration = Duration::from_secs(1);

/// The most units of a state that are listed one by one.
const LISTED: usize = 20;

/// A unit that is not done, and why it does not run now.
#[derive(Serialize)]
struct Left {
    id: UnitId,
    kind: String,
    key: String,
    state: State,
    due_at: Option<Timestamp>,
    why: Option<String>,
}

impl Row for Left {
    const COLUMNS: &'static [&'static str] = &["id", "kind", "key", "state", "due_at", "why"];
}

/// Shows the pools as gauges until `work` is idle.
pub(super) async fn watch(
    session: &Session,
    engine: &Engine,
    work: impl Future<Output = Result<Idle, DbError>>,
) -> Result<()> {
    let mut progress = session.printer.progress();
    let mut peaks = BTreeMap::new();
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            ended = &mut work => {
                ended?;
                return Ok(());
            }
            () = tokio::time::sleep(LOOK), if progress.is_on() => {
                // A look that fails is not worth a word: the work itself will say so.
                if let Ok(pools) = engine.pools().await {
                    let gauges: Vec<Gauge> = pools
                        .into_iter()
                        .filter_map(|pool| gauge(&mut peaks, pool))
                        .collect();
                    progress.show(Instant::now(), &gauges);
                }
            }
        }
    }
}

/// What a pool had to do at most, and how much of that is through.
fn gauge(peaks: &mut BTreeMap<String, i64>, pool: engine::PoolView) -> Option<Gauge> {
    let left = pool.due + pool.running;
    let peak = peaks.entry(pool.pool.clone()).or_insert(0);
    *peak = left.max(*peak);
    (*peak > 0).then(|| Gauge {
        name: pool.pool,
        done: u64::try_from(*peak - left).unwrap_or(0),
        total: u64::try_from(*peak).ok(),
        detail: format!("{} running", pool.running),
    })
}

/// Lists units that are not done: those due later, waiting, or set aside.
pub(super) async fn list_what_is_left(session: &Session, engine: &Engine) -> Result<()> {
    let mut list = session.printer.list()?;
    let mut more = Vec::new();
    for state in [State::Ready, State::Waiting, State::Parked] {
        let filter = UnitFilter {
            state: Some(state),
            limit: LISTED + 1,
            ..UnitFilter::default()
        };
        let units = engine.units(&filter).await?;
        if units.len() > LISTED {
            more.push(state.as_str());
        }
        for view in units.into_iter().take(LISTED) {
            let why = engine.why(view.id).await?.unwrap_or_default();
            let why = why.first().map(|why| unit::explain(view.id, why).text);
            list.push(&Left {
                id: view.id,
                kind: view.kind,
                key: view.key,
                state: view.state,
                due_at: view.due_at,
                why,
            })?;
        }
    }
    list.finish()?;
    session.printer.note("nothing is due now");
    for state in more {
        let note = format!("there are more: `gleaner unit list --state {state}`");
        session.printer.note(&note);
    }
    Ok(())
}
