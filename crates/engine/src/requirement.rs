//! Requirements: edges between units, and the refusal of cycles.
//!
//! | the child | hard | soft |
//! |---|---|---|
//! | succeeded (done or gone), since the stated time | met | met |
//! | ended partial | stays open: it will be asked again | met |
//! | parked | failed: parks the parent | missed: counted |
//! | cancelled | failed: parks the parent | missed: counted |
//! | not ended, or its unit's own strikes | stays open | stays open |
//! | past the edge's deadline | failed: parks the parent | missed: counted |
//!
//! A one-off that succeeded before the stated time, and would never run again,
//! is run once more from that time on.
//!
//! A failed edge is met when its child succeeds after all, and the last one so
//! mended lets the parent go. The edges are folded by the resolver
//! ([`crate::resolver`]), never by the run that ends.

use std::collections::{BTreeMap, HashSet};

use db::{Bulk, DbError, Timestamp, Tx, sql};

use crate::{
    Enqueue, Requirement, UnitId,
    enqueue::{EnqueueError, Placed, Purpose, place},
    queue,
};

/// The most units in one note to the resolver.
const NOTED: usize = 500;

/// Lets each unit wait for its requirements, enqueueing those that are not
/// there. The units are in state `waiting` already, in this transaction.
pub(crate) async fn add(
    tx: &mut Tx,
    waits: &[(Placed, &[Requirement])],
    now: Timestamp,
) -> Result<(), EnqueueError> {
    if waits.is_empty() {
        return Ok(());
    }
    let children: Vec<Enqueue> = waits
        .iter()
        .flat_map(|(_, requirements)| requirements.iter().map(|one| one.unit.clone()))
        .collect();
    let placed = place(tx, &children, now, Purpose::Requirement).await?;

    let mut edges: Vec<(Placed, Placed, &Requirement)> = Vec::with_capacity(children.len());
    for (parent, requirements) in waits {
        for one in *requirements {
            if let Some(child) = placed.get(&(one.unit.kind, one.unit.key.clone())) {
                edges.push((*parent, *child, one));
            }
        }
    }
    let edges = once_each(edges);
    mark_required(tx, &edges).await?;
    insert(tx, &edges).await?;
    refuse_cycles(tx, &edges).await?;
    let parents: Vec<UnitId> = waits.iter().map(|(parent, _)| parent.id).collect();
    unfold_waiting(tx, parents).await?;
    Ok(())
}

/// One edge between two units; of several the strictest counts: hard before
/// soft, the latest `since`, the earliest deadline.
fn once_each(edges: Vec<(Placed, Placed, &Requirement)>) -> Vec<Edge> {
    let mut once: BTreeMap<(UnitId, UnitId), Edge> = BTreeMap::new();
    for (parent, child, one) in edges {
        once.entry((parent.id, child.id))
            .and_modify(|edge| {
                edge.nested |= !one.unit.requirements.is_empty();
                edge.hard |= one.hard;
                edge.since = edge.since.max(one.since);
                edge.deadline = match (edge.deadline, one.deadline) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
            })
            .or_insert(Edge {
                parent,
                child,
                nested: !one.unit.requirements.is_empty(),
                hard: one.hard,
                since: one.since,
                deadline: one.deadline,
            });
    }
    once.into_values().collect()
}

/// An edge on its way into the table.
struct Edge {
    parent: Placed,
    child: Placed,
    /// The child came with requirements of its own.
    nested: bool,
    hard: bool,
    since: Option<Timestamp>,
    deadline: Option<Timestamp>,
}

/// Lets a unit that is running wait for more than one transaction can write:
/// called before the end that puts it into `waiting`. An edge of a unit that is
/// not waiting does nothing yet.
pub(crate) async fn stage(
    tx: &mut Tx,
    parent: UnitId,
    requirements: &[Requirement],
    now: Timestamp,
) -> Result<(), EnqueueError> {
    let parent = Placed {
        id: parent,
        fresh: false,
    };
    add(tx, &[(parent, requirements)], now).await
}

/// Tells the resolver that these units have ended: those who wait for them may go on.
pub(crate) async fn unfold(tx: &mut Tx, ended: Vec<UnitId>) -> Result<(), DbError> {
    note(tx, ended, false).await
}

/// Tells the resolver to look at what these units wait for.
pub(crate) async fn unfold_waiting(tx: &mut Tx, parents: Vec<UnitId>) -> Result<(), DbError> {
    note(tx, parents, true).await
}

/// One row for many: a batch of 500 ends costs one insert, and a parent of 220,000
/// children slows them down as little as that.
async fn note(tx: &mut Tx, units: Vec<UnitId>, waits: bool) -> Result<(), DbError> {
    if units.is_empty() {
        return Ok(());
    }
    let notes: Vec<&[UnitId]> = units.chunks(NOTED).collect();
    tx.later_bulk(
        sql!(
            "INSERT INTO unfolded (units, size, waits) SELECT r.units, r.size, $1 FROM {rows}",
            waits
        ),
        Bulk::new()
            .texts("units", notes.iter().map(|units| queue::list(units)))
            .ints("size", notes.iter().map(|units| units.len() as i64)),
    )
    .await?;
    tx.wake();
    Ok(())
}

/// From here on the children's ends are reported. The row lock that this takes
/// decides every race with a child that ends just now: either its end is
/// already visible to the parent's own fold, or its ending sees the mark.
async fn mark_required(tx: &mut Tx, edges: &[Edge]) -> Result<(), DbError> {
    let mut children: Vec<UnitId> = edges.iter().map(|edge| edge.child.id).collect();
    children.sort_unstable();
    children.dedup();
    tx.execute_bulk(
        sql!("UPDATE unit SET required = TRUE FROM {rows} WHERE unit.id = r.unit AND NOT unit.required"),
        Bulk::new().ints("unit", children),
    )
    .await?;
    Ok(())
}

/// Forgets what these units were to wait for: their run did not end in waiting
/// after all, and a later one must not wait for what this one had staged.
pub(crate) async fn unstage(tx: &mut Tx, parents: Vec<UnitId>) -> Result<(), DbError> {
    tx.execute_bulk(
        sql!(
            "DELETE FROM requirement WHERE state <> 'missed'
               AND parent IN (SELECT r.unit FROM {rows})"
        ),
        Bulk::new().ints("unit", parents),
    )
    .await?;
    Ok(())
}

async fn insert(tx: &mut Tx, edges: &[Edge]) -> Result<(), DbError> {
    tx.execute_bulk(
        sql!(
            "INSERT INTO requirement (parent, child, hard, since, deadline, state)
             SELECT r.parent, r.child, r.hard, r.since, r.deadline, 'open' FROM {rows} WHERE TRUE
             ON CONFLICT (parent, child) DO UPDATE SET
                hard = excluded.hard, since = excluded.since, deadline = excluded.deadline, state = 'open'"
        ),
        Bulk::new()
            .ints("parent", edges.iter().map(|edge| edge.parent.id))
            .ints("child", edges.iter().map(|edge| edge.child.id))
            .bools("hard", edges.iter().map(|edge| edge.hard))
            .times("since", edges.iter().map(|edge| edge.since))
            .times("deadline", edges.iter().map(|edge| edge.deadline)),
    )
    .await?;
    Ok(())
}

/// A cycle would wait for ever. A child that was created a moment ago has no
/// edges unless it came with some, so the usual fan-out costs nothing here.
async fn refuse_cycles(tx: &mut Tx, edges: &[Edge]) -> Result<(), EnqueueError> {
    let parents: HashSet<UnitId> = edges.iter().map(|edge| edge.parent.id).collect();
    let suspects: Vec<(UnitId, UnitId)> = edges
        .iter()
        .filter(|edge| !edge.child.fresh || edge.nested || parents.contains(&edge.child.id))
        .map(|edge| (edge.parent.id, edge.child.id))
        .collect();
    if suspects.is_empty() {
        return Ok(());
    }
    if edges.iter().any(|edge| !edge.parent.fresh) {
        // Two transactions could each add half of a cycle without seeing the
        // other's; old parents with old children therefore go one at a time.
        tx.execute(sql!(
            "INSERT INTO duty (name, next_at, position) VALUES ('requirement graph', $1, 0)
             ON CONFLICT (name) DO UPDATE SET position = duty.position + 1",
            Timestamp::FAR_FUTURE
        ))
        .await?;
    }
    let rows = Bulk::new()
        .ints("start", suspects.iter().map(|(parent, _)| *parent))
        .ints("node", suspects.iter().map(|(_, child)| *child));
    let cycles = tx
        .fetch_bulk(
            sql!(
                "WITH RECURSIVE reach(start, node) AS (
                    SELECT r.start, r.node FROM {rows}
                    UNION
                    SELECT reach.start, requirement.child FROM reach
                    JOIN requirement ON requirement.parent = reach.node
                    WHERE requirement.state <> 'missed'
                 )
                 SELECT unit.kind AS kind, unit.key AS key FROM reach
                 JOIN unit ON unit.id = reach.start WHERE reach.start = reach.node LIMIT 1"
            ),
            rows,
        )
        .await?;
    match cycles.first() {
        None => Ok(()),
        Some(row) => Err(EnqueueError::Cycle(format!(
            "{}:{}",
            row.get::<String>("kind")?,
            row.get::<String>("key")?
        ))),
    }
}
