//! One file, one child: a PDF is read in a process of its own that can hurt nobody else.
//!
//! The child is this same program with a hidden first argument. Before it reads a byte it limits its own memory, time,
//! output and files, and gives up everything that a reader does not need: network, other files, other programs. The parent
//! watches the clock and kills by handle. A child dies with its parent, and serves one file only.
//!
//! The file goes in as standard input and the result comes back as standard output; both are files without a name, so that neither
//! process holds them in memory and nothing is left over after a crash.

mod child;
mod filter;
mod limits;
mod order;
mod output;
mod run;
mod verdict;

use std::path::PathBuf;
use std::time::Duration;

pub use child::maybe_child;
pub use order::Task;
pub use output::{Output, Summary};
pub use run::{Cage, Outcome, Stopper, stopper};
pub use verdict::Fault;

/// What a child may use, and where things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The program to start: one whose `main` calls [`maybe_child`] first of all.
    pub program: PathBuf,
    /// Where the unlinked files lie.
    pub temp_dir: PathBuf,
    /// How long a child may take.
    pub wall: Duration,
    /// How long it may compute; whole seconds, rounded up.
    pub cpu: Duration,
    /// Address space in bytes.
    pub memory: u64,
    /// The largest PDF in bytes.
    pub input: u64,
    /// The largest result in bytes.
    pub output: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            program: this_program(),
            temp_dir: std::env::temp_dir(),
            wall: Duration::from_secs(30),
            cpu: Duration::from_secs(10),
            memory: 1 << 30,
            input: 52_428_800,
            output: 512 << 20,
        }
    }
}

/// On Linux the running image itself, so that an upgrade of the file under a running server does no harm.
fn this_program() -> PathBuf {
    if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe().unwrap_or_default()
    }
}
