//! The words and laws of Redrive.
//!
//! Everything here is a value or a pure function: there is no I/O, no clock and no randomness in this crate. Whoever
//! calls supplies the instant and the random draw, so every law can be tested exhaustively and replayed later
//! (`explain`, `simulate`).
//!
//! Start with [`state`] for the life of a job, [`failure`] for the registry of everything that can go wrong, and
//! [`decide`](mod@decide) for the one place that says what happens after an attempt ends.

pub mod backoff;
pub mod batch;
pub mod breaker;
pub mod decide;
pub mod dedupe;
pub mod failure;
pub mod fingerprint;
pub mod governor;
pub mod group;
pub mod id;
pub mod instant;
pub mod limits;
pub mod name;
pub mod pdf;
pub mod policy;
pub mod redact;
pub mod schedule;
pub mod state;
pub mod text;

pub use decide::{Decision, Done, JobFacts, NextStep, Outcome, Rule, decide};
pub use failure::{Category, Class, Code, Failure};
pub use id::{BatchId, EventSeq, JobId, LeaseToken, Offset, ReplayId, WorkerId};
pub use jiff::Timestamp;
pub use name::{Owner, Target, TargetSet, WorkloadName};
pub use policy::Policy;
pub use state::{BatchState, Shown, State};
