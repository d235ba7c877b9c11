//! Keeping leases, saving state under them, and finding those that ran out.

use std::time::Duration;

use redrive_model::{JobFacts, LeaseToken, WorkerId, WorkloadName, instant};
use redrive_store::{Expired, Extension, Lease, Progress, Result, StoredFacts, WorkerBeat, validate_state};
use rusqlite::params;

use super::record::{execute, find, list};
use crate::row::{self, blob};
use crate::sql;
use crate::writer::Tx;

pub(crate) fn extend(
    tx: &Tx<'_>,
    worker: WorkerId,
    leases: &[Lease],
    ttl: Duration,
) -> Result<Vec<Extension>> {
    let until = instant::add_ms(tx.now, ttl);
    let worker = blob(worker.as_uuid());
    leases
        .iter()
        .map(|lease| {
            let kept = execute(
                tx.conn,
                sql::EXTEND,
                params![blob(lease.job.as_uuid()), lease.token.0, worker, until],
            )?;
            Ok(if kept == 1 { Extension::Held(instant::from_millis(until)) } else { Extension::Lost })
        })
        .collect()
}

pub(crate) fn save_state(tx: &Tx<'_>, lease: Lease, state: &[u8]) -> Result<bool> {
    validate_state(state)?;
    Ok(execute(tx.conn, sql::SAVE_STATE, params![blob(lease.job.as_uuid()), lease.token.0, state])? == 1)
}

pub(crate) fn report_progress(tx: &Tx<'_>, lease: Lease, progress: &Progress) -> Result<bool> {
    let values = params![blob(lease.job.as_uuid()), lease.token.0, progress.to_kept()];
    Ok(execute(tx.conn, sql::REPORT_PROGRESS, values)? == 1)
}

pub(crate) fn expired(tx: &Tx<'_>, workloads: Option<&[WorkloadName]>, limit: usize) -> Result<Vec<Expired>> {
    let names = workloads.and_then(|of| serde_json::to_string(of).ok());
    list(tx.conn, sql::EXPIRED, params![tx.now, i64::try_from(limit).unwrap_or(i64::MAX), names], |row| {
        let lane = row.get(1)?;
        let key = tx.lanes.get(lane).map_err(|e| row::bad(1, &e.to_string()))?;
        let facts = StoredFacts {
            attempt: row.get(5)?,
            crashes: row.get(7)?,
            releases: row.get(8)?,
            spent: row.get(9)?,
            alone: key.alone,
            probe: row.get(10)?,
            queued_at: row::at(row, 11)?,
        };
        Ok(Expired {
            lease: Lease { job: row::job(row, 0)?, token: LeaseToken(row.get(2)?) },
            workload: key.workload.clone(),
            worker: WorkerId::from_uuid(row::uuid(row, 3)?),
            expired_at: row::at(row, 4)?,
            max_attempts: row.get(6)?,
            facts: JobFacts::from(facts),
            worker_alive: row.get(12)?,
        })
    })
}

pub(crate) fn beat(tx: &Tx<'_>, beat: &WorkerBeat) -> Result<bool> {
    let until = instant::add_ms(tx.now, beat.ttl);
    let wanted = find(
        tx.conn,
        sql::BEAT,
        params![
            blob(beat.id.as_uuid()),
            beat.name,
            beat.build,
            beat.draining,
            beat.concurrency,
            tx.now,
            until
        ],
        |row| row.get(0),
    )?;
    Ok(wanted.unwrap_or(false))
}

pub(crate) fn want_drained(tx: &Tx<'_>, worker: WorkerId, wanted: bool) -> Result<bool> {
    Ok(execute(tx.conn, sql::WANT_DRAINED, params![blob(worker.as_uuid()), wanted])? == 1)
}
