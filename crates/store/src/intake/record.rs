//! One failure of one run of a document, as people and digests read it.

use redrive_model::{Code, JobId, Timestamp};
use uuid::Uuid;

use crate::{Behind, Page};

/// A failure record. The words are those of the original pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureRecord {
    /// Its id.
    pub failure_id: Uuid,
    /// Which document.
    pub document: JobId,
    /// When.
    pub timestamp: Timestamp,
    /// Who uploaded the PDF.
    pub owner: String,
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
    /// What kind of failure it was.
    pub code: Code,
    /// Why.
    pub failure_reason: String,
    /// Whether its owner was told.
    pub notified: bool,
}

/// Which failure records.
#[derive(Debug, Clone, Default)]
pub struct RecordFilter {
    /// Only of this document.
    pub document: Option<JobId>,
    /// Only this owner's.
    pub owner: Option<String>,
    /// Only with this code.
    pub code: Option<Code>,
    /// Not before this instant.
    pub since: Option<Timestamp>,
    /// Before this instant.
    pub until: Option<Timestamp>,
    /// Only those whose owner was told, or was not.
    pub notified: Option<bool>,
    /// Only those that have this in a key or in the reason.
    pub text: Option<String>,
}

impl Page<FailureRecord> {
    /// One part of the list.
    #[must_use]
    pub fn of_records(rows: Vec<FailureRecord>, limit: usize) -> Self {
        let last = rows.last().filter(|_| rows.len() >= limit);
        let next = last.map(|last| Behind { at: last.timestamp, id: last.failure_id }.to_string());
        Self { rows, next }
    }
}
