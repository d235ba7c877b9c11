//! The laboratory of Redrive: what proves and measures the engine, and is never shipped with it.
//!
//! It holds the protocol model (a small copy of the lease protocol that is checked exhaustively), the benchmarks and
//! the fault tools. Only tests depend on this crate, so nothing here can leak into a user's build.

pub mod bench;
pub mod faulty;
pub mod gateway;
mod http;
pub mod names;
pub mod nobody;
pub mod origin;
pub mod protocol;
pub mod proxy;
pub mod quality;
pub mod tunnel;
pub mod wait;
pub mod worker;
