//! Batch counters: exact, because they change in the transaction that changes the member.

use redrive_model::batch::{Counters, EndRule};
use redrive_model::limits::MAX_LABEL_BYTES;
use redrive_model::{BatchId, BatchState, instant, text};
use redrive_store::{BatchChange, BatchCount, NewBatch, Result, StoreError};
use rusqlite::params;

use super::record::{execute, find};
use crate::row::{self, blob};
use crate::sql;
use crate::writer::Tx;

/// Opens a batch; one that is there already stays as it is.
pub(crate) fn open(tx: &Tx<'_>, new: &NewBatch) -> Result<()> {
    execute(
        tx.conn,
        sql::OPEN_BATCH,
        params![
            blob(new.id.as_uuid()),
            new.workload.as_str(),
            new.owner.as_ref().map(|o| o.as_str()),
            new.label.as_deref().map(|label| text::one_line(label, MAX_LABEL_BYTES, false)),
            new.end_rule.as_str(),
            new.keep.map(instant::millis),
            tx.now,
            new.about
        ],
    )
    .map(drop)
}

struct Stored {
    count: BatchCount,
    rule: EndRule,
    keep: Option<i64>,
}

fn load(tx: &Tx<'_>, id: BatchId) -> Result<Stored> {
    let count =
        |row: &rusqlite::Row<'_>, n: usize| row.get::<_, i64>(n).map(|v| u64::try_from(v).unwrap_or(0));
    find(tx.conn, sql::BATCH_COUNTERS, params![blob(id.as_uuid())], |row| {
        let counters = Counters {
            total: count(row, 2)?,
            ok: count(row, 3)?,
            failed: count(row, 4)?,
            hard: count(row, 5)?,
            cancelled: count(row, 6)?,
        };
        let state = row::word(row, 0, BatchState::parse)?;
        Ok(Stored {
            count: BatchCount { state, sealed: row.get(1)?, counters },
            rule: row::word(row, 7, EndRule::parse)?,
            keep: row.get(8)?,
        })
    })?
    .ok_or_else(|| StoreError::NotFound { what: format!("batch {id}") })
}

/// Whether the batch has ended; an unknown batch counts as ended, so that nobody waits for it for ever.
pub(crate) fn has_ended(tx: &Tx<'_>, id: BatchId) -> Result<bool> {
    match load(tx, id) {
        Ok(stored) => Ok(stored.count.state.is_ended()),
        Err(StoreError::NotFound { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Changes the counters and, when everybody is back, ends the batch and wakes whoever waits for it.
pub(crate) fn apply(tx: &Tx<'_>, id: BatchId, change: &BatchChange) -> Result<()> {
    let before = load(tx, id)?;
    let Some(BatchCount { state, sealed, counters }) = change.apply(id, &before.count, before.rule)? else {
        return Ok(());
    };
    let ended = state.is_ended().then_some(tx.now);
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    execute(
        tx.conn,
        sql::UPDATE_BATCH,
        params![
            blob(id.as_uuid()),
            state.as_str(),
            sealed,
            number(counters.total),
            number(counters.ok),
            number(counters.failed),
            number(counters.hard),
            number(counters.cancelled),
            tx.now,
            ended,
            ended.and(before.keep).map(|keep| tx.now.saturating_add(keep)),
            change.last_failure.as_ref().map(|(code, _)| code.name()),
            change.last_failure.as_ref().map(|(_, message)| message),
            change.dead_offset.map(|o| o.0),
            change.bytes,
        ],
    )?;
    for ((code, minute), jobs) in &change.failures {
        let count = params![blob(id.as_uuid()), minute, code.name(), jobs];
        let more = if *jobs > 0 { sql::COUNT_BATCH_FAILURES } else { sql::UNCOUNT_BATCH_FAILURES };
        execute(tx.conn, more, count)?;
    }
    if state.is_ended() && !before.count.state.is_ended() {
        execute(tx.conn, sql::INSERT_BATCH_EVENT, params![tx.next_event()?, blob(id.as_uuid()), tx.now])?;
        execute(tx.conn, sql::WAKE_WAITERS, params![blob(id.as_uuid()), tx.now])?;
    }
    Ok(())
}
