//! The history of a job as its owner sees it: no worker, no operator's line, only what the registry says.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Job;

/// One execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attempt {
    /// The charged count, from 1.
    pub number: u32,
    /// Which generation.
    pub generation: u32,
    /// When it started.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[schema(value_type = String, format = DateTime)]
    pub ended_at: Timestamp,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// How it ended.
    pub outcome: String,
    /// What went wrong.
    pub code: Option<String>,
    /// One short sentence about that.
    pub message: Option<String>,
    /// What the other side answered.
    pub target_status: Option<u16>,
}

/// One transition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Its place in the stream.
    pub sequence: i64,
    /// What happened: queued, processing, retry, snoozed, released, reclaimed, complete, failed, cancelled, expired.
    pub r#type: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The job.
    pub job_id: Option<String>,
    /// Which kind of job.
    pub workload: Option<String>,
    /// Which generation.
    pub generation: u32,
    /// Which charged execution.
    pub attempt: u32,
    /// How long the attempt took.
    pub duration_ms: Option<i64>,
    /// What the gateway answered.
    pub gateway_http_status: Option<u16>,
    /// What went wrong.
    pub error_code: Option<String>,
}

/// Why a job is where it is, and what comes next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    /// The job as it is.
    pub job: Job,
    /// Where it is and what comes next.
    pub now: String,
    /// What Redrive does about it.
    pub what_we_do: Option<String>,
    /// What its owner can do.
    pub what_you_can_do: Option<String>,
    /// Every execution with the rule that decided, oldest first.
    pub past: Vec<Step>,
}

/// One execution, explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Step {
    /// What was recorded.
    pub attempt: Attempt,
    /// The rule that decided what followed.
    pub rule: Option<String>,
}
