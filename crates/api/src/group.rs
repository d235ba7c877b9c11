//! Failure groups: the same fault in many jobs, for operators.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Which groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct GroupQuery {
    /// Only where people are so far with it: new, acknowledged, resolved, regressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Only of this kind of job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Only of this code; a public code finds its inner ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// At most so many; 50 unless said, at most 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Where the page before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One page of groups, last seen first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupList {
    /// The groups.
    pub groups: Vec<Group>,
    /// Where the next page starts; absent at the end.
    pub next_cursor: Option<String>,
}

/// The same fault in many jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Group {
    /// Its name.
    pub fingerprint: String,
    /// Which kind of jobs.
    pub workload: String,
    /// What goes wrong.
    pub code: String,
    /// What it is blamed on.
    pub target: Option<String>,
    /// The newest message.
    pub message: String,
    /// The newest job.
    pub sample_job_id: String,
    /// Where people are with it.
    pub state: String,
    /// When it was first seen.
    #[schema(value_type = String, format = DateTime)]
    pub first_seen: Timestamp,
    /// When it was last seen.
    #[schema(value_type = String, format = DateTime)]
    pub last_seen: Timestamp,
    /// Attempts that failed this way.
    pub failures: u64,
    /// Dead letters of it that are open.
    pub open: u64,
}
