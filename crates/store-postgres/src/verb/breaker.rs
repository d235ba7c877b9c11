//! Breakers by compare-and-swap, and pauses.

use redrive_model::breaker::Breaker;
use redrive_model::{Target, instant};
use redrive_store::{BreakerRow, Swapped};

use crate::row;
use crate::store::Inner;
use sqlx::Row;

pub(crate) async fn swap(
    inner: &Inner,
    target: &Target,
    expected: Option<i64>,
    breaker: &Breaker,
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
    let changed = query.execute(&inner.pool).await?.rows_affected();
    inner.wake.hint();
    Ok(if changed == 1 { Swapped::Done(expected.unwrap_or(0) + 1) } else { Swapped::Stale })
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
