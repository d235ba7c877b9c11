//! Faults of processes, of the database and of the wire between them, on real processes.
//!
//! The rows are those of the project's fault matrix. Tests wait for facts in the store or in files, never for time to pass;
//! where time is the fault itself (a process stopped for longer than a lease), they wait for the store's clock. After every
//! run `audit.rs` compares what was acknowledged with what the store tells.
//!
//! | Row | Fault | Where |
//! |---|---|---|
//! | 1, 4 | killed after the claim, after the completion | `killed.rs` |
//! | 7 | killed again and again | `soak.rs` |
//! | 8, 10 | stopped for longer than its lease, then goes on | `stopped.rs` |
//! | 11, 12 | asked to stop, once and twice | `drained.rs` |
//! | 14 | a job that ends its process every time | `poison.rs` |
//! | 15 | a handler that blocks its thread | `stuck.rs` |
//! | 16 | workers whose clocks are wrong | `clocks.rs` |
//! | 18 | the database server crashes | `server_crash.rs` |
//! | 19, 20 | the answer to a commit is lost | `lost_answers.rs` |
//! | 21, 22 | the database is refused or silent for longer than a lease | `outage.rs` |
//! | 25 | any single fault of any call to the store | `nth_fault/` |
//! | 30 | killed while closing its SQLite file | `closing.rs` |
//! | I11 | eight processes and one probe | `probe_race.rs` |
//!
//! Rows that need two live workers run on Postgres; on SQLite, which one process at a time may have, as kill and restart.
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
mod closing;
mod drained;
mod economy;
mod killed;
mod kit;
mod lost_answers;
mod nth_fault;
mod outage;
mod poison;
mod probe_race;
mod server_crash;
mod soak;
mod stopped;
mod stuck;
