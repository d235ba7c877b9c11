//! Lists of jobs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::Job;

/// Which jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Only this kind of job.
    pub workload: Option<String>,
    /// Only the members of this batch.
    pub batch: Option<String>,
    /// `true`: with the members of all batches, for operators. Without it they are listed by their batch, or by the workload `fetch` or
    /// `intake.part`, alone.
    pub members: Option<String>,
    /// Only in these shown states: with commas between them, or given several times.
    #[param(value_type = Option<Vec<String>>, style = Form, explode = false, example = "failed,cancelled")]
    pub status: Option<String>,
    /// Only failed with this code.
    pub code: Option<String>,
    /// Only with this text in the file name, or with this id.
    pub q: Option<String>,
    /// Only created at or after this instant, or this day in UTC.
    pub since: Option<String>,
    /// Only ended (complete, failed or cancelled) at or after this instant, or this day in UTC.
    pub ended_since: Option<String>,
    /// Only those that depend on this target, for operators. Members of batches are among them.
    pub target: Option<String>,
    /// Only those that this worker holds now, by its id; for operators. Members of batches and the engine's own jobs are among them.
    pub worker: Option<String>,
    /// At most so many; 50 unless said, at most 200.
    pub limit: Option<String>,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

/// Which part of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// At most so many; 50 unless said, at most 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Where the page before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One page of jobs, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobList {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// How many of all own jobs have not ended.
    pub active_count: u64,
    /// All own jobs by shown state, whatever the filter; states without a job are left out.
    pub counts: BTreeMap<String, u64>,
    /// Where the next page starts; absent at the end.
    pub next_cursor: Option<String>,
    /// When this was true.
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Timestamp,
}
