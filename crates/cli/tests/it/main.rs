//! The command as its users start it: real processes, real ports, real signals.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests: a broken expectation is a failed test"
)]

mod acceptance;
mod backup;
mod bench;
mod canary;
mod closed;
mod config;
mod convert;
mod dead;
mod demo;
mod desk;
mod digest;
mod disk;
mod doctor;
mod explain;
mod fake_gateway;
mod fetch;
mod gateway;
mod handler;
mod intake;
mod jobs;
mod logged;
mod metrics;
mod operators;
mod postgres;
mod process;
mod rules;
mod running;
mod serve;
mod sink;
mod tokens;
mod worker;
