//! Fetching against what others do with the same URLs, on the same machine, one after the other.
//!
//! ```text
//! nginx.rs   Debian's server with the objects              ours.rs     the engine on a SQLite file, objects in a folder
//! loops.rs   the same client in a plain loop               peers.rs    curl, aria2, img2dataset
//! bad.rs     an origin with the usual faults               perfect.rs  the client that wastes nothing
//! side.rs    one side's run
//! ```
//!
//! Everybody runs as a process of its own, from its start to its end, so that time and memory mean the same for all.

pub mod bad;
pub mod loops;
pub mod nginx;
pub mod ours;
pub mod peers;
pub mod perfect;
pub mod side;

use std::path::PathBuf;

use clap::Args;

/// What is fetched, and where it goes.
#[derive(Debug, Clone, Args)]
pub struct Task {
    /// `http://127.0.0.1:PORT/`; objects are `0`, `1`, … below it.
    #[arg(long)]
    pub from: String,
    /// How many.
    #[arg(long)]
    pub objects: usize,
    /// So many at a time.
    #[arg(long, default_value_t = 64)]
    pub at_once: usize,
    /// A folder that does not exist yet.
    #[arg(long)]
    pub into: PathBuf,
}

impl Task {
    /// One URL.
    #[must_use]
    pub fn url(&self, n: usize) -> String {
        format!("{}{n}", self.from)
    }
}
