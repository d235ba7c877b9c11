//! Calls on a store with everything filled in, and what they answer.

use std::time::Duration;

use redrive_model::breaker::Breaker;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_model::{JobId, Target, Timestamp, WorkerId, WorkloadName};
use redrive_store::{
    Acted, Claim, Claimed, Enqueue, EnqueueReply, Extension, Finish, Finished, GiveUp, Lease, NewEvent,
    RetryBy, StoreError, Swapped, WorkerBeat,
};

/// A dead letter by what it is the same on every store: its job and the generation that died.
pub(crate) type Letter = (JobId, u32);

/// One call.
#[derive(Debug, Clone)]
pub(crate) enum Call {
    Enqueue(Enqueue),
    Publish(Vec<NewEvent>),
    Claim(Claim),
    Extend { worker: WorkerId, leases: Vec<Lease>, ttl: Duration },
    SaveState { lease: Lease, state: Vec<u8> },
    Finish(Vec<Finish>),
    Cancel { jobs: Vec<JobId>, keep: Option<Duration> },
    Retry { jobs: Vec<JobId>, by: RetryBy },
    GiveUp(GiveUp),
    Reschedule { jobs: Vec<JobId>, due_at: Timestamp },
    Discard(Vec<Letter>),
    MoveGroup { group: Fingerprint, to: GroupState },
    Pause(Option<WorkloadName>),
    Resume(Option<WorkloadName>),
    SwapBreaker { target: Target, expected: Option<i64>, breaker: Breaker },
    Beat(WorkerBeat),
    WantDrained { worker: WorkerId, wanted: bool },
    Expire(Vec<JobId>),
    Purge { scan: usize },
    PruneAttempts { job: JobId, keep: usize },
    Forget(Timestamp),
    Advance(Duration),
}

/// What it answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Enqueued(EnqueueReply),
    Claimed(Vec<Claimed>),
    Extended(Vec<Extension>),
    Saved(bool),
    Wanted(bool),
    Finished(Vec<Finished>),
    Acted(Vec<Acted>),
    Moved(bool),
    Swapped(Swapped),
    /// How many were discarded, removed, pruned or forgotten.
    Count(u64),
    Nothing,
    Refused(Refusal),
}

/// Why a call was refused, as far as every store must agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    Invalid,
    NotFound,
    IdempotencyMismatch,
    /// Nothing that a sequence of good calls may meet.
    Other(String),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Invalid(_) => Self::Invalid,
            StoreError::NotFound { .. } => Self::NotFound,
            StoreError::IdempotencyMismatch => Self::IdempotencyMismatch,
            other => Self::Other(other.to_string()),
        }
    }
}

impl From<Result<Self, StoreError>> for Answer {
    fn from(result: Result<Self, StoreError>) -> Self {
        result.unwrap_or_else(|error| Self::Refused(error.into()))
    }
}
