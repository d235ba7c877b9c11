//! What people do to jobs.

use std::time::Duration;

use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_model::{JobId, LeaseToken, Offset, State, Timestamp, instant};
use redrive_store::{Acted, BatchChange, DeadState, EventKind, GiveUp, NewEvent, Result, RetryBy};
use rusqlite::params;

use super::batch;
use super::finish::{Before, in_lane, lookup};
use super::groups::Groups;
use super::record::{self, Dead, Ended, execute, find};
use crate::row::{self, blob};
use crate::sql;
use crate::writer::Tx;

pub(crate) fn cancel(tx: &mut Tx<'_>, jobs: &[JobId], keep: Option<Duration>) -> Result<Vec<Acted>> {
    each(tx, jobs, |tx, id, before| {
        match before.state {
            State::Queued => {
                record::event(tx, id, EventKind::Cancelled, before.generation, None)?;
            }
            State::Processing => record::ended(tx, &stopped(id, before))?,
            other @ (State::Complete | State::Failed | State::Cancelled) => {
                return Ok(Acted::WrongState(other));
            }
        }
        let purge_at = keep.map(|keep| instant::add_ms(tx.now, keep));
        execute(tx.conn, sql::CANCEL, params![blob(id.as_uuid()), tx.now, purge_at])?;
        tx.tallies.remove(before.lane, before.state);
        tx.tallies.add(before.lane, State::Cancelled);
        if let Some(batch) = before.batch {
            batch::apply(tx, batch, &BatchChange { cancelled: 1, ..BatchChange::default() })?;
        }
        Ok(Acted::Done)
    })
}

pub(crate) fn retry(tx: &mut Tx<'_>, jobs: &[JobId], by: &RetryBy) -> Result<Vec<Acted>> {
    each(tx, jobs, |tx, id, before| {
        // A failed job without any dead letter was refused at the door: there is nothing to run.
        let ran = || match by.upto {
            None => find(tx.conn, sql::HAS_DEAD, params![blob(id.as_uuid())], |_| Ok(())),
            Some(upto) => find(tx.conn, sql::HAS_OPEN_DEAD, params![blob(id.as_uuid()), upto.0], |_| Ok(())),
        };
        if before.state != State::Failed || ran()?.is_none() {
            return Ok(Acted::WrongState(before.state));
        }
        if let Some(key) = &before.dedupe
            && let Some(twin) = find(tx.conn, sql::FIND_TWIN, params![key], |row| row::job(row, 0))?
        {
            return Ok(Acted::Duplicate(twin));
        }
        let lane = in_lane(tx, before.lane, false)?;
        let replay = by.replay.map(|r| blob(r.as_uuid()));
        execute(tx.conn, sql::RETRY, params![blob(id.as_uuid()), lane, tx.now, replay])?;
        record::event(tx, id, EventKind::Queued, before.generation + 1, None)?;
        close_dead(tx, id, DeadState::Replayed, replay)?;
        tx.tallies.remove(before.lane, State::Failed);
        tx.tallies.add(lane, State::Queued);
        if let Some(batch) = before.batch {
            let mut change = BatchChange::default();
            change.reopen(before.failure_code, before.finished_at);
            batch::apply(tx, batch, &change)?;
        }
        Ok(Acted::Done)
    })
}

pub(crate) fn give_up(tx: &mut Tx<'_>, call: &GiveUp) -> Result<Vec<Acted>> {
    let mut groups = Groups::default();
    let acted = each(tx, &call.jobs, |tx, id, before| {
        if before.state != State::Queued {
            return Ok(Acted::WrongState(before.state));
        }
        let purge_at = call.keep.map(|keep| instant::add_ms(tx.now, keep));
        let (code, message) = (call.failure.code, call.failure.public_message());
        execute(tx.conn, sql::FAIL, params![blob(id.as_uuid()), code.name(), message, tx.now, purge_at, 0])?;
        record::event(tx, id, EventKind::Failed, before.generation, Some(&call.failure))?;
        let dead = Dead {
            job: id,
            generation: before.generation,
            attempts: before.attempt,
            reason: call.reason,
            failure: &call.failure,
            fingerprint: &call.fingerprint,
        };
        let offset = record::dead(tx, &dead)?;
        let workload = &tx.lanes.get(before.lane)?.workload;
        groups.count(id, workload, &call.failure, &call.fingerprint, call.target.as_ref(), true);
        tx.tallies.remove(before.lane, State::Queued);
        tx.tallies.add(before.lane, State::Failed);
        if let Some(batch) = before.batch {
            let mut change = BatchChange::default();
            change.fail(&call.failure, !code.is_retryable(), Some(offset), tx.now);
            batch::apply(tx, batch, &change)?;
        }
        Ok(Acted::Done)
    })?;
    groups.write(tx)?;
    Ok(acted)
}

pub(crate) fn reschedule(tx: &mut Tx<'_>, jobs: &[JobId], due_at: Timestamp) -> Result<Vec<Acted>> {
    each(tx, jobs, |tx, id, before| {
        let due_at = instant::to_millis(due_at).max(tx.now);
        let changed = execute(tx.conn, sql::RESCHEDULE, params![blob(id.as_uuid()), due_at])?;
        Ok(if changed == 1 { Acted::Done } else { Acted::WrongState(before.state) })
    })
}

pub(crate) fn expire(tx: &mut Tx<'_>, jobs: &[JobId]) -> Result<Vec<Acted>> {
    each(tx, jobs, |tx, id, before| {
        if before.state != State::Complete {
            return Ok(Acted::WrongState(before.state));
        }
        if !before.expired {
            execute(tx.conn, sql::EXPIRE, params![blob(id.as_uuid()), tx.now])?;
            record::event(tx, id, EventKind::Expired, before.generation, None)?;
        }
        Ok(Acted::Done)
    })
}

pub(crate) fn discard(tx: &Tx<'_>, offsets: &[Offset]) -> Result<u64> {
    let mut count = 0;
    for offset in offsets {
        let group =
            find(tx.conn, sql::DISCARD_DEAD, params![offset.0, tx.now], |row| row.get::<_, String>(0))?;
        if let Some(fingerprint) = group {
            execute(tx.conn, sql::SHRINK_GROUP, params![fingerprint])?;
            count += 1;
        }
    }
    Ok(count)
}

pub(crate) fn move_group(tx: &Tx<'_>, group: &Fingerprint, to: GroupState) -> Result<bool> {
    let from =
        find(tx.conn, sql::GROUP_STATE, params![group.as_str()], |row| row::word(row, 0, GroupState::parse))?;
    let legal = from.is_some_and(|from| from.may_become(to));
    if legal {
        execute(tx.conn, sql::MOVE_GROUP, params![group.as_str(), to.as_str()])?;
    }
    Ok(legal)
}

pub(crate) fn publish(tx: &Tx<'_>, events: &[NewEvent]) -> Result<()> {
    for event in events {
        execute(tx.conn, sql::PUBLISH, params![tx.next_event()?, tx.now, event.topic, event.payload])?;
    }
    Ok(())
}

/// Does something to each job that exists.
fn each(
    tx: &mut Tx<'_>,
    jobs: &[JobId],
    mut act: impl FnMut(&mut Tx<'_>, JobId, &Before) -> Result<Acted>,
) -> Result<Vec<Acted>> {
    jobs.iter()
        .map(|&id| match lookup(tx, id)? {
            Some(before) => act(tx, id, &before),
            None => Ok(Acted::NotFound),
        })
        .collect()
}

fn close_dead(tx: &Tx<'_>, job: JobId, state: DeadState, replay: Option<[u8; 16]>) -> Result<()> {
    let closed = find(
        tx.conn,
        sql::CLOSE_DEAD,
        params![blob(job.as_uuid()), state.as_str(), tx.now, replay],
        |row| row.get::<_, String>(0),
    )?;
    if let Some(fingerprint) = closed {
        execute(tx.conn, sql::SHRINK_GROUP, params![fingerprint])?;
    }
    Ok(())
}

fn stopped(id: JobId, before: &Before) -> Ended<'static> {
    Ended {
        job: id,
        token: LeaseToken(before.token),
        number: before.attempt,
        generation: before.generation,
        worker: before.leased_by,
        started_at: before.leased_at,
        outcome: "cancelled",
        kind: EventKind::Cancelled,
        report: None,
    }
}
