//! `redrive convert`: files in, XML beside each other out; on its own or through a server that runs.
//!
//! ```text
//! plan: which file becomes which ──▶ alone: an engine in this process, its state in DATA_DIR/convert/…
//!                                └─▶ remote: a server's API
//!                                        each ended file ──▶ place (verified, temp → fsync → rename) ──▶ report
//! ```

mod alone;
mod endings;
mod outcome;
mod place;
mod plan;
mod remote;
mod report;
mod state;

pub(crate) use alone::Alone;
pub(crate) use plan::{Item, plan};
pub(crate) use remote::Remote;
pub(crate) use report::Report;

/// Files on their way at once: read, waiting, being converted, being written.
const WINDOW: usize = 64;

/// What holds for all files of a run.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// Which mapping; the gateway's first unless said.
    pub(crate) mapping: Option<String>,
    /// Whether a file that is there and has other content is replaced.
    pub(crate) force: bool,
    /// The largest file.
    pub(crate) max_bytes: u64,
}
