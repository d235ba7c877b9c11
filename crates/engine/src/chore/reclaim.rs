//! Taking back leases that have run out.

use std::sync::Arc;
use std::time::Duration;

use redrive_model::{Code, Done, Failure, NextStep, Outcome, Policy, decide};
use redrive_store::{Expired, Finish, Finished, Store};
use tokio::time::Instant;

use crate::contact::Contact;
use crate::registry::Registry;
use crate::runtime::report;
use crate::{Context, Options, Permanent, ids};

/// The sweeper works for so long in one execution, so that it leaves few rows behind.
const SHIFT: Duration = Duration::from_secs(600);

/// The permanent job that sweeps for everybody.
pub(crate) struct Reclaim {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) registry: Registry,
    pub(crate) options: Options,
    pub(crate) contact: Arc<Contact>,
}

impl Permanent for Reclaim {
    fn policy(&self) -> Policy {
        Policy { attempt_timeout: SHIFT * 2, ..Policy::permanent() }
    }

    async fn run(&self, ctx: Context) -> Result<Done, Failure> {
        let end = Instant::now() + SHIFT;
        while Instant::now() < end && !ctx.is_cancelled() {
            rescue(&*self.store, &self.registry, &self.options, &self.contact)
                .await
                .map_err(|error| Failure::new(Code::StorageUnavailable, error))?;
            // Spread, so that many processes do not look at the same instant.
            let spread = self.options.sweep().mul_f64(0.8 + 0.4 * ids::fraction());
            tokio::select! {
                () = tokio::time::sleep(spread) => {}
                () = ctx.cancelled() => {}
            }
        }
        Ok(Done::RescheduleNow)
    }
}

/// Takes back what has run out, as far as its workloads are known here: others leave its fate alone. Answers how many.
/// Shortly after an outage nothing is taken back, because everybody would look dead.
pub(crate) async fn rescue(
    store: &dyn Store,
    registry: &Registry,
    options: &Options,
    contact: &Contact,
) -> redrive_store::Result<usize> {
    let expired = store.expired(Some(&registry.names()), options.reclaim_limit).await?;
    // Asked before an outage and answered after it, the question is as bad as one asked after it.
    if expired.is_empty() || !contact.is_steady() {
        return Ok(0);
    }
    let now = store.now().await?;
    let finish = |expired: &Expired| {
        let rules = &registry.get(&expired.workload)?.rules;
        let (outcome, failure) = verdict(expired);
        let cap = expired.max_attempts.or(rules.policy.max_attempts);
        let policy = Policy { max_attempts: cap, ..rules.policy.clone() };
        let decision = decide(outcome, &expired.facts, &policy, now, ids::draw());
        if let NextStep::GiveUp { code, .. } = &decision.step {
            let code = code.unwrap_or(failure.code);
            report::failed(&expired.workload, code, 1);
        }
        let finish = Finish::decided_under(
            expired.lease,
            &expired.workload,
            &policy,
            rules.version.clone(),
            decision,
            Some(failure),
            None,
        );
        Some(finish.expired())
    };
    let finishes: Vec<Finish> = expired.iter().filter_map(finish).collect();
    let answers = store.finish(finishes).await?;
    let taken = answers.iter().filter(|answer| matches!(answer, Finished::Recorded(_))).count();
    metrics::counter!("redrive_leases_reclaimed_total").increment(taken as u64);
    for expired in &expired {
        tracing::warn!(
            event = "lease.reclaimed",
            job_id = %expired.lease.job,
            workload = %expired.workload,
            worker = %expired.worker,
            worker_alive = expired.worker_alive,
            attempt = expired.facts.attempt,
            crashes = expired.facts.crashes,
            "a lease ran out and was taken back"
        );
    }
    Ok(taken)
}

/// A worker that still lives has only lost its lease; one that is gone has crashed, and what is known is kept as evidence.
fn verdict(expired: &Expired) -> (Outcome, Failure) {
    let (outcome, code, text) = if expired.worker_alive {
        (Outcome::LeaseLost, Code::SystemLeaseLost, "the lease ran out while its worker lived")
    } else {
        (Outcome::Crashed, Code::SystemWorkerLost, "the worker stopped while it ran this job")
    };
    let failure = Failure::new(code, text)
        .with("worker", expired.worker.to_string())
        .with("lease_token", expired.lease.token.0)
        .with("lease_expired_at", expired.expired_at.to_string())
        .with("crashes_before", expired.facts.crashes)
        .with("ran_alone", expired.facts.alone);
    (outcome, failure)
}
