//! What an abstract operation means in the world as it is: the call that is made on every store.

use std::time::Duration;

use redrive_model::decide::DeadReason;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::{Code, Failure, JobId, Outcome, Rule, State, TargetSet, Timestamp, decide, instant};
use redrive_store::{Claim, ClaimMode, Finish, GiveUp, Lease, NewEvent, RetryBy, Want, WorkerBeat};

use super::call::Call;
use super::op::{ClaimOp, JobPick, LeasePick, ModeOp, Op};
use super::universe;
use super::world::{World, newest};

impl World {
    pub(super) fn resolve(&mut self, op: &Op) -> Call {
        match op {
            Op::Enqueue(op) => Call::Enqueue(self.enqueue_call(op)),
            Op::EnqueueAgain(nth) => {
                let again = self
                    .enqueued
                    .len()
                    .checked_sub(1)
                    .map(|last| self.enqueued[last - nth % (last + 1)].clone());
                Call::Enqueue(
                    again
                        .map_or_else(Default::default, |call| self.with_one_fault(self.without_purged(call))),
                )
            }
            Op::Publish(n) => {
                Call::Publish(vec![NewEvent { topic: format!("topic-{}", n % 3), payload: vec![*n] }])
            }
            Op::Claim(op) => Call::Claim(self.claim_call(op)),
            Op::Extend { worker, leases, ttl } => {
                let holder = leases.first().and_then(|pick| self.lease(*pick).1).map(|given| given.worker);
                let worker = worker.map(universe::worker).or(holder).unwrap_or(universe::worker(0));
                Call::Extend { worker, leases: self.leases(leases), ttl: seconds(*ttl) }
            }
            Op::SaveState { lease, state } => {
                Call::SaveState { lease: self.lease(*lease).0, state: vec![*state; 3] }
            }
            Op::Finish(ops) => Call::Finish(ops.iter().map(|op| self.finish_call(op)).collect()),
            Op::FinishAgain(nth) => {
                let again = self
                    .finished
                    .len()
                    .checked_sub(1)
                    .map(|last| self.finished[last - nth % (last + 1)].clone());
                Call::Finish(again.unwrap_or_default())
            }
            Op::Reclaim { limit, policy } => Call::Finish(self.reclaim_calls(*limit, *policy)),
            Op::Cancel { jobs, keep } => Call::Cancel { jobs: self.jobs(jobs), keep: keep.map(seconds) },
            Op::Retry { jobs, replay } => {
                let replay = replay.then(|| universe::replay(self.fresh()));
                Call::Retry { jobs: self.jobs(jobs), by: RetryBy { replay, ..RetryBy::default() } }
            }
            Op::GiveUp { jobs, code, keep } => Call::GiveUp(self.give_up_call(jobs, *code, *keep)),
            Op::Reschedule { jobs, seconds } => {
                Call::Reschedule { jobs: self.jobs(jobs), due_at: shifted(self.reference.now, *seconds) }
            }
            Op::Discard(letters) => {
                let all: Vec<_> = self.reference.dead.iter().map(|dead| dead.letter()).collect();
                let unknown = (universe::unknown_job(), 1);
                Call::Discard(letters.iter().map(|nth| newest(&all, *nth).unwrap_or(unknown)).collect())
            }
            Op::MoveGroup { group, to } => {
                let all: Vec<&Fingerprint> = self.reference.groups.keys().collect();
                let unknown = || "0123456789abcdef".parse().expect("a good name");
                Call::MoveGroup { group: newest(&all, *group).cloned().unwrap_or_else(unknown), to: *to }
            }
            Op::Pause(workload) => Call::Pause(workload.map(universe::workload)),
            Op::Resume(workload) => Call::Resume(workload.map(universe::workload)),
            Op::Breaker { target, change, stale } => self.breaker_call(*target, *change, *stale),
            Op::Beat { worker, ttl, draining } => Call::Beat(WorkerBeat {
                id: universe::worker(*worker),
                name: format!("worker-{worker}"),
                build: "0.1.0".into(),
                draining: *draining,
                ttl: seconds(*ttl),
                concurrency: 4,
            }),
            Op::WantDrained { worker, wanted } => {
                Call::WantDrained { worker: universe::worker(*worker), wanted: *wanted }
            }
            Op::Expire(jobs) => Call::Expire(self.jobs(jobs)),
            Op::Purge { scan } => Call::Purge { scan: *scan },
            Op::PruneAttempts { job, keep } => Call::PruneAttempts { job: self.job(*job), keep: *keep },
            Op::Forget { hours } => Call::Forget(shifted(self.reference.now, -3_600 * i32::from(*hours))),
            Op::Advance(ms) => Call::Advance(Duration::from_millis(*ms)),
        }
    }

    fn jobs(&self, picks: &[JobPick]) -> Vec<JobId> {
        picks.iter().map(|pick| self.job(*pick)).collect()
    }

    fn leases(&self, picks: &[LeasePick]) -> Vec<Lease> {
        picks.iter().map(|pick| self.lease(*pick).0).collect()
    }

    fn claim_call(&self, op: &ClaimOp) -> Claim {
        let wants = op.wants.iter().zip(0..).filter(|(limit, _)| **limit > 0);
        let probes: Vec<_> =
            self.reference.breakers.keys().filter_map(|t| Some((t, self.reference.gate(t).probe?))).collect();
        let (worker, mode) = match op.mode {
            ModeOp::Normal => (None, ClaimMode::Normal),
            ModeOp::Alone => (None, ClaimMode::Alone),
            ModeOp::Probe(target) => {
                (None, ClaimMode::Probe(TargetSet::new([universe::target(target)]).unwrap()))
            }
            ModeOp::RightProbe(nth) => match newest(&probes, nth) {
                // Sometimes with all that this worker may try, for a job that depends on several of them.
                Some((target, worker)) => {
                    let its = probes
                        .iter()
                        .filter(|(other, who)| *who == worker && (*other == target || op.limit > 1));
                    let its = TargetSet::new(its.map(|(target, _)| (*target).clone()));
                    (Some(worker), ClaimMode::Probe(its.unwrap()))
                }
                None => (None, ClaimMode::Normal),
            },
        };
        Claim {
            worker: worker.unwrap_or(universe::worker(op.worker)),
            wants: wants.map(|(limit, n)| Want::new(universe::workload(n), usize::from(*limit))).collect(),
            limit: op.limit,
            ttl: seconds(op.ttl),
            mode,
            rooms: universe::targets(op.full).iter().map(|target| (target.clone(), 0)).collect(),
        }
    }

    /// What a sweeper does with leases that have run out.
    fn reclaim_calls(&self, limit: usize, policy: u8) -> Vec<Finish> {
        let expired = self.reference.expired();
        let one = |e: &redrive_store::Expired| {
            let outcome = if e.worker_alive { Outcome::LeaseLost } else { Outcome::Crashed };
            let policy = universe::policy(policy, e.max_attempts);
            let decision = decide(outcome, &e.facts, &policy, self.reference.now, 0);
            let code = if e.worker_alive { Code::SystemLeaseLost } else { Code::SystemWorkerLost };
            let failure = Some(Failure::new(code, "the lease ran out"));
            Finish::decided(e.lease, &e.workload, &policy, decision, failure, None).expired()
        };
        expired.iter().take(limit).map(one).collect()
    }

    fn give_up_call(&self, jobs: &[JobPick], code: u8, keep: Option<u8>) -> GiveUp {
        let (reason, rule, code) = match code % 3 {
            0 => (DeadReason::GivenUp, Rule::ByHand, Code::SystemGivenUp),
            1 => (DeadReason::FailFast, Rule::BreakerFailFast, Code::GwUnavailable),
            _ => (DeadReason::Undecodable, Rule::Undecodable, Code::SystemUndecodable),
        };
        let failure = Failure::new(code, "given up while it waited");
        let target = (code == Code::GwUnavailable).then(|| universe::target(1));
        let waiting = |id: &JobId| self.reference.jobs.get(id).filter(|job| job.state == State::Queued);
        let mut jobs = self.jobs(jobs);
        // A group belongs to one workload, and the call names one group.
        let first = jobs.iter().find_map(waiting).map(|job| &job.workload);
        jobs.retain(|id| waiting(id).is_none_or(|job| Some(&job.workload) == first));
        let workload = first.cloned().unwrap_or_else(|| universe::workload(0));
        let fingerprint = Fingerprint::new(code, &workload, target.as_ref(), &failure.message);
        GiveUp { jobs, reason, rule, failure, fingerprint, target, keep: keep.map(seconds) }
    }
}

pub(super) fn seconds(n: u8) -> Duration {
    Duration::from_secs(u64::from(n))
}

/// So many seconds from then, also into the past.
pub(super) fn shifted(at: Timestamp, seconds: i32) -> Timestamp {
    instant::from_millis(instant::to_millis(at) + 1_000 * i64::from(seconds))
}
