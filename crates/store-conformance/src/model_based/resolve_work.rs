//! The longer half of `resolve.rs`: handing work in, ending attempts through `decide`, and breakers.

use std::time::Duration;

use redrive_model::batch::EndRule;
use redrive_model::breaker::{Breaker, Call as Health, Config, Hold};
use redrive_model::decide::DeadReason;
use redrive_model::dedupe::DedupeKey;
use redrive_model::{BatchId, Done, JobFacts, Outcome, decide, instant};
use redrive_store::{Enqueue, Finish, Idempotency, NewBatch, NewJob, Step, When};

use super::call::Call;
use super::op::{BatchOp, BatchPick, BreakerChange, EnqueueOp, FinishOp, JobOp, OutcomeOp, WhenOp};
use super::resolve::{seconds, shifted};
use super::universe;
use super::world::{World, newest};

impl World {
    pub(super) fn enqueue_call(&mut self, op: &EnqueueOp) -> Enqueue {
        let open: Vec<NewBatch> = op.open.iter().map(|op| self.new_batch(op)).collect();
        let opened = open.last().map(|batch| batch.id);
        let known = |pick: BatchPick| match pick {
            // The newest batch is the one that this call opens.
            BatchPick::Open(0) => opened,
            BatchPick::Open(_)
            | BatchPick::Running(_)
            | BatchPick::Awaited(_)
            | BatchPick::Any(_)
            | BatchPick::Unknown => None,
        };
        let mut jobs: Vec<NewJob> = Vec::new();
        for op in &op.jobs {
            let batch = op.batch.and_then(|pick| known(pick).or_else(|| self.batch(pick)));
            let job = self.new_job(op);
            jobs.push(NewJob { batch, ..job });
        }
        let seal: Vec<_> =
            op.seal.iter().filter_map(|pick| known(*pick).or_else(|| self.batch(*pick))).collect();
        let idempotency = op.idempotency.map(|(owner, key, hash)| Idempotency {
            owner: universe::owner(owner),
            key: format!("key-{}", key % 2),
            request_hash: [hash % 2; 32],
        });
        self.with_one_fault(Enqueue { open, jobs, seal, idempotency, split: false })
    }

    /// With two reasons to refuse a call, stores may name either: of batches that are unknown or sealed it names one.
    pub(super) fn with_one_fault(&self, mut call: Enqueue) -> Enqueue {
        let opened: Vec<BatchId> = call.open.iter().map(|batch| batch.id).collect();
        let is_bad = |id: &BatchId| match self.reference.batches.get(id) {
            None => !opened.contains(id),
            Some(batch) => batch.sealed,
        };
        let first =
            call.jobs.iter().filter_map(|job| job.batch).chain(call.seal.iter().copied()).find(is_bad);
        for job in &mut call.jobs {
            job.batch = job.batch.filter(|id| first == Some(*id) || !is_bad(id));
        }
        call.seal.retain(|id| first == Some(*id) || !is_bad(id));
        call
    }

    fn new_batch(&mut self, op: &BatchOp) -> NewBatch {
        let again = op.again.and_then(|nth| newest(&self.batches, nth));
        NewBatch {
            id: again.unwrap_or_else(|| universe::batch(self.fresh())),
            workload: universe::workload(0),
            owner: op.owner.map(universe::owner),
            label: Some("a\tbatch".into()),
            about: Some(format!("{:?}", op.keep)),
            end_rule: if op.tolerant { EndRule::Tolerant } else { EndRule::Strict },
            keep: op.keep.map(seconds),
        }
    }

    fn new_job(&mut self, op: &JobOp) -> NewJob {
        let again = op.again.filter(|_| !self.reference.jobs.is_empty()).map(|pick| self.job(pick));
        let id = again.unwrap_or_else(|| universe::job(self.fresh()));
        let workload = universe::workload(op.workload);
        let owner = op.owner.map(universe::owner);
        // A store takes the key as it is; few of them meet more often.
        let dedupe = op.dedupe.map(|key| DedupeKey::from_bytes([key; 32]));
        NewJob {
            owner,
            label: Some(format!("file\n{}", op.workload)),
            targets: universe::targets(op.targets),
            priority: op.priority,
            when: match op.when {
                WhenOp::Now => When::In(Duration::ZERO),
                WhenOp::In(wait) => When::In(seconds(wait)),
                WhenOp::At(shift) => When::At(shifted(self.reference.now, i32::from(shift))),
            },
            max_attempts: op.cap,
            dedupe,
            batch: None,
            rejected: op.rejected.map(universe::rejection),
            keep: op.keep.map(seconds),
            ..NewJob::new(id, workload, vec![op.workload, op.priority])
        }
    }

    /// A call made again must not bring back a job that retention removed: its fence would start again.
    pub(super) fn without_purged(&self, mut call: Enqueue) -> Enqueue {
        call.jobs.retain(|job| self.reference.jobs.contains_key(&job.id) || !self.created.contains(&job.id));
        call
    }

    pub(super) fn finish_call(&self, op: &FinishOp) -> Finish {
        let (lease, given) = self.lease(op.lease);
        let facts = given.map_or_else(JobFacts::default, |given| given.claimed.facts.clone());
        let workload = given.map_or_else(|| universe::workload(0), |given| given.claimed.workload.clone());
        let target =
            given.filter(|_| op.blame).and_then(|given| given.claimed.targets.iter().next().cloned());
        let policy = universe::policy(op.policy, given.and_then(|given| given.claimed.max_attempts));
        let now = self.reference.now;
        let (outcome, failure) = match op.outcome {
            OutcomeOp::Complete { .. } => (Outcome::Done(Done::Complete), None),
            OutcomeOp::Failed { code, retry_after } => {
                let failure = universe::failure(code);
                (Outcome::Failed { code: failure.code, retry_after: retry_after.map(seconds) }, Some(failure))
            }
            OutcomeOp::Snooze(wait) => (Outcome::Done(Done::Snooze(seconds(wait))), None),
            OutcomeOp::RescheduleNow => (Outcome::Done(Done::RescheduleNow), None),
            OutcomeOp::RescheduleIn(wait) => (Outcome::Done(Done::RescheduleIn(seconds(wait))), None),
            OutcomeOp::RescheduleAt(shift) => {
                (Outcome::Done(Done::RescheduleAt(shifted(now, i32::from(shift)))), None)
            }
            OutcomeOp::AwaitBatch(pick) => {
                let batch = self.batch(pick).unwrap_or_else(universe::unknown_batch);
                (Outcome::Done(Done::AwaitBatch(batch)), None)
            }
            OutcomeOp::Released => (Outcome::Released, None),
            OutcomeOp::Crashed => (Outcome::Crashed, None),
            OutcomeOp::LeaseLost => (Outcome::LeaseLost, None),
            OutcomeOp::FailedWithout { .. } => (Outcome::Done(Done::Complete), None),
        };
        let decision = decide(outcome, &facts, &policy, now, op.draw);
        let mut finish = Finish::decided(lease, &workload, &policy, decision, failure, target);
        if let OutcomeOp::Complete { result: true } = op.outcome {
            finish = finish.with_result(format!("{}/{}", lease.job, lease.token));
        }
        if let OutcomeOp::FailedWithout { group } = op.outcome {
            finish.step = Step::Fail { reason: DeadReason::Exhausted, keep: None };
            finish.report.failure = group.then(|| universe::failure(0));
        }
        finish.bytes = op.draw % 1_000;
        finish.state = op.state.map(|byte| vec![byte; 2]);
        if op.expired { finish.expired() } else { finish }
    }

    pub(super) fn breaker_call(&self, target: u8, change: BreakerChange, stale: bool) -> Call {
        let target = universe::target(target);
        let now = self.reference.now;
        let row = self.reference.breakers.get(&target);
        let version = row.map(|row| row.version);
        let mut breaker = row.map_or_else(|| Breaker::new(now), |row| row.breaker.clone());
        let config = Config { consecutive: 1, ramp_end: 2, ..Config::for_timeout(Duration::from_secs(10)) };
        let epoch = breaker.epoch;
        match change {
            BreakerChange::Hold { seconds: wait } => breaker.hold(Hold {
                by: "ann".into(),
                reason: "maintenance".into(),
                since: now,
                until: wait.map(|wait| instant::after(now, seconds(wait))),
            }),
            BreakerChange::Release => breaker.release(now),
            BreakerChange::Open => breaker.record(&config, now, 0, Health::Unreachable, epoch),
            BreakerChange::Throttle(wait) => breaker.throttle(instant::after(now, seconds(wait))),
            BreakerChange::StartProbe(worker) => {
                // The cool-down is not waited for, and a closed breaker opens: what matters here is who may pass.
                breaker.record(&config, now, 0, Health::Unreachable, epoch);
                let at = breaker.next_probe_at().map_or(now, |at| at.max(now));
                breaker.start_probe(&config, at, universe::worker(worker));
            }
            BreakerChange::ProbeGood => {
                breaker.probe_ended(&config, now, 0, epoch, Health::Success);
            }
            BreakerChange::ProbeBad => {
                breaker.probe_ended(&config, now, 0, epoch, Health::Unreachable);
            }
            BreakerChange::Success => breaker.record(&config, now, 0, Health::Success, epoch),
        }
        let expected = match (version, stale) {
            (version, false) => version,
            (None, true) => Some(1),
            (Some(1), true) => None,
            (Some(version), true) => Some(version - 1),
        };
        Call::SwapBreaker { target, expected, breaker }
    }
}
