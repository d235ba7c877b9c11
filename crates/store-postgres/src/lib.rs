//! Redrive's scale-out store on Postgres: the same semantics as the embedded one, for many machines.
//!
//! Only the database's clock decides. Every statement is meant to walk an index, and the planner is told so. NOTIFY is a
//! hint, polling is the truth.

mod error;
mod horizon;
mod hot;
mod intake;
mod lanes;
mod migrate;
mod options;
mod read;
mod row;
mod sql;
mod store;
mod verb;
mod wake;

pub use options::Options;
pub use store::PostgresStore;

// Users of `enqueue_in` hand us transactions of this version.
pub use sqlx;
