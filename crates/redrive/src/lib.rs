//! A durable job engine that treats failure as the main event.
//!
//! Accepted work is never lost; every failure has a code, a reason and a next step; and what could not be done waits,
//! grouped and explained, until somebody replays it. SQLite is embedded; Postgres when one machine is not enough.
//!
//! # In two minutes
//!
//! ```
//! use redrive::{Context, Done, Engine, Failure, Input, Workload};
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Invoice {
//!     id: u64,
//! }
//!
//! impl Input for Invoice {
//!     const WORKLOAD: &'static str = "send-invoice";
//! }
//!
//! struct SendInvoice;
//!
//! impl Workload for SendInvoice {
//!     type Input = Invoice;
//!
//!     async fn run(&self, ctx: Context, invoice: Invoice) -> Result<Done, Failure> {
//!         println!("invoice {}, attempt {}", invoice.id, ctx.attempt());
//!         Ok(Done::Complete)
//!     }
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = Engine::open("sqlite::memory:").await?; // or "sqlite:jobs.db", or "postgres://…"
//! engine.register(SendInvoice);
//! let job = engine.enqueue(&Invoice { id: 7 }).await?;
//! let running = engine.start();
//! # while !engine.store().job(job).await?.is_some_and(|row| row.state.is_terminal()) { tokio::task::yield_now().await }
//! running.drain().await;
//! # Ok(())
//! # }
//! ```
//!
//! # What you can rely on
//!
//! - When [`enqueue`](redrive_engine::Engine::enqueue) returns, the job is durable.
//! - A handler may run more than once for a job: calls to the outside carry [`Context::idempotency_key`]. A result is
//!   recorded exactly once.
//! - Any error becomes a [`Failure`] by `?` and is retried as the [`Policy`] says. A [`Failure`] with a [`Code`] says more:
//!   whether trying again can help, and whom to blame.
//! - What was given up is a dead letter: the row stays, with its history and its reason.

/// Every program in the guides is compiled, and run where it can be.
#[cfg(all(doctest, feature = "postgres", feature = "testing"))]
mod guides {
    #[doc = include_str!("../../../docs/guides/quick-start.md")]
    struct QuickStart;
    #[doc = include_str!("../../../docs/guides/write-a-workload.md")]
    struct WriteAWorkload;
    #[doc = include_str!("../../../docs/guides/testing-your-workload.md")]
    struct TestingYourWorkload;
    #[doc = include_str!("../../../docs/guides/ready-for-production.md")]
    struct ReadyForProduction;
    #[doc = include_str!("../../../docs/guides/guarantees-and-limits.md")]
    struct GuaranteesAndLimits;
}

mod open;
#[cfg(feature = "testing")]
pub mod testing;

pub use open::Engine;
#[cfg(feature = "sqlite")]
pub use open::Tx;
/// What jobs, attempts and events look like when they are read.
pub use redrive_engine::store::{
    Acted, AttemptRow, BatchFailures, BatchFilter, BatchRow, DeadRow, Enqueued, Event, EventKind, GroupRow,
    JobRow,
};
pub use redrive_engine::{
    AuditReport, Batch, BatchId, BatchOptions, BreakerOf, By, Code, Context, Done, EngineError, Enqueue,
    EventSeq, Explanation, Failure, Handled, Input, Items, JobId, Many, Missed, NewReplay, Options, Owner,
    Past, Permanent, PermanentHealth, Place, Policy, Projector, ReaderHealth, Replay, ReplayFilter,
    ReplayPhase, Result, Running, Schedule, Simulated, Skipped, StoreClock, Target, Timestamp, Violation,
    Workload, WorkloadName, model, simulate, store,
};
/// The store for several machines, for those who open it with options of their own.
#[cfg(feature = "postgres")]
pub use redrive_store_postgres as postgres;
/// The sqlx whose transactions [`Engine::enqueue_in`] takes.
#[cfg(feature = "postgres")]
pub use redrive_store_postgres::sqlx;
/// The embedded store, for those who open it with options of their own.
#[cfg(feature = "sqlite")]
pub use redrive_store_sqlite as sqlite;
/// The rusqlite whose connection [`Tx::connection`] is.
#[cfg(feature = "sqlite")]
pub use redrive_store_sqlite::rusqlite;
