//! The door from outside, on real sockets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests: a broken expectation is a failed test"
)]

mod client;
mod door;
