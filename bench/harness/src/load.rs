//! The input of every job.

/// So many bytes.
pub const TEXT: usize = 100;

/// A hundred bytes of text.
#[must_use]
pub fn text() -> String {
    "x".repeat(TEXT)
}
