//! Counting events by minute, in one transaction with the mark that says how far that came. Whoever finds the mark taken counts
//! nothing: somebody else does.

use redrive_store::{FIRST_LOOK, KEEP_MINUTES, MINUTES_READER};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use crate::store::Inner;

pub(crate) async fn roll_up(inner: &Inner, limit: usize) -> sqlx::Result<usize> {
    let safe = inner.horizon.look(&inner.pool, &inner.sql).await?;
    let mut tx = inner.pool.begin().await?;
    let Some(Mark { after, is_new }) = mark(&mut tx, inner, safe).await? else { return Ok(0) };
    let next = sqlx::query(inner.sql.next_events.text())
        .bind(after)
        .bind(safe)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_one(&mut *tx)
        .await?;
    let (upto, rows): (i64, i64) = (next.try_get(0)?, next.try_get(1)?);
    if rows == 0 && !is_new {
        return Ok(0);
    }
    let sums =
        sqlx::query(inner.sql.gather_minutes.text()).bind(after).bind(upto).fetch_all(&mut *tx).await?;
    add(&mut tx, inner, &sums).await?;
    sqlx::query(inner.sql.change_setting.text())
        .bind(MINUTES_READER)
        .bind((upto.max(after) * 2).to_string())
        .bind("redrive.minutes")
        .execute(&mut *tx)
        .await?;
    let keep = i64::try_from(KEEP_MINUTES.as_millis()).unwrap_or(i64::MAX);
    sqlx::query(inner.sql.forget_minutes.text()).bind(keep).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(usize::try_from(rows).unwrap_or(0))
}

/// The row up to which events are counted.
struct Mark {
    after: i64,
    is_new: bool,
}

/// The mark is ours until the transaction ends. Nothing when somebody else has it.
async fn mark(conn: &mut PgConnection, inner: &Inner, safe: i64) -> sqlx::Result<Option<Mark>> {
    let lock = sqlx::query_scalar(inner.sql.lock_setting.text()).bind(MINUTES_READER);
    let place: Option<String> = lock.fetch_optional(&mut *conn).await?;
    // Kept in the numbers of readers, who count two events for a row.
    if let Some(place) = place.and_then(|text| text.parse::<i64>().ok()) {
        return Ok(Some(Mark { after: place.div_euclid(2), is_new: false }));
    }
    let first = (safe - FIRST_LOOK).max(0);
    let made = sqlx::query(inner.sql.set_setting.text())
        .bind(MINUTES_READER)
        .bind((first * 2).to_string())
        .bind("redrive.minutes")
        .execute(&mut *conn)
        .await?;
    Ok((made.rows_affected() == 1).then_some(Mark { after: first, is_new: true }))
}

async fn add(conn: &mut PgConnection, inner: &Inner, sums: &[PgRow]) -> sqlx::Result<()> {
    if sums.is_empty() {
        return Ok(());
    }
    let texts = |n: usize| sums.iter().map(|r| r.try_get(n)).collect::<sqlx::Result<Vec<String>>>();
    let numbers = |n: usize| sums.iter().map(|r| r.try_get(n)).collect::<sqlx::Result<Vec<i64>>>();
    sqlx::query(inner.sql.add_minutes.text())
        .bind(numbers(0)?)
        .bind(texts(1)?)
        .bind(texts(2)?)
        .bind(texts(3)?)
        .bind(sums.iter().map(|r| r.try_get::<i32, _>(4).map(i64::from)).collect::<sqlx::Result<Vec<_>>>()?)
        .bind(numbers(5)?)
        .execute(conn)
        .await
        .map(drop)
}
