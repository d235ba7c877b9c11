//! The failure record's id, and its line in the log.

use redrive_engine::model::dedupe::DedupeKey;
use redrive_engine::store::Event;
use redrive_engine::store::intake::FailureRecord;
use redrive_engine::{JobId, WorkloadName};
use uuid::Uuid;

/// What was done with a PDF whose run has failed. The words are those of the original pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    MovedToQueue,
    MovedToFailed,
    LeftInPlace,
}

impl Action {
    const fn as_str(self) -> &'static str {
        match self {
            Self::MovedToQueue => "MOVED_TO_QUEUE",
            Self::MovedToFailed => "MOVED_TO_FAILED",
            Self::LeftInPlace => "MOVE_FAILED_LEFT_IN_PLACE",
        }
    }
}

/// The same for the same event: a record that is written again is the one that is there.
pub(super) fn failure_id(event: &Event) -> Uuid {
    let draw = WorkloadName::new("intake").map_or([0; 10], |workload| {
        let parts: [&[u8]; 2] = [b"failure", &event.seq.0.to_be_bytes()];
        let hash = DedupeKey::new(&workload, None, &parts);
        std::array::from_fn(|n| hash.as_bytes().get(n).copied().unwrap_or_default())
    });
    JobId::from_parts(event.at, draw).as_uuid()
}

/// One line for each failure, with the fields of the original. Its `timestamp` is the line's own.
pub(super) fn log(action: Action, record: &FailureRecord) {
    tracing::warn!(
        event = "intake.cleanup",
        event_type = "PIPELINE_FAILURE_CLEANUP",
        action = action.as_str(),
        execution_arn = %record.document,
        job_id = %record.document,
        error_code = record.code.name(),
        failure_reason = record.failure_reason,
        pdf_key = record.pdf_key,
        queue_key = record.queue_key,
        failed_key = record.failed_key,
        retry_count = record.retry_count,
        uploaded_by = record.owner,
        "{}: {}",
        record.pdf_key,
        record.failure_reason
    );
}
