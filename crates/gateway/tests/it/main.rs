//! The gateway from outside: its mappings, its cage, its server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests: a broken expectation is a failed test, and what is skipped is said"
)]

mod cage;
mod chars;
mod client;
mod documents;
mod http;
mod mappings;
mod schemas;
mod tools;
