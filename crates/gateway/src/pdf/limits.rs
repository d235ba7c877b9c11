//! How much one file may ask for, and how much it has asked for so far.
//!
//! The limits are generous for honest files and small enough that a hostile one ends here, with a code, and not in the
//! cage around the child process.

use super::refusal::{Limit, Refusal};
use std::cell::Cell;

/// How much one file may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Pages of the file.
    pub pages: u64,
    /// Glyphs of all pages.
    pub glyphs: u64,
    /// Glyphs of one page.
    pub page_glyphs: u64,
    /// Arrays and dictionaries inside each other.
    pub nesting: usize,
    /// Bytes that one stream unpacks to.
    pub stream_bytes: u64,
    /// Bytes that all streams unpack to.
    pub document_bytes: u64,
    /// Filters of one stream.
    pub filters: usize,
    /// Objects of the file.
    pub objects: u64,
    /// Operators of all pages, those that draw no text included.
    pub operators: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pages: 5_000,
            glyphs: 5_000_000,
            page_glyphs: 1_000_000,
            nesting: 256,
            stream_bytes: 64 << 20,
            document_bytes: 2 << 30,
            filters: 3,
            objects: 2_000_000,
            operators: 200_000_000,
        }
    }
}

/// What a file has used of its [`Limits`]. Shared by everything that reads one file, hence the cells.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    glyphs: Cell<u64>,
    page_glyphs: Cell<u64>,
    bytes: Cell<u64>,
    operators: Cell<u64>,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            glyphs: Cell::new(0),
            page_glyphs: Cell::new(0),
            bytes: Cell::new(0),
            operators: Cell::new(0),
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Begins a new page.
    pub(crate) fn page(&self) {
        self.page_glyphs.set(0);
    }

    /// Counts glyphs as they are drawn.
    pub(crate) fn glyphs(&self, more: u64) -> Result<(), Refusal> {
        spend(&self.page_glyphs, more, self.limits.page_glyphs, Limit::Glyphs)?;
        spend(&self.glyphs, more, self.limits.glyphs, Limit::Glyphs)
    }

    /// Counts bytes as they are unpacked.
    pub(crate) fn bytes(&self, more: u64) -> Result<(), Refusal> {
        spend(&self.bytes, more, self.limits.document_bytes, Limit::DocumentBytes)
    }

    /// Counts a form as the many operators that drawing it costs at least.
    pub(crate) fn form(&self) -> Result<(), Refusal> {
        self.operators(200)
    }

    /// Counts operators; the caller does so in portions.
    pub(crate) fn operators(&self, more: u64) -> Result<(), Refusal> {
        spend(&self.operators, more, self.limits.operators, Limit::Operators)
    }
}

fn spend(used: &Cell<u64>, more: u64, limit: u64, name: Limit) -> Result<(), Refusal> {
    used.set(used.get().saturating_add(more));
    if used.get() > limit { Err(Refusal::LimitExceeded(name)) } else { Ok(()) }
}
