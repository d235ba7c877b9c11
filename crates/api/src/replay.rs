//! Replays: many dead letters started again under supervision, for operators.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Which open dead letters are meant. Each word narrows it; for a replay `workload` must be said, or a `group`, which has one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReplayFilter {
    /// Of this kind of job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// With this code; a public one finds its inner ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Of this failure group: its fingerprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Of this owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Of jobs that depend on this target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// With this text in the message or the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Of jobs that were created at or after this instant, as lists of jobs mean it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_since: Option<String>,
    /// Of jobs with this text in the file name, or with this id, as lists of jobs mean it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// That died at or after this instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// That died before this instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// A replay to be counted or started.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewReplay {
    /// Which dead letters.
    pub filter: ReplayFilter,
    /// Only count them.
    pub dry_run: bool,
    /// Only up to this dead letter: the `upto` of the dry run, so that exactly what was counted is started and nothing that died since. Up to
    /// the newest unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upto: Option<i64>,
    /// So many are tried first, and must have ended before the rest follows; 3 unless said, 0 for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canary: Option<u32>,
    /// So many per second, 5 unless said and at most 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_sec: Option<u32>,
    /// Stops when more than this share of those that ended has failed again; 0.2 unless said, 1 never stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_at_failure_share: Option<f64>,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Why, for the audit trail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How many open dead letters match: exactly these are started or discarded, if that is said with this `upto` and nobody acts on them meanwhile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Matching {
    /// How many.
    pub matching: u64,
    /// The newest of them; absent when there is none.
    #[serde(default)]
    pub upto: Option<i64>,
    /// The same by kind of job, where neither a workload nor a group was said: a replay is of one kind, so each is started on its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<MatchingOf>,
}

/// How many dead letters of one kind of job a replay would take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MatchingOf {
    /// The kind of job.
    pub workload: String,
    /// How many.
    pub matching: u64,
    /// The newest of them.
    pub upto: Option<i64>,
}

/// A replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Replay {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: Option<String>,
    /// Whose dead letters.
    pub workload: String,
    /// Which of them.
    pub filter: ReplayFilter,
    /// canary, running, finishing, done, stopped or cancelled.
    pub phase: String,
    /// A person has paused it.
    pub paused: bool,
    /// How many matched when it was started.
    pub total: u64,
    /// Started again and not ended yet.
    pub live: u64,
    /// Complete.
    pub complete: u64,
    /// Failed again.
    pub failed: u64,
    /// Cancelled.
    pub cancelled: u64,
    /// What could not be started again.
    pub skipped: SkippedLetters,
    /// Neither started nor skipped: to come, or left among the dead letters because the replay ended before. With the numbers before it adds up
    /// to `total`.
    #[serde(default)]
    pub left: u64,
    /// Tried first.
    pub canary: u32,
    /// Per second.
    pub rate_per_sec: u32,
    /// Stops above this share of failures.
    pub stop_at_failure_share: f64,
    /// Who started it.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
    /// When it was started.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Timestamp>,
}

/// Dead letters that could not be started again, by why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkippedLetters {
    /// A live twin does the work already.
    pub duplicate: u64,
    /// What the job needs is gone.
    pub gone: u64,
    /// Somebody else acted on it meanwhile: it was started again or discarded before its turn.
    pub changed: u64,
}

/// Which replays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ReplayQuery {
    /// Only of this kind of job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// At most so many; 50 unless said, at most 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Where the page before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One page of replays, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReplayList {
    /// The replays.
    pub replays: Vec<Replay>,
    /// Where the next page starts; absent at the end.
    #[serde(default)]
    pub next_cursor: Option<String>,
}
