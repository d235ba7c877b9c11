//! What another policy would have made of what has happened: the recorded failures, decided again.

use std::collections::BTreeMap;

use redrive_model::decide::Charge;
use redrive_model::{
    Class, JobFacts, JobId, NextStep, Outcome, Policy, Shown, Timestamp, WorkloadName, decide,
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

/// Decides the attempts of one job's newest generation again.
pub fn simulate(job: &JobRow, attempts: &[AttemptRow], policy: &Policy, into: &mut Simulated) {
    let attempts: Vec<&AttemptRow> = attempts.iter().filter(|a| a.generation == job.generation).collect();
    into.jobs += 1;
    into.attempts += attempts.len() as u64;
    let mut facts = JobFacts { queued_at: job.queued_at, ..JobFacts::default() };
    for (n, attempt) in attempts.iter().enumerate() {
        facts.attempt += 1;
        let Some(code) = attempt.code else { continue };
        let outcome = match code.class() {
            Class::Crash => Outcome::Crashed,
            _ => Outcome::Failed { code, retry_after: None },
        };
        let decision = decide(outcome, &facts, policy, attempt.ended_at, u64::MAX / 2);
        let last = n + 1 == attempts.len();
        match decision.step {
            NextStep::Complete => {}
            NextStep::Requeue { charge, spent, alone, .. } => {
                if charge != Charge::Keep {
                    facts.attempt -= 1;
                }
                facts = JobFacts {
                    spent,
                    alone,
                    crashes: facts.crashes + u32::from(outcome == Outcome::Crashed),
                    ..facts
                };
                if last && job.shown == Shown::Failed {
                    into.tried_longer += 1;
                    return;
                }
            }
            NextStep::GiveUp { .. } if last => {}
            NextStep::GiveUp { code: own, .. } => {
                into.saved += (attempts.len() - n - 1) as u64;
                *into.by_code.entry(own.unwrap_or(code).name()).or_default() += 1;
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
