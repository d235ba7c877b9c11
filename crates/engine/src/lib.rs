//! Claim → run → record.
//!
//! The engine knows no SQL, no HTTP, no concrete store and no concrete workload. It takes jobs from a
//! [`Store`](redrive_store::Store), runs the handler that is registered for them, asks
//! [`decide`](redrive_model::decide::decide) what follows, and records that under the lease's fence. People use it
//! through the crate `redrive`, which adds the stores.

mod batch;
mod chore;
mod clock;
mod contact;
mod context;
mod desk;
mod engine;
mod error;
mod ids;
mod input;
mod many;
mod members;
mod options;
mod permanent;
mod projector;
mod registry;
mod runtime;
mod schedule;
mod take_back;
#[cfg(feature = "testing")]
pub mod testing;
mod workload;

pub use batch::{Batch, BatchOptions};
pub use clock::StoreClock;
pub use context::Context;
pub use desk::{
    AuditReport, BulkCancelled, BulkDiscarded, By, Explanation, LEASE_OVERDUE, NewReplay, Past,
    PermanentHealth, Place, ReaderHealth, Replay, ReplayFilter, ReplayPhase, Simulated, Skipped, Violation,
    simulate,
};
pub use engine::Engine;
pub use error::EngineError;
pub use input::{Enqueue, Input};
pub use many::{Items, Many};
pub use members::{member_id, member_number};
pub use options::{BreakerOf, Options};
pub use permanent::Permanent;
pub use projector::{Handled, Projector};
pub use runtime::Running;
pub use workload::Workload;

pub use redrive_model as model;
pub use redrive_model::schedule::{Missed, Schedule};
pub use redrive_model::{
    BatchId, Code, Done, EventSeq, Failure, JobId, Owner, Policy, Target, Timestamp, WorkloadName,
};
pub use redrive_store as store;

/// What the engine's calls answer with.
pub type Result<T, E = EngineError> = std::result::Result<T, E>;
