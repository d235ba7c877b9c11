//! Idempotency keys: taken, settled, and what was answered under them.

use redrive_model::instant;
use redrive_store::{Idempotency, Keyed, StoreError};
use sqlx::{PgConnection, Row};

use super::enqueue::Fault;
use crate::store::Inner;

pub(crate) async fn take(inner: &Inner, request: &Idempotency, by: &str) -> Result<Keyed, Fault> {
    let mut conn = inner.pool.acquire().await?;
    let taken = Keyed::taken_to_kept(by);
    // A key may become free between our insert and our look: then it is asked for again.
    for _ in 0..10 {
        if insert(&mut conn, inner, request, &taken).await? {
            return Ok(Keyed::Yours);
        }
        if let Some((kept, since)) = kept(&mut conn, inner, request).await? {
            return Ok(Keyed::from_kept(&kept, instant::from_millis(since), by)?);
        }
    }
    Err(StoreError::Unavailable { reason: "an idempotency key keeps changing".into() }.into())
}

pub(crate) async fn settle(
    inner: &Inner,
    request: &Idempotency,
    by: &str,
    answer: Option<&str>,
) -> sqlx::Result<()> {
    let sql = if answer.is_some() { &inner.sql.settle_key } else { &inner.sql.free_key };
    let query = sqlx::query(sql.text())
        .bind(request.owner.as_str())
        .bind(&request.key)
        .bind(Keyed::taken_to_kept(by));
    let query = match answer {
        Some(answer) => query.bind(Keyed::answer_to_kept(answer)),
        None => query,
    };
    query.execute(&inner.pool).await.map(drop)
}

/// Writes the key with this. Answers whether nobody had it; somebody who is about to is waited for.
pub(super) async fn insert(
    conn: &mut PgConnection,
    inner: &Inner,
    request: &Idempotency,
    kept: &str,
) -> sqlx::Result<bool> {
    let written = sqlx::query(inner.sql.insert_idempotency.text())
        .bind(request.owner.as_str())
        .bind(&request.key)
        .bind(request.request_hash.as_slice())
        .bind(kept)
        .execute(conn)
        .await?;
    Ok(written.rows_affected() == 1)
}

/// What is kept under the key of this request, and since when.
pub(super) async fn kept(
    conn: &mut PgConnection,
    inner: &Inner,
    request: &Idempotency,
) -> Result<Option<(String, i64)>, Fault> {
    let query =
        sqlx::query(inner.sql.find_idempotency.text()).bind(request.owner.as_str()).bind(&request.key);
    let Some(row) = query.fetch_optional(conn).await? else { return Ok(None) };
    if row.try_get::<Vec<u8>, _>(0)? != request.request_hash {
        return Err(StoreError::IdempotencyMismatch.into());
    }
    Ok(Some((row.try_get(1)?, row.try_get(2)?)))
}
