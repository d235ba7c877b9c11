//! Batches of downloads: what a manifest becomes, and how far it is.

use std::collections::BTreeMap;
use std::ops::Deref;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

/// A manifest was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"job_id": "019a8e5c-7c1e-7000-8000-000000000001",
    "manifest_key": "manifests/019a8e5c-7c1e-7000-8000-000000000001.ndjson", "resource_count": 2,
    "replayed": false}))]
pub struct FetchReply {
    /// The batch.
    pub job_id: String,
    /// Where the manifest is kept.
    pub manifest_key: String,
    /// How many resources it has.
    pub resource_count: u32,
    /// It was accepted before, with the same key, and this is that batch.
    #[serde(default)]
    pub replayed: bool,
}

/// A manifest as one document. As NDJSON each resource is a line, and the first line may hold the other fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"manifest_version": 1, "end_rule": "tolerant", "resources": [
    {"id": "cat-1", "url": "https://images.example/cats/1.jpg"},
    {"id": "cat-2", "url": "https://images.example/cats/2.jpg", "headers": {"authorization": "Bearer TOKEN"},
     "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "tags": {"kind": "photo"}}]}))]
pub struct FetchManifest {
    /// Always 1.
    pub manifest_version: u32,
    /// What is fetched.
    pub resources: Vec<ManifestResource>,
    /// Where objects go: a prefix below `FETCH_TO`, or a place that an operator listed. A prefix of its own unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Whose proxies are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_pool: Option<String>,
    /// What a mix of outcomes makes of the batch: `strict` unless said, or `tolerant`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_rule: Option<String>,
    /// What people say about it; an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
}

/// One resource of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ManifestResource {
    /// What the manifest calls it; once per manifest.
    pub id: String,
    /// Where it is.
    pub url: String,
    /// What is said with the request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// What it must be, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// What people say about it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

/// A batch, as it stands in a list. Completed, failed and cancelled are exact at every moment; in the end they are the total.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FetchBatch {
    /// The batch.
    pub job_id: String,
    /// processing, complete, partial, failed or cancelled.
    pub status: String,
    /// Whose it is; only operators see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// All resources of the manifest, from the start.
    pub resources_total: u64,
    /// Those that are stored.
    pub resources_completed: u64,
    /// Those that were given up.
    pub resources_failed: u64,
    /// Those that were stopped.
    pub resources_cancelled: u64,
    /// The size of everything that is stored.
    pub bytes: u64,
    /// When it was accepted.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Timestamp>,
    /// What people say about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
}

/// How a batch is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FetchSnapshot {
    /// What a list tells of it, beside the rest.
    #[serde(flatten)]
    pub batch: FetchBatch,
    /// Whether every resource has its job already. A large manifest takes a while.
    pub unpacked: bool,
    /// The newest failure of what is failed now; nothing once all of it was mended.
    pub last_error: Option<FetchError>,
    /// The newest dead letter that waits; nothing when none does.
    pub dlq_offset: Option<i64>,
    /// How many resources failed with which code.
    pub failures_by_code: BTreeMap<String, u64>,
    /// Where the manifest is kept.
    pub manifest_key: String,
    /// strict or tolerant.
    pub end_rule: String,
    /// Where objects were asked to go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Whose proxies are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_pool: Option<String>,
    /// How these are, and those that stand in, as this server knows them, while the batch has not ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proxies: Vec<FetchProxy>,
}

impl Deref for FetchSnapshot {
    type Target = FetchBatch;

    fn deref(&self) -> &FetchBatch {
        &self.batch
    }
}

/// How a proxy is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FetchProxy {
    /// `POOL#INDEX`.
    pub proxy: String,
    /// working; left_alone because it failed; or tried, when the next download finds out whether it is back.
    pub state: String,
    /// How much longer it is left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// The newest failure of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FetchError {
    /// The code from the registry.
    pub code: String,
    /// One line.
    pub message: String,
    /// `proxy`, `attempt` and `status`; behind redirects also `host`, which was asked, and `hop`, the redirect that led there.
    #[schema(value_type = Object)]
    pub context: Map<String, Value>,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// Own batches, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FetchList {
    /// The batches.
    pub batches: Vec<FetchBatch>,
    /// Where the next page starts; absent at the end.
    pub next_cursor: Option<String>,
}

/// Which resources of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ResourceQuery {
    /// Only in these shown states: with commas between them, or given several times.
    #[param(value_type = Option<Vec<String>>, style = Form, explode = false, example = "failed,cancelled")]
    pub status: Option<String>,
    /// At most so many; 50 unless said, at most 200.
    pub limit: Option<String>,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

/// One page of resources, those that stand last in the manifest first. Large ones make it shorter than was asked for: a page has at most 1 MiB.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FetchResources {
    /// The resources.
    pub resources: Vec<FetchResource>,
    /// Where the next page starts; absent at the end.
    pub next_cursor: Option<String>,
}

/// One resource of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FetchResource {
    /// What the manifest calls it.
    pub id: String,
    /// Its job.
    pub job_id: String,
    /// Where it is, without secrets.
    pub url: String,
    /// What people see: queued, scheduled, waiting_retry, held, processing, complete, failed, cancelled.
    pub status: String,
    /// Which of the listed places it is in; `FETCH_TO` where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The key of the object.
    pub key: Option<String>,
    /// Its size.
    pub bytes: Option<u64>,
    /// Its hash.
    pub sha256: Option<String>,
    /// What the origin said that it is.
    pub content_type: Option<String>,
    /// What people say about it.
    pub tags: BTreeMap<String, String>,
    /// Charged executions.
    pub attempts: u32,
    /// What went wrong last; nothing once it is stored.
    pub failure: Option<ResourceFailure>,
}

/// What went wrong with a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResourceFailure {
    /// The code from the registry.
    pub code: String,
    /// One line.
    pub message: String,
    /// `proxy`, `attempt` and `status`; behind redirects also `host`, which was asked, and `hop`, the redirect that led there.
    #[schema(value_type = Object)]
    pub context: Map<String, Value>,
}
