//! Removing what is no longer kept, in bounded chunks.

use redrive_model::JobId;

/// One chunk of the sweep over finished jobs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Purge {
    /// Goes on behind this job; `None` starts with the oldest.
    pub after: Option<JobId>,
    /// Looks at so many rows at most.
    pub scan: usize,
}

/// What a chunk did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Purged {
    /// Rows removed.
    pub jobs: u64,
    /// Where the next chunk goes on; `None` when the sweep is through.
    pub next: Option<JobId>,
}
