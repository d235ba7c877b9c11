//! What a transition leaves behind: events, dead letters and failure groups.

use redrive_model::decide::DeadReason;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_model::{
    BatchId, Code, EventSeq, Failure, JobId, ReplayId, Target, Timestamp, WorkloadName, instant,
};
use redrive_store::{AttemptRow, DeadState, Event, EventKind, GroupRow, NewEvent};

use super::super::call::Letter;
use super::{Job, Newest, Reference};

/// A dead letter. Its job's workload and owner are looked up when it is shown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Dead {
    /// The call that gave it up. The letters of one call come in any order.
    pub(crate) call: u64,
    pub(crate) job: JobId,
    pub(crate) generation: u32,
    pub(crate) reason: DeadReason,
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) attempts: u32,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) state: DeadState,
    pub(crate) at: Timestamp,
    pub(crate) closed_at: Option<Timestamp>,
    pub(crate) replay: Option<ReplayId>,
    /// The generation of the letter before.
    pub(crate) previous: Option<u32>,
}

impl Dead {
    pub(crate) fn letter(&self) -> Letter {
        (self.job, self.generation)
    }

    pub(super) fn close(&mut self, state: DeadState, now: Timestamp, replay: Option<ReplayId>) {
        self.state = state;
        self.closed_at = Some(now);
        self.replay = replay;
    }
}

/// A group. How many of its letters are open is counted when it is shown.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) workload: WorkloadName,
    pub(crate) code: Code,
    pub(crate) target: Option<Target>,
    /// The newest job and message.
    pub(crate) newest: Newest<(JobId, String)>,
    pub(crate) state: GroupState,
    pub(crate) first_seen: Timestamp,
    pub(crate) last_seen: Timestamp,
    pub(crate) failures: u64,
}

impl Reference {
    fn bare_event(&self, kind: EventKind) -> Event {
        Event {
            seq: EventSeq(0),
            kind,
            at: self.now,
            job: None,
            batch: None,
            workload: None,
            owner: None,
            generation: 0,
            attempt: 0,
            duration_ms: None,
            target_status: None,
            code: None,
            topic: None,
            payload: None,
        }
    }

    /// An event that ends no attempt.
    pub(super) fn event(&mut self, job: JobId, kind: EventKind, code: Option<Code>) {
        let generation = self.jobs.get(&job).map_or(0, |job| job.generation);
        let event = Event { job: Some(job), generation, code, ..self.bare_event(kind) };
        self.events.push(event);
    }

    /// The start of an attempt and its end, written together.
    pub(super) fn attempt_event(&mut self, before: &Job, kind: EventKind, row: &AttemptRow) {
        let started = row.started_at.unwrap_or(self.now);
        let start = Event {
            at: started,
            job: Some(before.id),
            generation: row.generation,
            attempt: row.number,
            ..self.bare_event(EventKind::Processing)
        };
        let end = Event {
            kind,
            at: self.now,
            duration_ms: Some(instant::millis(instant::between(started, self.now))),
            target_status: row.target_status,
            code: row.code,
            ..start.clone()
        };
        self.events.extend([start, end]);
    }

    pub(super) fn batch_event(&mut self, batch: BatchId, kind: EventKind) {
        let event = Event { batch: Some(batch), ..self.bare_event(kind) };
        self.events.push(event);
    }

    pub(super) fn publish(&mut self, new: &NewEvent) {
        let event = Event {
            topic: Some(new.topic.clone()),
            payload: Some(new.payload.clone()),
            ..self.bare_event(EventKind::Published)
        };
        self.events.push(event);
    }

    /// Keeps a job for people, and tells its batch.
    pub(super) fn bury(&mut self, job: &Job, reason: DeadReason, failure: &Failure, group: &Fingerprint) {
        let previous = self.dead.iter().rev().find(|dead| dead.job == job.id).map(|dead| dead.generation);
        self.dead.push(Dead {
            call: self.calls,
            job: job.id,
            generation: job.generation,
            reason,
            code: failure.code,
            message: failure.message.clone(),
            attempts: job.attempt,
            fingerprint: group.clone(),
            state: DeadState::Open,
            at: self.now,
            closed_at: None,
            replay: None,
            previous,
        });
        if let Some(batch) = job.batch {
            let said = (failure.code, failure.public_message().to_owned());
            self.note_failure(batch, said, Some((job.id, job.generation)));
        }
    }

    /// The fault was seen once more.
    pub(super) fn see_group(
        &mut self,
        job: &Job,
        failure: &Failure,
        group: &Fingerprint,
        target: Option<&Target>,
    ) {
        let now = self.now;
        let fresh = || Group {
            workload: job.workload.clone(),
            code: failure.code,
            target: target.cloned(),
            newest: Newest::none(),
            state: GroupState::New,
            first_seen: now,
            last_seen: now,
            failures: 0,
        };
        let group = self.groups.entry(group.clone()).or_insert_with(fresh);
        group.newest.push(self.calls, (job.id, failure.message.clone()));
        group.state = group.state.on_failure();
        group.last_seen = now;
        group.failures += 1;
    }

    /// As people see it.
    pub(crate) fn group_row(&self, fingerprint: &Fingerprint, group: &Group) -> GroupRow {
        let open =
            self.dead.iter().filter(|dead| dead.state == DeadState::Open && dead.fingerprint == *fingerprint);
        let (sample, message) = group.newest.last().cloned().expect("a group has been seen");
        GroupRow {
            fingerprint: fingerprint.clone(),
            workload: group.workload.clone(),
            code: group.code,
            target: group.target.clone(),
            message,
            sample,
            state: group.state,
            first_seen: group.first_seen,
            last_seen: group.last_seen,
            failures: group.failures,
            open: open.count() as u64,
        }
    }

    /// By call; those of one call by job.
    pub(crate) fn dead_in_order(&self) -> Vec<&Dead> {
        let mut dead: Vec<&Dead> = self.dead.iter().collect();
        dead.sort_by_key(|dead| (dead.call, dead.letter()));
        dead
    }

    /// An event as readers see it now: with workload and owner, as long as its job or batch is there.
    pub(crate) fn read_event(&self, event: &Event) -> Event {
        let job = event.job.and_then(|id| self.jobs.get(&id));
        let batch = event.batch.and_then(|id| self.batches.get(&id));
        Event {
            workload: job.map(|job| &job.workload).or(batch.map(|batch| &batch.workload)).cloned(),
            owner: job.map(|job| &job.owner).or(batch.map(|batch| &batch.owner)).cloned().flatten(),
            ..event.clone()
        }
    }
}
