//! Conversions as the engine runs them: a real store, real files, a gateway over a real socket that misbehaves on demand.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests: a broken expectation is a failed test"
)]

mod answers;
mod bench;
mod disk;
mod gateway;
mod retention;
mod twice;
