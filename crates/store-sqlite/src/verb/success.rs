//! The plain success: the most frequent finish, with its statements prepared once for the whole call.

use redrive_model::State;
use redrive_store::{EventKind, Finish, Result, Step};
use rusqlite::{CachedStatement, Connection, params};

use super::finish::Before;
use crate::error::store_error;
use crate::row::blob;
use crate::sql;
use crate::writer::Tx;

/// The statements of a success.
pub(crate) struct Success<'c> {
    lookup: CachedStatement<'c>,
    complete: CachedStatement<'c>,
    attempt: CachedStatement<'c>,
    event: CachedStatement<'c>,
}

impl<'c> Success<'c> {
    pub(crate) fn prepare(conn: &'c Connection) -> Result<Self> {
        let prepare = |sql| conn.prepare_cached(sql).map_err(store_error);
        Ok(Self {
            lookup: prepare(sql::LOOKUP)?,
            complete: prepare(sql::COMPLETE)?,
            attempt: prepare(sql::INSERT_ATTEMPT)?,
            event: prepare(sql::INSERT_EVENT)?,
        })
    }

    /// The job as it is before the write.
    pub(crate) fn lookup(&mut self, f: &Finish) -> Result<Option<Before>> {
        use rusqlite::OptionalExtension;
        self.lookup
            .query_row(params![blob(f.lease.job.as_uuid())], Before::read)
            .optional()
            .map_err(store_error)
    }

    /// Writes the job, the attempt and the event. The caller has checked the fence.
    pub(crate) fn write(&mut self, tx: &mut Tx<'_>, f: &Finish, before: &Before) -> rusqlite::Result<()> {
        let Step::Complete { result, keep } = &f.step else { return Ok(()) };
        let id = blob(f.lease.job.as_uuid());
        let purge_at = keep.map(|keep| redrive_model::instant::add_ms(tx.now, keep));
        let (kind, nothing) = (EventKind::Complete.as_str(), None::<&str>);
        self.complete.execute(params![id, result.as_deref().unwrap_or(""), tx.now, purge_at])?;
        self.attempt.execute(params![
            id,
            f.lease.token.0,
            before.attempt,
            before.generation,
            before.leased_by,
            before.leased_at,
            tx.now,
            f.step.outcome(),
            nothing,
            nothing,
            nothing,
            nothing,
            f.report.rule.as_str(),
            f.report.policy
        ])?;
        self.event.execute(params![
            id,
            kind,
            tx.now,
            before.leased_at,
            before.generation,
            before.attempt,
            nothing,
            nothing
        ])?;
        tx.tallies.remove(before.lane, State::Processing);
        tx.tallies.add(before.lane, State::Complete);
        Ok(())
    }
}
