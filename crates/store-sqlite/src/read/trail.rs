//! Attempts and events.

use redrive_model::decide::Rule;
use redrive_model::{Code, EventSeq, JobId, LeaseToken, WorkloadName, instant};
use redrive_store::{AttemptRow, Event, EventKind, LastFailure, Result, StoreError};
use rusqlite::{Connection, Row, params};

use crate::row::{self, blob};
use crate::sql;
use crate::verb::record::{find, list};

pub(crate) fn attempts(conn: &Connection, job: JobId) -> Result<Vec<AttemptRow>> {
    list(conn, sql::ATTEMPTS, params![blob(job.as_uuid())], |row| {
        Ok(AttemptRow {
            job: row::job(row, 0)?,
            token: LeaseToken(row.get(1)?),
            number: row.get(2)?,
            generation: row.get(3)?,
            worker: row::worker(row, 4)?,
            started_at: row::opt_at(row, 5)?,
            ended_at: row::at(row, 6)?,
            outcome: row.get(7)?,
            code: row::code(row, 8)?,
            message: row.get(9)?,
            context: row.get(10)?,
            target_status: row.get(11)?,
            rule: row.get::<_, Option<String>>(12)?.as_deref().and_then(Rule::parse),
            policy: row.get(13)?,
            late: row.get(14)?,
        })
    })
}

pub(crate) fn last_failure(conn: &Connection, job: JobId) -> Result<Option<LastFailure>> {
    find(conn, sql::LAST_FAILURE, params![blob(job.as_uuid())], |row| {
        Ok(LastFailure { code: row::word(row, 0, Code::parse)?, at: row::at(row, 1)? })
    })
}

pub(crate) fn job_events(conn: &Connection, job: JobId) -> Result<Vec<Event>> {
    Ok(list(conn, sql::JOB_EVENTS, params![blob(job.as_uuid())], event)?
        .into_iter()
        .flat_map(Stored::unfold)
        .collect())
}

pub(crate) fn events_after(conn: &Connection, after: EventSeq, limit: usize) -> Result<Vec<Event>> {
    let (oldest, _) = bounds(conn)?;
    // Somebody at the very beginning has missed nothing as long as nothing was ever removed.
    if oldest > 1 && after.0 < oldest * 2 - 2 {
        return Err(StoreError::EventsGone { oldest: EventSeq(oldest * 2 - 1) });
    }
    // A reader may stand between the two events of one row: that row is read again and its first event left out.
    let behind = after.0.div_euclid(2);
    let rows =
        list(conn, sql::EVENTS_AFTER, params![behind, i64::try_from(limit).unwrap_or(i64::MAX)], event)?;
    Ok(rows.into_iter().flat_map(Stored::unfold).filter(|e| e.seq > after).take(limit).collect())
}

pub(crate) fn last_event(conn: &Connection) -> Result<EventSeq> {
    Ok(EventSeq(bounds(conn)?.1 * 2))
}

fn bounds(conn: &Connection) -> Result<(i64, i64)> {
    Ok(find(conn, sql::EVENT_BOUNDS, [], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or((0, 0)))
}

/// A row of the table: one event, or the end of an attempt that stands for two.
struct Stored {
    event: Event,
    started_at: Option<i64>,
}

impl Stored {
    fn unfold(self) -> impl Iterator<Item = Event> {
        let start = self.started_at.map(|started| Event {
            seq: EventSeq(self.event.seq.0 - 1),
            kind: EventKind::Processing,
            at: instant::from_millis(started),
            duration_ms: None,
            target_status: None,
            code: None,
            ..self.event.clone()
        });
        start.into_iter().chain(std::iter::once(self.event))
    }
}

fn event(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let at: i64 = row.get(2)?;
    let started_at: Option<i64> = row.get(9)?;
    let workload = row.get::<_, Option<String>>(5)?.and_then(|name| WorkloadName::new(name).ok());
    let event = Event {
        seq: EventSeq(row.get::<_, i64>(0)? * 2),
        kind: row::word(row, 1, EventKind::parse)?,
        at: instant::from_millis(at),
        job: row::opt_uuid(row, 3)?.map(JobId::from_uuid),
        batch: row::batch(row, 4)?,
        workload,
        owner: row::owner(row, 6)?,
        generation: row.get(7)?,
        attempt: row.get(8)?,
        duration_ms: started_at.map(|started| (at - started).max(0)),
        target_status: row.get(10)?,
        code: row::code(row, 11)?,
        topic: row.get(12)?,
        payload: row.get(13)?,
    };
    Ok(Stored { event, started_at })
}
