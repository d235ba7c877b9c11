//! Faults of processes, of the database and of the wire between them, on real processes.
//!
//! The rows are those of the project's fault matrix. Tests wait for facts in the store or in files, never for time to pass;
//! where time is the fault itself (a process stopped for longer than a lease), they wait for the store's clock.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests: a broken expectation is a failed test"
)]

mod audit;
mod clocks;
mod drained;
mod killed;
mod kit;
mod lost_answers;
mod outage;
mod poison;
mod probe_race;
mod server_crash;
mod soak;
mod stopped;
mod stuck;
