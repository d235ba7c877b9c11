//! Claim → run → record.
//!
//! The engine knows no SQL, no HTTP, no concrete store and no concrete workload. It takes jobs from a
//! [`Store`](redrive_store::Store), runs the handler that is registered for them, asks
//! [`decide`](redrive_model::decide::decide) what follows, and records that under the lease's fence. People use it
//! through the crate `redrive`, which adds the stores.

mod chore;
mod clock;
mod contact;
mod context;
mod engine;
mod error;
mod ids;
mod input;
mod options;
mod permanent;
mod registry;
mod runtime;
mod workload;

pub use clock::StoreClock;
pub use context::Context;
pub use engine::Engine;
pub use error::EngineError;
pub use input::{Enqueue, Input};
pub use options::{BreakerOf, Options};
pub use permanent::Permanent;
pub use runtime::Running;
pub use workload::Workload;

pub use redrive_model as model;
pub use redrive_model::{Code, Done, Failure, JobId, Owner, Policy, Target, Timestamp, WorkloadName};
pub use redrive_store as store;

/// What the engine's calls answer with.
pub type Result<T, E = EngineError> = std::result::Result<T, E>;
