//! The durable side of Redrive, as one trait made of batches.
//!
//! A [`Store`] keeps jobs, attempts, events, dead letters, groups, batches, breakers and workers. Every answer is given
//! after the commit, never before. Every write of a worker is fenced by the lease token: no row changed means the
//! authority is lost, and the answer says so.
//!
//! What a store promises is written once, in the crate `redrive-store-conformance`, and every implementation runs it.

mod act;
mod batch;
mod breaker;
mod claim;
pub mod clock;
mod desk;
mod enqueue;
mod error;
mod event;
mod finish;
pub mod intake;
mod key;
mod minute;
mod queue;
mod read;
mod retention;
mod session;
mod store;
mod token;

pub use act::{Acted, GiveUp, RetryBy};
pub use batch::{BatchChange, BatchCount};
pub use breaker::{BreakerRow, KEEP_TURNS, Swapped, TurnRow};
pub use claim::{
    Claim, ClaimMode, Claimed, Expired, Extension, Lease, PerTarget, StoredFacts, Want, WorkerBeat, WorkerRow,
};
pub use desk::{
    ActEnd, ActFilter, ActRow, NewAct, Payload, Progress, ReplayCounts, SettingRow, validate_setting,
};
pub use enqueue::{Enqueue, EnqueueReply, Enqueued, NewBatch, NewJob, When, validate};
pub use error::StoreError;
pub use event::{Event, EventKind, NewEvent};
pub use finish::{Authority, Finish, Finished, Report, Step, validate_finishes, validate_state};
pub use key::{Idempotency, Keyed};
pub use minute::{FIRST_LOOK, KEEP_MINUTES, Latencies, MINUTES_READER, MinuteRow, STEPS_MS};
pub use queue::{QueueStats, WorkloadQueue};
pub use read::{
    AttemptRow, BatchFailures, BatchFilter, BatchRow, Behind, Counts, DeadCount, DeadFilter, DeadRow,
    DeadSource, DeadState, GroupFilter, GroupRow, JobFilter, JobRow, LaneCount, LastFailure, Matching, Page,
    PageRequest, StateCount,
};
pub use retention::{Purge, Purged};
pub use session::{MAX_OWNER_COUNT, SessionKey, SessionLife, SessionRow, ShownCount};
pub use store::Store;
pub use token::{
    MAX_TOKENS, NewToken, NoTokenId, NoTokenName, Scope, Standing, TokenId, TokenName, TokenRow,
};

/// What every call answers.
pub type Result<T> = std::result::Result<T, StoreError>;
