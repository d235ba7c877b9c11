//! Recording how an attempt ended.
//!
//! One finish writes the job row, the attempt, the event and, where they apply, the dead letter, the group and the
//! batch's counters, in one transaction. It is fenced by the lease token.

use std::time::Duration;

use redrive_model::decide::{Charge, DeadReason, Due, Requeue, Spent};
use redrive_model::fingerprint::Fingerprint;
use redrive_model::limits::MAX_STATE_BYTES;
use redrive_model::{Code, Decision, Failure, NextStep, Policy, Rule, State, Target, WorkloadName};

use crate::{Lease, Result, StoreError};

/// By which right the attempt is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authority {
    /// The worker that holds the lease.
    Holder,
    /// Anybody, because the lease has run out; refused while it has not.
    Expired,
}

/// What happens to the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// It is done.
    Complete {
        /// Where its result is; `None` for jobs that leave none.
        result: Option<String>,
        /// How long the row is kept.
        keep: Option<Duration>,
    },
    /// It goes back to the queue.
    Requeue {
        /// Why.
        why: Requeue,
        /// When it may run.
        due: Due,
        /// What the execution costs.
        charge: Charge,
        /// Retries spent from now on.
        spent: Spent,
        /// It must run alone from now on.
        alone: bool,
    },
    /// It is given up and becomes a dead letter. The report must carry a failure and its group; without them the call
    /// is refused as invalid.
    Fail {
        /// Why.
        reason: DeadReason,
        /// How long the row is kept.
        keep: Option<Duration>,
    },
}

impl Step {
    /// The state this leads to.
    #[must_use]
    pub const fn state(&self) -> State {
        match self {
            Self::Complete { .. } => State::Complete,
            Self::Requeue { .. } => State::Queued,
            Self::Fail { .. } => State::Failed,
        }
    }

    /// The word that the attempt's row has for this.
    #[must_use]
    pub const fn outcome(&self) -> &'static str {
        match self {
            Self::Complete { .. } => "complete",
            Self::Requeue { why, .. } => why.as_str(),
            Self::Fail { .. } => "failed",
        }
    }
}

/// What is recorded about the attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The rule that decided.
    pub rule: Rule,
    /// Which policy's numbers it used.
    pub policy: String,
    /// What went wrong, if anything did.
    pub failure: Option<Failure>,
    /// The group of that failure.
    pub fingerprint: Option<Fingerprint>,
    /// The target it is blamed on.
    pub target: Option<Target>,
}

/// One attempt that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    /// Which attempt.
    pub lease: Lease,
    /// By which right.
    pub authority: Authority,
    /// What happens to the job.
    pub step: Step,
    /// What is recorded.
    pub report: Report,
    /// New durable execution state, saved in the same transaction.
    pub state: Option<Vec<u8>>,
    /// How many bytes the result has: the batch of a member that completes adds them up.
    pub bytes: u64,
}

impl Finish {
    /// Turns a decision into the write that carries it out.
    #[must_use]
    pub fn decided(
        lease: Lease,
        workload: &WorkloadName,
        policy: &Policy,
        decision: Decision,
        failure: Option<Failure>,
        target: Option<Target>,
    ) -> Self {
        Self::decided_under(lease, workload, policy, policy.version(), decision, failure, target)
    }

    /// The same for a policy whose version is known already.
    #[must_use]
    pub fn decided_under(
        lease: Lease,
        workload: &WorkloadName,
        policy: &Policy,
        version: String,
        decision: Decision,
        failure: Option<Failure>,
        target: Option<Target>,
    ) -> Self {
        let mut failure = failure;
        let step = match decision.step {
            NextStep::Complete => Step::Complete { result: None, keep: policy.keep.complete },
            NextStep::Requeue { why, due, charge, spent, alone } => {
                Step::Requeue { why, due, charge, spent, alone }
            }
            NextStep::GiveUp { reason, code } => {
                failure = Some(given_up(failure, code, decision.because));
                Step::Fail { reason, keep: policy.keep.failed }
            }
        };
        let fingerprint =
            failure.as_ref().map(|f| Fingerprint::new(f.code, workload, target.as_ref(), &f.message));
        let report = Report { rule: decision.because, policy: version, failure, fingerprint, target };
        Self { lease, authority: Authority::Holder, step, report, state: None, bytes: 0 }
    }

    /// Ends the attempt of a lease that has run out.
    #[must_use]
    pub fn expired(mut self) -> Self {
        self.authority = Authority::Expired;
        self
    }

    /// Records where the result is.
    #[must_use]
    pub fn with_result(mut self, reference: String) -> Self {
        if let Step::Complete { result, .. } = &mut self.step {
            *result = Some(reference);
        }
        self
    }

    /// Whether a batch counts this as a member that could never have worked.
    #[must_use]
    pub fn is_hard_failure(&self) -> bool {
        match &self.step {
            Step::Fail { .. } => self.report.failure.as_ref().is_some_and(|f| !f.code.is_retryable()),
            Step::Complete { .. } | Step::Requeue { .. } => false,
        }
    }

    /// Whether an attempt that was recorded with these words was recorded by this very finish: then its answer was lost
    /// and it is made again. A rescue that gave the job up and a late failure of its worker differ in rule and code.
    #[must_use]
    pub fn is_repetition_of(&self, outcome: &str, rule: Option<&str>, code: Option<&str>) -> bool {
        self.authority == Authority::Holder
            && self.step.outcome() == outcome
            && Some(self.report.rule.as_str()) == rule
            && self.report.failure.as_ref().map(|failure| failure.code.name()) == code
    }

    /// Whether the end of this attempt is counted as a crash.
    #[must_use]
    pub fn is_crash(&self) -> bool {
        match &self.step {
            Step::Fail { reason, .. } => *reason == DeadReason::Crashed,
            Step::Complete { .. } | Step::Requeue { .. } => self.report.rule.is_crash(),
        }
    }
}

/// The failure that ends the job: the handler's own, or one that names the rule that ended it.
fn given_up(failure: Option<Failure>, code: Option<Code>, rule: Rule) -> Failure {
    match (failure, code) {
        (Some(failure), None) => failure,
        (Some(failure), Some(code)) => Failure::new(code, rule.sentence())
            .with("last_code", failure.code.name())
            .with("last_message", failure.message),
        (None, code) => Failure::new(code.unwrap_or(Code::Unknown), rule.sentence()),
    }
}

/// Checks a call before anything is written. Both stores use this, so that both refuse the same things in the same words.
pub fn validate_finishes(finishes: &[Finish]) -> Result<()> {
    for f in finishes {
        let told = f.report.failure.is_some() && f.report.fingerprint.is_some();
        if matches!(f.step, Step::Fail { .. }) && !told {
            let text = "a job can only be failed with a failure that says why, and its group";
            return Err(StoreError::Invalid(text.into()));
        }
        f.state.as_deref().map_or(Ok(()), validate_state)?;
    }
    Ok(())
}

/// Checks execution state before it is saved.
pub fn validate_state(state: &[u8]) -> Result<()> {
    if state.len() > MAX_STATE_BYTES {
        let text =
            format!("execution state has {} bytes, at most {MAX_STATE_BYTES} are allowed", state.len());
        return Err(StoreError::Invalid(text));
    }
    Ok(())
}

/// What became of one finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// Recorded, now or by the same finish before; this is the state it led to.
    Recorded(State),
    /// The authority was lost: nothing changed, and what came too late is noted with the attempt.
    Lost,
}
