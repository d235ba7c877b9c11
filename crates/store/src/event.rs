//! The append-only record of transitions, and users' own events beside them.

use redrive_model::decide::Requeue;
use redrive_model::{BatchId, Code, EventSeq, JobId, Owner, Timestamp, WorkloadName};
use serde::{Deserialize, Serialize};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// Enqueued, retried by hand, or put back for another run.
    Queued,
    /// An attempt started. Written together with its end.
    Processing,
    /// Policy tries again later.
    Retry,
    /// Waits because the handler or the other side asked for it.
    Snoozed,
    /// Given back uncharged.
    Released,
    /// Its lease ran out.
    Reclaimed,
    /// Done.
    Complete,
    /// Given up.
    Failed,
    /// Stopped by a person.
    Cancelled,
    /// Retention removed its artifacts.
    Expired,
    /// A batch ended.
    BatchEnded,
    /// A user's own event.
    Published,
}

impl EventKind {
    /// Every kind.
    pub const ALL: &'static [Self] = &[
        Self::Queued,
        Self::Processing,
        Self::Retry,
        Self::Snoozed,
        Self::Released,
        Self::Reclaimed,
        Self::Complete,
        Self::Failed,
        Self::Cancelled,
        Self::Expired,
        Self::BatchEnded,
        Self::Published,
    ];

    /// The word in the table and in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Processing => "processing",
            Self::Retry => "retry",
            Self::Snoozed => "snoozed",
            Self::Released => "released",
            Self::Reclaimed => "reclaimed",
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::BatchEnded => "batch_ended",
            Self::Published => "published",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == word)
    }

    /// The event that a job going back to the queue leaves. The attempt keeps the exact reason.
    #[must_use]
    pub const fn of_requeue(why: Requeue) -> Self {
        match why {
            Requeue::Retry => Self::Retry,
            Requeue::Release | Requeue::Return | Requeue::ProbeRefund | Requeue::Environment => {
                Self::Released
            }
            Requeue::Reclaim => Self::Reclaimed,
            Requeue::Snooze | Requeue::AwaitBatch | Requeue::Throttle => Self::Snoozed,
            Requeue::Reschedule => Self::Queued,
        }
    }
}

/// One event as readers see it.
///
/// A row that ends an attempt stands for two events, `processing` and the outcome; readers get both, in order, with
/// sequence numbers of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its place in the stream.
    pub seq: EventSeq,
    /// What happened.
    pub kind: EventKind,
    /// When.
    pub at: Timestamp,
    /// The job it is about.
    pub job: Option<JobId>,
    /// The batch it is about.
    pub batch: Option<BatchId>,
    /// The job's workload; `None` once its row is purged.
    pub workload: Option<WorkloadName>,
    /// The job's owner.
    pub owner: Option<Owner>,
    /// Which generation of the job.
    pub generation: u32,
    /// Which charged execution.
    pub attempt: u32,
    /// How long the attempt took.
    pub duration_ms: Option<i64>,
    /// What the target answered.
    pub target_status: Option<u16>,
    /// What went wrong.
    pub code: Option<Code>,
    /// The topic of a user's own event.
    pub topic: Option<String>,
    /// The payload of a user's own event.
    pub payload: Option<Vec<u8>>,
}

/// A user's own event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// What it is about.
    pub topic: String,
    /// Whatever the user wants to say.
    pub payload: Vec<u8>,
}
