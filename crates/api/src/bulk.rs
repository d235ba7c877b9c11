//! Acts on all jobs that match, for operators.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Which waiting jobs: the words of a list of jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WaitingFilter {
    /// Of this kind of job. It must be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// In these states, with commas between them: queued, scheduled, waiting_retry, waiting_batch, held. All of them unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// With this text in the file name, or with this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Created at or after this instant, or this day in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Members of this batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
}

/// Waiting jobs to be counted or cancelled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CancelJobs {
    /// Which jobs.
    pub filter: WaitingFilter,
    /// Only count them.
    pub dry_run: bool,
    /// At most so many, the newest first; 100,000 unless said, which is also the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Why, for the audit trail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancelledJobs {
    /// So many are cancelled.
    pub cancelled: u64,
    /// It stopped at its limit, and more may match.
    pub more: bool,
}
