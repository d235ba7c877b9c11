//! Anonymous sessions: begun, looked for, seen, ended, forgotten; and what their owners have.

use std::time::Duration;

use redrive_model::{Owner, Shown, instant};
use redrive_store::{MAX_OWNER_COUNT, SessionKey, SessionLife, SessionRow, ShownCount};
use sqlx::postgres::PgRow;

use crate::row;
use crate::store::Inner;

pub(crate) async fn open(inner: &Inner, key: SessionKey) -> sqlx::Result<()> {
    let query = sqlx::query(inner.sql.open_session.text()).bind(key.as_bytes().to_vec());
    query.execute(&inner.pool).await.map(drop)
}

pub(crate) async fn find(
    inner: &Inner,
    key: SessionKey,
    life: SessionLife,
) -> sqlx::Result<Option<SessionRow>> {
    let found = sqlx::query(inner.sql.session.text())
        .bind(key.as_bytes().to_vec())
        .bind(ms(life.idle))
        .bind(ms(life.absolute))
        .fetch_optional(&inner.pool)
        .await?;
    let read = |r: PgRow| {
        let seen_at = row::at(&r, 1)?;
        let unseen = instant::between(seen_at, row::at(&r, 2)?);
        let token = row::opt_checked(&r, 3, str::parse)?;
        Ok(SessionRow { created_at: row::at(&r, 0)?, seen_at, unseen, token })
    };
    found.map(read).transpose()
}

pub(crate) async fn touch(inner: &Inner, key: SessionKey) -> sqlx::Result<bool> {
    let query = sqlx::query(inner.sql.touch_session.text()).bind(key.as_bytes().to_vec());
    Ok(query.execute(&inner.pool).await?.rows_affected() > 0)
}

pub(crate) async fn end(inner: &Inner, key: SessionKey) -> sqlx::Result<bool> {
    let query = sqlx::query(inner.sql.end_session.text()).bind(key.as_bytes().to_vec());
    Ok(query.execute(&inner.pool).await?.rows_affected() > 0)
}

pub(crate) async fn forget(inner: &Inner, life: SessionLife, limit: usize) -> sqlx::Result<u64> {
    let query = sqlx::query(inner.sql.forget_sessions.text())
        .bind(ms(life.idle))
        .bind(ms(life.absolute))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX));
    Ok(query.execute(&inner.pool).await?.rows_affected())
}

pub(crate) async fn owner_counts(inner: &Inner, owner: &Owner) -> sqlx::Result<Vec<ShownCount>> {
    let rows = sqlx::query(inner.sql.owner_counts.text())
        .bind(owner.as_str())
        .bind(i64::try_from(MAX_OWNER_COUNT).unwrap_or(i64::MAX))
        .fetch_all(&inner.pool)
        .await?;
    let read = |r: &PgRow| Ok(ShownCount { shown: row::word(r, 0, Shown::parse)?, jobs: row::many(r, 1)? });
    rows.iter().map(read).collect()
}

/// A life in milliseconds that can be taken from an instant without an overflow.
fn ms(life: Duration) -> i64 {
    instant::millis(life).min(instant::LAST_MS)
}
