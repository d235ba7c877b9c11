//! The success: the most frequent finish, with its statements prepared once for the whole call.

use redrive_model::{Rule, State};
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
    event: CachedStatement<'c>,
}

impl<'c> Success<'c> {
    pub(crate) fn prepare(conn: &'c Connection) -> Result<Self> {
        let prepare = |sql| conn.prepare_cached(sql).map_err(store_error);
        Ok(Self {
            lookup: prepare(sql::LOOKUP)?,
            complete: prepare(sql::COMPLETE)?,
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

    /// Writes the job, which tells the attempt too, and the event. The caller has checked the fence.
    pub(crate) fn write(&mut self, tx: &mut Tx<'_>, f: &Finish, before: &Before) -> Result<()> {
        let Step::Complete { result, keep } = &f.step else { return Ok(()) };
        let id = blob(f.lease.job.as_uuid());
        let purge_at = keep.map(|keep| redrive_model::instant::add_ms(tx.now, keep));
        let rule = Some(f.report.rule).filter(|rule| *rule != Rule::HandlerCompleted).map(Rule::as_str);
        let (kind, nothing) = (EventKind::Complete.as_str(), None::<&str>);
        let seq = tx.next_event()?;
        let result = result.as_deref().unwrap_or("");
        let complete = params![id, result, tx.now, purge_at, rule, f.report.policy, seq];
        self.complete.execute(complete).map_err(store_error)?;
        let (started_at, generation, attempt) = (before.leased_at, before.generation, before.attempt);
        let event = params![seq, id, kind, tx.now, started_at, generation, attempt, nothing, nothing];
        self.event.execute(event).map_err(store_error)?;
        tx.tallies.remove(before.lane, State::Processing);
        tx.tallies.add(before.lane, State::Complete);
        Ok(())
    }
}
