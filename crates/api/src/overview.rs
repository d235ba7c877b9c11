//! Everything at a glance, for operators: what is wrong, and what happened lately.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Breaker, DiskState};

/// How far to look back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OverviewQuery {
    /// 1h, 6h or 24h; 1h unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
}

/// Everything at a glance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Overview {
    /// When this was true.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// What is wrong, the worst first; empty when all is well.
    pub troubles: Vec<Trouble>,
    /// How far it looks back: 1h, 6h or 24h.
    pub window: String,
    /// How long a slot is.
    pub slot_seconds: u32,
    /// What happened, oldest slot first. The last one goes on.
    pub slots: Vec<OverviewSlot>,
    /// Events that are not counted in the slots yet.
    pub behind: u64,
    /// What went wrong within the window, the most frequent first.
    pub failures: Vec<CodeFailures>,
    /// How long completed attempts took within the window.
    pub latencies: Vec<WorkloadLatency>,
    /// What waits and runs now.
    pub queues: Vec<WorkloadDepth>,
    /// Dead letters that wait.
    pub dead_letters: u64,
    /// Breakers that are not closed.
    pub breakers: Vec<Breaker>,
    /// The workers together.
    pub workers: WorkerSum,
    /// Workloads that a person has paused; an empty name stands for everything.
    pub paused: Vec<String>,
    /// Whether there is room for files.
    pub disk: DiskState,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Trouble {
    /// no_worker, disk, breaker, queue_age, group, paused, throttled or held.
    pub kind: String,
    /// What it is, in a sentence.
    pub text: String,
    /// The page that shows it.
    pub href: String,
    /// It is wrong now; otherwise a person wants it so, or it is on its way to be wrong.
    pub urgent: bool,
}

/// What happened in one part of the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OverviewSlot {
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub from: Timestamp,
    /// Jobs that were handed in, or started again by hand.
    pub arrived: u64,
    /// Jobs that completed.
    pub complete: u64,
    /// Attempts that failed and are tried again.
    pub retried: u64,
    /// Jobs that were given up.
    pub failed: u64,
    /// Half of the completed attempts took no longer, in milliseconds.
    pub p50_ms: Option<u64>,
    /// 95 of 100 took no longer.
    pub p95_ms: Option<u64>,
}

/// What went wrong with one public code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeFailures {
    /// The code.
    pub code: String,
    /// Attempts that are tried again.
    pub retried: u64,
    /// Jobs that were given up.
    pub failed: u64,
    /// Dead letters that wait, whenever they died.
    pub waiting: u64,
}

/// How long completed attempts of a workload took. Counted in steps, so that each number is right to about a third.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkloadLatency {
    /// The workload.
    pub workload: String,
    /// So many were counted.
    pub attempts: u64,
    /// Half took no longer, in milliseconds.
    pub p50_ms: u64,
    /// 95 of 100 took no longer.
    pub p95_ms: u64,
    /// 99 of 100 took no longer.
    pub p99_ms: u64,
}

/// What waits and runs of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkloadDepth {
    /// The workload.
    pub workload: String,
    /// Could run now.
    pub queued: u64,
    /// Running.
    pub processing: u64,
    /// Tried, due later.
    pub waiting_retry: u64,
    /// Not tried, due later.
    pub scheduled: u64,
    /// Waiting for their own parts.
    #[serde(default)]
    pub waiting_batch: u64,
    /// Behind a breaker.
    pub held: u64,
    /// How long the oldest job that could run has been waiting.
    pub oldest_age_ms: Option<u64>,
    /// A number stopped at its bound and is really larger.
    pub capped: bool,
}

/// Workers together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkerSum {
    /// Take work.
    pub alive: u64,
    /// Live, and take no new work.
    pub draining: u64,
    /// Were not heard of for longer than a lease.
    pub gone: u64,
    /// What those that live can run at once.
    pub places: u64,
    /// Leases that they hold now.
    pub leases: u64,
}
