//! Dead letters, for operators.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The media type of the protobuf message `fetchbox.jobs.DeadLetterTask`; of a list, each behind its length.
pub const PROTOBUF: &str = "application/x-protobuf";
/// The media type of one JSON object per line.
pub const NDJSON: &str = "application/x-ndjson";

/// Which dead letters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeadQuery {
    /// Only with this code; a public one finds its inner ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Only of this kind of job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Only of this failure group: its fingerprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Only of this owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Only those that died at or after this instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only those that died before this instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Only in this state: open (unless said), replayed, discarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// At most so many; 50 unless said, at most 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Where the page before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One page of dead letters, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeadLetterList {
    /// The letters.
    pub dead_letters: Vec<DeadLetter>,
    /// How many match, exactly. Counted for the first page; `null` on those that follow.
    pub total: Option<u64>,
    /// Where the next page starts; absent at the end.
    pub next_cursor: Option<String>,
}

/// A job that policy gave up on. `task`, `failure_*`, `attempts`, `failed_at_ms` and `metadata` are the fields of the protobuf message
/// `DeadLetterTask`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeadLetter {
    /// Its place among the dead letters.
    pub offset: i64,
    /// Where it is: open, replayed, discarded.
    pub state: String,
    /// The job.
    pub job_id: String,
    /// The generation of the job that died.
    pub generation: u32,
    /// Which kind of job.
    pub workload: String,
    /// Whose.
    pub owner: Option<String>,
    /// Why policy gave up.
    pub reason: String,
    /// Its failure group: the fingerprint.
    pub group: String,
    /// What was to be done, without its secrets.
    pub task: DownloadTask,
    /// The public failure code.
    pub failure_code: String,
    /// One line about it, for operators.
    pub failure_message: String,
    /// Charged executions it had.
    pub attempts: u32,
    /// When it died.
    #[schema(value_type = String, format = DateTime)]
    pub failed_at: Timestamp,
    /// The same, in milliseconds since 1970.
    pub failed_at_ms: u64,
    /// Small facts beside it: offset, job, batch, reason, fingerprint, inner_code, status, proxy.
    pub metadata: BTreeMap<String, String>,
    /// When it was replayed or discarded.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub closed_at: Option<Timestamp>,
    /// The replay that took it.
    pub replay_id: Option<String>,
    /// The dead letter of the generation before.
    pub previous_offset: Option<i64>,
}

/// What was to be done: a resource to be fetched, or a job of another kind with its label as `resource_id`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DownloadTask {
    /// The batch, as in the fetch API; the job itself where it has none.
    pub job_id: String,
    /// The workload.
    pub job_type: String,
    /// What the manifest calls it.
    pub resource_id: String,
    /// Where it is; empty for other workloads.
    pub url: String,
    /// What is said with the request; values that may be secret are `***`.
    pub headers: Vec<HttpHeader>,
    /// Which proxies.
    pub proxy_hint: Option<ProxyHint>,
    /// Where the object goes.
    pub storage_hint: Option<StorageHint>,
    /// What was said about it.
    pub attributes: Option<TaskAttributes>,
    /// The manifest it came with.
    pub manifest_key: String,
    /// Which execution was the last.
    pub attempt: u32,
    /// Whose it is.
    pub tenant: String,
    /// W3C trace id, where one is known.
    pub trace_id: String,
}

/// A header of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HttpHeader {
    /// In lower case.
    pub name: String,
    /// What it says, or `***`.
    pub value: String,
}

/// Which proxies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProxyHint {
    /// The pool that is asked.
    pub primary_pool: String,
    /// Pools that stand in for it.
    pub fallbacks: Vec<String>,
}

/// Where an object goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StorageHint {
    /// The bucket, where it is one.
    pub bucket: String,
    /// The prefix below the place.
    pub key_prefix: String,
    /// `place`: which of the listed places.
    pub metadata: BTreeMap<String, String>,
}

/// What was said about a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskAttributes {
    /// As the manifest has them.
    pub tags: BTreeMap<String, String>,
    /// The SHA-256 that it must have.
    pub checksum_hint: String,
    /// The type that it should have.
    pub mime_hint: String,
}
