//! The engine's own work, done by permanent jobs: it eats its own food.

mod reclaim;

pub(crate) use reclaim::{Reclaim, rescue};
