//! Retention, in bounded chunks. The sweep walks the primary key, which is the order of creation.

use redrive_model::{EventSeq, JobId, Timestamp, instant};
use redrive_store::{Purge, Purged};
use sqlx::Row;
use uuid::Uuid;

use crate::row;
use crate::store::Inner;

pub(crate) async fn purge(inner: &Inner, chunk: Purge) -> sqlx::Result<Purged> {
    let scan = chunk.scan.max(1);
    let mut tx = inner.pool.begin().await?;
    let rows = sqlx::query(inner.sql.purge_scan.text())
        .bind(chunk.after.map(|id| id.as_uuid()))
        .bind(i64::try_from(scan).unwrap_or(i64::MAX))
        .fetch_all(&mut *tx)
        .await?;
    let mut over: Vec<Uuid> = Vec::new();
    for r in &rows {
        if r.try_get::<bool, _>(3)? {
            over.push(r.try_get(0)?);
        }
    }
    let full = rows.len() == scan;
    let last = rows.last().map(|r| row::job(r, 0)).transpose()?;
    let jobs: i64 = match over.is_empty() {
        true => 0,
        false => sqlx::query_scalar(inner.sql.purge.text()).bind(over).fetch_one(&mut *tx).await?,
    };
    if !full {
        sqlx::query(inner.sql.delete_batches.text()).execute(&mut *tx).await?;
    }
    tx.commit().await?;
    Ok(Purged { jobs: u64::try_from(jobs).unwrap_or(0), next: last.filter(|_| full) })
}

pub(crate) async fn purge_events(inner: &Inner, upto: EventSeq, limit: usize) -> sqlx::Result<u64> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let done: i64 = sqlx::query_scalar(inner.sql.purge_events.text())
        .bind(upto.0 / 2)
        .bind(limit)
        .fetch_one(&inner.pool)
        .await?;
    Ok(u64::try_from(done).unwrap_or(0))
}

pub(crate) async fn prune_attempts(inner: &Inner, job: JobId, keep: usize) -> sqlx::Result<u64> {
    let keep = i64::try_from(keep).unwrap_or(i64::MAX);
    let pruned: i64 = sqlx::query_scalar(inner.sql.prune_attempts.text())
        .bind(job.as_uuid())
        .bind(keep)
        .fetch_one(&inner.pool)
        .await?;
    Ok(u64::try_from(pruned).unwrap_or(0))
}

pub(crate) async fn forget(inner: &Inner, before: Timestamp) -> sqlx::Result<u64> {
    let before = instant::to_millis(before);
    let keys = sqlx::query(inner.sql.forget_keys.text()).bind(before).execute(&inner.pool).await?;
    let workers = sqlx::query(inner.sql.forget_workers.text()).bind(before).execute(&inner.pool).await?;
    let turns = sqlx::query(inner.sql.forget_turns.text()).bind(before).execute(&inner.pool).await?;
    Ok(keys.rows_affected() + workers.rows_affected() + turns.rows_affected())
}
