//! Intake as the engine runs it: a real folder, a real store, and a gateway over a real socket that says what it is told.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests: a broken expectation is a failed test"
)]

mod bench;
mod breaker;
mod bucket;
mod commands;
mod crashes;
mod digest;
mod failures;
mod gateway;
mod parts;
mod people;
mod reading;
mod reports;
mod runs;
