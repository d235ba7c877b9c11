//! One suite that every Redrive store must pass.

mod harness;

pub use harness::{Backend, Harness};
