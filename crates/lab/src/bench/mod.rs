//! Benchmarks: ratios within one run, on the same disk.
//!
//! The stores against hand-written SQL on the same driver: the raw side makes the same row changes by hand-written loops on
//! the same schema; the barest side only claims and deletes. Figures are medians of several rounds, and each round runs both
//! sides one after the other. The engine's own benchmark is `redrive bench`.

pub mod crowd;
pub mod desk;
pub mod fetch;
pub mod figure;
pub mod intake;
pub mod measure;
pub mod ours;
pub mod raw_postgres;
pub mod raw_sqlite;
pub mod scale;
pub mod server;

/// Jobs per call, on every side.
pub const BATCH: usize = 100;
/// The workload all jobs have.
pub const WORKLOAD: &str = "bench";
/// A job's input.
pub const INPUT: [u8; 100] = [b'x'; 100];
