//! The sink against a real server: killed, started again, not there yet.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests: a broken expectation is a failed test"
)]

#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "nats")]
mod server;
