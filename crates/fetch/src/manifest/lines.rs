//! Bytes as they come, cut into lines.

use bytes::{Buf, BytesMut};

/// Cuts lines; holds the one that is not whole yet.
#[derive(Debug, Default)]
pub(super) struct Lines {
    rest: BytesMut,
    /// So much of the rest has no end of a line.
    looked: usize,
    /// Lines that were handed out.
    number: u64,
}

/// A line and its number, from 1.
pub(super) type Line = (u64, BytesMut);

impl Lines {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
    }

    /// The next whole line, without its end.
    pub(super) fn next(&mut self) -> Option<Line> {
        let fresh = self.rest.get(self.looked..)?;
        let Some(end) = fresh.iter().position(|byte| *byte == b'\n') else {
            self.looked = self.rest.len();
            return None;
        };
        let line = self.rest.split_to(self.looked + end);
        self.rest.advance(1);
        (self.looked, self.number) = (0, self.number + 1);
        Some((self.number, line))
    }

    /// What stands behind the last end of a line.
    pub(super) fn last(&mut self) -> Option<Line> {
        (!self.rest.is_empty()).then(|| (self.number + 1, self.rest.split()))
    }

    /// How long the line is that has no end yet, and its number.
    pub(super) fn waiting(&self) -> (u64, usize) {
        (self.number + 1, self.rest.len())
    }
}
