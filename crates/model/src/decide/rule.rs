//! The rules by name, with the sentence that `explain` shows.

use crate::state::words;
use serde::{Deserialize, Serialize};

words!(
    /// The rule that decided. Stored with the attempt.
    Rule {
        /// The handler returned `Complete`.
        HandlerCompleted = "handler_completed",
        /// The handler asked for another run.
        HandlerRescheduled = "handler_rescheduled",
        /// The handler asked to run later.
        HandlerSnoozed = "handler_snoozed",
        /// The handler waits for a batch.
        HandlerAwaitsBatch = "handler_awaits_batch",
        /// The failure may pass, and there are attempts left.
        Retryable = "retryable",
        /// The failure will not change by itself.
        NotRetryable = "not_retryable",
        /// The cap on executions is reached.
        AttemptsUsedUp = "attempts_used_up",
        /// The cap on retries of this code is reached.
        CodeCapReached = "code_cap_reached",
        /// The budget this code spends is used up.
        BudgetUsedUp = "budget_used_up",
        /// The next try would be after the deadline.
        DeadlinePassed = "deadline_passed",
        /// The other side asked for time.
        Throttled = "throttled",
        /// The other side asked for more time than throttling may take: this job, or all that wait for it.
        ThrottledTooLong = "throttled_too_long",
        /// Our own surroundings are at fault.
        EnvironmentAtFault = "environment_at_fault",
        /// The attempt was a breaker's probe.
        ProbeFailed = "probe_failed",
        /// A drain gave the job back.
        ReleasedUncharged = "released_uncharged",
        /// It was claimed and never started.
        NeverStarted = "never_started",
        /// A drain gave the job back once too often.
        ReleasedTooOften = "released_too_often",
        /// First crash.
        CrashRetried = "crash_retried",
        /// Second crash.
        SecondCrashRunsAlone = "second_crash_runs_alone",
        /// Crash while it ran alone.
        CrashedAlone = "crashed_alone",
        /// The lease ran out while the worker lived.
        LeaseLostRetried = "lease_lost_retried",
        /// A person did it.
        ByHand = "by_hand",
        /// A fail-fast breaker did it.
        BreakerFailFast = "breaker_fail_fast",
        /// A target stayed down for longer than its jobs wait.
        TargetStayedDown = "target_stayed_down",
        /// The input could not be read.
        Undecodable = "undecodable",
    }
);

impl Rule {
    /// Whether the rule answers a crash, which is counted apart from failures.
    #[must_use]
    pub const fn is_crash(self) -> bool {
        matches!(self, Self::CrashRetried | Self::SecondCrashRunsAlone | Self::CrashedAlone)
    }

    /// One sentence for `explain`.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::HandlerCompleted => "The handler finished the job.",
            Self::HandlerRescheduled => {
                "The handler asked for another run; the count of attempts starts again."
            }
            Self::HandlerSnoozed => "The handler asked to run later; the attempt was given back.",
            Self::HandlerAwaitsBatch => {
                "The handler waits for a batch of its own; the attempt was given back."
            }
            Self::Retryable => {
                "This failure may pass and there are attempts left, so the job waits and runs again."
            }
            Self::NotRetryable => "This failure does not change by itself, so there is no retry.",
            Self::AttemptsUsedUp => "The job has used all the executions its policy allows.",
            Self::CodeCapReached => "This failure may be retried only so often, and it has been.",
            Self::BudgetUsedUp => "The budget that this kind of failure spends is used up.",
            Self::DeadlinePassed => "The next try would come after the job’s deadline.",
            Self::Throttled => "The other side asked for time; the job waits and loses no attempt.",
            Self::ThrottledTooLong => {
                "The other side asked for time, again and again, for longer than a job waits for it."
            }
            Self::EnvironmentAtFault => "Our own surroundings are at fault; the attempt was given back.",
            Self::NeverStarted => {
                "It was claimed but could not be started; it was given back and keeps its place."
            }
            Self::ProbeFailed => "The attempt only asked whether the target is back; it was given back.",
            Self::ReleasedUncharged => "The worker was stopping; the attempt was given back.",
            Self::ReleasedTooOften => {
                "The worker was stopping; the attempt counts, because too many were given back."
            }
            Self::CrashRetried => "The worker ended unexpectedly; the job runs again.",
            Self::SecondCrashRunsAlone => {
                "The worker ended unexpectedly for the second time; the job runs alone."
            }
            Self::CrashedAlone => {
                "The worker ended unexpectedly while this job ran alone; it is quarantined."
            }
            Self::LeaseLostRetried => "The worker lost its lease; the job runs again.",
            Self::ByHand => "A person decided it.",
            Self::BreakerFailFast => "A target’s breaker was open and is set to fail fast.",
            Self::TargetStayedDown => "The target was down for longer than its jobs wait.",
            Self::Undecodable => "The job’s input could not be read.",
        }
    }
}
