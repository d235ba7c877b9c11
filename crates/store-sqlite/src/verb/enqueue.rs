//! Handing work in: all of the call, or nothing.

use std::collections::BTreeMap;

use redrive_model::{BatchId, State, instant};
use redrive_store::{
    BatchChange, Enqueue, EnqueueReply, Enqueued, EventKind, NewJob, Result, When, validate,
};
use rusqlite::{CachedStatement, Connection, params};

use super::finish::lookup;
use super::record::find;
use super::{batch, key};
use crate::error::store_error;
use crate::lanes::LaneKey;
use crate::row::{self, blob};
use crate::sql;
use crate::writer::Tx;

pub(crate) fn enqueue(tx: &mut Tx<'_>, call: &Enqueue) -> Result<EnqueueReply> {
    validate(call)?;
    if let Some(idempotency) = &call.idempotency
        && let Some((reply, _)) = key::kept(tx, idempotency)?
    {
        return EnqueueReply::from_kept(&reply);
    }
    for new in &call.open {
        batch::open(tx, new)?;
    }
    let mut changes: BTreeMap<BatchId, BatchChange> = BTreeMap::new();
    let mut answers = Vec::with_capacity(call.jobs.len());
    let mut insert = Insert::prepare(tx.conn)?;
    for job in &call.jobs {
        let answer = insert.one(tx, job)?;
        if let (Enqueued::Created(_), Some(id)) = (answer, job.batch) {
            let change = changes.entry(id).or_default();
            change.add(job, tx.now);
            change.split = call.split;
        }
        answers.push(answer);
    }
    for (id, change) in changes {
        batch::apply(tx, id, &change)?;
    }
    for id in &call.seal {
        batch::apply(tx, *id, &BatchChange::sealed())?;
    }
    let reply = EnqueueReply { jobs: answers, replayed: false };
    if let Some(idempotency) = &call.idempotency {
        key::keep(tx, idempotency, &reply.to_kept())?;
    }
    Ok(reply)
}

/// The statements of a new job, prepared once for the whole call.
struct Insert<'c> {
    job: CachedStatement<'c>,
    payload: CachedStatement<'c>,
    event: CachedStatement<'c>,
    /// The lane of the job before: neighbours mostly share it.
    lane: Option<(LaneKey, i64)>,
}

impl<'c> Insert<'c> {
    fn prepare(conn: &'c Connection) -> Result<Self> {
        let prepare = |sql| conn.prepare_cached(sql).map_err(store_error);
        Ok(Self {
            job: prepare(sql::INSERT_JOB)?,
            payload: prepare(sql::INSERT_PAYLOAD)?,
            event: prepare(sql::INSERT_EVENT)?,
            lane: None,
        })
    }

    fn lane(&mut self, tx: &mut Tx<'_>, job: &NewJob) -> Result<i64> {
        let shared = |key: &LaneKey| {
            key.priority == job.priority && key.workload == job.workload && key.targets == job.targets
        };
        if let Some((_, lane)) = self.lane.as_ref().filter(|(key, _)| shared(key)) {
            return Ok(*lane);
        }
        let (workload, targets) = (job.workload.clone(), job.targets.clone());
        let key = LaneKey { workload, targets, priority: job.priority, alone: false };
        let lane = tx.lanes.intern(tx.conn, &key)?;
        self.lane = Some((key, lane));
        Ok(lane)
    }

    fn one(&mut self, tx: &mut Tx<'_>, job: &NewJob) -> Result<Enqueued> {
        let lane = self.lane(tx, job)?;
        let dedupe = job.dedupe.filter(|_| job.rejected.is_none());
        if let Some(key) = &dedupe {
            let twin = find(tx.conn, sql::FIND_TWIN, params![key.as_bytes()], |row| row::job(row, 0))?;
            match twin {
                Some(_) if lookup(tx, job.id)?.is_some() => return Ok(Enqueued::Existing(job.id)),
                Some(twin) => return Ok(Enqueued::Duplicate(twin)),
                None => {}
            }
        }
        let id = blob(job.id.as_uuid());
        let failure = job.rejected.as_ref();
        let (state, kind) = match failure {
            None => (State::Queued, EventKind::Queued),
            Some(_) => (State::Failed, EventKind::Failed),
        };
        let due = match job.when {
            When::In(wait) => instant::add_ms(tx.now, wait),
            When::At(at) => instant::to_millis(at).max(tx.now),
        };
        let ended = failure.map(|_| tx.now);
        let code = failure.map(|f| f.code.name());
        let seq = tx.next_event()?;
        let inserted = self.job.execute(params![
            id,
            lane,
            job.owner.as_ref().map(|o| o.as_str()),
            state.as_str(),
            due,
            job.max_attempts,
            job.batch.map(|b| blob(b.as_uuid())),
            dedupe.as_ref().map(|key| key.as_bytes()),
            code,
            failure.map(|f| f.public_message()),
            tx.now,
            ended,
            ended.and(job.keep).map(|keep| instant::add_ms(tx.now, keep)),
            Some(seq).filter(|_| failure.is_none()),
            job.chore,
        ]);
        if inserted.map_err(store_error)? == 0 {
            tx.give_event_back();
            return Ok(Enqueued::Existing(job.id));
        }
        self.payload.execute(params![id, job.clean_label(), job.input]).map_err(store_error)?;
        let nothing = None::<i64>;
        let event = params![seq, id, kind.as_str(), tx.now, nothing, 1, 0, nothing, code];
        self.event.execute(event).map_err(store_error)?;
        tx.tallies.add(lane, state);
        Ok(Enqueued::Created(job.id))
    }
}
