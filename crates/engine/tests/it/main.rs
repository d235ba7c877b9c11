//! The engine on a real store: SQLite in memory, and where two processes matter, two engines on one store.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests: a broken expectation is a failed test"
)]

#[cfg(feature = "testing")]
mod asking;
mod batch;
mod bench;
mod breaker;
mod desk;
mod drain;
mod in_vain;
mod kit;
mod labels;
mod lease;
mod opening;
mod permanent;
mod probe;
mod projector;
mod replay;
mod run;
mod schedule;
