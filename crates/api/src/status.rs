//! How everything is, for everybody.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How everything is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// The breakers of all targets.
    pub breakers: Vec<Breaker>,
    /// The queue.
    pub queue: Queue,
    /// Whether an upload would be taken now.
    pub accepting: bool,
    /// Whether there is somebody who converts.
    pub gateway: GatewayState,
    /// Whether there is room for files.
    pub disk: DiskState,
}

/// Whether there is room for files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiskState {
    /// The place does not tell: a bucket.
    Unknown,
    /// There is enough.
    Enough,
    /// Below the soft limit: still taken, and the operator is warned.
    Low,
    /// Below the hard limit: nothing new is taken.
    Full,
}

/// The breaker of one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Breaker {
    /// What it watches.
    pub target: String,
    /// closed, open, half_open, ramp, held or throttled.
    pub state: String,
    /// What becomes of jobs meanwhile: `hold` or `fail_fast`.
    pub mode: String,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// When the next job tries.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_probe_at: Option<Timestamp>,
    /// Jobs that wait behind it.
    pub held_jobs: u64,
}

/// The queue in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Queue {
    /// Could run now.
    pub queued: u64,
    /// Running.
    pub processing: u64,
    /// Tried, due later.
    pub waiting_retry: u64,
    /// Waiting for their own parts: they run again when those have ended.
    #[serde(default)]
    pub waiting_batch: u64,
    /// Behind a breaker.
    pub held: u64,
    /// How long the oldest job that could run has been waiting.
    pub oldest_age_ms: u64,
}

/// Whether there is somebody who converts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GatewayState {
    /// No gateway is configured: uploads are taken and wait.
    NotConfigured,
    /// It has never answered.
    Unknown,
    /// It has told its mappings.
    Known,
}
