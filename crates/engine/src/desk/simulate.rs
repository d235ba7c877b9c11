//! What another policy would have made of what has happened: the recorded failures, decided again.

use std::collections::BTreeMap;

use redrive_model::decide::{Charge, Requeue, Spent};
use redrive_model::{
    Class, Code, JobFacts, JobId, NextStep, Outcome, Policy, Rule, Shown, Timestamp, WorkloadName, decide,
};
use redrive_store::{AttemptRow, JobFilter, JobRow, PageRequest};

use crate::{Engine, Result};

/// The outcome of jobs under another policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simulated {
    /// Jobs that were looked at.
    pub jobs: u64,
    /// Nothing would have been different.
    pub same: u64,
    /// Completed in truth, and would have been given up before.
    pub lost: u64,
    /// Failed in truth, and would have been tried again: how that would have ended nobody knows.
    pub tried_longer: u64,
    /// Failed in truth, and would have been given up earlier.
    pub given_up_earlier: u64,
    /// Executions in truth.
    pub attempts: u64,
    /// Executions that would have been saved.
    pub saved: u64,
    /// Jobs that would have been lost or given up earlier, by the code that would have ended them.
    pub by_code: BTreeMap<&'static str, u64>,
}

impl Engine {
    /// Runs the recorded failures of a workload's jobs, from those created at `since` on, through another policy.
    pub async fn simulate(
        &self,
        workload: &WorkloadName,
        policy: &Policy,
        since: Timestamp,
    ) -> Result<Simulated> {
        let mut simulated = Simulated::default();
        for shown in [Shown::Complete, Shown::Failed] {
            let filter = JobFilter {
                workload: Some(workload.clone()),
                shown: vec![shown],
                since: Some(since),
                ..JobFilter::default()
            };
            let mut cursor = None;
            loop {
                let page = self.store().jobs(filter.clone(), PageRequest { limit: 200, cursor }).await?;
                // Newest first: behind the first old one there are only older ones.
                let past =
                    page.rows.is_empty() && page.next.as_deref().is_some_and(|next| is_before(next, since));
                for row in &page.rows {
                    let attempts = self.store().attempts(row.id).await?;
                    simulate(row, &attempts, policy, &mut simulated);
                }
                cursor = page.next.filter(|_| !past);
                if cursor.is_none() {
                    break;
                }
            }
        }
        Ok(simulated)
    }
}

/// Ids begin with the instant at which they were made.
fn is_before(cursor: &str, since: Timestamp) -> bool {
    let id = cursor.parse::<JobId>();
    id.is_ok_and(|id| id < JobId::from_parts(since, [0; 10]))
}

/// Decides the attempts of one job's newest generation again. What was given back then, and what began the count anew, does so here: that was
/// no question of the policy.
pub fn simulate(job: &JobRow, attempts: &[AttemptRow], policy: &Policy, into: &mut Simulated) {
    let attempts: Vec<&AttemptRow> = attempts.iter().filter(|a| a.generation == job.generation).collect();
    into.jobs += 1;
    into.attempts += attempts.len() as u64;
    let mut facts = JobFacts { queued_at: job.queued_at, ..JobFacts::default() };
    for (n, attempt) in attempts.iter().enumerate() {
        let outcome = match was(attempt) {
            Was::GivenBack => continue,
            Was::NewRun => {
                facts = JobFacts { attempt: 0, spent: Spent::default(), alone: false, ..facts };
                continue;
            }
            Was::Complete => {
                facts.attempt += 1;
                continue;
            }
            Was::Decided(outcome) => outcome,
        };
        facts.attempt += 1;
        let decision = decide(outcome, &facts, policy, attempt.ended_at, u64::MAX / 2);
        let last = n + 1 == attempts.len();
        match decision.step {
            NextStep::Complete => {}
            NextStep::Requeue { charge, spent, alone, .. } => {
                let given_back = charge != Charge::Keep;
                facts = JobFacts {
                    attempt: facts.attempt - u32::from(given_back),
                    releases: facts.releases + u32::from(given_back && outcome == Outcome::Released),
                    crashes: facts.crashes + u32::from(outcome == Outcome::Crashed),
                    spent,
                    alone,
                    ..facts
                };
                // One that was given up later, while it waited, was not given up by this attempt.
                if last && job.shown == Shown::Failed && Requeue::parse(&attempt.outcome).is_none() {
                    into.tried_longer += 1;
                    return;
                }
            }
            NextStep::GiveUp { .. } if last => {}
            NextStep::GiveUp { code: own, .. } => {
                into.saved += (attempts.len() - n - 1) as u64;
                let code = own.or(attempt.code).unwrap_or(Code::Unknown);
                *into.by_code.entry(code.name()).or_default() += 1;
                match job.shown {
                    Shown::Failed => into.given_up_earlier += 1,
                    _ => into.lost += 1,
                }
                return;
            }
        }
    }
    into.same += 1;
}

/// What an attempt was to the policy of its time.
enum Was {
    /// The handler was done.
    Complete,
    /// No try: it was not charged, whatever the policy says.
    GivenBack,
    /// The handler asked for another run.
    NewRun,
    /// The policy decided what becomes of it.
    Decided(Outcome),
}

fn was(attempt: &AttemptRow) -> Was {
    match Requeue::parse(&attempt.outcome) {
        Some(
            Requeue::Snooze
            | Requeue::AwaitBatch
            | Requeue::Throttle
            | Requeue::ProbeRefund
            | Requeue::Return
            | Requeue::Environment,
        ) => return Was::GivenBack,
        Some(Requeue::Reschedule) => return Was::NewRun,
        Some(Requeue::Release) => return Was::Decided(Outcome::Released),
        Some(Requeue::Retry | Requeue::Reclaim) | None => {}
    }
    let Some(code) = attempt.code else { return Was::Complete };
    Was::Decided(match code {
        _ if attempt.rule.is_some_and(Rule::is_crash) || code.class() == Class::Crash => Outcome::Crashed,
        Code::SystemLeaseLost => Outcome::LeaseLost,
        Code::SystemInterrupted => Outcome::Released,
        code => Outcome::Failed { code, retry_after: None },
    })
}
