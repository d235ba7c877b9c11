//! Handing work in: all of the call, or nothing.

use std::collections::BTreeMap;

use redrive_model::{BatchId, State, instant};
use redrive_store::{
    Enqueue, EnqueueReply, Enqueued, EventKind, Idempotency, NewJob, Result, StoreError, When, validate,
};
use rusqlite::params;

use super::batch::{self, Change};
use super::finish::lookup;
use super::record::{self, execute, find};
use crate::lanes::LaneKey;
use crate::row::{self, blob};
use crate::sql;
use crate::writer::Tx;

pub(crate) fn enqueue(tx: &mut Tx<'_>, call: &Enqueue) -> Result<EnqueueReply> {
    validate(call)?;
    if let Some(idempotency) = &call.idempotency
        && let Some(reply) = answered_before(tx, idempotency)?
    {
        return Ok(reply);
    }
    for new in &call.open {
        batch::open(tx, new)?;
    }
    let mut changes: BTreeMap<BatchId, Change> = BTreeMap::new();
    let mut answers = Vec::with_capacity(call.jobs.len());
    for job in &call.jobs {
        let answer = insert(tx, job)?;
        if let (Enqueued::Created(_), Some(id)) = (answer, job.batch) {
            let change = changes.entry(id).or_default();
            change.total += 1;
            if let Some(failure) = &job.rejected {
                change.failed += 1;
                change.hard += i64::from(!failure.code.is_retryable());
                change.last_failure = Some((failure.code, failure.public_message().to_owned()));
            }
        }
        answers.push(answer);
    }
    for (id, change) in changes {
        batch::apply(tx, id, change)?;
    }
    for id in &call.seal {
        batch::apply(tx, *id, Change { seal: true, ..Change::default() })?;
    }
    let reply = EnqueueReply { jobs: answers, replayed: false };
    if let Some(idempotency) = &call.idempotency {
        remember(tx, idempotency, &reply)?;
    }
    Ok(reply)
}

fn insert(tx: &mut Tx<'_>, job: &NewJob) -> Result<Enqueued> {
    let key = LaneKey {
        workload: job.workload.clone(),
        targets: job.targets.clone(),
        priority: job.priority,
        alone: false,
    };
    let lane = tx.lanes.intern(tx.conn, &key)?;
    let id = blob(job.id.as_uuid());
    let dedupe = job.dedupe.filter(|_| job.rejected.is_none());
    if let Some(key) = &dedupe {
        let twin = find(tx.conn, sql::FIND_TWIN, params![key.as_bytes()], |row| row::job(row, 0))?;
        match twin {
            Some(_) if lookup(tx, job.id)?.is_some() => return Ok(Enqueued::Existing(job.id)),
            Some(twin) => return Ok(Enqueued::Duplicate(twin)),
            None => {}
        }
    }
    let state = if job.rejected.is_some() { State::Failed } else { State::Queued };
    let failure = job.rejected.as_ref();
    let due = match job.when {
        When::In(wait) => instant::add_ms(tx.now, wait),
        When::At(at) => instant::to_millis(at).max(tx.now),
    };
    let ended = failure.map(|_| tx.now);
    let inserted = execute(
        tx.conn,
        sql::INSERT_JOB,
        params![
            id,
            lane,
            job.owner.as_ref().map(|o| o.as_str()),
            state.as_str(),
            due,
            job.max_attempts,
            job.batch.map(|b| blob(b.as_uuid())),
            dedupe.as_ref().map(|key| key.as_bytes()),
            failure.map(|f| f.code.name()),
            failure.map(|f| f.public_message()),
            tx.now,
            ended,
            ended.and(job.keep).map(|keep| instant::add_ms(tx.now, keep)),
        ],
    )?;
    if inserted == 0 {
        return Ok(Enqueued::Existing(job.id));
    }
    execute(tx.conn, sql::INSERT_PAYLOAD, params![id, job.clean_label(), job.input])?;
    let kind = if failure.is_some() { EventKind::Failed } else { EventKind::Queued };
    record::event(tx, job.id, kind, 1, failure)?;
    tx.tallies.add(lane, state);
    Ok(Enqueued::Created(job.id))
}

fn answered_before(tx: &Tx<'_>, idempotency: &Idempotency) -> Result<Option<EnqueueReply>> {
    let found =
        find(tx.conn, sql::FIND_IDEMPOTENCY, params![idempotency.owner.as_str(), idempotency.key], |row| {
            Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, String>(1)?))
        })?;
    let Some((hash, reply)) = found else { return Ok(None) };
    if hash != idempotency.request_hash {
        return Err(StoreError::IdempotencyMismatch);
    }
    EnqueueReply::from_kept(&reply).map(Some)
}

fn remember(tx: &Tx<'_>, idempotency: &Idempotency, reply: &EnqueueReply) -> Result<()> {
    execute(
        tx.conn,
        sql::INSERT_IDEMPOTENCY,
        params![
            idempotency.owner.as_str(),
            idempotency.key,
            idempotency.request_hash,
            reply.to_kept(),
            tx.now
        ],
    )
    .map(drop)
}
