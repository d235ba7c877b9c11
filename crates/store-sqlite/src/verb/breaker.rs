//! Breakers by compare-and-swap, and pauses.

use redrive_model::breaker::{Breaker, Turn};
use redrive_model::{Target, instant};
use redrive_store::{KEEP_TURNS, Result, StoreError, Swapped};
use rusqlite::params;

use super::record::execute;
use crate::row::blob;
use crate::sql;
use crate::writer::Tx;

pub(crate) fn swap(
    tx: &Tx<'_>,
    target: &Target,
    expected: Option<i64>,
    breaker: &Breaker,
    turn: Option<&Turn>,
) -> Result<Swapped> {
    let machine = serde_json::to_string(breaker).map_err(|e| StoreError::Internal(e.to_string()))?;
    let gate = breaker.gate();
    let blocked = gate.blocked_until.map(instant::to_millis);
    let probe = gate.probe.map(|w| blob(w.as_uuid()));
    let target = target.as_str();
    let changed = match expected {
        None => execute(
            tx.conn,
            sql::INSERT_BREAKER,
            params![target, machine, blocked, gate.limit, probe, tx.now],
        )?,
        Some(version) => execute(
            tx.conn,
            sql::SWAP_BREAKER,
            params![target, machine, blocked, gate.limit, probe, tx.now, version],
        )?,
    };
    if changed != 1 {
        return Ok(Swapped::Stale);
    }
    if let Some(turn) = turn {
        let values = params![target, tx.now, turn.deed.as_str(), turn.why, turn.by];
        execute(tx.conn, sql::NOTE_TURN, values)?;
        execute(
            tx.conn,
            sql::FORGET_TURNS_OF,
            params![target, i64::try_from(KEEP_TURNS).unwrap_or(i64::MAX)],
        )?;
    }
    Ok(Swapped::Done(expected.unwrap_or(0) + 1))
}

pub(crate) fn pause(tx: &Tx<'_>, workload: Option<&str>, by: &str) -> Result<()> {
    execute(tx.conn, sql::SET_SETTING, params![key(workload), "true", by, tx.now]).map(drop)
}

pub(crate) fn resume(tx: &Tx<'_>, workload: Option<&str>) -> Result<()> {
    execute(tx.conn, sql::DELETE_SETTING, params![key(workload)]).map(drop)
}

fn key(workload: Option<&str>) -> String {
    format!("pause/{}", workload.unwrap_or(""))
}
