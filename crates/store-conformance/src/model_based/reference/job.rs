//! One job as the reference keeps it, and the rows people see of it.

use redrive_model::decide::Spent;
use redrive_model::dedupe::DedupeKey;
use redrive_model::state::{Facts, shown};
use redrive_model::{
    BatchId, Code, JobFacts, JobId, LeaseToken, Owner, ReplayId, State, TargetSet, Timestamp, WorkerId,
    WorkloadName,
};
use redrive_store::{Claimed, JobRow, Lease};

/// A job.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) workload: WorkloadName,
    pub(crate) owner: Option<Owner>,
    pub(crate) label: Option<String>,
    pub(crate) input: Vec<u8>,
    /// The durable execution state.
    pub(crate) saved: Option<Vec<u8>>,
    pub(crate) targets: TargetSet,
    pub(crate) priority: u8,
    pub(crate) alone: bool,
    pub(crate) state: State,
    /// Refused at the door: there is nothing to run.
    pub(crate) rejected: bool,
    pub(crate) due_at: Timestamp,
    pub(crate) token: LeaseToken,
    pub(crate) lease: Option<Held>,
    pub(crate) attempt: u32,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) generation: u32,
    pub(crate) crashes: u32,
    pub(crate) releases: u32,
    pub(crate) spent: Spent,
    pub(crate) batch: Option<BatchId>,
    pub(crate) awaits: Option<BatchId>,
    pub(crate) replay: Option<ReplayId>,
    pub(crate) dedupe: Option<DedupeKey>,
    pub(crate) failure: Option<(Code, String)>,
    pub(crate) result: Option<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) queued_at: Timestamp,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) finished_at: Option<Timestamp>,
    pub(crate) expired_at: Option<Timestamp>,
    pub(crate) purge_at: Option<Timestamp>,
}

/// The lease on a job that runs.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) by: WorkerId,
    pub(crate) since: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) probe: bool,
}

impl Job {
    /// Whether it keeps others with its dedupe key out: active, or complete and not expired.
    pub(crate) fn holds_key(&self, key: DedupeKey) -> bool {
        let alive = match self.state {
            State::Queued | State::Processing => true,
            State::Complete => self.expired_at.is_none(),
            State::Failed | State::Cancelled => false,
        };
        alive && self.dedupe == Some(key)
    }

    /// Whether this lease is the one that stands.
    pub(crate) fn stands(&self, lease: Lease) -> bool {
        self.state == State::Processing && self.token == lease.token
    }

    /// It ends: nobody holds it, nothing is awaited.
    pub(crate) fn end(&mut self, state: State, now: Timestamp, purge_at: Option<Timestamp>) {
        self.state = state;
        self.lease = None;
        self.awaits = None;
        self.finished_at = Some(now);
        self.purge_at = purge_at;
    }

    pub(crate) fn facts(&self) -> JobFacts {
        JobFacts {
            attempt: self.attempt,
            crashes: self.crashes,
            releases: self.releases,
            spent: self.spent.clone(),
            alone: self.alone,
            probe: self.lease.as_ref().is_some_and(|held| held.probe),
            others_first: false,
            queued_at: self.queued_at,
        }
    }

    /// As its worker sees it; `None` when nobody holds it.
    pub(crate) fn claimed(&self) -> Option<Claimed> {
        let held = self.lease.as_ref()?;
        Some(Claimed {
            lease: Lease { job: self.id, token: self.token },
            workload: self.workload.clone(),
            owner: self.owner.clone(),
            label: self.label.clone(),
            input: self.input.clone(),
            state: self.saved.clone(),
            targets: self.targets.clone(),
            generation: self.generation,
            max_attempts: self.max_attempts,
            batch: self.batch,
            facts: self.facts(),
            claimed_at: held.since,
            expires_at: held.until,
        })
    }

    /// As people see it.
    pub(crate) fn row(&self, held: bool, now: Timestamp) -> JobRow {
        let facts = Facts {
            state: self.state,
            due_at: self.due_at,
            attempt: self.attempt,
            ran_before: self.started_at.is_some(),
            awaits_batch: self.awaits.is_some(),
            held,
        };
        JobRow {
            id: self.id,
            workload: self.workload.clone(),
            owner: self.owner.clone(),
            label: self.label.clone(),
            state: self.state,
            shown: shown(&facts, now),
            targets: self.targets.clone(),
            priority: self.priority,
            alone: self.alone,
            due_at: self.due_at,
            token: self.token,
            leased_by: self.lease.as_ref().map(|held| held.by),
            lease_expires_at: self.lease.as_ref().map(|held| held.until),
            attempt: self.attempt,
            max_attempts: self.max_attempts,
            generation: self.generation,
            crashes: self.crashes,
            releases: self.releases,
            batch: self.batch,
            awaits: self.awaits,
            replay: self.replay,
            failure_code: self.failure.as_ref().map(|(code, _)| *code),
            failure_message: self.failure.as_ref().map(|(_, message)| message.clone()),
            progress: None,
            result: self.result.clone(),
            created_at: self.created_at,
            queued_at: self.queued_at,
            started_at: self.started_at,
            finished_at: self.finished_at,
            expired_at: self.expired_at,
            purge_at: self.purge_at,
        }
    }
}
