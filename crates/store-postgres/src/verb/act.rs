//! What people do to jobs.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_model::{BatchId, Code, JobId, Offset, State, Timestamp, instant};
use redrive_store::{Acted, BatchChange, GiveUp, RetryBy};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use super::batch;
use super::enqueue::Fault;
use crate::row;
use crate::store::Inner;

/// A job under our lock.
struct Locked {
    state: State,
    batch: Option<BatchId>,
    failure: Option<Code>,
    finished_at: Option<i64>,
    dedupe: Option<Vec<u8>>,
    awaits: bool,
    /// It has died before; a failed job that has not was refused at the door.
    died: bool,
}

/// Locks the jobs in the order of their ids, and answers the store's clock with them.
async fn lock(
    conn: &mut PgConnection,
    inner: &Inner,
    jobs: &[JobId],
) -> sqlx::Result<(HashMap<JobId, Locked>, i64)> {
    let ids: Vec<Uuid> = jobs.iter().map(|id| id.as_uuid()).collect();
    let rows = sqlx::query(inner.sql.lookup.text()).bind(ids).fetch_all(conn).await?;
    let mut locked = HashMap::with_capacity(rows.len());
    let mut now = 0;
    for r in &rows {
        now = r.try_get(14)?;
        let job = Locked {
            state: row::word(r, 2, State::parse)?,
            batch: row::batch(r, 8)?,
            failure: row::code(r, 9)?,
            finished_at: r.try_get(16)?,
            dedupe: r.try_get(10)?,
            awaits: r.try_get::<Option<Uuid>, _>(12)?.is_some(),
            died: r.try_get(15)?,
        };
        locked.insert(row::job(r, 0)?, job);
    }
    Ok((locked, now))
}

/// The answers, and the jobs that the act applies to. A job named twice is acted on once; the second answer is what the
/// first act made of it.
fn sort(
    jobs: &[JobId],
    locked: &HashMap<JobId, Locked>,
    allows: impl Fn(&JobId, &Locked) -> bool,
    after: State,
) -> (Vec<Acted>, Vec<JobId>) {
    let mut picked = Vec::new();
    let answers = jobs.iter().map(|id| match locked.get(id) {
        None => Acted::NotFound,
        Some(_) if picked.contains(id) => Acted::WrongState(after),
        Some(job) if allows(id, job) => {
            picked.push(*id);
            Acted::Done
        }
        Some(job) => Acted::WrongState(job.state),
    });
    (answers.collect(), picked)
}

fn uuids(jobs: &[JobId]) -> Vec<Uuid> {
    jobs.iter().map(|id| id.as_uuid()).collect()
}

pub(crate) async fn cancel(
    inner: &Inner,
    jobs: &[JobId],
    keep: Option<Duration>,
) -> Result<Vec<Acted>, Fault> {
    let mut tx = inner.pool.begin().await?;
    let (locked, now) = lock(&mut tx, inner, jobs).await?;
    let (answers, picked) = sort(jobs, &locked, |_, job| !job.state.is_terminal(), State::Cancelled);
    if !picked.is_empty() {
        sqlx::query(inner.sql.cancel.text())
            .bind(uuids(&picked))
            .bind(now)
            .bind(keep.map(|k| instant::add_ms(0, k)))
            .execute(&mut *tx)
            .await?;
        let mut changes: BTreeMap<BatchId, BatchChange> = BTreeMap::new();
        for batch in picked.iter().filter_map(|id| locked.get(id)?.batch) {
            changes.entry(batch).or_default().cancelled += 1;
        }
        batch::apply(&mut tx, inner, changes).await?;
    }
    tx.commit().await?;
    Ok(answers)
}

pub(crate) async fn retry(inner: &Inner, jobs: &[JobId], by: &RetryBy) -> Result<Vec<Acted>, Fault> {
    let mut tx = inner.pool.begin().await?;
    let (locked, now) = lock(&mut tx, inner, jobs).await?;
    let open = match by.upto {
        None => None,
        Some(upto) => Some(open_upto(&mut tx, inner, jobs, upto).await?),
    };
    let meant = |id: &JobId| open.as_ref().is_none_or(|open| open.contains(id));
    let (mut answers, picked) =
        sort(jobs, &locked, |id, job| job.state == State::Failed && job.died && meant(id), State::Queued);
    let mut changes: BTreeMap<BatchId, BatchChange> = BTreeMap::new();
    for id in picked {
        let Some(job) = locked.get(&id) else { continue };
        if let Some(twin) = twin_or_retry(&mut tx, inner, id, job, now, by).await? {
            // A job named twice is in the same place both times.
            for (answer, _) in answers.iter_mut().zip(jobs).filter(|(_, job)| **job == id) {
                *answer = Acted::Duplicate(twin);
            }
            continue;
        }
        if let Some(batch) = job.batch {
            changes.entry(batch).or_default().reopen(job.failure, job.finished_at);
        }
    }
    batch::apply(&mut tx, inner, changes).await?;
    tx.commit().await?;
    inner.wake.hint();
    Ok(answers)
}

/// Those with an open dead letter up to this one.
async fn open_upto(
    conn: &mut PgConnection,
    inner: &Inner,
    jobs: &[JobId],
    upto: Offset,
) -> sqlx::Result<HashSet<JobId>> {
    let rows: Vec<Uuid> = sqlx::query_scalar(inner.sql.open_dead_upto.text())
        .bind(uuids(jobs))
        .bind(upto.0)
        .fetch_all(conn)
        .await?;
    Ok(rows.into_iter().map(JobId::from_uuid).collect())
}

/// Starts the new generation, or answers the twin that holds its key.
async fn twin_or_retry(
    tx: &mut PgConnection,
    inner: &Inner,
    id: JobId,
    job: &Locked,
    now: i64,
    by: &RetryBy,
) -> Result<Option<JobId>, Fault> {
    use sqlx::Connection;
    let twin = async |tx: &mut PgConnection, key: &[u8]| {
        let found: sqlx::Result<Option<Uuid>> =
            sqlx::query_scalar(inner.sql.find_twin.text()).bind(key).fetch_optional(tx).await;
        found.map(|id| id.map(JobId::from_uuid))
    };
    if let Some(key) = &job.dedupe
        && let Some(twin) = twin(&mut *tx, key).await?
    {
        return Ok(Some(twin));
    }
    let mut point = tx.begin().await?;
    let done = sqlx::query(inner.sql.retry.text())
        .bind(id.as_uuid())
        .bind(now)
        .bind(by.replay.map(|r| r.as_uuid()))
        .execute(&mut *point)
        .await;
    match done {
        Ok(_) => {
            point.commit().await?;
            Ok(None)
        }
        // Somebody enqueued a twin between our look and our write.
        Err(sqlx::Error::Database(db)) if db.is_unique_violation() => {
            point.rollback().await?;
            match &job.dedupe {
                Some(key) => Ok(twin(tx, key).await?),
                None => Err(sqlx::Error::Database(db).into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn give_up(inner: &Inner, call: &GiveUp) -> Result<Vec<Acted>, Fault> {
    let mut tx = inner.pool.begin().await?;
    let (locked, now) = lock(&mut tx, inner, &call.jobs).await?;
    let (answers, picked) = sort(&call.jobs, &locked, |_, job| job.state == State::Queued, State::Failed);
    if !picked.is_empty() {
        let (code, sentence) = (call.failure.code, call.failure.public_message());
        let rows = sqlx::query(inner.sql.give_up.text())
            .bind(uuids(&picked))
            .bind(now)
            .bind(call.keep.map(|k| instant::add_ms(0, k)))
            .bind(call.reason.as_str())
            .bind(code.name())
            .bind(sentence)
            .bind(&call.failure.message)
            .bind(call.fingerprint.as_str())
            .bind(call.target.as_ref().map(|t| t.as_str()))
            .fetch_all(&mut *tx)
            .await?;
        let mut changes: BTreeMap<BatchId, BatchChange> = BTreeMap::new();
        for r in &rows {
            let Some(batch) = locked.get(&row::job(r, 0)?).and_then(|job| job.batch) else { continue };
            let change = changes.entry(batch).or_default();
            let newest = change.dead_offset.max(r.try_get::<Option<i64>, _>(1)?.map(Offset));
            change.fail(&call.failure, !code.is_retryable(), newest, now);
        }
        batch::apply(&mut tx, inner, changes).await?;
    }
    tx.commit().await?;
    Ok(answers)
}

pub(crate) async fn reschedule(
    inner: &Inner,
    jobs: &[JobId],
    due_at: Timestamp,
) -> Result<Vec<Acted>, Fault> {
    let mut tx = inner.pool.begin().await?;
    let (locked, _) = lock(&mut tx, inner, jobs).await?;
    let can = |job: &Locked| job.state == State::Queued && !job.awaits;
    let answer = |id: &JobId| match locked.get(id) {
        None => Acted::NotFound,
        Some(job) if can(job) => Acted::Done,
        Some(job) => Acted::WrongState(job.state),
    };
    let answers = jobs.iter().map(answer).collect();
    let due = instant::to_millis(due_at);
    sqlx::query(inner.sql.reschedule.text()).bind(uuids(jobs)).bind(due).execute(&mut *tx).await?;
    tx.commit().await?;
    inner.wake.hint();
    Ok(answers)
}

pub(crate) async fn expire(inner: &Inner, jobs: &[JobId]) -> Result<Vec<Acted>, Fault> {
    let mut tx = inner.pool.begin().await?;
    let (locked, now) = lock(&mut tx, inner, jobs).await?;
    let (_, picked) = sort(jobs, &locked, |_, job| job.state == State::Complete, State::Complete);
    let answer = |id: &JobId| match locked.get(id) {
        None => Acted::NotFound,
        Some(job) if job.state == State::Complete => Acted::Done,
        Some(job) => Acted::WrongState(job.state),
    };
    let answers = jobs.iter().map(answer).collect();
    sqlx::query(inner.sql.expire.text()).bind(uuids(&picked)).bind(now).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(answers)
}

pub(crate) async fn discard(inner: &Inner, offsets: &[Offset]) -> sqlx::Result<u64> {
    let offsets: Vec<i64> = offsets.iter().map(|o| o.0).collect();
    let n: i64 = sqlx::query_scalar(inner.sql.discard.text()).bind(offsets).fetch_one(&inner.pool).await?;
    Ok(u64::try_from(n).unwrap_or(0))
}

pub(crate) async fn move_group(inner: &Inner, group: &Fingerprint, to: GroupState) -> sqlx::Result<bool> {
    let mut tx = inner.pool.begin().await?;
    let from: Option<String> = sqlx::query_scalar(inner.sql.group_state.text())
        .bind(group.as_str())
        .fetch_optional(&mut *tx)
        .await?;
    let legal = from.as_deref().and_then(GroupState::parse).is_some_and(|from| from.may_become(to));
    if legal {
        sqlx::query(inner.sql.move_group.text())
            .bind(group.as_str())
            .bind(to.as_str())
            .execute(&mut *tx)
            .await?;
    }
    tx.commit().await?;
    Ok(legal)
}
