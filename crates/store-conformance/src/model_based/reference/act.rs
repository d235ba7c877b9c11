//! What people do to jobs (decisions 9, 11 and 16).

use std::time::Duration;

use redrive_model::decide::Spent;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_model::{JobId, ReplayId, State, Timestamp, instant};
use redrive_store::{Acted, DeadState, EventKind, GiveUp};

use super::super::call::Letter;
use super::{Job, Reference};

impl Reference {
    pub(super) fn cancel(&mut self, id: JobId, keep: Option<Duration>) -> Acted {
        let Some(before) = self.jobs.get(&id).cloned() else { return Acted::NotFound };
        match before.state {
            State::Queued => self.event(id, EventKind::Cancelled, None),
            State::Processing => {
                let row = self.attempt_row(&before, "cancelled");
                self.attempt_event(&before, EventKind::Cancelled, &row);
                self.attempts.insert((id, before.token), row);
            }
            State::Complete | State::Failed | State::Cancelled => return Acted::WrongState(before.state),
        }
        let mut job = before;
        job.end(State::Cancelled, self.now, keep.map(|keep| instant::after(self.now, keep)));
        self.jobs.insert(id, job);
        self.settle();
        Acted::Done
    }

    /// A new generation: attempts from 0, history kept, failure fields cleared, the dead letter closed. What was refused
    /// at the door has nothing to run.
    pub(super) fn retry(&mut self, id: JobId, replay: Option<ReplayId>) -> Acted {
        let Some(before) = self.jobs.get(&id) else { return Acted::NotFound };
        if before.state != State::Failed || before.rejected {
            return Acted::WrongState(before.state);
        }
        if let Some(twin) = before.dedupe.and_then(|key| self.twin(key)) {
            return Acted::Duplicate(twin);
        }
        let job = Job {
            state: State::Queued,
            alone: false,
            due_at: self.now,
            queued_at: self.now,
            generation: before.generation + 1,
            attempt: 0,
            crashes: 0,
            releases: 0,
            spent: Spent::default(),
            replay,
            failure: None,
            started_at: None,
            finished_at: None,
            purge_at: None,
            ..before.clone()
        };
        self.jobs.insert(id, job);
        self.event(id, EventKind::Queued, None);
        let now = self.now;
        for dead in self.dead.iter_mut().filter(|dead| dead.job == id && dead.state == DeadState::Open) {
            dead.close(DeadState::Replayed, now, replay);
        }
        self.settle();
        Acted::Done
    }

    pub(super) fn give_up(&mut self, id: JobId, call: &GiveUp) -> Acted {
        let Some(before) = self.jobs.get(&id).cloned() else { return Acted::NotFound };
        if before.state != State::Queued {
            return Acted::WrongState(before.state);
        }
        let mut job = before.clone();
        job.failure = Some((call.failure.code, call.failure.public_message().to_owned()));
        job.end(State::Failed, self.now, call.keep.map(|keep| instant::after(self.now, keep)));
        self.jobs.insert(id, job);
        self.event(id, EventKind::Failed, Some(call.failure.code));
        self.see_group(&before, &call.failure, &call.fingerprint, call.target.as_ref());
        self.bury(&before, call.reason, &call.failure, &call.fingerprint);
        self.settle();
        Acted::Done
    }

    /// A job that waits for a batch waits for nothing else. An instant in the past is now.
    pub(super) fn reschedule(&mut self, id: JobId, due_at: Timestamp) -> Acted {
        match self.jobs.get_mut(&id) {
            None => Acted::NotFound,
            Some(job) if job.state == State::Queued && job.awaits.is_none() => {
                job.due_at = due_at.max(self.now);
                Acted::Done
            }
            Some(job) => Acted::WrongState(job.state),
        }
    }

    pub(super) fn discard(&mut self, letter: Letter) -> bool {
        let now = self.now;
        match self.dead.iter_mut().find(|dead| dead.letter() == letter && dead.state == DeadState::Open) {
            Some(dead) => {
                dead.close(DeadState::Discarded, now, None);
                true
            }
            None => false,
        }
    }

    pub(super) fn move_group(&mut self, group: &Fingerprint, to: GroupState) -> bool {
        match self.groups.get_mut(group).filter(|group| group.state.may_become(to)) {
            Some(group) => {
                group.state = to;
                true
            }
            None => false,
        }
    }
}
