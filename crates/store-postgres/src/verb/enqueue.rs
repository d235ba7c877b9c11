//! Handing work in: all of the call, or nothing.
//!
//! A call that only creates jobs is one statement. Dedupe keys, batches and idempotency keys need a look at other rows
//! and go through a transaction; so do the few chores.

use std::collections::{BTreeMap, HashMap, HashSet};

use redrive_model::{BatchId, JobId, Owner, instant};
use redrive_store::{BatchChange, Enqueue, EnqueueReply, Enqueued, Idempotency, NewJob, StoreError, When};
use sqlx::{PgConnection, Row, SqlSafeStr};
use uuid::Uuid;

use super::claim::Question;
use super::{batch, key};
use crate::error::unsent;
use crate::lanes::LaneKey;
use crate::row;
use crate::store::Inner;

/// A call in a transaction can fail for a reason of its own or of the database's.
pub(crate) enum Fault {
    Db(sqlx::Error),
    Store(StoreError),
}

impl Fault {
    /// The same, where nothing was carried out.
    pub(crate) fn unsent(self) -> Self {
        match self {
            Self::Db(error) => Self::Db(unsent(error)),
            Self::Store(error) => Self::Store(error),
        }
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Db(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Whether one statement is enough.
pub(crate) fn is_plain(call: &Enqueue) -> bool {
    call.open.is_empty()
        && call.seal.is_empty()
        && call.idempotency.is_none()
        && call.jobs.iter().all(|job| job.dedupe.is_none() && job.batch.is_none() && !job.chore)
}

/// The lanes of these jobs. Made before any transaction, on connections of our own.
pub(crate) async fn lanes(inner: &Inner, jobs: &[NewJob]) -> sqlx::Result<Vec<i32>> {
    let mut met: HashMap<LaneKey, i32> = HashMap::new();
    let mut lanes = Vec::with_capacity(jobs.len());
    for job in jobs {
        let key =
            LaneKey { workload: job.workload.clone(), targets: job.targets.clone(), priority: job.priority };
        let lane = match met.get(&key) {
            Some(lane) => *lane,
            None => {
                let lane = inner.lanes.intern(&inner.pool, &inner.sql, &key).await?;
                met.insert(key, lane);
                lane
            }
        };
        lanes.push(lane);
    }
    Ok(lanes)
}

/// New jobs, column by column.
pub(crate) struct Columns<'a> {
    ids: Vec<Uuid>,
    owners: Vec<Option<&'a str>>,
    due_in: Vec<Option<i64>>,
    due_at: Vec<Option<i64>>,
    max_attempts: Vec<Option<i32>>,
    codes: Vec<Option<&'a str>>,
    sentences: Vec<Option<&'a str>>,
    keep: Vec<Option<i64>>,
    labels: Vec<Option<String>>,
    inputs: Vec<&'a [u8]>,
}

impl<'a> Columns<'a> {
    pub(crate) fn of(jobs: &[&'a NewJob]) -> Self {
        let due = jobs.iter().map(|j| match j.when {
            When::In(wait) => (Some(instant::add_ms(0, wait)), None),
            When::At(at) => (None, Some(instant::to_millis(at))),
        });
        let (due_in, due_at) = due.unzip();
        let cap = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
        Self {
            ids: jobs.iter().map(|j| j.id.as_uuid()).collect(),
            owners: jobs.iter().map(|j| j.owner.as_ref().map(|o| o.as_str())).collect(),
            due_in,
            due_at,
            max_attempts: jobs.iter().map(|j| j.max_attempts.map(cap)).collect(),
            codes: jobs.iter().map(|j| j.rejected.as_ref().map(|f| f.code.name())).collect(),
            sentences: jobs.iter().map(|j| j.rejected.as_ref().map(|f| f.public_message())).collect(),
            keep: jobs.iter().map(|j| j.keep.map(|k| instant::add_ms(0, k))).collect(),
            labels: jobs.iter().map(|j| j.clean_label()).collect(),
            inputs: jobs.iter().map(|j| j.input.as_slice()).collect(),
        }
    }

    /// A statement that takes them as its first parameters.
    pub(crate) fn bind(self, statement: impl SqlSafeStr, lanes: &'a [i32]) -> Question<'a> {
        sqlx::query(statement)
            .bind(self.ids)
            .bind(lanes)
            .bind(self.owners)
            .bind(self.due_in)
            .bind(self.due_at)
            .bind(self.max_attempts)
            .bind(self.codes)
            .bind(self.sentences)
            .bind(self.keep)
            .bind(self.labels)
            .bind(self.inputs)
    }
}

/// Creates plain jobs, all of them; `false` when an id was taken and none was created.
pub(crate) async fn insert_new(
    conn: &mut PgConnection,
    inner: &Inner,
    jobs: &[&NewJob],
    lanes: &[i32],
) -> sqlx::Result<bool> {
    let done = Columns::of(jobs).bind(inner.sql.enqueue_new.text(), lanes).execute(conn).await;
    Ok(unless_taken(done)?.is_some())
}

/// Nothing when an id was taken.
pub(crate) fn unless_taken<T>(done: sqlx::Result<T>) -> sqlx::Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(sqlx::Error::Database(db)) if db.is_unique_violation() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Creates the jobs whose id and key are free; answers which ones those were, and when.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    inner: &Inner,
    jobs: &[&NewJob],
    lanes: &[i32],
) -> sqlx::Result<(HashSet<JobId>, i64)> {
    let c = Columns::of(jobs);
    let rows = sqlx::query(inner.sql.enqueue.text())
        .bind(c.ids)
        .bind(lanes)
        .bind(c.owners)
        .bind(c.due_in)
        .bind(c.due_at)
        .bind(c.max_attempts)
        .bind(jobs.iter().map(|j| j.batch.map(|b| b.as_uuid())).collect::<Vec<_>>())
        .bind(jobs.iter().map(|j| dedupe(j)).collect::<Vec<_>>())
        .bind(c.codes)
        .bind(c.sentences)
        .bind(c.keep)
        .bind(c.labels)
        .bind(c.inputs)
        .bind(jobs.iter().map(|j| j.chore).collect::<Vec<_>>())
        .fetch_all(conn)
        .await?;
    let at = rows.first().map_or(Ok(0), |r| r.try_get(1))?;
    Ok((rows.iter().map(|r| row::job(r, 0)).collect::<sqlx::Result<_>>()?, at))
}

/// A job refused at the door holds no key.
fn dedupe(job: &NewJob) -> Option<Vec<u8>> {
    job.dedupe.filter(|_| job.rejected.is_none()).map(|key| key.as_bytes().to_vec())
}

/// The whole call inside a transaction, which the caller commits.
pub(crate) async fn in_transaction(
    conn: &mut PgConnection,
    inner: &Inner,
    call: &Enqueue,
    lanes: &[i32],
) -> Result<EnqueueReply, Fault> {
    if let Some(idempotency) = &call.idempotency
        && let Some(reply) = answered_before(conn, inner, idempotency).await?
    {
        return Ok(reply);
    }
    for new in &call.open {
        batch::open(conn, inner, new).await?;
    }
    let (answers, at) = create(conn, inner, &call.jobs, lanes).await?;
    let mut changes: BTreeMap<BatchId, BatchChange> = BTreeMap::new();
    for (job, answer) in call.jobs.iter().zip(&answers) {
        if let (Enqueued::Created(_), Some(id)) = (answer, job.batch) {
            let change = changes.entry(id).or_default();
            change.add(job, at);
            change.split = call.split;
        }
    }
    for id in &call.seal {
        changes.entry(*id).or_default().seal = true;
    }
    batch::apply(conn, inner, changes).await?;
    let reply = EnqueueReply { jobs: answers, replayed: false };
    if let Some(idempotency) = &call.idempotency {
        sqlx::query(inner.sql.set_idempotency_reply.text())
            .bind(idempotency.owner.as_str())
            .bind(&idempotency.key)
            .bind(reply.to_kept())
            .execute(conn)
            .await?;
    }
    Ok(reply)
}

async fn create(
    conn: &mut PgConnection,
    inner: &Inner,
    jobs: &[NewJob],
    lanes: &[i32],
) -> Result<(Vec<Enqueued>, i64), Fault> {
    let mut answers: Vec<Option<Enqueued>> = vec![None; jobs.len()];
    // Of the first insert: what was refused at the door has no twin to wait for.
    let mut at = None;
    // A twin that ends between our insert and our look is gone when we look: then the insert is tried again.
    for _ in 0..10 {
        let open: Vec<usize> =
            answers.iter().enumerate().filter(|(_, a)| a.is_none()).map(|(n, _)| n).collect();
        if open.is_empty() {
            break;
        }
        let picked: Vec<&NewJob> = open.iter().filter_map(|&n| jobs.get(n)).collect();
        let picked_lanes: Vec<i32> = open.iter().filter_map(|&n| lanes.get(n).copied()).collect();
        let (made, now) = insert(conn, inner, &picked, &picked_lanes).await?;
        at.get_or_insert(now);
        for (&n, job) in open.iter().zip(&picked) {
            if made.contains(&job.id)
                && let Some(answer) = answers.get_mut(n)
            {
                *answer = Some(Enqueued::Created(job.id));
            }
        }
        if made.len() < picked.len() {
            existing(conn, inner, jobs, &mut answers).await?;
        }
    }
    let unsettled = || StoreError::Unavailable { reason: "a twin of a job keeps changing".into() };
    let answers =
        answers.into_iter().map(|a| a.ok_or_else(|| unsettled().into())).collect::<Result<_, Fault>>()?;
    Ok((answers, at.unwrap_or(0)))
}

/// Finds out who was there before.
async fn existing(
    conn: &mut PgConnection,
    inner: &Inner,
    jobs: &[NewJob],
    answers: &mut [Option<Enqueued>],
) -> Result<(), Fault> {
    let open: Vec<(i64, &NewJob)> = (0i64..)
        .zip(jobs)
        .zip(answers.iter())
        .filter(|(_, answer)| answer.is_none())
        .map(|(numbered, _)| numbered)
        .collect();
    let rows = sqlx::query(inner.sql.find_existing.text())
        .bind(open.iter().map(|(n, _)| *n).collect::<Vec<_>>())
        .bind(open.iter().map(|(_, j)| j.id.as_uuid()).collect::<Vec<_>>())
        .bind(open.iter().map(|(_, j)| dedupe(j)).collect::<Vec<_>>())
        .fetch_all(conn)
        .await?;
    for r in rows {
        let n = usize::try_from(r.try_get::<i64, _>(0)?).unwrap_or(usize::MAX);
        let id = row::job(&r, 1)?;
        let same: bool = r.try_get(2)?;
        if let Some(answer) = answers.get_mut(n) {
            *answer = Some(if same { Enqueued::Existing(id) } else { Enqueued::Duplicate(id) });
        }
    }
    Ok(())
}

pub(crate) async fn is_answered(inner: &Inner, owner: &Owner, key: &str) -> sqlx::Result<bool> {
    let query = sqlx::query(inner.sql.find_idempotency.text()).bind(owner.as_str()).bind(key);
    Ok(query.fetch_optional(&inner.pool).await?.is_some())
}

/// Claims the key for this transaction. Somebody with the same key waits here until we are through.
async fn answered_before(
    conn: &mut PgConnection,
    inner: &Inner,
    idempotency: &Idempotency,
) -> Result<Option<EnqueueReply>, Fault> {
    if key::insert(conn, inner, idempotency, "[]").await? {
        return Ok(None);
    }
    let gone = || StoreError::Unavailable { reason: "an idempotency key was removed meanwhile".into() };
    let (reply, _) = key::kept(conn, inner, idempotency).await?.ok_or_else(gone)?;
    Ok(Some(EnqueueReply::from_kept(&reply)?))
}
