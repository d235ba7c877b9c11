//! The engine's own benchmark: our side of the comparison with its peers, through the crate `redrive` as its users see it.
//!
//! The peers' side lives in `bench/`, a workspace of its own; both print the same lines, and `bench/run` puts them
//! together. Every measurement starts on an empty database.

pub mod child;
pub mod drain;
pub mod enqueue;
pub mod kill;
pub mod load;
pub mod pickup;
pub mod place;
pub mod report;
pub mod rest;
