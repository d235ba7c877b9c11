//! The audit trail, settings, payloads, and where a replay's jobs are.

use std::collections::HashMap;

use redrive_model::{JobId, ReplayId, State};
use redrive_store::{ActRow, NewAct, Page, PageRequest, Payload, ReplayCounts, Scope, SettingRow};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::row;
use crate::store::Inner;
use crate::verb::enqueue::Fault;

pub(crate) async fn acts(inner: &Inner, page: &PageRequest) -> Result<Page<ActRow>, Fault> {
    let limit = page.rows();
    let rows = sqlx::query(inner.sql.acts.text())
        .bind(page.after::<i64>()?)
        .bind(i64::try_from(limit).unwrap_or(50))
        .fetch_all(&inner.pool)
        .await?;
    let read = |r: &PgRow| {
        let act = NewAct {
            actor: r.try_get(2)?,
            action: r.try_get(3)?,
            subject: r.try_get(4)?,
            reason: r.try_get(5)?,
            scope: r.try_get::<Option<String>, _>(7)?.as_deref().and_then(Scope::parse),
            request_id: r.try_get(8)?,
        };
        Ok(ActRow {
            number: r.try_get(0)?,
            at: row::at(r, 1)?,
            act,
            outcome: r.try_get(6)?,
            before: r.try_get(9)?,
            after: r.try_get(10)?,
        })
    };
    let rows: Vec<ActRow> = rows.iter().map(read).collect::<sqlx::Result<_>>()?;
    let next = rows.last().filter(|_| rows.len() == limit).map(|last| last.number.to_string());
    Ok(Page { rows, next })
}

pub(crate) async fn settings(inner: &Inner, prefix: &str) -> sqlx::Result<Vec<SettingRow>> {
    let rows = sqlx::query(inner.sql.settings.text()).bind(prefix).fetch_all(&inner.pool).await?;
    let read = |r: &PgRow| {
        Ok(SettingRow { key: r.try_get(0)?, value: r.try_get(1)?, by: r.try_get(2)?, at: row::at(r, 3)? })
    };
    rows.iter().map(read).collect()
}

pub(crate) async fn payloads(inner: &Inner, jobs: &[JobId]) -> sqlx::Result<Vec<Option<Payload>>> {
    let ids: Vec<uuid::Uuid> = jobs.iter().map(|job| job.as_uuid()).collect();
    let rows = sqlx::query(inner.sql.payloads.text()).bind(ids).fetch_all(&inner.pool).await?;
    let mut found = HashMap::with_capacity(rows.len());
    for r in &rows {
        found.insert(r.try_get::<uuid::Uuid, _>(0)?, Payload { input: r.try_get(1)?, state: r.try_get(2)? });
    }
    Ok(jobs.iter().map(|job| found.get(&job.as_uuid()).cloned()).collect())
}

pub(crate) async fn replay_counts(inner: &Inner, replay: ReplayId) -> sqlx::Result<ReplayCounts> {
    let rows =
        sqlx::query(inner.sql.replay_counts.text()).bind(replay.as_uuid()).fetch_all(&inner.pool).await?;
    let mut counts = ReplayCounts::default();
    for r in &rows {
        *counts.of(row::word(r, 0, State::parse)?) += row::many(r, 1)?;
    }
    Ok(counts)
}
