//! The raw limit on Postgres: the same rows, written by hand-written statements in batches.

use std::time::Instant;

use anyhow::Result;
use redrive_model::Timestamp;
use sqlx::{AssertSqlSafe, Executor, PgPool, Row};
use uuid::Uuid;

use super::measure::per_second;
use super::ours::fresh_id;
use super::{BATCH, INPUT};

/// Makes the lane that all jobs have.
pub async fn prepare(pool: &PgPool, schema: &str) -> Result<()> {
    let sql = format!(
        "INSERT INTO {schema}.lanes (workload, targets, priority, alone) VALUES ('bench', '', 5, false) ON CONFLICT DO NOTHING"
    );
    pool.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
    Ok(())
}

/// Inserts jobs, payloads and events on `connections` at once; answers jobs per second.
pub async fn enqueue(
    pool: &PgPool,
    schema: &str,
    total: usize,
    connections: usize,
    per_commit: usize,
) -> Result<f64> {
    let sql = format!(
        "WITH made AS (INSERT INTO {schema}.jobs (id, lane, state, due_at, created_at, queued_at, queued_event)
             SELECT id, 1, 'queued', 1, 1, 1, nextval('{schema}.events_seq_seq') FROM unnest($1::uuid[]) AS i (id)
             RETURNING id, queued_event),
         payload AS (INSERT INTO {schema}.payloads (job, input) SELECT i.id, i.input FROM unnest($1::uuid[], $2::bytea[]) AS i (id, input)),
         event AS (INSERT INTO {schema}.events (seq, job, kind, at, generation) SELECT queued_event, id, 'queued', 1, 1 FROM made)
         SELECT count(*) FROM made"
    );
    let started = Instant::now();
    let tasks: Vec<_> = (0..connections)
        .map(|_| {
            let (pool, sql) = (pool.clone(), sql.clone());
            tokio::spawn(async move {
                let mut conn = pool.acquire().await?;
                for _ in 0..total / connections / per_commit {
                    let ids: Vec<Uuid> =
                        (0..per_commit).map(|_| fresh_id(Timestamp::UNIX_EPOCH).as_uuid()).collect();
                    let inputs: Vec<&[u8]> = (0..per_commit).map(|_| INPUT.as_slice()).collect();
                    sqlx::query(AssertSqlSafe(sql.as_str()))
                        .bind(ids)
                        .bind(inputs)
                        .fetch_one(&mut *conn)
                        .await?;
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(per_second(total, started))
}

/// Claims and completes everything on `connections` at once; answers jobs per second.
pub async fn drain(pool: &PgPool, schema: &str, total: usize, connections: usize) -> Result<f64> {
    let claim = format!(
        "WITH picked AS MATERIALIZED (SELECT id FROM {schema}.jobs WHERE state = 'queued' AND lane = 1 AND due_at <= 2000000000000
             ORDER BY due_at, id LIMIT $1 FOR UPDATE SKIP LOCKED),
         claimed AS (UPDATE {schema}.jobs j SET state = 'processing', lease_token = j.lease_token + 1, leased_by = $2,
             leased_at = 1, lease_expires_at = 2, attempt = j.attempt + 1, started_at = 1
             FROM picked WHERE j.id = picked.id RETURNING j.id, j.lease_token, j.attempt, j.generation)
         SELECT c.id, c.lease_token, c.attempt, c.generation, p.label, p.input, p.state
         FROM claimed c JOIN {schema}.payloads p ON p.job = c.id"
    );
    let finish = format!(
        "WITH done AS (UPDATE {schema}.jobs j SET state = 'complete', result = '', finished_at = 2, policy = 'abcdefabcdef',
             lease_expires_at = NULL, complete_event = nextval('{schema}.events_seq_seq')
             FROM unnest($1::uuid[], $2::int8[]) AS i (id, token)
             WHERE j.id = i.id AND j.state = 'processing' AND j.lease_token = i.token AND $3::uuid IS NOT NULL
             RETURNING j.id, j.lease_token, j.attempt, j.generation, j.complete_event),
         event AS (INSERT INTO {schema}.events (seq, job, kind, at, started_at, generation, attempt)
             SELECT complete_event, id, 'complete', 2, 1, generation, attempt FROM done)
         SELECT count(*) FROM done"
    );
    two_steps(pool, total, connections, claim, Some(finish)).await
}

/// The barest queue: claim 100, delete 100, no history.
pub async fn barest(pool: &PgPool, schema: &str, total: usize, connections: usize) -> Result<f64> {
    let make = format!(
        "DROP TABLE IF EXISTS {schema}.q; CREATE TABLE {schema}.q (id bigint PRIMARY KEY, claimed boolean NOT NULL, input bytea NOT NULL);
         INSERT INTO {schema}.q SELECT n, false, repeat('x', 100)::bytea FROM generate_series(1, {total}) AS n;
         CREATE INDEX ON {schema}.q (id) WHERE NOT claimed; ANALYZE {schema}.q"
    );
    pool.execute(sqlx::raw_sql(AssertSqlSafe(make))).await?;
    let claim = format!(
        "WITH picked AS MATERIALIZED (SELECT id FROM {schema}.q WHERE NOT claimed ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
         UPDATE {schema}.q SET claimed = true FROM picked WHERE q.id = picked.id AND $2::uuid IS NOT NULL RETURNING q.id, q.input"
    );
    let delete = format!("DELETE FROM {schema}.q WHERE id = ANY ($1)");
    let started = Instant::now();
    let tasks: Vec<_> = (0..connections)
        .map(|_| {
            let (pool, claim, delete) = (pool.clone(), claim.clone(), delete.clone());
            tokio::spawn(async move {
                let mut conn = pool.acquire().await?;
                loop {
                    let rows = sqlx::query(AssertSqlSafe(claim.as_str()))
                        .bind(BATCH as i64)
                        .bind(Uuid::from_u128(7))
                        .fetch_all(&mut *conn)
                        .await?;
                    if rows.is_empty() {
                        return anyhow::Ok(());
                    }
                    let ids: Vec<i64> = rows.iter().map(|r| r.try_get(0)).collect::<Result<_, _>>()?;
                    sqlx::query(AssertSqlSafe(delete.as_str())).bind(ids).execute(&mut *conn).await?;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(per_second(total, started))
}

async fn two_steps(
    pool: &PgPool,
    total: usize,
    connections: usize,
    claim: String,
    finish: Option<String>,
) -> Result<f64> {
    let started = Instant::now();
    let tasks: Vec<_> = (0..connections)
        .map(|_| {
            let (pool, claim, finish) = (pool.clone(), claim.clone(), finish.clone());
            tokio::spawn(async move {
                let mut conn = pool.acquire().await?;
                let worker = Uuid::from_u128(7);
                loop {
                    let rows = sqlx::query(AssertSqlSafe(claim.as_str()))
                        .bind(BATCH as i64)
                        .bind(worker)
                        .fetch_all(&mut *conn)
                        .await?;
                    if rows.is_empty() {
                        return anyhow::Ok(());
                    }
                    let mut ids: Vec<Uuid> = Vec::with_capacity(rows.len());
                    let mut tokens: Vec<i64> = Vec::with_capacity(rows.len());
                    let mut inputs: Vec<Vec<u8>> = Vec::with_capacity(rows.len());
                    for row in &rows {
                        ids.push(row.try_get(0)?);
                        tokens.push(row.try_get(1)?);
                        inputs.push(row.try_get(5)?);
                    }
                    if let Some(finish) = &finish {
                        sqlx::query(AssertSqlSafe(finish.as_str()))
                            .bind(ids)
                            .bind(tokens)
                            .bind(worker)
                            .fetch_one(&mut *conn)
                            .await?;
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(per_second(total, started))
}
