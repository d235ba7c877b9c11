//! The reference together with what a client remembers: ids it made, leases it was given, calls it made.

use std::collections::BTreeSet;

use redrive_model::{BatchId, JobId, LeaseToken, State, WorkerId};
use redrive_store::{Claimed, Enqueue, Finish, Lease};

use super::call::{Answer, Call};
use super::op::{BatchPick, JobPick, Kind, LeasePick, Step};
use super::reference::{Batch, Job, Reference};
use super::universe;

/// A lease that was given out, as its worker remembers it.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    pub(crate) claimed: Claimed,
    pub(crate) worker: WorkerId,
}

/// Everything an operation can refer to.
#[derive(Debug, Clone, Default)]
pub(crate) struct World {
    pub(crate) reference: Reference,
    /// Numbers used for ids.
    pub(crate) used: u32,
    /// Jobs ever created, purged ones too.
    pub(crate) created: BTreeSet<JobId>,
    /// Batches ever opened, oldest first.
    pub(crate) batches: Vec<BatchId>,
    /// Leases ever given, oldest first.
    pub(crate) given: Vec<Given>,
    pub(crate) enqueued: Vec<Enqueue>,
    pub(crate) finished: Vec<Vec<Finish>>,
}

impl World {
    /// Finds out what a step means, and what the reference says to it.
    pub(crate) fn step(&mut self, step: &Step) -> (Call, Answer) {
        let call = self.resolve(&step.op);
        let answer = self.reference.perform(&call);
        self.remember(&call, &answer);
        (call, answer)
    }

    fn remember(&mut self, call: &Call, answer: &Answer) {
        match (call, answer) {
            (Call::Enqueue(call), Answer::Enqueued(reply)) => {
                self.created.extend(reply.jobs.iter().map(|answer| answer.job()));
                if !reply.replayed {
                    self.batches.extend(call.open.iter().map(|batch| batch.id));
                    self.batches.sort();
                    self.batches.dedup();
                }
                self.enqueued.push(call.clone());
            }
            (Call::Claim(claim), Answer::Claimed(jobs)) => {
                let worker = claim.worker;
                self.given.extend(jobs.iter().map(|claimed| Given { claimed: claimed.clone(), worker }));
            }
            (Call::Finish(finishes), Answer::Finished(_)) => self.finished.push(finishes.clone()),
            // Nothing else is referred to later.
            (_, _) => {}
        }
    }

    /// A number that was not used before.
    pub(super) fn fresh(&mut self) -> u32 {
        self.used += 1;
        self.used
    }

    pub(super) fn job(&self, pick: JobPick) -> JobId {
        let fits = |job: &&Job| match pick.of {
            Kind::Any => true,
            Kind::Queued => job.state == State::Queued,
            Kind::Processing => job.state == State::Processing,
            Kind::Complete => job.state == State::Complete,
            Kind::Failed => job.state == State::Failed,
            Kind::FailedMember => {
                job.state == State::Failed && job.batch.is_some_and(|id| self.reference.has_ended(id))
            }
            Kind::Awaited => !job.state.is_terminal() && job.batch.is_some_and(|id| self.is_awaited(id)),
            Kind::Unknown => false,
        };
        if pick.of == Kind::Unknown {
            return universe::unknown_job();
        }
        let of_kind: Vec<JobId> = self.reference.jobs.values().filter(fits).map(|job| job.id).collect();
        let any: Vec<JobId> = self.reference.jobs.keys().copied().collect();
        newest(&of_kind, pick.nth).or(newest(&any, pick.nth)).unwrap_or_else(universe::unknown_job)
    }

    /// Whether somebody waits for this batch.
    pub(super) fn is_awaited(&self, id: BatchId) -> bool {
        self.reference.jobs.values().any(|job| job.awaits == Some(id))
    }

    /// `None` when no batch was ever opened.
    pub(super) fn batch(&self, pick: BatchPick) -> Option<BatchId> {
        let fits = |batch: &&Batch| match pick {
            BatchPick::Open(_) => !batch.sealed,
            BatchPick::Running(_) => !batch.state.is_ended(),
            BatchPick::Awaited(_) => !batch.state.is_ended() && self.is_awaited(batch.id),
            BatchPick::Any(_) | BatchPick::Unknown => true,
        };
        let nth = match pick {
            BatchPick::Open(nth)
            | BatchPick::Running(nth)
            | BatchPick::Awaited(nth)
            | BatchPick::Any(nth) => nth,
            BatchPick::Unknown => return Some(universe::unknown_batch()),
        };
        let of_kind: Vec<BatchId> =
            self.reference.batches.values().filter(fits).map(|batch| batch.id).collect();
        newest(&of_kind, nth).or(newest(&self.batches, nth))
    }

    /// The lease, and what its worker knows about it if it was ever given.
    pub(super) fn lease(&self, pick: LeasePick) -> (Lease, Option<&Given>) {
        let fits = |given: &&Given| {
            let lease = given.claimed.lease;
            self.reference.jobs.get(&lease.job).is_some_and(|job| match pick {
                LeasePick::Standing(_) => job.stands(lease),
                LeasePick::Crashed(_) => job.stands(lease) && job.crashes > 0,
                LeasePick::Superseded(_) => job.state == State::Processing && job.token != lease.token,
                LeasePick::Given(_) | LeasePick::Forged(_) => true,
            })
        };
        let nth = match pick {
            LeasePick::Standing(nth)
            | LeasePick::Crashed(nth)
            | LeasePick::Superseded(nth)
            | LeasePick::Given(nth)
            | LeasePick::Forged(nth) => nth,
        };
        let of_kind: Vec<&Given> = self.given.iter().filter(fits).collect();
        let all: Vec<&Given> = self.given.iter().collect();
        let Some(given) = newest(&of_kind, nth).or(newest(&all, nth)) else {
            return (Lease { job: universe::unknown_job(), token: LeaseToken(1) }, None);
        };
        let Lease { job, token } = given.claimed.lease;
        match pick {
            LeasePick::Standing(_)
            | LeasePick::Crashed(_)
            | LeasePick::Superseded(_)
            | LeasePick::Given(_) => (Lease { job, token }, Some(given)),
            LeasePick::Forged(_) => (Lease { job, token: LeaseToken(token.0 + 1_000) }, Some(given)),
        }
    }
}

/// The n-th from the end, going round.
pub(super) fn newest<T: Copy>(all: &[T], nth: usize) -> Option<T> {
    let len = all.len();
    if len == 0 { None } else { all.get(len - 1 - nth % len).copied() }
}
