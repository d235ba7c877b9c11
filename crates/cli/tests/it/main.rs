//! The command as its users start it: real processes, real ports, real signals.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests: a broken expectation is a failed test"
)]

mod acceptance;
mod bench;
mod explain;
mod gateway;
mod process;
mod serve;
