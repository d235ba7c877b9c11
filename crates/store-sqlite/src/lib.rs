//! Redrive's embedded store: one SQLite file, one writer thread, group commit.
//!
//! One process works on a file at a time; a second one may read it. Every acknowledged write has been fsynced.

mod error;
mod intake;
mod lanes;
mod lock;
mod open;
mod read;
mod reader;
mod row;
mod sql;
mod store;
mod tally;
mod transaction;
mod verb;
mod writer;

pub use store::{Options, SqliteStore};
pub use transaction::Transaction;

// Users of `transaction` work on its connection.
pub use rusqlite;
