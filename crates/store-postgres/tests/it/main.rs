//! Postgres under test: the conformance suite, the model-based test, and what only Postgres can get wrong.
//!
//! `./test` starts a private server and says where it is in `REDRIVE_TEST_POSTGRES`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests: a broken expectation is a failed test"
)]

mod commits;
mod events;
mod harness;
mod locks;
mod model_based;
mod outage;
mod planner;
mod schema;

redrive_store_conformance::suite!(conformance, crate::harness::Postgres::fresh);
redrive_store_conformance::long_suite!(long_postgres, crate::harness::Postgres::fresh);
