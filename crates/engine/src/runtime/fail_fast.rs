//! Targets whose jobs would rather fail than wait: while such a breaker is open, what waits for it is given up at once.

use std::collections::BTreeMap;

use redrive_model::breaker::{Mode, Phase};
use redrive_model::decide::DeadReason;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::{Code, Failure, JobId, Rule, Shown, Target, Timestamp, WorkloadName};
use redrive_store::{Acted, BreakerRow, GiveUp, JobFilter, PageRequest};

use super::Worker;

/// Jobs that are given up in one call.
const TOGETHER: usize = 200;
/// Pages that are looked at for one target at a time; the next look goes on.
const PAGES: usize = 10;

/// Gives up what waits for targets that are open and set to fail fast. Once the cool-down is over they are left alone, so
/// that the next job can be the probe.
pub(crate) async fn run(worker: &Worker, rows: &[BreakerRow], now: Timestamp) -> redrive_store::Result<()> {
    for row in rows {
        let open = matches!(row.breaker.phase, Phase::Open { until } if until > now);
        let config = (worker.options.breaker)(&row.target);
        if open && config.mode == Mode::FailFast {
            give_up(worker, &row.target, config.refusal).await?;
        }
    }
    Ok(())
}

fn refusal(target: &Target, code: Code) -> Failure {
    let text = format_args!("the breaker of {target} is open and set to fail fast");
    Failure::new(code, text).at(target.clone())
}

async fn give_up(worker: &Worker, target: &Target, code: Code) -> redrive_store::Result<()> {
    let mut cursor = None;
    for _ in 0..PAGES {
        let filter =
            JobFilter { target: Some(target.clone()), shown: vec![Shown::Held], ..JobFilter::default() };
        let page = worker.store.jobs(filter, PageRequest { limit: TOGETHER, cursor }).await?;
        let mut by_workload: BTreeMap<WorkloadName, Vec<JobId>> = BTreeMap::new();
        for row in page.rows {
            by_workload.entry(row.workload).or_default().push(row.id);
        }
        for (workload, jobs) in by_workload {
            // Whoever knows the workload knows how long its failures are kept.
            let Some(registered) = worker.registry.get(&workload) else { continue };
            let failure = refusal(target, code);
            tracing::warn!(event = "breaker.failed_fast", %target, %workload, jobs = jobs.len(), "jobs were given up at once");
            let call = GiveUp {
                jobs,
                reason: DeadReason::FailFast,
                rule: Rule::BreakerFailFast,
                fingerprint: Fingerprint::new(failure.code, &workload, Some(target), &failure.message),
                failure,
                target: Some(target.clone()),
                keep: registered.rules.policy.keep.failed,
            };
            let acted = worker.store.give_up(call).await?;
            let count = acted.iter().filter(|acted| **acted == Acted::Done).count() as u64;
            super::report::failed(&workload, code, count);
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    Ok(())
}
