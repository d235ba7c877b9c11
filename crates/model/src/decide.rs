//! Decides what happens after an attempt ends.
//!
//! Pure: the caller supplies the clock and the random draw. This is the only place where a retry is decided; the rule
//! that said so is recorded with the attempt, shown by `explain` and run again by `simulate`. The law "executions never
//! exceed the policy" is checked in `decide/tests.rs`.

mod rule;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use crate::backoff;
use crate::breaker::Call;
use crate::failure::{Budget, Class, Code, Retries};
use crate::id::BatchId;
use crate::instant;
use crate::policy::Policy;
use crate::state::words;
use serde::{Deserialize, Serialize};

pub use rule::Rule;

/// How the handler says it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// Finished for good.
    Complete,
    /// Run again at once, as a new run.
    RescheduleNow,
    /// Run again after so long, as a new run.
    RescheduleIn(Duration),
    /// Run again at that instant, as a new run.
    RescheduleAt(Timestamp),
    /// Ask again later; nothing was done and nothing is charged.
    Snooze(Duration),
    /// Run again when this batch has ended.
    AwaitBatch(BatchId),
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The handler returned well.
    Done(Done),
    /// The handler returned a failure.
    Failed {
        /// What went wrong.
        code: Code,
        /// How long the other side asked us to wait.
        retry_after: Option<Duration>,
    },
    /// The worker drains and gives the job back.
    Released,
    /// The worker claimed it and cannot start it after all: it drains, or a target was held meanwhile.
    Unstarted,
    /// The lease ran out and the worker is gone.
    Crashed,
    /// The lease ran out or was lost, and the worker lives.
    LeaseLost,
    /// It was claimed, and its deadline had passed: it was not run.
    TooLate,
}

/// What is known about the job when its attempt ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFacts {
    /// Charged executions in this generation, this one included.
    pub attempt: u32,
    /// Crashes in this generation before this one.
    pub crashes: u32,
    /// Releases that gave an attempt back in this generation.
    pub releases: u32,
    /// Retries spent so far, by budget and by code.
    pub spent: Spent,
    /// It ran alone in its worker.
    pub alone: bool,
    /// The attempt was a breaker's probe, and whatever went wrong is blamed on the target that it tried.
    pub probe: bool,
    /// The next probe is made with another job, where there is one.
    pub others_first: bool,
    /// When the generation was enqueued, for deadlines.
    pub queued_at: Timestamp,
}

/// The seconds that a job waited because the other side asked for it are kept beside the retries.
const THROTTLED: &str = "throttled_seconds";

/// Retries spent in this generation, by budget and by code. Stored with the job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Spent(BTreeMap<String, u32>);

impl Spent {
    /// Retries spent from a budget.
    #[must_use]
    pub fn budget(&self, budget: Budget) -> u32 {
        self.0.get(budget.as_str()).copied().unwrap_or(0)
    }

    /// Retries spent on a code that has a cap of its own.
    #[must_use]
    pub fn code(&self, code: Code) -> u32 {
        self.0.get(code.name()).copied().unwrap_or(0)
    }

    fn spend(&mut self, key: &str) {
        let count = self.0.entry(key.to_owned()).or_insert(0);
        *count = count.saturating_add(1);
    }

    /// Waits that the other side asked for, in seconds; answers how long that is in all.
    fn throttle(&mut self, wait: Duration) -> Duration {
        let waited = self.0.entry(THROTTLED.to_owned()).or_insert(0);
        let secs = u32::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u32::MAX);
        *waited = waited.saturating_add(secs);
        Duration::from_secs(u64::from(*waited))
    }

    /// Nothing spent yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

words!(
    /// Why policy gave up.
    DeadReason {
        /// Attempts or a budget are used up.
        Exhausted = "exhausted",
        /// The failure will not change by itself.
        NonRetryable = "non_retryable",
        /// It ends the process that runs it.
        Crashed = "crashed",
        /// Its time is over.
        Deadline = "deadline",
        /// Its source is gone.
        Expired = "expired",
        /// A person gave it up.
        GivenUp = "given_up",
        /// Its input cannot be read.
        Undecodable = "undecodable",
        /// A breaker in fail-fast mode was open.
        FailFast = "fail_fast",
    }
);

words!(
    /// Why a job goes back to the queue.
    Requeue {
        /// Policy tries again.
        Retry = "retry",
        /// A drain gave it back.
        Release = "released",
        /// Its lease ran out.
        Reclaim = "reclaimed",
        /// The handler asked to run later.
        Snooze = "snoozed",
        /// The handler asked for another run.
        Reschedule = "rescheduled",
        /// The handler waits for a batch.
        AwaitBatch = "awaits_batch",
        /// The other side asked for time.
        Throttle = "throttled",
        /// A breaker's probe failed.
        ProbeRefund = "probe_refunded",
        /// It was claimed and never started.
        Return = "returned",
        /// Our own surroundings are at fault.
        Environment = "environment",
    }
);

/// When a requeued job may run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// As before: it keeps its place in the queue.
    Kept,
    /// So long after the store's now.
    In(Duration),
    /// At this instant.
    At(Timestamp),
    /// When this batch has ended.
    Batch(BatchId),
}

/// How the counters of the job change when it goes back to the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charge {
    /// The execution counts.
    Keep,
    /// The execution is given back.
    GiveBack,
    /// A new run: the count starts again.
    Reset,
}

/// What the engine does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// Record the result.
    Complete,
    /// Put it back.
    Requeue {
        /// Why.
        why: Requeue,
        /// When it may run.
        due: Due,
        /// What the execution costs.
        charge: Charge,
        /// The retries spent from now on.
        spent: Spent,
        /// It must run alone from now on.
        alone: bool,
    },
    /// Give up and keep it for people.
    GiveUp {
        /// Why.
        reason: DeadReason,
        /// The code to record, where policy and not the handler ended it.
        code: Option<Code>,
    },
}

/// What the engine does next with a job whose attempt just ended, and the rule that said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What to do.
    pub step: NextStep,
    /// Which rule said so.
    pub because: Rule,
}

/// A short wait for work that is put back through no fault of its own.
const BREATH: Duration = Duration::from_secs(1);

/// Decides what happens after an attempt. `now` is the store's clock, `draw` a uniform `u64`.
#[must_use]
pub fn decide(outcome: Outcome, job: &JobFacts, policy: &Policy, now: Timestamp, draw: u64) -> Decision {
    let d = Decider { job, policy, now, draw };
    match outcome {
        Outcome::Done(done) => d.done(done),
        Outcome::Failed { code, retry_after } => d.failed(code, retry_after),
        Outcome::Released => d.released(),
        Outcome::Unstarted => d.requeue(Requeue::Return, Due::Kept, Charge::GiveBack, Rule::NeverStarted),
        Outcome::Crashed => d.crashed(),
        Outcome::LeaseLost => d.lease_lost(),
        Outcome::TooLate => give_up(DeadReason::Deadline, Some(Code::SystemDeadline), Rule::DeadlinePassed),
    }
}

struct Decider<'a> {
    job: &'a JobFacts,
    policy: &'a Policy,
    now: Timestamp,
    draw: u64,
}

impl Decider<'_> {
    fn done(&self, done: Done) -> Decision {
        let again = |due| self.requeue(Requeue::Reschedule, due, Charge::Reset, Rule::HandlerRescheduled);
        match done {
            Done::Complete => Decision { step: NextStep::Complete, because: Rule::HandlerCompleted },
            Done::RescheduleNow => again(Due::In(Duration::ZERO)),
            Done::RescheduleIn(wait) => again(Due::In(wait)),
            Done::RescheduleAt(at) => again(Due::At(at)),
            Done::Snooze(wait) => {
                self.requeue(Requeue::Snooze, Due::In(wait), Charge::GiveBack, Rule::HandlerSnoozed)
            }
            Done::AwaitBatch(id) => {
                self.requeue(Requeue::AwaitBatch, Due::Batch(id), Charge::GiveBack, Rule::HandlerAwaitsBatch)
            }
        }
    }

    fn failed(&self, code: Code, retry_after: Option<Duration>) -> Decision {
        let class = code.class();
        match class {
            Class::Environment => {
                return self.requeue(
                    Requeue::Environment,
                    Due::In(BREATH),
                    Charge::GiveBack,
                    Rule::EnvironmentAtFault,
                );
            }
            // A probe asks whether the target is back; the job it was made with must not pay when it is not.
            Class::Transient if self.job.probe && Call::of(code).is_failure() => {
                // The oldest held job stays the probe, unless it may be the one that the target cannot stand.
                let due = if self.job.others_first { Due::In(Duration::ZERO) } else { Due::Kept };
                return self.requeue(Requeue::ProbeRefund, due, Charge::GiveBack, Rule::ProbeFailed);
            }
            Class::Throttled => return self.throttled(retry_after),
            Class::Permanent | Class::Request if self.policy.ends_at_once(code) => {
                let reason = match code {
                    Code::SystemUndecodable => DeadReason::Undecodable,
                    Code::SourceMissing | Code::SourceChanged | Code::Expired => DeadReason::Expired,
                    _ => DeadReason::NonRetryable,
                };
                return give_up(reason, None, Rule::NotRetryable);
            }
            Class::Transient | Class::Permanent | Class::Request | Class::Crash => {}
        }
        self.retry(Requeue::Retry, code, retry_after, self.job.alone, Rule::Retryable)
    }

    fn throttled(&self, retry_after: Option<Duration>) -> Decision {
        let wait = self.wait(retry_after);
        let mut spent = self.job.spent.clone();
        let waited = spent.throttle(wait);
        if waited > self.policy.throttle_deadline && !self.policy.is_permanent() {
            // With the code of the last answer: trying again later may well help.
            return give_up(DeadReason::Deadline, None, Rule::ThrottledTooLong);
        }
        let (due, alone) = (Due::In(wait), self.job.alone);
        let step = NextStep::Requeue { why: Requeue::Throttle, due, charge: Charge::GiveBack, spent, alone };
        Decision { step, because: Rule::Throttled }
    }

    fn released(&self) -> Decision {
        if self.job.releases < self.policy.max_releases {
            return self.requeue(
                Requeue::Release,
                Due::In(Duration::ZERO),
                Charge::GiveBack,
                Rule::ReleasedUncharged,
            );
        }
        if self.is_at_cap() {
            return give_up(DeadReason::Exhausted, Some(Code::SystemInterrupted), Rule::AttemptsUsedUp);
        }
        self.requeue(Requeue::Release, Due::In(Duration::ZERO), Charge::Keep, Rule::ReleasedTooOften)
    }

    fn crashed(&self) -> Decision {
        if self.policy.is_permanent() {
            let alone = self.job.alone || self.job.crashes >= 1;
            return self.retry(Requeue::Reclaim, Code::SystemWorkerLost, None, alone, Rule::CrashRetried);
        }
        if self.job.alone {
            return give_up(DeadReason::Crashed, Some(Code::SystemQuarantined), Rule::CrashedAlone);
        }
        if self.is_at_cap() {
            return give_up(DeadReason::Crashed, Some(Code::SystemWorkerLost), Rule::AttemptsUsedUp);
        }
        let second = self.job.crashes >= 1;
        let rule = if second { Rule::SecondCrashRunsAlone } else { Rule::CrashRetried };
        self.retry(Requeue::Reclaim, Code::SystemWorkerLost, None, second, rule)
    }

    fn lease_lost(&self) -> Decision {
        if self.is_at_cap() {
            return give_up(DeadReason::Exhausted, Some(Code::SystemLeaseLost), Rule::AttemptsUsedUp);
        }
        self.retry(Requeue::Reclaim, Code::SystemLeaseLost, None, self.job.alone, Rule::LeaseLostRetried)
    }

    /// Retries under every cap there is, or gives up by the first one that is reached.
    fn retry(
        &self,
        why: Requeue,
        code: Code,
        retry_after: Option<Duration>,
        alone: bool,
        rule: Rule,
    ) -> Decision {
        let wait = self.wait(retry_after);
        let mut spent = self.job.spent.clone();
        if !self.policy.is_permanent() {
            if let Retries::AtMost(cap) = self.policy.retries_of(code) {
                if spent.code(code) >= cap {
                    return give_up(DeadReason::Exhausted, None, Rule::CodeCapReached);
                }
                spent.spend(code.name());
            }
            let budget = code.entry().budget;
            if let Some(cap) = self.policy.budgets.get(&budget) {
                if spent.budget(budget) >= *cap {
                    return give_up(DeadReason::Exhausted, None, Rule::BudgetUsedUp);
                }
                spent.spend(budget.as_str());
            }
            if self.is_at_cap() {
                return give_up(DeadReason::Exhausted, None, Rule::AttemptsUsedUp);
            }
            let ends = self.policy.deadline.map(|limit| instant::after(self.job.queued_at, limit));
            if ends.is_some_and(|ends| instant::after(self.now, wait) > ends) {
                return give_up(DeadReason::Deadline, None, Rule::DeadlinePassed);
            }
        }
        let step = NextStep::Requeue { why, due: Due::In(wait), charge: Charge::Keep, spent, alone };
        Decision { step, because: rule }
    }

    fn is_at_cap(&self) -> bool {
        self.policy.max_attempts.is_some_and(|cap| self.job.attempt >= cap)
    }

    /// The server's wish decides in place of the curve.
    fn wait(&self, retry_after: Option<Duration>) -> Duration {
        match retry_after {
            Some(wish) => backoff::asked(wish, self.policy.retry_after_cap, self.draw),
            None => self.policy.backoff.delay(self.job.attempt.saturating_sub(1), self.draw),
        }
    }

    fn requeue(&self, why: Requeue, due: Due, charge: Charge, because: Rule) -> Decision {
        let spent = match charge {
            Charge::Keep | Charge::GiveBack => self.job.spent.clone(),
            Charge::Reset => Spent::default(),
        };
        let alone = self.job.alone && charge != Charge::Reset;
        Decision { step: NextStep::Requeue { why, due, charge, spent, alone }, because }
    }
}

fn give_up(reason: DeadReason, code: Option<Code>, because: Rule) -> Decision {
    Decision { step: NextStep::GiveUp { reason, code }, because }
}

#[cfg(test)]
mod tests;
