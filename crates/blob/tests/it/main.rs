//! Tests of the places for artifacts.
//!
//! `conformance.rs` runs the same cases on a folder, on an S3 server in this process and on moto (`./test` says in
//! `REDRIVE_TEST_MOTO` where it is). The rest is about one place and its faults.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests: a broken expectation is a failed test"
)]

mod child;
mod conformance;
mod fake_s3;
mod full;
mod killed;
mod kit;
mod links;
mod memory;
mod old;
mod refused;
mod shelf;
mod sweeping;
mod synced;
mod torn;
