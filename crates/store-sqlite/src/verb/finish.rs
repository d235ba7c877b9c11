//! Recording how attempts ended, each fenced by its lease token.

use std::collections::BTreeMap;

use redrive_model::decide::{Charge, Due, Requeue};
use redrive_model::{BatchId, JobId, State, instant};
use redrive_store::{
    Authority, BatchChange, EventKind, Finish, Finished, Result, Step, StoreError, validate_finishes,
};
use rusqlite::{Row, params};

use super::batch;
use super::groups::Groups;
use super::record::{self, Dead, Ended, execute, find};
use super::success::Success;
use crate::lanes::LaneKey;
use crate::row::{self, blob};
use crate::sql;
use crate::writer::Tx;

/// A waiting job that no due time wakes: only the end of its batch does.
pub(crate) const NEVER: i64 = instant::LAST_MS;

/// What one call changes in batches: each is written once, however many of its members ended.
type Batches = BTreeMap<BatchId, BatchChange>;

pub(crate) fn finish(tx: &mut Tx<'_>, finishes: &[Finish]) -> Result<Vec<Finished>> {
    validate_finishes(finishes)?;
    let conn = tx.conn;
    let mut success = None;
    let mut groups = Groups::default();
    let mut batches = Batches::new();
    let mut answers = Vec::with_capacity(finishes.len());
    for f in finishes {
        answers.push(match &f.step {
            Step::Complete { .. } => {
                let success = match &mut success {
                    Some(success) => success,
                    none => none.insert(Success::prepare(conn)?),
                };
                succeed(tx, success, f, &mut batches)?
            }
            Step::Requeue { .. } | Step::Fail { .. } => one(tx, f, &mut groups, &mut batches)?,
        });
    }
    groups.write(tx)?;
    for (id, change) in batches {
        batch::apply(tx, id, &change)?;
    }
    Ok(answers)
}

/// The success.
fn succeed(
    tx: &mut Tx<'_>,
    success: &mut Success<'_>,
    f: &Finish,
    batches: &mut Batches,
) -> Result<Finished> {
    let Some(before) = success.lookup(f)? else { return Ok(Finished::Lost) };
    if !before.may_end(f, tx.now) {
        return late(tx, f);
    }
    success.write(tx, f, &before)?;
    if let Some(state) = &f.state {
        execute(tx.conn, sql::SET_STATE, params![blob(f.lease.job.as_uuid()), state])?;
    }
    if let Some(id) = before.batch {
        batches.entry(id).or_default().end(f, State::Complete, None, tx.now);
    }
    Ok(Finished::Recorded(State::Complete))
}

/// The job as it is before the write.
pub(crate) struct Before {
    pub(crate) lane: i64,
    pub(crate) state: State,
    pub(crate) token: i64,
    pub(crate) leased_by: Option<[u8; 16]>,
    pub(crate) leased_at: Option<i64>,
    pub(crate) lease_expires_at: Option<i64>,
    pub(crate) attempt: u32,
    pub(crate) generation: u32,
    pub(crate) batch: Option<BatchId>,
    pub(crate) failure_code: Option<redrive_model::Code>,
    pub(crate) dedupe: Option<[u8; 32]>,
    pub(crate) expired: bool,
    pub(crate) finished_at: Option<i64>,
}

impl Before {
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            lane: row.get(0)?,
            state: row::word(row, 1, State::parse)?,
            token: row.get(2)?,
            leased_by: row.get(3)?,
            leased_at: row.get(4)?,
            lease_expires_at: row.get(5)?,
            attempt: row.get(6)?,
            generation: row.get(7)?,
            batch: row::batch(row, 8)?,
            failure_code: row::code(row, 9)?,
            dedupe: row.get(10)?,
            expired: row.get::<_, Option<i64>>(11)?.is_some(),
            finished_at: row.get(12)?,
        })
    }

    /// The fence: whether this finish may end the attempt.
    fn may_end(&self, f: &Finish, now: i64) -> bool {
        let stands = self.state == State::Processing && self.token == f.lease.token.0;
        stands
            && match f.authority {
                Authority::Holder => true,
                Authority::Expired => self.lease_expires_at.is_some_and(|at| at <= now),
            }
    }
}

pub(crate) fn lookup(tx: &Tx<'_>, job: JobId) -> Result<Option<Before>> {
    find(tx.conn, sql::LOOKUP, params![blob(job.as_uuid())], Before::read)
}

fn one<'f>(
    tx: &mut Tx<'_>,
    f: &'f Finish,
    groups: &mut Groups<'f>,
    batches: &mut Batches,
) -> Result<Finished> {
    let Some(before) = lookup(tx, f.lease.job)? else { return Ok(Finished::Lost) };
    if !before.may_end(f, tx.now) {
        return late(tx, f);
    }
    let id = blob(f.lease.job.as_uuid());
    let kept = |keep: &Option<_>| keep.map(|keep| instant::add_ms(tx.now, keep));
    let (state, outcome, kind) = match &f.step {
        Step::Complete { .. } => return Err(StoreError::Internal("a success has its own way".into())),
        Step::Requeue { .. } => requeue(tx, f, &before)?,
        Step::Fail { keep, .. } => {
            let failure = f
                .report
                .failure
                .as_ref()
                .ok_or_else(|| StoreError::Internal("a failure was checked to be there".into()))?;
            let crashed = i64::from(f.is_crash());
            let message = failure.public_message();
            execute(
                tx.conn,
                sql::FAIL,
                params![id, failure.code.name(), message, tx.now, kept(keep), crashed],
            )?;
            (State::Failed, "failed", EventKind::Failed)
        }
    };
    if let Some(state) = &f.state {
        execute(tx.conn, sql::SET_STATE, params![id, state])?;
    }
    record::ended(
        tx,
        &Ended {
            job: f.lease.job,
            token: f.lease.token,
            number: before.attempt,
            generation: before.generation,
            worker: before.leased_by,
            started_at: before.leased_at,
            outcome,
            kind,
            report: Some(&f.report),
        },
    )?;
    let dead = bury(tx, f, &before, groups)?;
    if state.is_terminal() {
        tx.tallies.remove(before.lane, State::Processing);
        tx.tallies.add(before.lane, state);
        if let Some(id) = before.batch {
            batches.entry(id).or_default().end(f, state, dead, tx.now);
        }
    }
    Ok(Finished::Recorded(state))
}

fn requeue(tx: &mut Tx<'_>, f: &Finish, before: &Before) -> Result<(State, &'static str, EventKind)> {
    let Step::Requeue { why, due, charge, spent, alone } = &f.step else {
        return Err(StoreError::Internal("not a requeue".into()));
    };
    let (due_at, awaits) = match due {
        Due::Kept => (None, None),
        Due::In(wait) => (Some(instant::add_ms(tx.now, *wait)), None),
        Due::At(at) => (Some(instant::to_millis(*at).max(tx.now)), None),
        Due::Batch(id) if batch::has_ended(tx, *id)? => (Some(tx.now), None),
        Due::Batch(id) => (Some(NEVER), Some(blob(id.as_uuid()))),
    };
    let attempt = match charge {
        Charge::Keep => before.attempt,
        Charge::GiveBack => before.attempt.saturating_sub(1),
        Charge::Reset => 0,
    };
    let lane = in_lane(tx, before.lane, *alone)?;
    let spent = if spent.is_empty() { None } else { serde_json::to_string(spent).ok() };
    let crashed = i64::from(f.is_crash());
    let released = i64::from(*why == Requeue::Release && *charge == Charge::GiveBack);
    execute(
        tx.conn,
        sql::REQUEUE,
        params![blob(f.lease.job.as_uuid()), lane, due_at, attempt, crashed, released, spent, awaits],
    )?;
    if lane != before.lane {
        tx.tallies.remove(before.lane, State::Processing);
        tx.tallies.add(lane, State::Queued);
    }
    Ok((State::Queued, why.as_str(), EventKind::of_requeue(*why)))
}

/// The lane for running alone, or among others.
pub(crate) fn in_lane(tx: &mut Tx<'_>, lane: i64, alone: bool) -> Result<i64> {
    let key = tx.lanes.get(lane)?;
    if key.alone == alone {
        return Ok(lane);
    }
    let key = LaneKey { alone, ..key.clone() };
    tx.lanes.intern(tx.conn, &key)
}

/// Groups the failure, and keeps the job for people when it was given up.
fn bury<'f>(
    tx: &Tx<'_>,
    f: &'f Finish,
    before: &Before,
    groups: &mut Groups<'f>,
) -> Result<Option<redrive_model::Offset>> {
    let (Some(failure), Some(fingerprint)) = (&f.report.failure, &f.report.fingerprint) else {
        return Ok(None);
    };
    let workload = &tx.lanes.get(before.lane)?.workload;
    let target = f.report.target.as_ref();
    let dead = match &f.step {
        Step::Fail { reason, .. } => Some(record::dead(
            tx,
            &Dead {
                job: f.lease.job,
                generation: before.generation,
                attempts: before.attempt,
                reason: *reason,
                failure,
                fingerprint,
            },
        )?),
        Step::Complete { .. } | Step::Requeue { .. } => None,
    };
    groups.count(f.lease.job, workload, failure, fingerprint, target, dead.is_some());
    Ok(dead)
}

/// The authority is gone. The same finish made before is answered as it was then; anything else is noted as late.
fn late(tx: &Tx<'_>, f: &Finish) -> Result<Finished> {
    let id = blob(f.lease.job.as_uuid());
    let text = |row: &rusqlite::Row<'_>, n: usize| row.get::<_, Option<String>>(n);
    let found = find(tx.conn, sql::ATTEMPT_OUTCOME, params![id, f.lease.token.0], |row| {
        let outcome: String = row.get(0)?;
        let repeated = f.is_repetition_of(&outcome, text(row, 1)?.as_deref(), text(row, 2)?.as_deref());
        Ok((repeated, text(row, 3)?.is_some()))
    })?;
    match (f.authority, found) {
        (Authority::Holder, Some((true, _))) => return Ok(Finished::Recorded(f.step.state())),
        (Authority::Holder, Some((false, false))) => {
            // An attempt that only its job's row tells moves to a row of its own.
            if execute(tx.conn, sql::WRITE_OWN_ATTEMPT, params![id, f.lease.token.0])? == 1 {
                execute(tx.conn, sql::FORGET_OWN_ATTEMPT, params![id])?;
            }
            execute(tx.conn, sql::MARK_LATE, params![id, f.lease.token.0, f.step.outcome()])?;
        }
        (Authority::Holder, Some((false, true)) | None) | (Authority::Expired, _) => {}
    }
    Ok(Finished::Lost)
}
