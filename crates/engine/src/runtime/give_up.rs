//! Jobs that wait for a target in vain are given up: at once while its breaker is open and set to fail fast, else when it has been
//! down for longer than they wait.

use std::collections::BTreeMap;

use redrive_model::breaker::{Breaker, Config, Mode, Phase};
use redrive_model::decide::DeadReason;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::{Failure, JobId, Rule, Shown, Target, Timestamp, WorkloadName};
use redrive_store::{Acted, BreakerRow, GiveUp, JobFilter, PageRequest};

use super::{Worker, breakers};

/// Jobs that are given up in one call.
const TOGETHER: usize = 200;
/// Pages that are looked at for one target at a time; the next look goes on.
const PAGES: usize = 10;

/// Why what waits for a target is given up, and with what.
struct Verdict {
    reason: DeadReason,
    rule: Rule,
    failure: Failure,
}

impl Verdict {
    fn fail_fast(row: &BreakerRow, config: &Config, now: Timestamp) -> Option<Self> {
        // Once the cool-down is over they are left alone, so that the next job can be the probe.
        let open = matches!(row.breaker.phase, Phase::Open { until } if until > now);
        (open && config.mode == Mode::FailFast).then(|| {
            let text = format_args!("the breaker of {} is open and set to fail fast", row.target);
            let failure = Failure::new(config.refusal, text).at(row.target.clone());
            Self { reason: DeadReason::FailFast, rule: Rule::BreakerFailFast, failure }
        })
    }

    fn stayed_down(row: &BreakerRow, config: &Config, now: Timestamp) -> Option<Self> {
        let down = row.breaker.overdue(config, now)?;
        let text = format_args!(
            "{} has been down since {:.0}: this job was not tried any more",
            row.target, down.since
        );
        let failure = Failure::new(down.code.unwrap_or(config.refusal), text)
            .at(row.target.clone())
            .with("down_since", down.since.to_string());
        Some(Self { reason: DeadReason::Exhausted, rule: Rule::TargetStayedDown, failure })
    }
}

/// Gives up what waits in vain.
pub(crate) async fn run(worker: &Worker, rows: &[BreakerRow], now: Timestamp) -> redrive_store::Result<()> {
    for row in rows {
        let config = (worker.options.breaker)(&row.target);
        if let Some(verdict) = Verdict::fail_fast(row, &config, now) {
            give_up(worker, &row.target, &verdict).await?;
        } else if let Some(verdict) = Verdict::stayed_down(row, &config, now)
            && give_up(worker, &row.target, &verdict).await?
        {
            let start_over = |breaker: &mut Breaker, now: Timestamp| {
                if breaker.overdue(&config, now).is_some() {
                    breaker.start_over(now);
                }
            };
            breakers::change(&*worker.store, &row.target, start_over).await?;
        }
    }
    Ok(())
}

/// Answers whether nothing is left that waits for the target.
async fn give_up(worker: &Worker, target: &Target, verdict: &Verdict) -> redrive_store::Result<bool> {
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
            let Verdict { reason, rule, failure } = verdict;
            tracing::warn!(event = "breaker.given_up", %target, %workload, error_code = failure.code.name(), rule = rule.as_str(), jobs = jobs.len(), "jobs that waited for it were given up");
            let call = GiveUp {
                jobs,
                reason: *reason,
                rule: *rule,
                fingerprint: Fingerprint::new(failure.code, &workload, Some(target), &failure.message),
                failure: failure.clone(),
                target: Some(target.clone()),
                keep: registered.rules.policy.keep.failed,
            };
            let acted = worker.store.give_up(call).await?;
            let count = acted.iter().filter(|acted| **acted == Acted::Done).count() as u64;
            super::report::failed(&workload, failure.code, count);
        }
        cursor = page.next;
        if cursor.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}
