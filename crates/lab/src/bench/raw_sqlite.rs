//! The raw limit on SQLite: the same rows, written by hand on one connection with one writer.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use redrive_model::Timestamp;
use rusqlite::{Connection, TransactionBehavior, params};

use super::measure::per_second;
use super::ours::fresh_id;
use super::{BATCH, INPUT};

const NOW: i64 = 1_800_000_000_000;

/// A connection with the store's own durability.
pub fn open(path: &Path) -> Result<Connection> {
    let conn = Connection::open(path)?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "cache_size", -65_536)?;
    conn.set_prepared_statement_cache_capacity(64);
    conn.execute(
        "INSERT INTO lanes (workload, targets, priority, alone) VALUES ('bench', '', 5, 0) ON CONFLICT DO NOTHING",
        [],
    )?;
    Ok(conn)
}

const INSERT_JOB: &str =
    "INSERT INTO jobs (id, lane, state, due_at, created_at, queued_at) VALUES (?1, 1, 'queued', ?2, ?2, ?2)";
const INSERT_PAYLOAD: &str = "INSERT INTO payloads (job, input) VALUES (?1, ?2)";
const INSERT_QUEUED: &str = "INSERT INTO events (job, kind, at, generation) VALUES (?1, 'queued', ?2, 1)";

/// Inserts jobs, payloads and events; answers jobs per second.
pub fn enqueue(conn: &mut Connection, total: usize, per_commit: usize) -> Result<f64> {
    let started = Instant::now();
    for _ in 0..total / per_commit {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for _ in 0..per_commit {
            let id = fresh_id(Timestamp::UNIX_EPOCH).as_uuid().into_bytes();
            tx.prepare_cached(INSERT_JOB)?.execute(params![id, NOW])?;
            tx.prepare_cached(INSERT_PAYLOAD)?.execute(params![id, INPUT])?;
            tx.prepare_cached(INSERT_QUEUED)?.execute(params![id, NOW])?;
        }
        tx.commit()?;
    }
    Ok(per_second(total, started))
}

const READY: &str = "SELECT id FROM jobs INDEXED BY jobs_ready WHERE state = 'queued' AND lane = 1 AND due_at <= ?1 \
                     ORDER BY due_at, id LIMIT ?2";
const CLAIM: &str = "UPDATE jobs SET state = 'processing', lease_token = lease_token + 1, leased_by = ?2, leased_at = ?3, \
                     lease_expires_at = ?4, attempt = attempt + 1, started_at = ?3 WHERE id = ?1 \
                     RETURNING lease_token, attempt, generation";
const PAYLOAD: &str = "SELECT label, input, state FROM payloads WHERE job = ?1";
const COMPLETE: &str = "UPDATE jobs SET state = 'complete', result = '', finished_at = ?2, leased_by = NULL, leased_at = NULL, \
                        lease_expires_at = NULL WHERE id = ?1 AND state = 'processing' AND lease_token = ?3";
const ATTEMPT: &str = "INSERT INTO attempts (job, token, number, generation, worker, started_at, ended_at, outcome, rule, policy) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, 'complete', 'handler_completed', 'abcdefabcdef')";
const EVENT: &str = "INSERT INTO events (job, kind, at, started_at, generation, attempt) VALUES (?1, 'complete', ?2, ?2, ?3, ?4)";

/// Id, token, attempt, generation, input.
type Held = ([u8; 16], i64, i64, i64, Vec<u8>);

/// Claims and completes everything; answers jobs per second.
pub fn drain(conn: &mut Connection, total: usize) -> Result<f64> {
    let worker = [7u8; 16];
    let started = Instant::now();
    let mut done = 0;
    while done < total {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let ids: Vec<[u8; 16]> = tx
            .prepare_cached(READY)?
            .query_map(params![NOW, BATCH as i64], |r| r.get(0))?
            .collect::<Result<_, _>>()?;
        let mut claimed: Vec<Held> = Vec::with_capacity(ids.len());
        for id in ids {
            let (token, attempt, generation) =
                tx.prepare_cached(CLAIM)?.query_row(params![id, worker, NOW, NOW + 60_000], |r| {
                    Ok((r.get(0)?, r.get(1)?, r.get(2)?))
                })?;
            let input = tx.prepare_cached(PAYLOAD)?.query_row(params![id], |r| r.get(1))?;
            claimed.push((id, token, attempt, generation, input));
        }
        tx.commit()?;
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (id, token, attempt, generation, _) in &claimed {
            tx.prepare_cached(COMPLETE)?.execute(params![id, NOW, token])?;
            tx.prepare_cached(ATTEMPT)?.execute(params![id, token, attempt, generation, worker, NOW])?;
            tx.prepare_cached(EVENT)?.execute(params![id, NOW, generation, attempt])?;
        }
        tx.commit()?;
        done += claimed.len();
    }
    Ok(per_second(total, started))
}

/// The barest queue: claim 100, delete 100, no history.
pub fn barest(path: &Path, total: usize) -> Result<f64> {
    let mut conn = Connection::open(path)?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.execute_batch(
        "CREATE TABLE q (id INTEGER PRIMARY KEY, claimed INTEGER NOT NULL DEFAULT 0, input BLOB NOT NULL)",
    )?;
    let tx = conn.transaction()?;
    for _ in 0..total {
        tx.prepare_cached("INSERT INTO q (input) VALUES (?1)")?.execute(params![INPUT])?;
    }
    tx.commit()?;
    let started = Instant::now();
    let mut done = 0;
    while done < total {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let ids: Vec<(i64, Vec<u8>)> = tx
            .prepare_cached("UPDATE q SET claimed = 1 WHERE id IN (SELECT id FROM q WHERE claimed = 0 ORDER BY id LIMIT ?1) RETURNING id, input")?
            .query_map([BATCH as i64], |r| Ok((r.get(0)?, r.get(1)?)))?
            .collect::<Result<_, _>>()?;
        tx.commit()?;
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (id, _) in &ids {
            tx.prepare_cached("DELETE FROM q WHERE id = ?1")?.execute([id])?;
        }
        tx.commit()?;
        done += ids.len();
    }
    Ok(per_second(total, started))
}
