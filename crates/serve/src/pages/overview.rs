//! `/`: one row per kind of work, workers, repositories.

use askama::Template;
use axum::{extract::State, response::Response};
use engine::State as UnitState;
use store::repositories;

use super::{Frame, relative, render};
use crate::{Web, problem::Problem};

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    frame: Frame,
    kinds: Vec<KindRow>,
    workers: Vec<WorkerRow>,
    blocked: Vec<String>,
    repositories: Vec<repositories::Repository>,
    more_repositories: bool,
}

/// One kind, over all states.
#[derive(Default)]
struct KindRow {
    kind: String,
    due: i64,
    running: i64,
    later: i64,
    partial: i64,
    waiting: i64,
    parked: i64,
    done: i64,
    oldest: Option<(String, String)>,
}

struct WorkerRow {
    name: String,
    running: i64,
    beat: String,
    release: String,
}

pub(crate) async fn page(State(web): State<Web>) -> Result<Response, Problem> {
    let now = web.engine.clock().now();
    let counts = web.counts.get().await.map_err(Problem::database)?;
    let mut kinds: Vec<KindRow> = Vec::new();
    for count in counts.iter() {
        if kinds.last().is_none_or(|row| row.kind != count.kind) {
            kinds.push(KindRow {
                kind: count.kind.clone(),
                ..KindRow::default()
            });
        }
        let Some(row) = kinds.last_mut() else {
            continue;
        };
        match count.state {
            UnitState::Ready => {
                row.due = count.due;
                row.later = count.units - count.due;
                row.partial = count.partial;
                row.oldest = count
                    .oldest_due_at
                    .map(|at| (relative(now.as_micros(), at.as_micros()), at.to_string()));
            }
            UnitState::Running => row.running = count.units,
            UnitState::Waiting => row.waiting = count.units,
            UnitState::Parked => row.parked = count.units,
            UnitState::Done => row.done = count.units,
            UnitState::Cancelled => {}
        }
    }
    let workers = web.engine.workers().await.map_err(Problem::database)?;
    let workers = workers
        .into_iter()
        .map(|worker| WorkerRow {
            name: worker.name,
            running: worker.running,
            beat: relative(now.as_micros(), worker.beat_at.as_micros()),
            release: worker.release,
        })
        .collect();
    let page = repositories::list(web.engine.db(), &repositories::Filter::default(), 50)
        .await
        .map_err(Problem::database)?;
    render(&Overview {
        frame: Frame::new(&web),
        kinds,
        workers,
        blocked: abnormal(&web).await?,
        more_repositories: page.next.is_some(),
        repositories: page.items,
    })
}

/// What keeps work from being done and a person should know.
async fn abnormal(web: &Web) -> Result<Vec<String>, Problem> {
    let mut lines = Vec::new();
    for upstream in web
        .engine
        .upstream_views()
        .await
        .map_err(Problem::database)?
    {
        if upstream.breaker != "closed" {
            lines.push(format!("{} is {}", upstream.upstream, upstream.breaker));
        }
        if let Some(until) = upstream.held_until {
            lines.push(format!("{} wants silence until {until}", upstream.upstream));
        }
        if let Some(until) = upstream.spent_until {
            let name = &upstream.upstream;
            lines.push(format!("the budget of {name} is spent until {until}"));
        }
    }
    for pool in web.engine.pools().await.map_err(Problem::database)? {
        if pool.paused_at.is_some() {
            let why = pool.paused_why.unwrap_or_default();
            lines.push(format!("pool {} is paused: {why}", pool.pool));
        }
    }
    Ok(lines)
}
