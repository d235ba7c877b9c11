//! Attempts and events.

use std::collections::HashMap;

use redrive_model::decide::Rule;
use redrive_model::{Code, EventSeq, JobId, LeaseToken, WorkloadName, instant};
use redrive_store::{AttemptRow, Event, EventKind, LastFailure, StoreError};
use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::row;
use crate::store::Inner;
use crate::verb::enqueue::Fault;

pub(crate) async fn attempts(inner: &Inner, job: JobId) -> sqlx::Result<Vec<AttemptRow>> {
    let rows = sqlx::query(inner.sql.attempts.text()).bind(job.as_uuid()).fetch_all(&inner.pool).await?;
    let read = |r: &PgRow| {
        Ok(AttemptRow {
            job: row::job(r, 0)?,
            token: LeaseToken(r.try_get(1)?),
            number: row::count(r, 2)?,
            generation: row::count(r, 3)?,
            worker: row::worker(r, 4)?,
            started_at: row::opt_at(r, 5)?,
            ended_at: row::at(r, 6)?,
            outcome: r.try_get(7)?,
            code: row::code(r, 8)?,
            message: r.try_get(9)?,
            context: r.try_get(10)?,
            target_status: row::status(r, 11)?,
            rule: r.try_get::<Option<String>, _>(12)?.as_deref().and_then(Rule::parse),
            policy: r.try_get(13)?,
            late: r.try_get(14)?,
        })
    };
    rows.iter().map(read).collect()
}

pub(crate) async fn last_failures(inner: &Inner, jobs: &[JobId]) -> sqlx::Result<Vec<Option<LastFailure>>> {
    let ids: Vec<Uuid> = jobs.iter().map(|job| job.as_uuid()).collect();
    let rows = sqlx::query(inner.sql.last_failures.text()).bind(ids).fetch_all(&inner.pool).await?;
    let mut found = HashMap::with_capacity(rows.len());
    for r in &rows {
        let failure = LastFailure { code: row::word(r, 1, Code::parse)?, at: row::at(r, 2)? };
        found.insert(row::job(r, 0)?, failure);
    }
    Ok(jobs.iter().map(|job| found.get(job).copied()).collect())
}

pub(crate) async fn job_events(inner: &Inner, job: JobId) -> sqlx::Result<Vec<Event>> {
    let rows = sqlx::query(inner.sql.job_events.text()).bind(job.as_uuid()).fetch_all(&inner.pool).await?;
    unfold(&rows)
}

pub(crate) async fn events_after(inner: &Inner, after: EventSeq, limit: usize) -> Result<Vec<Event>, Fault> {
    let safe = inner.horizon.look(&inner.pool, &inner.sql).await?;
    // A reader may stand between the two events of one row: that row is read again and its first event left out.
    let rows = sqlx::query(inner.sql.events_after.text())
        .bind(after.0.div_euclid(2))
        .bind(safe)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(&inner.pool)
        .await?;
    // Asked after reading: what retention removed meanwhile is a gap that must be told.
    let purged: Option<i64> =
        sqlx::query_scalar(inner.sql.events_purged.text()).fetch_optional(&inner.pool).await?;
    if let Some(purged) = purged.filter(|purged| after.0 < purged * 2) {
        return Err(StoreError::EventsGone { oldest: EventSeq(purged * 2 + 1) }.into());
    }
    Ok(unfold(&rows)?.into_iter().filter(|e| e.seq > after).take(limit).collect())
}

pub(crate) async fn last_event(inner: &Inner) -> sqlx::Result<EventSeq> {
    Ok(EventSeq(inner.horizon.look(&inner.pool, &inner.sql).await? * 2))
}

fn unfold(rows: &[PgRow]) -> sqlx::Result<Vec<Event>> {
    let mut events = Vec::with_capacity(rows.len());
    for r in rows {
        let (event, started_at) = event(r)?;
        events.extend(started_at.map(|started| Event {
            seq: EventSeq(event.seq.0 - 1),
            kind: EventKind::Processing,
            at: instant::from_millis(started),
            duration_ms: None,
            target_status: None,
            code: None,
            ..event.clone()
        }));
        events.push(event);
    }
    Ok(events)
}

fn event(r: &PgRow) -> sqlx::Result<(Event, Option<i64>)> {
    let at: i64 = r.try_get(2)?;
    let started_at: Option<i64> = r.try_get(9)?;
    let event = Event {
        seq: EventSeq(r.try_get::<i64, _>(0)? * 2),
        kind: row::word(r, 1, EventKind::parse)?,
        at: instant::from_millis(at),
        job: r.try_get::<Option<Uuid>, _>(3)?.map(JobId::from_uuid),
        batch: row::batch(r, 4)?,
        workload: r.try_get::<Option<String>, _>(5)?.and_then(|name| WorkloadName::new(name).ok()),
        owner: row::owner(r, 6)?,
        generation: row::count(r, 7)?,
        attempt: row::count(r, 8)?,
        duration_ms: started_at.map(|started| (at - started).max(0)),
        target_status: row::status(r, 10)?,
        code: row::code(r, 11)?,
        topic: r.try_get(12)?,
        payload: r.try_get(13)?,
    };
    Ok((event, started_at))
}
