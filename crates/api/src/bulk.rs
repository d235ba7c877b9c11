//! Acts on all jobs that match, for operators.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Matching, ReplayFilter};

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
    /// Only up to this job: the `upto` of the dry run, so that nothing that came since it was counted is cancelled. Up to the newest unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upto: Option<String>,
    /// At most so many, the newest first; 100,000 unless said, which is also the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Why, for the audit trail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How many waiting jobs match: exactly these are cancelled, if that is said with this `upto` and nobody acts on them meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MatchingJobs {
    /// How many.
    pub matching: u64,
    /// The newest of them; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upto: Option<String>,
}

/// The answer: a count with `dry_run`, and else what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum CancelAnswer {
    /// With `dry_run`.
    Counted(MatchingJobs),
    /// Without.
    Cancelled(CancelledJobs),
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancelledJobs {
    /// So many are cancelled.
    pub cancelled: u64,
    /// It stopped at its limit, and more may match.
    pub more: bool,
}

/// Open dead letters to be counted or discarded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DiscardLetters {
    /// Which dead letters. At least one word must be said.
    pub filter: ReplayFilter,
    /// Only count them.
    pub dry_run: bool,
    /// Only up to this dead letter: the `upto` of the dry run, so that nothing that died since it was counted is discarded. Up to the newest unless
    /// said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upto: Option<i64>,
    /// At most so many, the oldest first; 100,000 unless said, which is also the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Why, for the audit trail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The answer: a count with `dry_run`, and else what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum DiscardAnswer {
    /// With `dry_run`.
    Counted(Matching),
    /// Without.
    Discarded(DiscardedLetters),
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiscardedLetters {
    /// So many are discarded.
    pub discarded: u64,
    /// It stopped at its limit, and more match.
    pub more: bool,
}
