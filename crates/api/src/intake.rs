//! The folder or bucket of people, for operators.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// How intake is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct IntakeStatus {
    /// The folder or bucket.
    pub root: String,
    /// Whether nothing is taken and nothing begun, because somebody said so.
    pub paused: bool,
    /// How often a PDF is tried again.
    pub max_retries: u32,
    /// Who says so: `store` when it was set while everything ran, else `settings`.
    pub max_retries_from: String,
    /// PDFs in work at once, at most.
    pub max_in_flight: u64,
    /// PDFs in work: taken, and not waiting for their next try.
    pub in_flight: u64,
    /// PDFs that wait in `queue/` for their next try.
    pub waiting_retry: u64,
    /// Seconds between two looks.
    pub interval_sec: f64,
    /// Documents by where they are on their way: waiting, processing, done, failed, gone.
    pub documents: BTreeMap<String, u64>,
    /// Moves that are not finished.
    pub open_moves: u64,
    /// What the last look at `queue/` and `retry/` found; absent before the first.
    pub last_look: Option<IntakeLook>,
}

/// What a look found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IntakeLook {
    /// When.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub at: Option<Timestamp>,
    /// PDFs that lie there.
    pub lie: u64,
    /// Of them, how many are still being copied or are empty.
    pub growing: u64,
    /// Files that are no PDFs by their names, and stay where they are.
    pub ignored: u64,
    /// Why nothing is taken, where that is so.
    pub stopped: Option<String>,
}

/// What is to be changed; what is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct IntakeSettings {
    /// How often a PDF is tried again, from now on: 0 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// Whether nothing is taken and nothing begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
}

/// Gives back places that are taken for nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClearInFlight {
    /// Only count them.
    pub dry_run: bool,
}

/// What became of places that were taken for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InFlightCleared {
    /// Documents whose job had ended or was gone, and that no longer count; with `dry_run` those that would not.
    pub cleared: u64,
    /// PDFs in work now.
    pub in_flight: u64,
}

/// Which failure records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RecordQuery {
    /// Only of this owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Only with this code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Only of this document: its job's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    /// Only at or after this instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only before this instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Only those whose owner was told (true), or was not (false).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notified: Option<String>,
    /// Only with this text in a key or in the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// At most so many; 50 unless said, at most 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Where the page before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One page of failure records, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailureRecordList {
    /// The records.
    pub failure_records: Vec<FailureRecord>,
    /// Where the next page starts; absent at the end.
    pub next_cursor: Option<String>,
}

/// One failed run of a PDF.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailureRecord {
    /// Its id.
    pub failure_id: String,
    /// The day, in UTC: `YYYY-MM-DD`.
    pub failure_date: String,
    /// The instant.
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Timestamp,
    /// Who uploaded the PDF.
    pub iam_username: String,
    /// Where it was processed.
    pub pdf_key: String,
    /// Where it waits for its next run.
    pub queue_key: Option<String>,
    /// Where it lies when it was given up.
    pub failed_key: Option<String>,
    /// How often it was tried again, the retry included that follows this failure.
    pub retry_count: u32,
    /// Whether that was too often.
    pub max_retries_exceeded: bool,
    /// Why.
    pub failure_reason: String,
    /// Whether its owner was told.
    pub notified: bool,
    /// What kind of failure it was.
    pub code: String,
    /// The document's job.
    pub job_id: String,
}

/// Which documents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DocumentQuery {
    /// Only in one of these stages, with commas: waiting, processing, done, failed, gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Only this owner's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Only with this in their path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// At most so many; 50 unless said, at most 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Where the page before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One page of documents, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DocumentList {
    /// The documents.
    pub documents: Vec<IntakeDocument>,
    /// Where the next page starts; absent at the end.
    pub next_cursor: Option<String>,
}

/// A PDF that was taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IntakeDocument {
    /// Its id, which is also its job's.
    pub id: String,
    /// Its name below each of the folders.
    pub path: String,
    /// Where its PDF lies.
    pub place: String,
    /// Whose it is.
    pub owner: String,
    /// Where it is on its way: waiting, processing, done, failed, gone.
    pub stage: String,
    /// Its size.
    pub bytes: u64,
    /// Its hash in hexadecimal, once it was read.
    pub sha256: Option<String>,
    /// How often it was tried again.
    pub retry_count: u32,
    /// Whether that was as often as it may be.
    pub max_retries_exceeded: bool,
    /// Why it failed last; stays when it recovers.
    pub last_failure: Option<DocumentFailure>,
    /// Where the report about its failure lies.
    pub report: Option<String>,
    /// When it was taken in.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When its row was changed last.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

/// Why a document failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DocumentFailure {
    /// The failure code.
    pub code: String,
    /// What was said.
    pub message: String,
}

/// A document with all that happened to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DocumentHistory {
    /// As it is.
    #[serde(flatten)]
    pub document: IntakeDocument,
    /// Where its PDF went, oldest first.
    pub moves: Vec<DocumentMove>,
    /// What failed, newest first; at most 200.
    pub failures: Vec<FailureRecord>,
}

/// One way of a PDF from one place to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DocumentMove {
    /// From where.
    pub from: String,
    /// To where.
    pub to: String,
    /// Why: process, done, retry, failed, cancelled.
    pub why: String,
    /// open, done or lost.
    pub state: String,
    /// What was special about it.
    pub note: Option<String>,
    /// When it was begun.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// A report that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReportAsked {
    /// The job that writes it; the document names it when it is there.
    pub job_id: String,
}
