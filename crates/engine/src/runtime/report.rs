//! What is logged and counted when an attempt ends.

use redrive_model::decide::Requeue;
use redrive_model::{Code, Decision, Failure, NextStep, WorkloadName};
use redrive_store::Claimed;

use crate::registry::Registered;

/// One line per attempt that did not simply succeed, one counter per outcome.
pub(crate) fn ended(
    claimed: &Claimed,
    registered: &Registered,
    decision: &Decision,
    failure: Option<&Failure>,
) {
    let workload = || claimed.workload.to_string();
    let code = failure.map_or("", |failure| failure.code.name());
    match &decision.step {
        NextStep::Complete => {
            registered.meters(&claimed.workload).completed.increment(1);
            tracing::debug!(event = "job.complete", job = %claimed.lease.job, workload = %claimed.workload, attempt = claimed.facts.attempt);
        }
        NextStep::Requeue { why, .. } => {
            if *why == Requeue::Retry {
                metrics::counter!("redrive_jobs_retries_total", "workload" => workload(), "code" => code)
                    .increment(1);
            }
            let Some(failure) = failure else {
                tracing::debug!(event = "job.requeued", job = %claimed.lease.job, workload = %claimed.workload, why = why.as_str());
                return;
            };
            // The first few failures are expected; later ones want attention.
            let attempt = claimed.facts.attempt;
            if registered.rules.policy.warn_attempts.is_some_and(|n| attempt > n) {
                tracing::error!(event = "job.retry", job = %claimed.lease.job, workload = %claimed.workload, attempt, code, rule = decision.because.as_str(), "{}", failure.message);
            } else {
                tracing::warn!(event = "job.retry", job = %claimed.lease.job, workload = %claimed.workload, attempt, code, rule = decision.because.as_str(), "{}", failure.message);
            }
        }
        NextStep::GiveUp { reason, code: own } => {
            let code = own.map_or(code, |own| own.name());
            let counted = own.or(failure.map(|failure| failure.code)).unwrap_or(Code::Unknown);
            failed(&claimed.workload, counted, 1);
            tracing::error!(
                event = "job.failed",
                job = %claimed.lease.job,
                workload = %claimed.workload,
                attempt = claimed.facts.attempt,
                code,
                reason = reason.as_str(),
                rule = decision.because.as_str(),
                "{}",
                failure.map_or("", |failure| failure.message.as_str())
            );
        }
    }
}

/// So many jobs were given up.
pub(crate) fn failed(workload: &WorkloadName, code: Code, count: u64) {
    metrics::counter!("redrive_jobs_failed_total", "workload" => workload.to_string(), "code" => code.name())
        .increment(count);
}
