//! One suite that every Redrive store must pass.
//!
//! A store implements [`Harness`] and calls [`suite!`] once for every database it runs on. The list of cases is in
//! `suite.rs`, the cases themselves are in `cases/`, one area a file. The ids (`C1`, `R4` …) are those of the project's
//! list of conformance cases.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test suite: a broken expectation is a failed test"
)]

mod audit;
pub mod cases;
mod harness;
pub mod kit;
pub mod model_based;
mod suite;

pub use audit::Audit;
pub use harness::{Backend, Harness};
pub use kit::Kit;
