//! Failures: what went wrong, classified.
//!
//! The [`registry`] is one table; everything that acts on a failure (retry, HTTP answer, page, metric label) reads it
//! there. A [`Failure`] is one occurrence: its code, a cleaned message, and a small context. Making one never fails
//! and never panics, whatever the text: recording a failure must not be able to lose the job.

mod class;
mod occurrence;
pub mod registry;

pub use class::{Budget, Category, Class, Retries};
pub use occurrence::{Context, Failure};
pub use registry::{Code, Entry, REGISTRY};
