//! The tests of the SQLite store: the suite that every store must pass, on a file and in memory, and what only a file
//! can suffer.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests: a broken expectation is a failed test"
)]

mod busy;
mod commit;
mod damage;
mod full;
mod harness;
mod load;
mod lock;
mod moved;
mod transaction;

redrive_store_conformance::suite!(file, crate::harness::file);
redrive_store_conformance::suite!(memory, crate::harness::memory);
redrive_store_conformance::long_suite!(long_file, crate::harness::file);
redrive_store_conformance::long_suite!(long_memory, crate::harness::memory);
