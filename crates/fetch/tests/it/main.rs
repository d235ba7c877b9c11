//! Downloads as the engine runs them: a real store, real files, an origin on a real socket that misbehaves on demand.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests: a broken expectation is a failed test"
)]

mod answers;
mod behind;
mod bench;
mod blame;
mod broken;
mod bucket;
mod crash;
mod down;
mod environment;
mod guarded;
mod handlers;
mod letters;
mod limits;
mod manifest;
mod many;
mod names;
mod place_temps;
mod polite;
mod programs;
mod proxies;
mod redirects;
mod secrets;
mod waits;
