//! Taking work, keeping it, and finding what was lost.

use std::time::Duration;

use redrive_model::decide::Spent;
use redrive_model::{
    BatchId, JobFacts, JobId, LeaseToken, Owner, Target, TargetSet, Timestamp, WorkerId, WorkloadName,
};

/// The right to run one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lease {
    /// The job.
    pub job: JobId,
    /// The fence.
    pub token: LeaseToken,
}

/// How many jobs of a workload may start now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// The workload.
    pub workload: WorkloadName,
    /// At most so many.
    pub limit: usize,
    /// At most so many that depend on the same target, where [`Claim::rooms`] does not say how many.
    pub per_target: Option<PerTarget>,
}

/// At most so many jobs that depend on the same target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerTarget {
    /// So many.
    pub limit: usize,
    /// Only targets of this kind ([`Target::kind`]) are limited; all of them unless said. A job may depend on hosts that bear
    /// little and on a bucket that bears everything.
    pub kind: Option<&'static str>,
}

impl PerTarget {
    /// The limit of this target, if it has one.
    #[must_use]
    pub fn of(&self, target: &Target) -> Option<usize> {
        self.kind.is_none_or(|kind| target.kind() == kind).then_some(self.limit)
    }
}

impl Want {
    /// So many, whatever they depend on.
    #[must_use]
    pub const fn new(workload: WorkloadName, limit: usize) -> Self {
        Self { workload, limit, per_target: None }
    }
}

/// What kind of claim it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimMode {
    /// Ordinary jobs whose targets let them pass.
    Normal,
    /// One job that must run alone. The worker promises that nothing else runs beside it.
    Alone,
    /// One job that depends on all these half-open targets, by the worker that holds the probe of each.
    Probe(TargetSet),
}

/// A worker asks for work.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Who asks: the incarnation, not the name.
    pub worker: WorkerId,
    /// What it can run, and how much of each can start now.
    pub wants: Vec<Want>,
    /// At most so many in all.
    pub limit: usize,
    /// How long the lease lasts without being extended.
    pub ttl: Duration,
    /// What kind of claim.
    pub mode: ClaimMode,
    /// Targets (concurrency keys) that have only so much room at this worker now; with none, their jobs are left alone.
    /// Jobs of one set of targets never exceed it; different sets that share a target may, together.
    pub rooms: Vec<(Target, usize)>,
}

/// A job in the hands of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The right to run it.
    pub lease: Lease,
    /// Which kind of job.
    pub workload: WorkloadName,
    /// Whose it is.
    pub owner: Option<Owner>,
    /// What people call it.
    pub label: Option<String>,
    /// The encoded input.
    pub input: Vec<u8>,
    /// The durable execution state, if it saved one.
    pub state: Option<Vec<u8>>,
    /// What it depends on.
    pub targets: TargetSet,
    /// Which generation.
    pub generation: u32,
    /// Most charged executions per generation.
    pub max_attempts: Option<u32>,
    /// The batch it belongs to.
    pub batch: Option<BatchId>,
    /// What `decide` needs when the attempt ends; `attempt` includes this one.
    pub facts: JobFacts,
    /// When it was claimed, by the store's clock.
    pub claimed_at: Timestamp,
    /// When the lease ends, by the store's clock.
    pub expires_at: Timestamp,
}

/// What became of one lease when its worker asked to keep it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// Kept until then.
    Held(Timestamp),
    /// Another transaction has the row just now; the lease stands as it was, ask again.
    Contended,
    /// No longer this worker's: cancel the local task.
    Lost,
}

/// A lease that ran out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expired {
    /// The lease that ran out; its token is the fence for taking the job back.
    pub lease: Lease,
    /// Which kind of job.
    pub workload: WorkloadName,
    /// Who had it.
    pub worker: WorkerId,
    /// Whether that worker has been seen within its lease time: then it is no crash.
    pub worker_alive: bool,
    /// Most charged executions per generation.
    pub max_attempts: Option<u32>,
    /// What `decide` needs.
    pub facts: JobFacts,
    /// When the lease ran out.
    pub expired_at: Timestamp,
}

/// A worker says that it lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerBeat {
    /// The incarnation.
    pub id: WorkerId,
    /// What people call it.
    pub name: String,
    /// Which build it runs.
    pub build: String,
    /// It takes no new work.
    pub draining: bool,
    /// It counts as alive for so long after this beat.
    pub ttl: Duration,
    /// How much it can run at once.
    pub concurrency: u32,
}

/// A worker as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerRow {
    /// The incarnation.
    pub id: WorkerId,
    /// What people call it.
    pub name: String,
    /// Which build it runs.
    pub build: String,
    /// It takes no new work.
    pub draining: bool,
    /// Somebody wants that it takes no new work.
    pub drain_wanted: bool,
    /// How much it can run at once.
    pub concurrency: u32,
    /// When it was first seen.
    pub started_at: Timestamp,
    /// When it was last seen.
    pub seen_at: Timestamp,
    /// Until when it counts as alive.
    pub alive_until: Timestamp,
    /// Leases it holds now.
    pub leases: u64,
}

/// Facts of a row that both stores read the same way.
#[derive(Debug, Clone)]
pub struct StoredFacts {
    /// Charged executions.
    pub attempt: u32,
    /// Crashes.
    pub crashes: u32,
    /// Releases given back.
    pub releases: u32,
    /// Retries spent, as stored.
    pub spent: Option<String>,
    /// Runs alone.
    pub alone: bool,
    /// Was a probe.
    pub probe: bool,
    /// When the generation was enqueued.
    pub queued_at: Timestamp,
}

impl From<StoredFacts> for JobFacts {
    fn from(row: StoredFacts) -> Self {
        // Spent budgets that cannot be read count as nothing spent: the cap on attempts still holds.
        let spent = row.spent.and_then(|json| serde_json::from_str::<Spent>(&json).ok()).unwrap_or_default();
        Self {
            attempt: row.attempt,
            crashes: row.crashes,
            releases: row.releases,
            spent,
            alone: row.alone,
            probe: row.probe,
            others_first: false,
            queued_at: row.queued_at,
        }
    }
}
