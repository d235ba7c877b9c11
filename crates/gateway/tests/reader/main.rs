//! The reader, from bytes to the page model, on files that the tests make themselves.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests: a broken expectation is a failed test, and a skipped one says so"
)]

mod annotations;
mod fonts;
mod inspected;
mod kit;
mod layout;
mod mutated;
mod refusals;
mod samples;
mod tags;
mod words;
