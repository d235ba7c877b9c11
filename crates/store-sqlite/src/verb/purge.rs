//! Retention, in bounded chunks.
//!
//! The sweep walks the primary key, which is the order of creation, and needs no index of its own. A member of a batch
//! lives as long as its batch.

use redrive_model::{BatchId, EventSeq, JobId, State, Timestamp, instant};
use redrive_store::{Purge, Purged, Result};
use rusqlite::params;

use super::record::{execute, find, list};
use crate::row::{self, blob};
use crate::sql;
use crate::writer::Tx;

struct Candidate {
    id: JobId,
    state: State,
    lane: i64,
    purge_at: Option<i64>,
    batch: Option<BatchId>,
}

pub(crate) fn purge(tx: &mut Tx<'_>, chunk: Purge) -> Result<Purged> {
    let scan = i64::try_from(chunk.scan.max(1)).unwrap_or(i64::MAX);
    let after = chunk.after.map(|id| blob(id.as_uuid()));
    let rows = list(tx.conn, sql::PURGE_SCAN, params![after, scan], |row| {
        Ok(Candidate {
            id: row::job(row, 0)?,
            state: row::word(row, 1, State::parse)?,
            lane: row.get(2)?,
            purge_at: row.get(3)?,
            batch: row::batch(row, 4)?,
        })
    })?;
    let full = rows.len() == chunk.scan.max(1);
    let mut purged = Purged { jobs: 0, next: rows.last().map(|c| c.id).filter(|_| full) };
    for candidate in rows {
        if is_over(tx, &candidate)? {
            let id = blob(candidate.id.as_uuid());
            for statement in [sql::DELETE_PAYLOAD, sql::DELETE_ATTEMPTS, sql::DELETE_JOB] {
                execute(tx.conn, statement, params![id])?;
            }
            let letters = list(tx.conn, sql::DELETE_DEAD, params![id], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?))
            })?;
            for (fingerprint, _) in letters.iter().filter(|(_, open)| *open) {
                execute(tx.conn, sql::SHRINK_GROUP, params![fingerprint])?;
            }
            tx.tallies.remove(candidate.lane, candidate.state);
            purged.jobs += 1;
        }
    }
    if !full {
        execute(tx.conn, sql::DELETE_BATCHES, params![tx.now])?;
        purged.next = None;
    }
    Ok(purged)
}

fn is_over(tx: &Tx<'_>, c: &Candidate) -> Result<bool> {
    if !c.state.is_terminal() {
        return Ok(false);
    }
    let purge_at = match c.batch {
        None => c.purge_at,
        Some(id) => find(tx.conn, sql::BATCH_PURGE_AT, params![blob(id.as_uuid())], |row| row.get(0))?
            .unwrap_or(c.purge_at),
    };
    Ok(purge_at.is_some_and(|at| at <= tx.now))
}

pub(crate) fn purge_events(tx: &Tx<'_>, upto: EventSeq, limit: usize) -> Result<u64> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    execute(tx.conn, sql::PURGE_EVENTS, params![upto.0 / 2, limit]).map(|n| n as u64)
}

pub(crate) fn prune_attempts(tx: &Tx<'_>, job: JobId, keep: usize) -> Result<u64> {
    let id = blob(job.as_uuid());
    // The last attempt of a complete job has no row: it is the newest.
    let own = find(tx.conn, sql::HAS_OWN_ATTEMPT, params![id], |_| Ok(()))?.is_some();
    let rows = i64::try_from(keep.saturating_sub(usize::from(own))).unwrap_or(i64::MAX);
    let mut pruned = execute(tx.conn, sql::PRUNE_ATTEMPTS, params![id, rows])?;
    if own && keep == 0 {
        pruned += execute(tx.conn, sql::FORGET_OWN_ATTEMPT, params![id])?;
    }
    Ok(pruned as u64)
}

pub(crate) fn forget(tx: &Tx<'_>, before: Timestamp) -> Result<u64> {
    let before = instant::to_millis(before);
    let keys = execute(tx.conn, sql::FORGET_KEYS, params![before])?;
    let workers = execute(tx.conn, sql::FORGET_WORKERS, params![before])?;
    let turns = execute(tx.conn, sql::FORGET_TURNS, params![before])?;
    Ok((keys + workers + turns) as u64)
}
