//! Jobs, batches and breakers: single rows and keyset pages.

use std::borrow::Cow;

use redrive_model::batch::{Counters, EndRule};
use redrive_model::breaker::Breaker;
use redrive_model::limits::MAX_REACH;
use redrive_model::state::{Facts, shown};
use redrive_model::{
    BatchId, BatchState, JobId, LeaseToken, Offset, Shown, State, Target, TargetSet, Timestamp, WorkloadName,
    instant,
};
use redrive_store::{
    BatchFailures, BatchFilter, BatchRow, Behind, BreakerRow, JobFilter, JobRow, Matching, Page, PageRequest,
    Progress, Result,
};
use rusqlite::{Connection, Row, ToSql, named_params, params};

use super::List;
use crate::row::{self, blob};
use crate::sql::{self, scan};
use crate::verb::record::{find, list};

pub(crate) fn job(conn: &Connection, now: Timestamp, id: JobId) -> Result<Option<JobRow>> {
    find(conn, sql::JOB, params![instant::to_millis(now), blob(id.as_uuid())], |row| job_row(row, now))
}

pub(crate) fn jobs(
    conn: &Connection,
    now: Timestamp,
    filter: &JobFilter,
    page: &PageRequest,
) -> Result<Page<JobRow>> {
    let before = filter.before(page)?.map(|id| blob(id.as_uuid()));
    let scan = source(conn, filter)?;
    let statement = sql::JOBS.replace("{scan}", &scan);
    let (params, limit) = (Params::new(filter, now), i64::try_from(page.rows()).unwrap_or(50));
    List { scan: &scan, statement: &statement, last: "min(id)" }.page(
        conn,
        &params.named(&before, &limit),
        page,
        |row| Ok((job_row(row, now)?, row::job(row, 32)?, row.get(33)?)),
        |job| job.id,
        |row| row::job(row, 0),
    )
}

/// How many there are and the newest, found in the same way as a page of them.
pub(crate) fn matching_jobs(
    conn: &Connection,
    now: Timestamp,
    filter: &JobFilter,
) -> Result<Matching<JobId>> {
    let jobs = sql::JOBS.replace("{scan}", &source(conn, filter)?);
    let before = filter.before(&PageRequest::default())?.map(|id| blob(id.as_uuid()));
    let params = Params::new(filter, now);
    let mut named = params.named(&before, &i64::MAX);
    named.push((":scan", &i64::MAX));
    let read = |row: &Row<'_>| {
        let newest = row.get::<_, Option<[u8; 16]>>(1)?.map(|_| row::job(row, 1)).transpose()?;
        Ok(Matching { count: u64::try_from(row.get::<_, i64>(0)?).unwrap_or(0), newest })
    };
    let found = find(conn, &format!("SELECT count(*), max(id) FROM ({jobs})"), &*named, read)?;
    Ok(found.unwrap_or(Matching { count: 0, newest: None }))
}

/// A filter as SQLite's parameters.
struct Params<'a> {
    now: i64,
    workload: Option<&'a str>,
    owner: Option<&'a str>,
    batch: Option<[u8; 16]>,
    single: bool,
    since: Option<i64>,
    ended_since: Option<i64>,
    codes: Option<String>,
    text: Option<&'a str>,
    shown: Option<String>,
    replay: Option<[u8; 16]>,
    target: Option<&'a str>,
    worker: Option<[u8; 16]>,
}

impl<'a> Params<'a> {
    fn new(filter: &'a JobFilter, now: Timestamp) -> Self {
        Self {
            now: instant::to_millis(now),
            workload: filter.workload.as_ref().map(|w| w.as_str()),
            owner: filter.owner.as_ref().map(|o| o.as_str()),
            batch: filter.batch.map(|b| blob(b.as_uuid())),
            single: filter.single,
            since: filter.since.map(instant::to_millis),
            ended_since: filter.ended_since.map(instant::to_millis),
            codes: filter.code.map(super::names),
            text: filter.text.as_deref(),
            shown: words(&filter.shown),
            replay: filter.replay.map(|r| blob(r.as_uuid())),
            target: filter.target.as_ref().map(|t| t.as_str()),
            worker: filter.worker.map(|w| blob(w.as_uuid())),
        }
    }

    /// With where to begin, and how many are wanted.
    fn named<'b>(&'b self, before: &'b Option<[u8; 16]>, limit: &'b i64) -> Vec<(&'b str, &'b dyn ToSql)> {
        named_params! {
            ":before": *before, ":now": self.now, ":workload": self.workload, ":owner": self.owner,
            ":batch": self.batch, ":single": self.single, ":since": self.since, ":ended_since": self.ended_since, ":codes": self.codes, ":text": self.text,
            ":shown": self.shown, ":replay": self.replay, ":target": self.target, ":worker": self.worker, ":limit": *limit,
        }
        .to_vec()
    }
}

/// The most selective way to walk the jobs, newest first.
fn source(conn: &Connection, filter: &JobFilter) -> Result<Cow<'static, str>> {
    if filter.chore {
        return Ok(scan::CHORE.into());
    }
    if let Some(id) = filter.named() {
        let known = "SELECT 1 FROM jobs WHERE id = ?1";
        if find(conn, known, params![blob(id.as_uuid())], |row| row.get::<_, i64>(0))?.is_some() {
            return Ok(scan::NAMED.into());
        }
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
            State::Queued if is_short(conn)? => scan::QUEUED,
            State::Queued | State::Complete => return Ok(walk.newest.into()),
        });
    }
    Ok(scan::merged(&scans).unwrap_or(walk.newest.into()))
}

/// Whether the queue is short enough to be walked as a whole.
fn is_short(conn: &Connection) -> Result<bool> {
    let few =
        "SELECT count(*) FROM (SELECT 1 FROM jobs INDEXED BY jobs_ready WHERE state = 'queued' LIMIT ?1)";
    let queued: i64 = find(conn, few, params![MAX_REACH], |row| row.get(0))?.unwrap_or(0);
    Ok(queued < MAX_REACH)
}

/// The words of the wanted states as a JSON list; nothing when any will do.
fn words(shown: &[Shown]) -> Option<String> {
    let words: Vec<&str> = shown.iter().map(|shown| shown.as_str()).collect();
    (!words.is_empty()).then(|| serde_json::to_string(&words).unwrap_or_default())
}

fn job_row(row: &Row<'_>, now: Timestamp) -> rusqlite::Result<JobRow> {
    let state = row::word(row, 4, State::parse)?;
    let due_at = row::at(row, 8)?;
    let attempt = row.get(12)?;
    let awaits = row::batch(row, 18)?;
    let started_at = row::opt_at(row, 25)?;
    let facts = Facts {
        state,
        due_at,
        attempt,
        ran_before: started_at.is_some(),
        awaits_batch: awaits.is_some(),
        held: row.get(29)?,
    };
    Ok(JobRow {
        id: row::job(row, 0)?,
        workload: row::checked(row, 1, str::parse::<WorkloadName>)?,
        owner: row::owner(row, 2)?,
        label: row.get(3)?,
        state,
        shown: shown(&facts, now),
        targets: row::checked(row, 5, TargetSet::from_key)?,
        priority: row.get(6)?,
        alone: row.get(7)?,
        due_at,
        token: LeaseToken(row.get(9)?),
        leased_by: row::worker(row, 10)?,
        lease_expires_at: row::opt_at(row, 11)?,
        attempt,
        max_attempts: row.get(13)?,
        generation: row.get(14)?,
        crashes: row.get(15)?,
        releases: row.get(16)?,
        batch: row::batch(row, 17)?,
        awaits,
        replay: row::replay(row, 19)?,
        failure_code: row::code(row, 20)?,
        failure_message: row.get(21)?,
        progress: row.get::<_, Option<String>>(30)?.as_deref().and_then(Progress::from_kept),
        result: row.get(22)?,
        created_at: row::at(row, 23)?,
        queued_at: row::at(row, 24)?,
        started_at,
        finished_at: row::opt_at(row, 26)?,
        expired_at: row::opt_at(row, 27)?,
        purge_at: row::opt_at(row, 28)?,
    })
}

pub(crate) fn batch(conn: &Connection, id: BatchId) -> Result<Option<BatchRow>> {
    find(conn, sql::BATCH, params![blob(id.as_uuid())], batch_row)
}

pub(crate) fn batches(conn: &Connection, filter: &BatchFilter, page: &PageRequest) -> Result<Page<BatchRow>> {
    let after = page.after::<Behind<BatchId>>()?;
    let (at, id) = (after.map(|c| instant::to_millis(c.at)), after.map(|c| blob(c.id.as_uuid())));
    let limit = page.rows();
    let (workload, rows_wanted) = (filter.workload.as_str(), i64::try_from(limit).unwrap_or(50));
    let rows = match &filter.owner {
        None => list(conn, sql::BATCHES, params![workload, at, id, rows_wanted, filter.live], batch_row),
        Some(owner) => {
            let asked = params![workload, at, id, rows_wanted, owner.as_str(), filter.live];
            list(conn, sql::BATCHES_OF, asked, batch_row)
        }
    }?;
    let more = rows.len() == limit;
    Ok(Page::of_batches(rows, more))
}

pub(crate) fn batch_failures(conn: &Connection, id: BatchId) -> Result<Vec<BatchFailures>> {
    list(conn, sql::BATCH_FAILURES, params![blob(id.as_uuid())], |row| {
        let jobs = u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0);
        Ok(BatchFailures { minute: row::at(row, 0)?, code: row::some_code(row, 1)?, jobs })
    })
}

fn batch_row(row: &Row<'_>) -> rusqlite::Result<BatchRow> {
    let n = |i: usize| row.get::<_, i64>(i).map(|v| u64::try_from(v).unwrap_or(0));
    let code = row::code(row, 12)?;
    let message: Option<String> = row.get(13)?;
    Ok(BatchRow {
        id: BatchId::from_uuid(row::uuid(row, 0)?),
        workload: row::checked(row, 1, str::parse::<WorkloadName>)?,
        owner: row::owner(row, 2)?,
        label: row.get(3)?,
        about: row.get(19)?,
        state: row::word(row, 4, BatchState::parse)?,
        sealed: row.get(5)?,
        counters: Counters { total: n(6)?, ok: n(7)?, failed: n(8)?, hard: n(9)?, cancelled: n(10)? },
        bytes: n(20)?,
        end_rule: row::word(row, 11, EndRule::parse)?,
        last_failure: code.zip(message),
        last_failure_at: row::opt_at(row, 14)?,
        dead_offset: row.get::<_, Option<i64>>(15)?.map(Offset),
        created_at: row::at(row, 16)?,
        updated_at: row::at(row, 17)?,
        finished_at: row::opt_at(row, 18)?,
    })
}

pub(crate) fn breakers(conn: &Connection, target: Option<&Target>) -> Result<Vec<BreakerRow>> {
    list(conn, sql::BREAKERS, params![target.map(Target::as_str)], |row| {
        Ok(BreakerRow {
            target: row::checked(row, 0, str::parse::<Target>)?,
            version: row.get(1)?,
            breaker: row::checked(row, 2, |json| serde_json::from_str::<Breaker>(json))?,
            updated_at: row::at(row, 3)?,
        })
    })
}
