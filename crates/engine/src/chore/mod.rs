//! The engine's own work, done by permanent jobs: it eats its own food.

mod reclaim;
mod retention;

pub(crate) use reclaim::{Reclaim, rescue};
pub(crate) use retention::Retention;
