//! The reference: what a store must do, written from the documents with plain maps.
//!
//! It is slow and simple on purpose. What a store keeps as a counter is counted here anew each time, and a call that
//! must be all or nothing works on a copy. It knows no lanes, no indexes and no transactions.

mod act;
mod batch;
mod claim;
mod enqueue;
mod finish;
mod job;
mod newest;
mod overview;
mod retention;
mod trail;

use std::collections::{BTreeMap, BTreeSet};

use redrive_model::breaker::Gate;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::{BatchId, JobId, LeaseToken, Owner, Target, TargetSet, Timestamp, WorkerId, instant};
use redrive_store::{AttemptRow, BreakerRow, Event, Swapped, WorkerBeat, WorkerRow};

use super::call::{Answer, Call};
use super::universe;
pub(crate) use batch::Batch;
pub(crate) use enqueue::Remembered;
pub(crate) use job::{Held, Job};
pub(crate) use newest::Newest;
pub(crate) use trail::{Dead, Group};

/// Everything a store knows.
#[derive(Debug, Clone)]
pub(crate) struct Reference {
    /// The store's clock.
    pub(crate) now: Timestamp,
    /// Calls made so far.
    pub(crate) calls: u64,
    pub(crate) jobs: BTreeMap<JobId, Job>,
    pub(crate) attempts: BTreeMap<(JobId, LeaseToken), AttemptRow>,
    /// In the order in which they happened.
    pub(crate) events: Vec<Event>,
    /// In the order in which they died.
    pub(crate) dead: Vec<Dead>,
    pub(crate) groups: BTreeMap<Fingerprint, Group>,
    pub(crate) batches: BTreeMap<BatchId, Batch>,
    pub(crate) breakers: BTreeMap<Target, BreakerRow>,
    pub(crate) workers: BTreeMap<WorkerId, WorkerRow>,
    pub(crate) keys: BTreeMap<(Owner, String), Remembered>,
    /// An empty name stands for everything.
    pub(crate) paused: BTreeSet<String>,
}

impl Default for Reference {
    fn default() -> Self {
        Self {
            now: universe::start(),
            calls: 0,
            jobs: BTreeMap::new(),
            attempts: BTreeMap::new(),
            events: Vec::new(),
            dead: Vec::new(),
            groups: BTreeMap::new(),
            batches: BTreeMap::new(),
            breakers: BTreeMap::new(),
            workers: BTreeMap::new(),
            keys: BTreeMap::new(),
            paused: BTreeSet::new(),
        }
    }
}

impl Reference {
    /// Does what a store does and answers what it answers.
    pub(crate) fn perform(&mut self, call: &Call) -> Answer {
        self.calls += 1;
        match call {
            Call::Enqueue(call) => self.whole(|r| r.enqueue(call).map(Answer::Enqueued)),
            Call::Publish(events) => {
                events.iter().for_each(|event| self.publish(event));
                Answer::Nothing
            }
            Call::Claim(claim) => Answer::Claimed(self.claim(claim)),
            Call::Extend { worker, leases, ttl } => Answer::Extended(self.extend(*worker, leases, *ttl)),
            Call::SaveState { lease, state } => Answer::Saved(self.save_state(*lease, state)),
            Call::Finish(finishes) => self.whole(|r| {
                finishes.iter().map(|f| r.finish(f)).collect::<Result<_, _>>().map(Answer::Finished)
            }),
            Call::Cancel { jobs, keep } => {
                Answer::Acted(jobs.iter().map(|id| self.cancel(*id, *keep)).collect())
            }
            Call::Retry { jobs, by } => {
                Answer::Acted(jobs.iter().map(|id| self.retry(*id, by.replay)).collect())
            }
            Call::GiveUp(call) => Answer::Acted(call.jobs.iter().map(|id| self.give_up(*id, call)).collect()),
            Call::Reschedule { jobs, due_at } => {
                Answer::Acted(jobs.iter().map(|id| self.reschedule(*id, *due_at)).collect())
            }
            Call::Discard(letters) => {
                let discarded = letters.iter().filter(|letter| self.discard(**letter)).count();
                Answer::Count(discarded as u64)
            }
            Call::MoveGroup { group, to } => Answer::Moved(self.move_group(group, *to)),
            Call::Pause(workload) => {
                self.paused.insert(workload.as_ref().map_or_else(String::new, ToString::to_string));
                Answer::Nothing
            }
            Call::Resume(workload) => {
                self.paused.remove(workload.as_ref().map_or("", |w| w.as_str()));
                Answer::Nothing
            }
            Call::SwapBreaker { target, expected, breaker } => {
                let row = BreakerRow {
                    target: target.clone(),
                    version: expected.map_or(1, |version| version + 1),
                    breaker: breaker.clone(),
                    updated_at: self.now,
                };
                Answer::Swapped(self.swap_breaker(row, *expected))
            }
            Call::Beat(beat) => Answer::Wanted(self.beat(beat)),
            Call::WantDrained { worker, wanted } => {
                let row = self.workers.get_mut(worker);
                Answer::Wanted(row.map(|row| row.drain_wanted = *wanted).is_some())
            }
            Call::Expire(jobs) => Answer::Acted(jobs.iter().map(|id| self.expire(*id)).collect()),
            Call::Purge { .. } => Answer::Count(self.purge()),
            Call::PruneAttempts { job, keep } => Answer::Count(self.prune_attempts(*job, *keep)),
            Call::Forget(before) => Answer::Count(self.forget(*before)),
            Call::Advance(by) => {
                self.now = instant::after(self.now, *by);
                Answer::Nothing
            }
        }
    }

    /// All of it or nothing.
    fn whole(&mut self, work: impl FnOnce(&mut Self) -> Result<Answer, super::call::Refusal>) -> Answer {
        let mut copy = self.clone();
        match work(&mut copy) {
            Ok(answer) => {
                *self = copy;
                answer
            }
            Err(refusal) => Answer::Refused(refusal),
        }
    }

    /// What the breaker of a target lets pass; everything, if it has none.
    pub(crate) fn gate(&self, target: &Target) -> Gate {
        let open = Gate { blocked_until: None, limit: None, probe: None };
        self.breakers.get(target).map_or(open, |row| row.breaker.gate())
    }

    /// Whether something blocks one of these targets now.
    pub(crate) fn is_held(&self, targets: &TargetSet) -> bool {
        targets.iter().any(|target| self.gate(target).blocked_until.is_some_and(|until| until > self.now))
    }

    fn swap_breaker(&mut self, row: BreakerRow, expected: Option<i64>) -> Swapped {
        let present = self.breakers.get(&row.target).map(|row| row.version);
        if present != expected {
            return Swapped::Stale;
        }
        let version = row.version;
        self.breakers.insert(row.target.clone(), row);
        Swapped::Done(version)
    }

    fn beat(&mut self, beat: &WorkerBeat) -> bool {
        let known = self.workers.get(&beat.id);
        let started_at = known.map_or(self.now, |row| row.started_at);
        let drain_wanted = known.is_some_and(|row| row.drain_wanted);
        let row = WorkerRow {
            id: beat.id,
            name: beat.name.clone(),
            build: beat.build.clone(),
            draining: beat.draining,
            drain_wanted,
            concurrency: beat.concurrency,
            started_at,
            seen_at: self.now,
            alive_until: instant::after(self.now, beat.ttl),
            leases: 0,
        };
        self.workers.insert(beat.id, row);
        drain_wanted
    }
}
