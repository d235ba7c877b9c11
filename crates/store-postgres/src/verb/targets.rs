//! Forgetting targets that nobody uses any more. Their names come from users, so without this both tables would only grow.
//!
//! Others may remember a lane that goes, and may be enqueuing into it. What they count there needs the lane's row: who counts first
//! keeps the lane, and who comes too late is refused by the schema and asks for the lane again.

use redrive_model::breaker::Breaker;
use redrive_model::{Target, Timestamp, instant};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use crate::row;
use crate::store::Inner;

pub(crate) async fn forget(inner: &Inner, before: Timestamp, limit: usize) -> sqlx::Result<u64> {
    let gone = match lanes(inner, limit).await {
        // Somebody enqueues into one of them: next time.
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("55P03") => 0,
        gone => gone?,
    };
    if gone > 0 {
        inner.lanes.forget();
    }
    Ok(gone + breakers(inner, before, limit).await?)
}

async fn lanes(inner: &Inner, limit: usize) -> sqlx::Result<u64> {
    let mut tx = inner.pool.begin().await?;
    let idle = idle(&mut tx, inner, None, limit).await?;
    if idle.is_empty() {
        return Ok(0);
    }
    sqlx::query(inner.sql.wait_briefly.text()).execute(&mut *tx).await?;
    for lock in [&inner.sql.lock_lanes, &inner.sql.lock_tallies] {
        sqlx::query(lock.text()).bind(&idle).execute(&mut *tx).await?;
    }
    // Looked at again, now that nothing changes there.
    let idle = self::idle(&mut tx, inner, Some(&idle), limit).await?;
    let mut gone = 0;
    for delete in [&inner.sql.delete_tallies, &inner.sql.delete_lane_targets, &inner.sql.delete_lanes] {
        gone = sqlx::query(delete.text()).bind(&idle).execute(&mut *tx).await?.rows_affected();
    }
    tx.commit().await?;
    Ok(gone)
}

async fn idle(
    conn: &mut PgConnection,
    inner: &Inner,
    among: Option<&[i32]>,
    limit: usize,
) -> sqlx::Result<Vec<i32>> {
    sqlx::query_scalar(inner.sql.idle_lanes.text())
        .bind(among)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(conn)
        .await
}

async fn breakers(inner: &Inner, before: Timestamp, limit: usize) -> sqlx::Result<u64> {
    let rows = sqlx::query(inner.sql.idle_breakers.text())
        .bind(instant::to_millis(before))
        .fetch_all(&inner.pool)
        .await?;
    let read = |r: &PgRow| {
        let target = row::checked(r, 0, str::parse::<Target>)?;
        let breaker = row::checked(r, 2, |json| serde_json::from_str::<Breaker>(json))?;
        let forgettable = breaker.is_forgettable(row::at(r, 4)?, r.try_get(3)?);
        Ok(forgettable.then_some((target.to_string(), r.try_get::<i64, _>(1)?)))
    };
    let idle = rows.iter().filter_map(|r| read(r).transpose()).take(limit);
    let (targets, versions): (Vec<String>, Vec<i64>) =
        idle.collect::<sqlx::Result<Vec<_>>>()?.into_iter().unzip();
    if targets.is_empty() {
        return Ok(0);
    }
    let gone = sqlx::query(inner.sql.delete_breakers.text()).bind(targets).bind(versions);
    Ok(gone.execute(&inner.pool).await?.rows_affected())
}
