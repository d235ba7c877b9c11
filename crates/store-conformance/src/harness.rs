//! What a store must offer to be tested: itself, a clock that the test moves, and a way to write raw SQL.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use redrive_model::Timestamp;
use redrive_store::Store;
use redrive_store::intake::IntakeStore;

/// Which database is under test, for the few cases that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// SQLite in a file.
    SqliteFile,
    /// SQLite in memory.
    SqliteMemory,
    /// Postgres.
    Postgres,
}

/// One fresh, empty store with an injected database clock.
#[async_trait]
pub trait Harness: Send + Sync {
    /// Which database it is.
    fn backend(&self) -> Backend;

    /// The store.
    fn store(&self) -> Arc<dyn Store>;

    /// The same store, where documents live.
    fn intake(&self) -> Arc<dyn IntakeStore>;

    /// A second handle on the same data: another process's on Postgres, the same one on SQLite.
    async fn second(&self) -> Arc<dyn Store>;

    /// Moves the database's clock on.
    async fn advance(&self, by: Duration);

    /// Sets the database's clock, also back.
    async fn set_clock(&self, at: Timestamp);

    /// Runs one raw statement that works on both databases. `Err` is what the database said when it refused.
    async fn raw(&self, sql: &str) -> Result<(), String>;
}
