//! The HTTP side from outside: real sockets, a real store, real files, and a gateway that does what a test wants.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests: a broken expectation is a failed test"
)]

mod client;
mod dead;
mod deadline;
mod desk;
mod digest;
mod documented;
mod download;
mod fetch;
mod gateway;
mod hardened;
mod intake;
mod jobs;
mod limits;
mod looking;
mod once;
mod operators;
mod overview;
mod ownership;
mod pages;
mod place;
mod scopes;
mod sessions;
mod settings;
mod status;
mod stream;
mod there;
mod tokens;
mod trail;
mod upload;
mod world;
mod zip;
