//! Forgetting targets that nobody uses any more. Their names come from users, so without this both tables would only grow.
//!
//! A lane stays while it, or the lane beside it for running alone, has a job: a job may move from one to the other.

use redrive_model::breaker::Breaker;
use redrive_model::{Target, Timestamp, instant};
use redrive_store::Result;
use rusqlite::params;

use super::record::{execute, list};
use crate::row;
use crate::sql;
use crate::writer::Tx;

pub(crate) fn forget(tx: &mut Tx<'_>, before: Timestamp, limit: usize) -> Result<u64> {
    Ok(lanes(tx, limit)? + breakers(tx, before, limit)?)
}

fn lanes(tx: &mut Tx<'_>, limit: usize) -> Result<u64> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let idle = list(tx.conn, sql::IDLE_LANES, params![most], |row| row.get::<_, i64>(0))?;
    let mut gone = 0;
    for lane in idle {
        // A job that this very group created is not in the counts yet.
        if tx.tallies.knows(lane) {
            continue;
        }
        for statement in [sql::DELETE_LANE_TALLIES, sql::DELETE_LANE_TARGETS, sql::DELETE_LANE] {
            execute(tx.conn, statement, params![lane])?;
        }
        tx.lanes.forget(lane);
        gone += 1;
    }
    Ok(gone)
}

fn breakers(tx: &Tx<'_>, before: Timestamp, limit: usize) -> Result<u64> {
    let rows = list(tx.conn, sql::IDLE_BREAKERS, params![instant::to_millis(before)], |row| {
        let target = row::checked(row, 0, str::parse::<Target>)?;
        let breaker = row::checked(row, 2, |json| serde_json::from_str::<Breaker>(json))?;
        Ok((target, row.get::<_, i64>(1)?, breaker, row.get::<_, bool>(3)?))
    })?;
    let now = instant::from_millis(tx.now);
    let idle = rows.into_iter().filter(|(_, _, breaker, wanted)| breaker.is_forgettable(now, *wanted));
    let mut gone = 0;
    for (target, version, ..) in idle.take(limit) {
        gone += execute(tx.conn, sql::DELETE_BREAKER, params![target.as_str(), version])? as u64;
    }
    Ok(gone)
}
