//! The sink against a real server: killed, started again, not there yet. Mail against one that answers as it is asked to.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests: a broken expectation is a failed test"
)]

mod mail;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "nats")]
mod server;
