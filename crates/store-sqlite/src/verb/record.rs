//! The writes that accompany every transition: event, attempt, dead letter.

use redrive_model::decide::DeadReason;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::limits::MAX_CONTEXT_BYTES;
use redrive_model::{Failure, JobId, LeaseToken, Offset};
use redrive_store::{EventKind, Report, Result};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use crate::error::store_error;
use crate::row::blob;
use crate::sql;
use crate::writer::Tx;

/// Runs a statement that answers nothing; says how many rows changed.
pub(crate) fn execute(conn: &Connection, sql: &str, params: impl Params) -> Result<usize> {
    conn.prepare_cached(sql).and_then(|mut s| s.execute(params)).map_err(store_error)
}

/// Runs a statement that answers at most one row.
pub(crate) fn find<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    map: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>> {
    conn.prepare_cached(sql).and_then(|mut s| s.query_row(params, map).optional()).map_err(store_error)
}

/// Runs a statement that answers many rows.
pub(crate) fn list<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    map: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    conn.prepare_cached(sql)
        .and_then(|mut s| s.query_map(params, map).and_then(Iterator::collect))
        .map_err(store_error)
}

/// An execution that has ended, as its row and its event tell it.
pub(crate) struct Ended<'a> {
    pub(crate) job: JobId,
    pub(crate) token: LeaseToken,
    pub(crate) number: u32,
    pub(crate) generation: u32,
    pub(crate) worker: Option<[u8; 16]>,
    pub(crate) started_at: Option<i64>,
    pub(crate) outcome: &'a str,
    pub(crate) kind: EventKind,
    pub(crate) report: Option<&'a Report>,
}

/// Writes the attempt and the event that stands for its start and its end.
pub(crate) fn ended(tx: &Tx<'_>, e: &Ended<'_>) -> Result<()> {
    let failure = e.report.and_then(|r| r.failure.as_ref());
    let code = failure.map(|f| f.code.name());
    let status = failure.and_then(|f| f.target_status);
    let job = blob(e.job.as_uuid());
    execute(
        tx.conn,
        sql::INSERT_ATTEMPT,
        params![
            job,
            e.token.0,
            e.number,
            e.generation,
            e.worker,
            e.started_at,
            tx.now,
            e.outcome,
            code,
            failure.map(|f| &f.message),
            failure.and_then(context),
            status,
            e.report.map(|r| r.rule.as_str()),
            e.report.map(|r| &r.policy),
        ],
    )?;
    execute(
        tx.conn,
        sql::INSERT_EVENT,
        params![
            tx.next_event()?,
            job,
            e.kind.as_str(),
            tx.now,
            e.started_at,
            e.generation,
            e.number,
            status,
            code
        ],
    )
    .map(drop)
}

/// Writes an event that ends no attempt; answers its place.
pub(crate) fn event(
    tx: &Tx<'_>,
    job: JobId,
    kind: EventKind,
    generation: u32,
    failure: Option<&Failure>,
) -> Result<i64> {
    let job = blob(job.as_uuid());
    let nothing = None::<i64>;
    let code = failure.map(|f| f.code.name());
    let seq = tx.next_event()?;
    let event = params![seq, job, kind.as_str(), tx.now, nothing, generation, 0, nothing, code];
    execute(tx.conn, sql::INSERT_EVENT, event)?;
    Ok(seq)
}

/// A job that policy gave up on.
pub(crate) struct Dead<'a> {
    pub(crate) job: JobId,
    pub(crate) generation: u32,
    pub(crate) attempts: u32,
    pub(crate) reason: DeadReason,
    pub(crate) failure: &'a Failure,
    pub(crate) fingerprint: &'a Fingerprint,
}

/// Writes the dead letter.
pub(crate) fn dead(tx: &Tx<'_>, d: &Dead<'_>) -> Result<Offset> {
    let offset = find(
        tx.conn,
        sql::INSERT_DEAD,
        params![
            blob(d.job.as_uuid()),
            d.generation,
            d.reason.as_str(),
            d.failure.code.name(),
            d.failure.message,
            d.attempts,
            d.fingerprint.as_str(),
            tx.now
        ],
        |row| row.get(0),
    )?;
    Ok(Offset(offset.unwrap_or_default()))
}

/// The context as JSON, bounded.
fn context(failure: &Failure) -> Option<String> {
    if failure.context.is_empty() {
        return None;
    }
    serde_json::to_string(&failure.context).ok().filter(|json| json.len() <= MAX_CONTEXT_BYTES + 64)
}
