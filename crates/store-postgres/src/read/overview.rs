//! Counts, the queue, workers and pauses.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use redrive_model::{State, TargetSet, Timestamp, WorkerId, WorkloadName, instant};
use redrive_store::{Counts, LaneCount, QueueStats, StateCount, WorkerRow, WorkloadQueue};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::row;
use crate::store::Inner;

/// Counting jobs that are due later stops here.
const CAP: i64 = 100_000;

struct Lane {
    id: i32,
    workload: WorkloadName,
    targets: TargetSet,
    queued: u64,
    processing: u64,
    ended: [(State, u64); 3],
}

async fn lanes(inner: &Inner) -> sqlx::Result<Vec<Lane>> {
    // One snapshot for both, or a claim in between would be counted twice.
    let mut tx = inner.pool.begin().await?;
    sqlx::query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY").execute(&mut *tx).await?;
    let running = sqlx::query(inner.sql.processing_by_lane.text()).fetch_all(&mut *tx).await?;
    let rows = sqlx::query(inner.sql.tallies.text()).fetch_all(&mut *tx).await?;
    tx.commit().await?;
    let running: HashMap<i32, u64> =
        running.iter().map(|r| Ok((r.try_get(0)?, row::many(r, 1)?))).collect::<sqlx::Result<_>>()?;
    let read = |r: &PgRow| {
        let id = r.try_get(0)?;
        let processing = running.get(&id).copied().unwrap_or(0);
        let ended = [
            (State::Complete, row::many(r, 6)?),
            (State::Failed, row::many(r, 7)?),
            (State::Cancelled, row::many(r, 8)?),
        ];
        let live = row::many(r, 5)?.saturating_sub(ended.iter().map(|(_, n)| n).sum());
        Ok(Lane {
            id,
            workload: row::checked(r, 1, str::parse::<WorkloadName>)?,
            targets: row::checked(r, 2, TargetSet::from_key)?,
            queued: live.saturating_sub(processing),
            processing,
            ended,
        })
    };
    rows.iter().map(read).collect()
}

pub(crate) async fn counts(inner: &Inner) -> sqlx::Result<Counts> {
    let mut totals: BTreeMap<(WorkloadName, State), u64> = BTreeMap::new();
    let mut counts = Counts::default();
    for lane in lanes(inner).await? {
        let live = [(State::Queued, lane.queued), (State::Processing, lane.processing)];
        for (state, n) in live.into_iter().chain(lane.ended).filter(|(_, n)| *n > 0) {
            *totals.entry((lane.workload.clone(), state)).or_default() += n;
        }
        if lane.queued + lane.processing == 0 {
            continue;
        }
        // Lanes come sorted by workload and targets; those that differ only in priority or running alone are one.
        match counts
            .lanes
            .last_mut()
            .filter(|last| last.workload == lane.workload && last.targets == lane.targets)
        {
            Some(last) => {
                last.queued += lane.queued;
                last.processing += lane.processing;
            }
            None => counts.lanes.push(LaneCount {
                workload: lane.workload,
                targets: lane.targets,
                queued: lane.queued,
                processing: lane.processing,
            }),
        }
    }
    counts.states =
        totals.into_iter().map(|((workload, state), jobs)| StateCount { workload, state, jobs }).collect();
    Ok(counts)
}

pub(crate) async fn queues(inner: &Inner) -> sqlx::Result<Vec<WorkloadQueue>> {
    let lanes = lanes(inner).await?;
    let busy: Vec<&Lane> = lanes.iter().filter(|l| l.queued + l.processing > 0).collect();
    let ids: Vec<i32> = busy.iter().map(|l| l.id).collect();
    let rows =
        sqlx::query(inner.sql.queue_of_lanes.text()).bind(ids).bind(CAP).fetch_all(&inner.pool).await?;
    let rows: HashMap<i32, &PgRow> =
        rows.iter().map(|r| Ok((r.try_get(0)?, r))).collect::<sqlx::Result<_>>()?;
    let mut queues = Vec::new();
    for lane in busy {
        let Some(r) = rows.get(&lane.id) else { continue };
        let (scheduled, later, awaiting) = (row::many(r, 1)?, row::many(r, 2)?, row::many(r, 3)?);
        let capped = later >= CAP as u64;
        let mut stats = QueueStats {
            processing: lane.processing,
            waiting_batch: awaiting,
            capped,
            ..QueueStats::default()
        };
        if r.try_get::<bool, _>(5)? {
            stats.held = lane.queued.saturating_sub(awaiting);
        } else {
            let (first, now) = (r.try_get::<Option<i64>, _>(4)?, r.try_get::<i64, _>(6)?);
            stats.scheduled = scheduled;
            stats.waiting_retry = later.saturating_sub(scheduled).saturating_sub(awaiting);
            stats.ready = lane.queued.saturating_sub(later);
            stats.oldest_age = first.map(|due| Duration::from_millis(u64::try_from(now - due).unwrap_or(0)));
        }
        queues.push((lane.workload.clone(), stats));
    }
    Ok(WorkloadQueue::gather(queues))
}

pub(crate) async fn workers(inner: &Inner) -> sqlx::Result<Vec<WorkerRow>> {
    let rows = sqlx::query(inner.sql.workers.text()).fetch_all(&inner.pool).await?;
    let read = |r: &PgRow| {
        Ok(WorkerRow {
            id: WorkerId::from_uuid(r.try_get(0)?),
            name: r.try_get(1)?,
            build: r.try_get(2)?,
            draining: r.try_get(3)?,
            concurrency: row::count(r, 4)?,
            started_at: row::at(r, 5)?,
            seen_at: row::at(r, 6)?,
            alive_until: row::at(r, 7)?,
            drain_wanted: r.try_get(8)?,
            leases: row::many(r, 9)?,
        })
    };
    rows.iter().map(read).collect()
}

pub(crate) async fn next_due(inner: &Inner) -> sqlx::Result<Option<Timestamp>> {
    let due: Option<i64> = sqlx::query_scalar(inner.sql.next_due.text()).fetch_one(&inner.pool).await?;
    Ok(due.map(instant::from_millis))
}

pub(crate) async fn waits_alone(inner: &Inner, workloads: &[WorkloadName]) -> sqlx::Result<bool> {
    let names: Vec<&str> = workloads.iter().map(|w| w.as_str()).collect();
    sqlx::query_scalar(inner.sql.waits_alone.text()).bind(names).fetch_one(&inner.pool).await
}

pub(crate) async fn paused(inner: &Inner) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(inner.sql.paused.text()).fetch_all(&inner.pool).await
}
