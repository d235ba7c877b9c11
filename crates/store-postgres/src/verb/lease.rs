//! Keeping leases, saving state under them, and finding those that ran out.

use std::time::Duration;

use redrive_model::{JobFacts, LeaseToken, WorkerId, WorkloadName, instant};
use redrive_store::{Expired, Extension, Lease, Progress, StoredFacts, WorkerBeat};
use sqlx::Row;

use crate::hot::Use;
use crate::row;
use crate::store::Inner;

pub(crate) async fn extend(
    inner: &Inner,
    worker: WorkerId,
    leases: &[Lease],
    ttl: Duration,
) -> sqlx::Result<Vec<Extension>> {
    let mut lent = inner.leases.take(Use::Write).await?;
    let rows = sqlx::query(inner.sql.extend.text())
        .bind(worker.as_uuid())
        .bind(leases.iter().map(|l| l.job.as_uuid()).collect::<Vec<_>>())
        .bind(leases.iter().map(|l| l.token.0).collect::<Vec<_>>())
        .bind(instant::add_ms(0, ttl))
        .fetch_all(lent.conn())
        .await;
    let rows = lent.settle(rows)?;
    let answer = |r: &sqlx::postgres::PgRow| {
        Ok(match (r.try_get::<Option<i64>, _>(0)?, r.try_get::<bool, _>(1)?) {
            (Some(until), _) => Extension::Held(instant::from_millis(until)),
            (None, true) => Extension::Contended,
            (None, false) => Extension::Lost,
        })
    };
    rows.iter().map(answer).collect()
}

pub(crate) async fn save_state(inner: &Inner, lease: Lease, state: &[u8]) -> sqlx::Result<bool> {
    let saved = sqlx::query(inner.sql.save_state.text())
        .bind(lease.job.as_uuid())
        .bind(lease.token.0)
        .bind(state)
        .execute(&inner.pool)
        .await?;
    Ok(saved.rows_affected() == 1)
}

pub(crate) async fn report_progress(inner: &Inner, lease: Lease, progress: &Progress) -> sqlx::Result<bool> {
    let said = sqlx::query(inner.sql.report_progress.text())
        .bind(lease.job.as_uuid())
        .bind(lease.token.0)
        .bind(progress.to_kept())
        .execute(&inner.pool)
        .await?;
    Ok(said.rows_affected() == 1)
}

pub(crate) async fn expired(
    inner: &Inner,
    workloads: Option<&[WorkloadName]>,
    limit: usize,
) -> sqlx::Result<Vec<Expired>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let names = workloads.map(|of| of.iter().map(|w| w.as_str()).collect::<Vec<_>>());
    let rows = sqlx::query(inner.sql.expired.text()).bind(limit).bind(names).fetch_all(&inner.pool).await?;
    let read = |r: &sqlx::postgres::PgRow| {
        let facts = StoredFacts {
            attempt: row::count(r, 6)?,
            crashes: row::count(r, 8)?,
            releases: row::count(r, 9)?,
            spent: r.try_get(10)?,
            alone: r.try_get(2)?,
            probe: r.try_get(11)?,
            queued_at: row::at(r, 12)?,
        };
        Ok(Expired {
            lease: Lease { job: row::job(r, 0)?, token: LeaseToken(r.try_get(3)?) },
            workload: row::checked(r, 1, str::parse::<WorkloadName>)?,
            worker: WorkerId::from_uuid(r.try_get(4)?),
            expired_at: row::at(r, 5)?,
            max_attempts: row::opt_count(r, 7)?,
            facts: JobFacts::from(facts),
            worker_alive: r.try_get(13)?,
        })
    };
    rows.iter().map(read).collect()
}

pub(crate) async fn beat(inner: &Inner, beat: &WorkerBeat) -> sqlx::Result<bool> {
    let mut lent = inner.leases.take(Use::Write).await?;
    let wanted = sqlx::query_scalar(inner.sql.beat.text())
        .bind(beat.id.as_uuid())
        .bind(&beat.name)
        .bind(&beat.build)
        .bind(beat.draining)
        .bind(i32::try_from(beat.concurrency).unwrap_or(i32::MAX))
        .bind(instant::add_ms(0, beat.ttl))
        .fetch_one(lent.conn())
        .await;
    lent.settle(wanted)
}

pub(crate) async fn want_drained(inner: &Inner, worker: WorkerId, wanted: bool) -> sqlx::Result<bool> {
    let done = sqlx::query(inner.sql.want_drained.text())
        .bind(worker.as_uuid())
        .bind(wanted)
        .execute(&inner.pool)
        .await?;
    Ok(done.rows_affected() == 1)
}
