//! What the peers share: the same load, the same clocks, the same printed lines.
//!
//! A peer says how its tables are made, how work is handed in, how its worker is started, and how much is not finished
//! yet; [`run`] does the rest, in the same way for everybody.

mod args;
mod load;
mod measure;

use std::future::Future;
use std::sync::Arc;

use anyhow::Result;
pub use args::{Args, What};
pub use load::{TEXT, text};
pub use measure::run;

/// So many jobs at once in one process, on every side.
pub const CONCURRENCY: usize = 20;
/// Callers that enqueue at the same time, on every side.
pub const CALLERS: usize = 8;
/// What every handler does, and all it does.
pub type Handler = Arc<dyn Fn() + Send + Sync>;

/// A job engine to be measured.
pub trait Peer: Clone + Send + Sync + 'static {
    /// Its name where it is published.
    const NAME: &'static str;
    /// The version in the lock file.
    const VERSION: &'static str;
    /// `postgres` or `sqlite`.
    const ON: &'static str;
    /// Holds the worker; it ends with the process.
    type Worker: Send;

    /// Connects to an empty database and makes the peer's tables there.
    fn open(place: &str) -> impl Future<Output = Result<Self>> + Send;

    /// Hands in one job; it is durable when this returns.
    fn enqueue(&self) -> impl Future<Output = Result<()>> + Send;

    /// Hands in many jobs in the fastest way the peer documents; `false` when it has none.
    fn bulk(&self, jobs: usize) -> impl Future<Output = Result<bool>> + Send;

    /// Starts a worker whose handler does this.
    fn start(&self, handler: Handler) -> impl Future<Output = Result<Self::Worker>> + Send;

    /// How many jobs are not recorded as finished.
    fn unfinished(&self) -> impl Future<Output = Result<i64>> + Send;

    /// Makes the database ready for measuring: statistics, and on a server a vacuum and a checkpoint.
    fn settle(&self) -> impl Future<Output = Result<()>> + Send;
}
