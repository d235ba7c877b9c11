//! The audit trail, settings, payloads, and where a replay's jobs are.

use std::collections::HashMap;

use redrive_model::{JobId, ReplayId, State, instant};
use redrive_store::{ActFilter, ActRow, NewAct, Page, PageRequest, Payload, ReplayCounts, Scope, SettingRow};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::row;
use crate::store::Inner;
use crate::verb::enqueue::Fault;

pub(crate) async fn acts(
    inner: &Inner,
    filter: &ActFilter,
    page: &PageRequest,
) -> Result<Page<ActRow>, Fault> {
    let mut found = Page { rows: Vec::new(), next: None };
    for reach in page.reaches() {
        let looked;
        (found, looked) = look(inner, filter, page, reach).await?;
        if found.rows.len() == page.rows() || looked < reach {
            break;
        }
    }
    Ok(found)
}

/// A page from the nearest so many lines, and how many of them there were.
async fn look(
    inner: &Inner,
    filter: &ActFilter,
    page: &PageRequest,
    reach: i64,
) -> Result<(Page<ActRow>, i64), Fault> {
    let limit = page.rows();
    let rows = sqlx::query(inner.sql.acts.text())
        .bind(page.after::<i64>()?)
        .bind(reach)
        .bind(i64::try_from(limit).unwrap_or(50))
        .bind(filter.actor.as_deref())
        .bind(filter.action.as_deref())
        .bind(filter.subject.as_deref())
        .bind(filter.since.map(instant::to_millis))
        .bind(filter.request_id.as_deref())
        .fetch_all(&inner.pool)
        .await?;
    let ends = |r: &PgRow| -> sqlx::Result<(Option<i64>, i64)> { Ok((r.try_get(11)?, r.try_get(12)?)) };
    let (end, looked) = rows.first().map(ends).transpose()?.unwrap_or((None, 0));
    let found: Vec<ActRow> = rows
        .iter()
        .filter(|r| r.try_get::<Option<i64>, _>(0).is_ok_and(|number| number.is_some()))
        .map(act_row)
        .collect::<sqlx::Result<_>>()?;
    let next = match found.last() {
        Some(last) if found.len() == limit => Some(last.number),
        Some(_) | None => end.filter(|_| looked == reach),
    };
    Ok((Page { rows: found, next: next.map(|number| number.to_string()) }, looked))
}

fn act_row(r: &PgRow) -> sqlx::Result<ActRow> {
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
