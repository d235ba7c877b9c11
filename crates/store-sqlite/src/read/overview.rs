//! Counts, the queue, workers and pauses.

use std::collections::HashMap;
use std::time::Duration;

use redrive_model::{State, TargetSet, Timestamp, WorkerId, WorkloadName, instant};
use redrive_store::{Counts, LaneCount, QueueStats, Result, StateCount, WorkerRow, WorkloadQueue};
use rusqlite::{Connection, params};

use crate::row;
use crate::sql;
use crate::verb::record::{find, list};

/// Counting jobs that are due later stops here.
const CAP: i64 = 100_000;

pub(crate) fn counts(conn: &Connection) -> Result<Counts> {
    let lanes = lanes(conn)?;
    let mut states = Vec::new();
    for (workload, kind, n) in list(conn, sql::TALLIES, [], |row| {
        Ok((
            row::checked(row, 0, str::parse::<WorkloadName>)?,
            row.get::<_, String>(1)?,
            row.get::<_, i64>(2)?,
        ))
    })? {
        let n = u64::try_from(n).unwrap_or(0);
        match State::parse(&kind) {
            Some(state) => states.push(StateCount { workload, state, jobs: n }),
            None => {
                let running: u64 =
                    lanes.iter().filter(|l| l.workload == workload).map(|l| l.processing).sum();
                states.push(StateCount {
                    workload: workload.clone(),
                    state: State::Queued,
                    jobs: n.saturating_sub(running),
                });
                states.push(StateCount { workload, state: State::Processing, jobs: running });
            }
        }
    }
    states.retain(|c| c.jobs > 0);
    // Lanes come sorted by workload and targets; those that differ only in priority or running alone are one.
    let mut merged: Vec<LaneCount> = Vec::with_capacity(lanes.len());
    for lane in lanes {
        let queued = lane.live.saturating_sub(lane.processing);
        match merged.last_mut().filter(|last| last.workload == lane.workload && last.targets == lane.targets)
        {
            Some(last) => {
                last.queued += queued;
                last.processing += lane.processing;
            }
            None => merged.push(LaneCount {
                workload: lane.workload,
                targets: lane.targets,
                queued,
                processing: lane.processing,
            }),
        }
    }
    Ok(Counts { states, lanes: merged })
}

struct Lane {
    id: i64,
    workload: WorkloadName,
    targets: TargetSet,
    live: u64,
    processing: u64,
}

fn lanes(conn: &Connection) -> Result<Vec<Lane>> {
    let running: HashMap<i64, i64> =
        list(conn, sql::PROCESSING_BY_LANE, [], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect();
    list(conn, sql::LANE_TALLIES, [], |row| {
        let id = row.get(0)?;
        Ok(Lane {
            id,
            workload: row::checked(row, 1, str::parse::<WorkloadName>)?,
            targets: row::checked(row, 2, TargetSet::from_key)?,
            live: u64::try_from(row.get::<_, i64>(3)?).unwrap_or(0),
            processing: running.get(&id).map_or(0, |n| u64::try_from(*n).unwrap_or(0)),
        })
    })
}

pub(crate) fn queues(conn: &Connection, now: Timestamp) -> Result<Vec<WorkloadQueue>> {
    let now = instant::to_millis(now);
    let mut queues = Vec::new();
    for lane in lanes(conn)? {
        let row = find(conn, sql::QUEUE_OF_LANE, params![lane.id, now, CAP], |row| {
            let n = |i: usize| row.get::<_, i64>(i).map(|v| u64::try_from(v).unwrap_or(0));
            Ok((n(0)?, n(1)?, n(2)?, row.get::<_, Option<i64>>(3)?, row.get::<_, bool>(4)?))
        })?;
        let Some((scheduled, later, awaiting, first, held)) = row else { continue };
        let queued = lane.live.saturating_sub(lane.processing);
        let capped = later >= CAP as u64;
        let mut stats = QueueStats {
            processing: lane.processing,
            waiting_batch: awaiting,
            capped,
            ..QueueStats::default()
        };
        if held {
            stats.held = queued.saturating_sub(awaiting);
        } else {
            stats.scheduled = scheduled;
            stats.waiting_retry = later.saturating_sub(scheduled).saturating_sub(awaiting);
            stats.ready = queued.saturating_sub(later);
            stats.oldest_age = first.map(|due| Duration::from_millis(u64::try_from(now - due).unwrap_or(0)));
        }
        queues.push((lane.workload, stats));
    }
    Ok(WorkloadQueue::gather(queues))
}

pub(crate) fn workers(conn: &Connection) -> Result<Vec<WorkerRow>> {
    list(conn, sql::WORKERS, [], |row| {
        Ok(WorkerRow {
            id: WorkerId::from_uuid(row::uuid(row, 0)?),
            name: row.get(1)?,
            build: row.get(2)?,
            draining: row.get(3)?,
            concurrency: row.get(4)?,
            started_at: row::at(row, 5)?,
            seen_at: row::at(row, 6)?,
            alive_until: row::at(row, 7)?,
            drain_wanted: row.get(8)?,
            leases: u64::try_from(row.get::<_, i64>(9)?).unwrap_or(0),
        })
    })
}

pub(crate) fn next_due(conn: &Connection, now: Timestamp) -> Result<Option<Timestamp>> {
    let now = instant::to_millis(now);
    let due = find(conn, sql::NEXT_DUE, params![now], |row| row.get::<_, Option<i64>>(0))?.flatten();
    Ok(due.map(instant::from_millis))
}

pub(crate) fn waits_alone(conn: &Connection, workloads: &[WorkloadName], now: Timestamp) -> Result<bool> {
    let names = serde_json::to_string(workloads).unwrap_or_default();
    let found = find(conn, sql::WAITS_ALONE, params![instant::to_millis(now), names], |row| row.get(0))?;
    Ok(found.unwrap_or(false))
}

pub(crate) fn paused(conn: &Connection) -> Result<Vec<String>> {
    list(conn, sql::PAUSED, [], |row| row.get(0))
}
