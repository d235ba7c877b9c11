//! Intake with very many files: 10,000 PDFs that are dropped into a folder at once, 100,000 objects in a bucket.
//!
//! ```text
//! pdfs.rs    the files                       whole.rs   everything that `serve` does for a folder, as a process of its own
//! drop.rs    the drop, and what follows      moves.rs   the same moves without anything between them
//! scan.rs    one look at a folder            bucket.rs  an S3 server with the objects, and looks at it
//! ```
//!
//! Whatever has a memory or a processor time of its own runs as a process of its own, from its start to its end.

pub mod bucket;
pub mod drop;
pub mod moves;
pub mod pdfs;
pub mod scan;
pub mod whole;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use redrive_blob::room::Places;
use redrive_convert::TARGET;
use redrive_intake::{QueueOptions, SETTLE};

/// A folder of people, and how many documents there are.
#[derive(Debug, Clone, Args)]
pub struct Task {
    /// A folder that does not exist yet: people's files in `files`, the database beside it.
    #[arg(long)]
    pub home: PathBuf,
    /// How many.
    #[arg(long)]
    pub documents: usize,
}

impl Task {
    /// What belongs to people.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.home.join("files")
    }
}

/// As `serve` has them unless somebody says otherwise.
#[must_use]
pub fn queue_options() -> QueueOptions {
    QueueOptions {
        interval: Duration::from_secs(120),
        max_in_flight: 10,
        settle: SETTLE,
        targets: vec![TARGET.to_owned()],
        patience: Duration::from_secs(60),
        room: Places::default(),
        reserve: 0,
    }
}
