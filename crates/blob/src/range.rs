//! Parts of an artifact, as HTTP's `Range` names them.

use std::ops::Range;

use crate::error::BlobError;

/// Which bytes are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteRange {
    /// From here to the end.
    From(u64),
    /// From the first to the last, both included; what lies behind the end is left out.
    Within {
        /// The first byte.
        first: u64,
        /// The last byte.
        last: u64,
    },
    /// So many bytes at the end, or all when there are fewer.
    Last(u64),
}

impl ByteRange {
    /// The half-open range of an artifact with so many bytes. A range without a single byte is an error, as in HTTP.
    pub fn resolve(self, bytes: u64) -> Result<Range<u64>, BlobError> {
        let range = match self {
            Self::From(first) => first..bytes,
            Self::Within { first, last } => first..last.saturating_add(1).min(bytes),
            Self::Last(count) => bytes.saturating_sub(count)..bytes,
        };
        if range.is_empty() { Err(BlobError::Range { bytes }) } else { Ok(range) }
    }

    /// Whether no artifact has such bytes.
    pub(crate) const fn is_void(self) -> bool {
        match self {
            Self::From(_) => false,
            Self::Within { first, last } => last < first,
            Self::Last(count) => count == 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_resolve_as_http_says() {
        let within = |first, last| ByteRange::Within { first, last };
        for (range, bytes, expected) in [
            (ByteRange::From(0), 10, Some(0..10)),
            (ByteRange::From(9), 10, Some(9..10)),
            (ByteRange::From(10), 10, None),
            (within(0, 0), 10, Some(0..1)),
            (within(2, 4), 10, Some(2..5)),
            (within(2, 99), 10, Some(2..10)),
            (within(0, u64::MAX), 10, Some(0..10)),
            (within(10, 11), 10, None),
            (within(3, 2), 10, None),
            (ByteRange::Last(3), 10, Some(7..10)),
            (ByteRange::Last(99), 10, Some(0..10)),
            (ByteRange::Last(0), 10, None),
            (ByteRange::From(0), 0, None),
            (ByteRange::Last(1), 0, None),
        ] {
            assert_eq!(range.resolve(bytes).ok(), expected, "{range:?} of {bytes}");
        }
    }
}
