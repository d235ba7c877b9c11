//! Breakers by compare-and-swap, and pauses.

use redrive_model::breaker::{Breaker, Turn};
use redrive_model::{Target, instant};
use redrive_store::{BreakerRow, KEEP_TURNS, Swapped};

use crate::row;
use crate::store::Inner;
use sqlx::{PgConnection, Row};

pub(crate) async fn swap(
    inner: &Inner,
    target: &Target,
    expected: Option<i64>,
    breaker: &Breaker,
    turn: Option<&Turn>,
) -> sqlx::Result<Swapped> {
    let machine = serde_json::to_string(breaker).map_err(|e| row::bad(0, e))?;
    let gate = breaker.gate();
    let statement = if expected.is_some() { &inner.sql.swap_breaker } else { &inner.sql.insert_breaker };
    let mut query = sqlx::query(statement.text())
        .bind(target.as_str())
        .bind(machine)
        .bind(gate.blocked_until.map(instant::to_millis))
        .bind(gate.limit.map(|n| i32::try_from(n).unwrap_or(i32::MAX)))
        .bind(gate.probe.map(|w| w.as_uuid()));
    if let Some(version) = expected {
        query = query.bind(version);
    }
    let changed = match turn {
        None => query.execute(&inner.pool).await?.rows_affected(),
        Some(turn) => {
            let mut tx = inner.pool.begin().await?;
            let changed = query.execute(&mut *tx).await?.rows_affected();
            if changed == 1 {
                note(&mut tx, inner, target, turn).await?;
            }
            tx.commit().await?;
            changed
        }
    };
    inner.wake.hint();
    Ok(if changed == 1 { Swapped::Done(expected.unwrap_or(0) + 1) } else { Swapped::Stale })
}

/// Writes down what a breaker did, and forgets what it did long before.
async fn note(conn: &mut PgConnection, inner: &Inner, target: &Target, turn: &Turn) -> sqlx::Result<()> {
    sqlx::query(inner.sql.note_turn.text())
        .bind(target.as_str())
        .bind(turn.deed.as_str())
        .bind(turn.why.as_deref())
        .bind(turn.by.as_deref())
        .execute(&mut *conn)
        .await?;
    let keep = i64::try_from(KEEP_TURNS).unwrap_or(i64::MAX);
    let forget = sqlx::query(inner.sql.forget_turns_of.text()).bind(target.as_str()).bind(keep);
    forget.execute(conn).await.map(drop)
}

pub(crate) async fn breakers(inner: &Inner, target: Option<&Target>) -> sqlx::Result<Vec<BreakerRow>> {
    let rows = sqlx::query(inner.sql.breakers.text())
        .bind(target.map(Target::as_str))
        .fetch_all(&inner.pool)
        .await?;
    let read = |r: &sqlx::postgres::PgRow| {
        Ok(BreakerRow {
            target: row::checked(r, 0, str::parse::<Target>)?,
            version: r.try_get(1)?,
            breaker: row::checked(r, 2, |json| serde_json::from_str::<Breaker>(json))?,
            updated_at: row::at(r, 3)?,
        })
    };
    rows.iter().map(read).collect()
}

pub(crate) async fn pause(inner: &Inner, workload: Option<&str>, by: &str) -> sqlx::Result<()> {
    sqlx::query(inner.sql.set_setting.text())
        .bind(key(workload))
        .bind("true")
        .bind(by)
        .execute(&inner.pool)
        .await
        .map(drop)
}

pub(crate) async fn resume(inner: &Inner, workload: Option<&str>) -> sqlx::Result<()> {
    sqlx::query(inner.sql.delete_setting.text()).bind(key(workload)).execute(&inner.pool).await?;
    inner.wake.hint();
    Ok(())
}

fn key(workload: Option<&str>) -> String {
    format!("pause/{}", workload.unwrap_or(""))
}
