//! What is logged and counted when an attempt ends: one line, identifiers as fields, the same fields every time.

use std::time::Duration;

use redrive_model::decide::Requeue;
use redrive_model::{Code, Decision, Failure, NextStep, WorkloadName};
use redrive_store::Claimed;

use crate::registry::Registered;

/// One attempt that ended.
pub(crate) struct Ended<'a> {
    pub(crate) claimed: &'a Claimed,
    pub(crate) registered: &'a Registered,
    pub(crate) decision: &'a Decision,
    pub(crate) failure: Option<&'a Failure>,
    /// Since it was claimed.
    pub(crate) took: Duration,
    /// Whether the target it is blamed on lets nobody pass now.
    pub(crate) held: bool,
}

/// Writes the line of an attempt's end at this level.
macro_rules! line {
    ($level:ident, $event:literal, $ended:expr, $status:expr, $code:expr) => {{
        let ended = $ended;
        tracing::$level!(
            event = $event,
            job_id = %ended.claimed.lease.job,
            workload = %ended.claimed.workload,
            status = $status,
            attempt = ended.claimed.facts.attempt,
            duration_ms = u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX),
            target_status = ended.failure.and_then(|failure| failure.target_status),
            error_code = $code,
            breaker = if ended.held { "open" } else { "closed" },
            rule = ended.decision.because.as_str(),
            "{}",
            ended.failure.map_or("", |failure| failure.message.as_str())
        );
    }};
}

impl Ended<'_> {
    /// Logs and counts it.
    pub(crate) fn report(&self) {
        let workload = &self.claimed.workload;
        let code = self.failure.map(|failure| failure.code);
        let name = code.map_or("", Code::name);
        match &self.decision.step {
            NextStep::Complete => {
                self.registered.meters(workload).completed.increment(1);
                line!(debug, "job.complete", self, "complete", name);
            }
            NextStep::Requeue { why, .. } => {
                if *why == Requeue::Retry {
                    metrics::counter!("redrive_jobs_retries_total", "workload" => workload.to_string(), "code" => name)
                        .increment(1);
                }
                // The first few failures are expected; later ones want attention.
                let patience = self.registered.rules.policy.warn_attempts;
                match code {
                    None => line!(debug, "job.requeued", self, why.as_str(), name),
                    Some(_) if patience.is_some_and(|n| self.claimed.facts.attempt > n) => {
                        line!(error, "job.retry", self, why.as_str(), name);
                    }
                    Some(_) => line!(warn, "job.retry", self, why.as_str(), name),
                }
            }
            NextStep::GiveUp { code: own, .. } => {
                let code = own.or(code).unwrap_or(Code::Unknown);
                failed(workload, code, 1);
                line!(error, "job.failed", self, "failed", code.name());
            }
        }
    }
}

/// So many jobs were given up.
pub(crate) fn failed(workload: &WorkloadName, code: Code, count: u64) {
    metrics::counter!("redrive_jobs_failed_total", "workload" => workload.to_string(), "code" => code.name())
        .increment(count);
}
