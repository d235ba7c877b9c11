//! The engine's own work, done by permanent jobs: it eats its own food.

mod minutes;
mod reclaim;
mod retention;

pub(crate) use minutes::Minutes;
pub(crate) use reclaim::{Reclaim, rescue};
pub(crate) use retention::Retention;
