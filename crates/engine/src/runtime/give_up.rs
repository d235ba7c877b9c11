//! Jobs that wait for a target in vain are given up: at once while its breaker is open and set to fail fast, else when it has been
//! down, or has asked for time and done nothing else, for longer than they wait.

use std::collections::BTreeMap;
use std::time::Duration;

use redrive_model::breaker::{Breaker, Config, Mode, NEXT_WISH, Phase};
use redrive_model::decide::DeadReason;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::{Failure, JobId, Policy, Rule, Shown, Target, Timestamp, WorkloadName, instant};
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
    /// Where it is because the target asks for time.
    asked: Option<Asked>,
}

/// A target asks for time.
#[derive(Debug, Clone, Copy)]
struct Asked {
    /// For so long, all in all.
    long: Duration,
    /// And until then.
    until: Timestamp,
}

/// What becomes of a job that a held target keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is given up.
    Ends,
    /// Its time will come.
    Waits,
    /// It is none of those that are ever given up, or is not due anyway.
    Stays,
}

impl Verdict {
    fn fail_fast(row: &BreakerRow, config: &Config, now: Timestamp) -> Option<Self> {
        // Once the cool-down is over they are left alone, so that the next job can be the probe.
        let open = matches!(row.breaker.phase, Phase::Open { until } if until > now);
        (open && config.mode == Mode::FailFast).then(|| {
            let text = format_args!("the breaker of {} is open and set to fail fast", row.target);
            let failure = Failure::new(config.refusal, text).at(row.target.clone());
            Self { reason: DeadReason::FailFast, rule: Rule::BreakerFailFast, failure, asked: None }
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
        Some(Self { reason: DeadReason::Exhausted, rule: Rule::TargetStayedDown, failure, asked: None })
    }

    fn asked_too_long(row: &BreakerRow, limit: Duration, now: Timestamp) -> Option<Self> {
        let asking = row.breaker.asks_too_long(limit, now)?;
        let until = row.breaker.throttled_until?;
        let text = format_args!(
            "{} has asked for time since {:.0}, without one good answer: this job was not tried any more",
            row.target, asking.since
        );
        let failure = Failure::new(asking.code, text)
            .at(row.target.clone())
            .with("throttled_since", asking.since.to_string());
        let asked = Some(Asked { long: instant::between(asking.since, now), until });
        Some(Self { reason: DeadReason::Deadline, rule: Rule::ThrottledTooLong, failure, asked })
    }

    fn fate(&self, policy: &Policy, due_at: Timestamp) -> Fate {
        match self.asked {
            None => Fate::Ends,
            // What is due much later waits for something else.
            Some(asked) if policy.is_permanent() || instant::between(asked.until, due_at) > NEXT_WISH => {
                Fate::Stays
            }
            Some(asked) if asked.long < policy.throttle_deadline => Fate::Waits,
            Some(_) => Fate::Ends,
        }
    }
}

/// Gives up what waits in vain.
pub(crate) async fn run(worker: &Worker, rows: &[BreakerRow], now: Timestamp) -> redrive_store::Result<()> {
    // The first of our workloads whose jobs wait no longer.
    let limits = worker.registry.iter().map(|(_, registered)| &registered.rules.policy);
    let limit = limits.filter(|policy| !policy.is_permanent()).map(|policy| policy.throttle_deadline).min();
    for row in rows {
        let config = (worker.options.breaker)(&row.target);
        if let Some(verdict) = Verdict::fail_fast(row, &config, now) {
            give_up(worker, &row.target, &verdict).await?;
        } else if let Some(verdict) = Verdict::stayed_down(row, &config, now) {
            if give_up(worker, &row.target, &verdict).await? {
                let start_over = |breaker: &mut Breaker, now: Timestamp| {
                    if breaker.overdue(&config, now).is_some() {
                        breaker.start_over(now);
                    }
                };
                breakers::change(&*worker.store, &row.target, start_over).await?;
            }
        } else if let Some(limit) = limit
            && let Some(verdict) = Verdict::asked_too_long(row, limit, now)
            && give_up(worker, &row.target, &verdict).await?
        {
            // While it holds still nobody has come who was not given up.
            let ask_anew = |breaker: &mut Breaker, now: Timestamp| {
                if breaker.asks_too_long(limit, now).is_some() {
                    breaker.ask_anew();
                }
            };
            breakers::change(&*worker.store, &row.target, ask_anew).await?;
        }
    }
    Ok(())
}

/// Answers whether nothing is left that waits for the target.
async fn give_up(worker: &Worker, target: &Target, verdict: &Verdict) -> redrive_store::Result<bool> {
    let (mut cursor, mut nothing_left) = (None, true);
    for _ in 0..PAGES {
        let filter =
            JobFilter { target: Some(target.clone()), shown: vec![Shown::Held], ..JobFilter::default() };
        let page = worker.store.jobs(filter, PageRequest { limit: TOGETHER, cursor }).await?;
        let mut by_workload: BTreeMap<WorkloadName, Vec<JobId>> = BTreeMap::new();
        for row in page.rows {
            // Whoever knows the workload knows how long its jobs wait, and how long its failures are kept.
            let Some(registered) = worker.registry.get(&row.workload) else { continue };
            match verdict.fate(&registered.rules.policy, row.due_at) {
                Fate::Ends => by_workload.entry(row.workload).or_default().push(row.id),
                Fate::Waits => nothing_left = false,
                Fate::Stays => {}
            }
        }
        for (workload, jobs) in by_workload {
            let Some(registered) = worker.registry.get(&workload) else { continue };
            let Verdict { reason, rule, failure, asked: _ } = verdict;
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
            return Ok(nothing_left);
        }
    }
    Ok(false)
}
