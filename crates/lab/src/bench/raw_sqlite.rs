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
    conn.pragma_update(None, "cache_size", -16_384)?;
    conn.set_prepared_statement_cache_capacity(64);
    conn.execute(
        "INSERT INTO lanes (workload, targets, priority, alone) VALUES ('bench', '', 5, 0) ON CONFLICT DO NOTHING",
        [],
    )?;
    Ok(conn)
}

const INSERT_JOB: &str = "INSERT INTO jobs (id, lane, state, due_at, created_at, queued_at, queued_event) \
                          VALUES (?1, 1, 'queued', ?2, ?2, ?2, ?3)";
const INSERT_PAYLOAD: &str = "INSERT INTO payloads (job, input) VALUES (?1, ?2)";
const INSERT_QUEUED: &str =
    "INSERT INTO events (seq, job, kind, at, generation) VALUES (?3, ?1, 'queued', ?2, 1)";
const LAST_EVENT: &str = "SELECT coalesce(max(seq), 0) FROM events";

/// Inserts jobs, payloads and events; answers jobs per second.
pub fn enqueue(conn: &mut Connection, total: usize, per_commit: usize) -> Result<f64> {
    let started = Instant::now();
    for _ in 0..total / per_commit {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut seq: i64 = tx.prepare_cached(LAST_EVENT)?.query_row([], |r| r.get(0))?;
        {
            let mut job = tx.prepare_cached(INSERT_JOB)?;
            let mut payload = tx.prepare_cached(INSERT_PAYLOAD)?;
            let mut event = tx.prepare_cached(INSERT_QUEUED)?;
            for _ in 0..per_commit {
                let id = fresh_id(Timestamp::UNIX_EPOCH).as_uuid().into_bytes();
                seq += 1;
                job.execute(params![id, NOW, seq])?;
                payload.execute(params![id, INPUT])?;
                event.execute(params![id, NOW, seq])?;
            }
        }
        tx.commit()?;
    }
    Ok(per_second(total, started))
}

const READY: &str = "SELECT j.id, j.lease_token, j.attempt, j.generation, p.label, p.input, p.state \
                     FROM jobs j INDEXED BY jobs_ready JOIN payloads p ON p.job = j.id \
                     WHERE j.state = 'queued' AND j.lane = 1 AND j.due_at <= ?1 ORDER BY j.due_at, j.id LIMIT ?2";
const CLAIM: &str = "UPDATE jobs SET state = 'processing', lease_token = lease_token + 1, leased_by = ?2, leased_at = ?3, \
                     lease_expires_at = ?4, attempt = attempt + 1, started_at = ?3 WHERE id = ?1";
const COMPLETE: &str = "UPDATE jobs SET state = 'complete', result = '', finished_at = ?2, policy = 'abcdefabcdef', \
                        complete_event = ?4, lease_expires_at = NULL \
                        WHERE id = ?1 AND state = 'processing' AND lease_token = ?3";
const EVENT: &str = "INSERT INTO events (seq, job, kind, at, started_at, generation, attempt) \
                     VALUES (?5, ?1, 'complete', ?2, ?2, ?3, ?4)";

/// Id, token, attempt, generation, input.
type Held = ([u8; 16], i64, i64, i64, Vec<u8>);

/// Claims and completes everything; answers jobs per second.
pub fn drain(conn: &mut Connection, total: usize) -> Result<f64> {
    let worker = [7u8; 16];
    let started = Instant::now();
    let mut done = 0;
    while done < total {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let claimed: Vec<Held> = tx
            .prepare_cached(READY)?
            .query_map(params![NOW, BATCH as i64], |r| {
                Ok((r.get(0)?, r.get::<_, i64>(1)? + 1, r.get::<_, i64>(2)? + 1, r.get(3)?, r.get(5)?))
            })?
            .collect::<Result<_, _>>()?;
        {
            let mut claim = tx.prepare_cached(CLAIM)?;
            for (id, ..) in &claimed {
                claim.execute(params![id, worker, NOW, NOW + 60_000])?;
            }
        }
        tx.commit()?;
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut seq: i64 = tx.prepare_cached(LAST_EVENT)?.query_row([], |r| r.get(0))?;
        {
            let (mut complete, mut event) = (tx.prepare_cached(COMPLETE)?, tx.prepare_cached(EVENT)?);
            for (id, token, attempt, generation, _) in &claimed {
                seq += 1;
                complete.execute(params![id, NOW, token, seq])?;
                event.execute(params![id, NOW, generation, attempt, seq])?;
            }
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
