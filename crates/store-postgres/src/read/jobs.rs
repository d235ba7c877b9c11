//! Jobs and batches: single rows and keyset pages.

use std::borrow::Cow;

use redrive_model::batch::{Counters, EndRule};
use redrive_model::limits::MAX_REACH;
use redrive_model::state::{Facts, shown};
use redrive_model::{
    BatchId, BatchState, Code, JobId, LeaseToken, Offset, Shown, State, TargetSet, WorkloadName, instant,
};
use redrive_store::{
    BatchFailures, BatchFilter, BatchRow, Behind, JobFilter, JobRow, Matching, Page, PageRequest, Progress,
};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row};
use uuid::Uuid;

use crate::row;
use crate::sql::scan;
use crate::store::Inner;
use crate::verb::enqueue::Fault;

pub(crate) async fn job(inner: &Inner, id: JobId) -> sqlx::Result<Option<JobRow>> {
    let row = sqlx::query(inner.sql.job.text()).bind(id.as_uuid()).fetch_optional(&inner.pool).await?;
    row.as_ref().map(job_row).transpose()
}

pub(crate) async fn jobs(
    inner: &Inner,
    filter: &JobFilter,
    page: &PageRequest,
) -> Result<Page<JobRow>, Fault> {
    let scan = source(inner, filter).await?;
    let mut found = Page { rows: Vec::new(), next: None };
    for reach in page.reaches() {
        let looked;
        (found, looked) = look(inner, filter, page, &scan, reach).await?;
        if found.rows.len() == page.rows() || looked < reach {
            break;
        }
    }
    Ok(found)
}

/// A page from the nearest so many rows, and how many of them there were.
async fn look(
    inner: &Inner,
    filter: &JobFilter,
    page: &PageRequest,
    scan: &str,
    reach: i64,
) -> Result<(Page<JobRow>, i64), Fault> {
    let before = filter.before(page)?;
    let limit = page.rows();
    let statement = inner.sql.jobs.scanning(scan, &inner.schema);
    let rows = sqlx::query(statement)
        .bind(before.map(|id| id.as_uuid()))
        .bind(reach)
        .bind(filter.workload.as_ref().map(|w| w.as_str()))
        .bind(filter.owner.as_ref().map(|o| o.as_str()))
        .bind(filter.batch.map(|b| b.as_uuid()))
        .bind(filter.since.map(instant::to_millis))
        .bind(filter.code.map(Code::names))
        .bind(filter.text.as_deref())
        .bind(words(&filter.shown))
        .bind(i64::try_from(limit).unwrap_or(50))
        .bind(filter.replay.map(|r| r.as_uuid()))
        .bind(filter.target.as_ref().map(|t| t.as_str()))
        .bind(filter.single)
        .bind(filter.worker.map(|w| w.as_uuid()))
        .bind(filter.ended_since.map(instant::to_millis))
        .fetch_all(&inner.pool)
        .await?;
    let ends = |r: &PgRow| -> sqlx::Result<(Option<Uuid>, i64)> { Ok((r.try_get(33)?, r.try_get(34)?)) };
    let (end, looked) = rows.first().map(ends).transpose()?.unwrap_or((None, 0));
    let found: Vec<JobRow> = rows
        .iter()
        .filter(|r| r.try_get::<Option<Uuid>, _>(0).is_ok_and(|id| id.is_some()))
        .map(job_row)
        .collect::<sqlx::Result<_>>()?;
    // With a full page the next one starts behind its last row; with a short one where looking stopped.
    let next = match found.last() {
        Some(last) if found.len() == limit => Some(last.id),
        Some(_) | None => end.filter(|_| looked == reach).map(JobId::from_uuid),
    };
    Ok((Page { rows: found, next: next.map(|id| id.to_string()) }, looked))
}

/// How many there are and the newest, found in the same way as a page of them.
pub(crate) async fn matching_jobs(inner: &Inner, filter: &JobFilter) -> Result<Matching<JobId>, Fault> {
    let before = filter.before(&PageRequest::default())?;
    let jobs = inner.sql.jobs.scanning(&source(inner, filter).await?, &inner.schema);
    // Before version 18 there is no max() of ids; their words sort as they do.
    let count = format!(
        "SELECT count(*), max(f.id::text COLLATE \"C\")::uuid FROM ({}) AS f WHERE f.id IS NOT NULL",
        jobs.0
    );
    let row = sqlx::query(AssertSqlSafe(count))
        .bind(before.map(|id| id.as_uuid()))
        .bind(i64::MAX)
        .bind(filter.workload.as_ref().map(|w| w.as_str()))
        .bind(filter.owner.as_ref().map(|o| o.as_str()))
        .bind(filter.batch.map(|b| b.as_uuid()))
        .bind(filter.since.map(instant::to_millis))
        .bind(filter.code.map(Code::names))
        .bind(filter.text.as_deref())
        .bind(words(&filter.shown))
        .bind(i64::MAX)
        .bind(filter.replay.map(|r| r.as_uuid()))
        .bind(filter.target.as_ref().map(|t| t.as_str()))
        .bind(filter.single)
        .bind(filter.worker.map(|w| w.as_uuid()))
        .bind(filter.ended_since.map(instant::to_millis))
        .fetch_one(&inner.pool)
        .await?;
    Ok(Matching {
        count: row::many(&row, 0)?,
        newest: row.try_get::<Option<Uuid>, _>(1)?.map(JobId::from_uuid),
    })
}

/// The most selective way to walk the jobs, newest first.
async fn source(inner: &Inner, filter: &JobFilter) -> sqlx::Result<Cow<'static, str>> {
    if filter.chore {
        return Ok(scan::CHORE.into());
    }
    if let Some(id) = filter.named()
        && job(inner, id).await?.is_some()
    {
        return Ok(scan::NAMED.into());
    }
    if filter.worker.is_some() {
        return Ok(scan::WORKER.into());
    }
    if filter.batch.is_some() {
        let failed = filter.code.is_some() || filter.states() == [State::Failed];
        return Ok(if failed { scan::BATCH_FAILED } else { scan::BATCH }.into());
    }
    if filter.replay.is_some() {
        return Ok(scan::REPLAY.into());
    }
    if filter.owner.is_some() {
        return Ok(scan::OWNER.into());
    }
    let walk = if filter.single { scan::SINGLE } else { scan::ALL };
    if filter.code.is_some() {
        return Ok(walk.failed.into());
    }
    let mut scans = Vec::new();
    for state in filter.states() {
        scans.push(match state {
            State::Failed => walk.failed,
            State::Cancelled => walk.cancelled,
            State::Processing => scan::PROCESSING,
            State::Queued if is_short(inner).await? => scan::QUEUED,
            State::Queued | State::Complete => return Ok(walk.newest.into()),
        });
    }
    Ok(scan::merged(&scans).unwrap_or(walk.newest.into()))
}

/// Whether the queue is short enough to be walked as a whole.
async fn is_short(inner: &Inner) -> sqlx::Result<bool> {
    let queued: i64 =
        sqlx::query_scalar(inner.sql.few_queued.text()).bind(MAX_REACH).fetch_one(&inner.pool).await?;
    Ok(queued < MAX_REACH)
}

/// The words of the wanted states; nothing when any will do.
fn words(shown: &[Shown]) -> Option<Vec<&'static str>> {
    (!shown.is_empty()).then(|| shown.iter().map(|shown| shown.as_str()).collect())
}

fn job_row(r: &PgRow) -> sqlx::Result<JobRow> {
    let state = row::word(r, 4, State::parse)?;
    let due_at = row::at(r, 8)?;
    let attempt = row::count(r, 12)?;
    let awaits = row::batch(r, 18)?;
    let started_at = row::opt_at(r, 25)?;
    let facts = Facts {
        state,
        due_at,
        attempt,
        ran_before: started_at.is_some(),
        awaits_batch: awaits.is_some(),
        held: r.try_get(29)?,
    };
    Ok(JobRow {
        id: row::job(r, 0)?,
        workload: row::checked(r, 1, str::parse::<WorkloadName>)?,
        owner: row::owner(r, 2)?,
        label: r.try_get(3)?,
        state,
        shown: shown(&facts, row::at(r, 30)?),
        targets: row::checked(r, 5, TargetSet::from_key)?,
        priority: u8::try_from(r.try_get::<i16, _>(6)?).unwrap_or(0),
        alone: r.try_get(7)?,
        due_at,
        token: LeaseToken(r.try_get(9)?),
        leased_by: row::worker(r, 10)?,
        lease_expires_at: row::opt_at(r, 11)?,
        attempt,
        max_attempts: row::opt_count(r, 13)?,
        generation: row::count(r, 14)?,
        crashes: row::count(r, 15)?,
        releases: row::count(r, 16)?,
        batch: row::batch(r, 17)?,
        awaits,
        replay: row::replay(r, 19)?,
        failure_code: row::code(r, 20)?,
        failure_message: r.try_get(21)?,
        progress: r.try_get::<Option<&str>, _>(31)?.and_then(Progress::from_kept),
        result: r.try_get(22)?,
        created_at: row::at(r, 23)?,
        queued_at: row::at(r, 24)?,
        started_at,
        finished_at: row::opt_at(r, 26)?,
        expired_at: row::opt_at(r, 27)?,
        purge_at: row::opt_at(r, 28)?,
    })
}

pub(crate) async fn batch(inner: &Inner, id: BatchId) -> sqlx::Result<Option<BatchRow>> {
    let row = sqlx::query(inner.sql.batch.text()).bind(id.as_uuid()).fetch_optional(&inner.pool).await?;
    row.as_ref().map(batch_row).transpose()
}

pub(crate) async fn batches(
    inner: &Inner,
    filter: &BatchFilter,
    page: &PageRequest,
) -> Result<Page<BatchRow>, Fault> {
    let after = page.after::<Behind<BatchId>>()?;
    let limit = page.rows();
    let rows = sqlx::query(inner.sql.batches.text())
        .bind(filter.workload.as_str())
        .bind(after.map(|cursor| instant::to_millis(cursor.at)))
        .bind(after.map(|cursor| cursor.id.as_uuid()))
        .bind(i64::try_from(limit).unwrap_or(50))
        .bind(filter.owner.as_ref().map(|o| o.as_str()))
        .bind(filter.live)
        .fetch_all(&inner.pool)
        .await?;
    let rows: Vec<BatchRow> = rows.iter().map(batch_row).collect::<sqlx::Result<_>>()?;
    let more = rows.len() == limit;
    Ok(Page::of_batches(rows, more))
}

pub(crate) async fn batch_failures(inner: &Inner, id: BatchId) -> sqlx::Result<Vec<BatchFailures>> {
    let rows = sqlx::query(inner.sql.batch_failures.text()).bind(id.as_uuid()).fetch_all(&inner.pool).await?;
    let read = |r: &PgRow| {
        Ok(BatchFailures { minute: row::at(r, 0)?, code: row::some_code(r, 1)?, jobs: row::many(r, 2)? })
    };
    rows.iter().map(read).collect()
}

fn batch_row(r: &PgRow) -> sqlx::Result<BatchRow> {
    let n = |i: usize| row::many(r, i);
    let message: Option<String> = r.try_get(13)?;
    Ok(BatchRow {
        id: BatchId::from_uuid(r.try_get(0)?),
        workload: row::checked(r, 1, str::parse::<WorkloadName>)?,
        owner: row::owner(r, 2)?,
        label: r.try_get(3)?,
        about: r.try_get(19)?,
        state: row::word(r, 4, BatchState::parse)?,
        sealed: r.try_get(5)?,
        counters: Counters { total: n(6)?, ok: n(7)?, failed: n(8)?, hard: n(9)?, cancelled: n(10)? },
        bytes: n(20)?,
        end_rule: row::word(r, 11, EndRule::parse)?,
        last_failure: row::code(r, 12)?.zip(message),
        last_failure_at: row::opt_at(r, 14)?,
        dead_offset: r.try_get::<Option<i64>, _>(15)?.map(Offset),
        created_at: row::at(r, 16)?,
        updated_at: row::at(r, 17)?,
        finished_at: row::opt_at(r, 18)?,
    })
}
