//! Batch counters: exact, because they change in the transaction that changes the member, under the batch's row lock.

use std::collections::BTreeMap;

use redrive_model::batch::{Counters, EndRule};
use redrive_model::limits::MAX_LABEL_BYTES;
use redrive_model::{BatchId, BatchState, instant, text};
use redrive_store::{BatchChange, BatchCount, NewBatch, StoreError};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use super::enqueue::Fault;
use crate::row;
use crate::store::Inner;

/// Opens a batch; one that is there already stays as it is.
pub(crate) async fn open(conn: &mut PgConnection, inner: &Inner, new: &NewBatch) -> sqlx::Result<()> {
    sqlx::query(inner.sql.open_batch.text())
        .bind(new.id.as_uuid())
        .bind(new.workload.as_str())
        .bind(new.owner.as_ref().map(|o| o.as_str()))
        .bind(new.label.as_deref().map(|label| text::one_line(label, MAX_LABEL_BYTES, false)))
        .bind(new.end_rule.as_str())
        .bind(new.keep.map(|k| instant::add_ms(0, k)))
        .bind(&new.about)
        .execute(conn)
        .await
        .map(drop)
}

#[derive(Default)]
struct Columns {
    id: Vec<Uuid>,
    state: Vec<&'static str>,
    sealed: Vec<bool>,
    total: Vec<i64>,
    ok: Vec<i64>,
    failed: Vec<i64>,
    hard: Vec<i64>,
    cancelled: Vec<i64>,
    now: Vec<i64>,
    finished: Vec<Option<i64>>,
    purge: Vec<Option<i64>>,
    code: Vec<Option<&'static str>>,
    message: Vec<Option<String>>,
    dead: Vec<Option<i64>>,
    bytes: Vec<i64>,
}

/// How many members failed, by batch, minute and code.
#[derive(Default)]
struct Failures {
    id: Vec<Uuid>,
    minute: Vec<i64>,
    code: Vec<&'static str>,
    jobs: Vec<i64>,
}

/// Changes counters and, where everybody is back, ends the batch and wakes whoever waits for it. Batches are locked in
/// the order of their ids, so that two callers cannot wait for each other.
pub(crate) async fn apply(
    conn: &mut PgConnection,
    inner: &Inner,
    mut changes: BTreeMap<BatchId, BatchChange>,
) -> Result<(), Fault> {
    if changes.is_empty() {
        return Ok(());
    }
    let ids: Vec<Uuid> = changes.keys().map(|id| id.as_uuid()).collect();
    let rows = sqlx::query(inner.sql.lock_batches.text()).bind(&ids).fetch_all(&mut *conn).await?;
    let mut columns = Columns::default();
    let (mut more, mut fewer) = (Failures::default(), Failures::default());
    let (mut ended, mut now) = (Vec::new(), 0);
    for r in &rows {
        let id = BatchId::from_uuid(r.try_get(0)?);
        let Some(change) = changes.remove(&id) else { continue };
        let counters = Counters {
            total: row::many(r, 3)?,
            ok: row::many(r, 4)?,
            failed: row::many(r, 5)?,
            hard: row::many(r, 6)?,
            cancelled: row::many(r, 7)?,
        };
        let state = row::word(r, 1, BatchState::parse)?;
        let before = BatchCount { state, sealed: r.try_get(2)?, counters };
        let after = change.apply(id, &before, row::word(r, 8, EndRule::parse)?)?;
        let Some(BatchCount { state, sealed, counters }) = after else { continue };
        now = r.try_get(10)?;
        let finished = state.is_ended().then_some(now);
        let keep: Option<i64> = r.try_get(9)?;
        if state.is_ended() && !before.state.is_ended() {
            ended.push(id.as_uuid());
        }
        for ((code, minute), jobs) in &change.failures {
            let failures = if *jobs > 0 { &mut more } else { &mut fewer };
            failures.id.push(id.as_uuid());
            failures.minute.push(*minute);
            failures.code.push(code.name());
            failures.jobs.push(*jobs);
        }
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        columns.id.push(id.as_uuid());
        columns.state.push(state.as_str());
        columns.sealed.push(sealed);
        columns.total.push(number(counters.total));
        columns.ok.push(number(counters.ok));
        columns.failed.push(number(counters.failed));
        columns.hard.push(number(counters.hard));
        columns.cancelled.push(number(counters.cancelled));
        columns.now.push(now);
        columns.finished.push(finished);
        columns.purge.push(finished.and(keep).map(|keep| now.saturating_add(keep)));
        columns.code.push(change.last_failure.as_ref().map(|(code, _)| code.name()));
        columns.message.push(change.last_failure.map(|(_, message)| message));
        columns.dead.push(change.dead_offset.map(|o| o.0));
        columns.bytes.push(change.bytes);
    }
    if let Some(id) = changes.keys().next() {
        return Err(StoreError::NotFound { what: format!("batch {id}") }.into());
    }
    sqlx::query(inner.sql.update_batches.text())
        .bind(columns.id)
        .bind(columns.state)
        .bind(columns.sealed)
        .bind(columns.total)
        .bind(columns.ok)
        .bind(columns.failed)
        .bind(columns.hard)
        .bind(columns.cancelled)
        .bind(columns.now)
        .bind(columns.finished)
        .bind(columns.purge)
        .bind(columns.code)
        .bind(columns.message)
        .bind(columns.dead)
        .bind(columns.bytes)
        .execute(&mut *conn)
        .await?;
    for (failures, statement) in
        [(more, &inner.sql.count_batch_failures), (fewer, &inner.sql.uncount_batch_failures)]
    {
        if !failures.id.is_empty() {
            sqlx::query(statement.text())
                .bind(failures.id)
                .bind(failures.minute)
                .bind(failures.code)
                .bind(failures.jobs)
                .execute(&mut *conn)
                .await?;
        }
    }
    if !ended.is_empty() {
        sqlx::query(inner.sql.batches_ended.text()).bind(ended).bind(now).execute(conn).await?;
    }
    Ok(())
}
