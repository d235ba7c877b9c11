//! What a peer's run is told.

use clap::{Parser, ValueEnum};

/// Measures one thing once, on an empty database.
#[derive(Debug, Clone, Parser)]
pub struct Args {
    /// What is measured.
    #[arg(long, value_enum)]
    pub what: What,
    /// The URL of an empty Postgres database, or an empty folder for SQLite.
    #[arg(long)]
    pub place: String,
    /// Jobs.
    #[arg(long, default_value_t = 20_000)]
    pub jobs: usize,
    /// Samples of the pick-up latency.
    #[arg(long, default_value_t = 300)]
    pub samples: usize,
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// A full queue to its end.
    Drain,
    /// Idle worker, one job: until its handler runs.
    Pickup,
    /// One at a time from 8 callers.
    Enqueue,
    /// All at once.
    Bulk,
}
