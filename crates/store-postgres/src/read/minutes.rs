//! What was counted: events by minute, dead letters by code, and what breakers did.

use redrive_model::breaker::{Deed, Turn};
use redrive_model::{Code, Target, Timestamp, WorkloadName, instant};
use redrive_store::{DeadCount, EventKind, MinuteRow, Page, PageRequest, TurnRow};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::row;
use crate::store::Inner;
use crate::verb::enqueue::Fault;

pub(crate) async fn minutes(inner: &Inner, since: Timestamp, per_slot: u32) -> sqlx::Result<Vec<MinuteRow>> {
    let rows = sqlx::query(inner.sql.minutes.text())
        .bind(instant::to_millis(since))
        .bind(i64::from(per_slot.max(1)) * 60_000)
        .fetch_all(&inner.pool)
        .await?;
    let read = |r: &PgRow| {
        Ok(MinuteRow {
            slot: u32::try_from(r.try_get::<i64, _>(0)?).map_err(|e| row::bad(0, e))?,
            workload: row::checked(r, 1, str::parse::<WorkloadName>)?,
            kind: row::word(r, 2, EventKind::parse)?,
            code: Some(r.try_get::<String, _>(3)?)
                .filter(|code| !code.is_empty())
                .map(|code| Code::parse(&code).unwrap_or(Code::Unknown)),
            took_ms: Some(r.try_get::<i64, _>(4)?).filter(|took| *took > 0),
            jobs: row::many(r, 5)?,
        })
    };
    rows.iter().map(read).collect()
}

pub(crate) async fn dead_counts(inner: &Inner) -> sqlx::Result<Vec<DeadCount>> {
    let rows = sqlx::query(inner.sql.dead_counts.text()).fetch_all(&inner.pool).await?;
    let read = |r: &PgRow| {
        Ok(DeadCount {
            workload: row::checked(r, 0, str::parse::<WorkloadName>)?,
            code: row::code(r, 1)?.unwrap_or(Code::Unknown),
            groups: row::many(r, 2)?,
            open: row::many(r, 3)?,
        })
    };
    rows.iter().map(read).collect()
}

pub(crate) async fn turns(
    inner: &Inner,
    target: Option<&Target>,
    page: &PageRequest,
) -> Result<Page<TurnRow>, Fault> {
    let limit = page.rows();
    let rows = sqlx::query(inner.sql.breaker_turns.text())
        .bind(target.map(Target::as_str))
        .bind(page.after::<i64>()?)
        .bind(i64::try_from(limit).unwrap_or(50))
        .fetch_all(&inner.pool)
        .await?;
    let read = |r: &PgRow| {
        let turn = Turn { deed: row::word(r, 3, Deed::parse)?, why: r.try_get(4)?, by: r.try_get(5)? };
        let target = row::checked(r, 1, str::parse::<Target>)?;
        Ok(TurnRow { number: r.try_get(0)?, target, at: row::at(r, 2)?, turn })
    };
    let rows: Vec<TurnRow> = rows.iter().map(read).collect::<sqlx::Result<_>>()?;
    let next = rows.last().filter(|_| rows.len() == limit).map(|last| last.number.to_string());
    Ok(Page { rows, next })
}
