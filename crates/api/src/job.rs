//! A job as its owner sees it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Job {
    /// Its id.
    pub id: String,
    /// Which kind of job.
    pub workload: String,
    /// What people see: queued, scheduled, waiting_retry, waiting_batch, held, processing, complete, failed, cancelled.
    pub status: String,
    /// Whose it is; only operators see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What its owner calls it.
    pub filename: Option<String>,
    /// The size of its source.
    pub bytes: Option<u64>,
    /// Which mapping.
    pub mapping: Option<String>,
    /// Charged executions in this generation.
    pub attempt: u32,
    /// Most charged executions.
    pub max_attempts: Option<u32>,
    /// When it was created.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When this generation was enqueued.
    #[schema(value_type = String, format = DateTime)]
    pub queued_at: Timestamp,
    /// When this generation first ran.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Timestamp>,
    /// When it runs next, while it waits for that.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub retry_after: Option<Timestamp>,
    /// Which worker holds it, while it runs; only operators see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Until when that worker holds it, unless it extends its lease; only operators see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub lease_expires_at: Option<Timestamp>,
    /// What ended it; only when failed.
    pub error: Option<JobError>,
    /// The newest thing that went wrong, also while it is being tried again.
    pub last_failure: Option<LastFailure>,
    /// Its result can be fetched now.
    pub can_download: bool,
    /// It can be started again now.
    pub can_retry: bool,
    /// Starting again by hand makes a new one; from 1.
    pub generation: u32,
    /// Where to go from here.
    pub links: Links,
}

/// What ended a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobError {
    /// The code from the registry.
    pub code: String,
    /// One short sentence.
    pub message: String,
}

/// The newest failure of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastFailure {
    /// The code from the registry.
    pub code: String,
    /// One short sentence.
    pub message: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// Addresses of what belongs to a job. What cannot be done now is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Links {
    /// The job itself.
    #[serde(rename = "self")]
    pub this: String,
    /// Its executions.
    pub attempts: String,
    /// Its transitions.
    pub events: String,
    /// Why it is where it is.
    pub explain: String,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub download: Option<String>,
    /// Starts it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<String>,
    /// Stops it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<String>,
}

/// The answer to an act on one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobReply {
    /// The job as it is now.
    pub job: Job,
}

/// The answer to an upload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UploadReply {
    /// The job that does the work.
    pub job: Job,
    /// The same bytes with the same mapping were there already, as this job.
    pub deduped_from: Option<String>,
}
