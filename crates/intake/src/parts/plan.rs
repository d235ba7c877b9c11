//! Into which ranges of pages a PDF is cut. Nothing here asks anybody.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A smaller PDF is not even looked at: it goes through the gateway faster than the question takes.
pub(super) const WORTH_LOOKING: u64 = 256 << 10;

/// Pages, from 1, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The first.
    pub first: u32,
    /// The last.
    pub last: u32,
}

impl Range {
    /// How many.
    #[must_use]
    pub const fn pages(self) -> u32 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.first, self.last) {
            (first, last) if first == last => write!(f, "page {first}"),
            (first, last) => write!(f, "pages {first}–{last}"),
        }
    }
}

/// The ranges, in order; none when the PDF is not cut: it has no more pages than one part has, or parts have none (0 is off).
pub(super) fn plan(pages: u32, per_part: u32) -> Vec<Range> {
    if per_part == 0 || pages <= per_part {
        return Vec::new();
    }
    // The last part must not be one single page beside hundreds: all have about the same number.
    let parts = pages.div_ceil(per_part);
    let (few, more) = (pages / parts, pages % parts);
    let mut next = 1_u32;
    let mut ranges = Vec::with_capacity(parts as usize);
    for part in 0..parts {
        let count = few + u32::from(part < more);
        let last = next.saturating_add(count.saturating_sub(1));
        ranges.push(Range { first: next, last });
        next = last.saturating_add(1);
    }
    ranges
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_page_is_in_exactly_one_part_and_no_part_is_too_large(
            pages in 1_u32..50_000,
            per_part in 1_u32..1_000,
        ) {
            let ranges = plan(pages, per_part);
            prop_assert_eq!(ranges.is_empty(), pages <= per_part);
            let mut next = 1;
            for range in &ranges {
                prop_assert_eq!(range.first, next);
                prop_assert!((1..=per_part).contains(&range.pages()));
                next = range.last + 1;
            }
            prop_assert!(ranges.is_empty() || next == pages + 1);
            let sizes = || ranges.iter().map(|range| range.pages());
            prop_assert!(sizes().max().unwrap_or(0) - sizes().min().unwrap_or(0) <= 1);
        }
    }

    #[test]
    fn a_document_of_one_part_is_not_cut() {
        assert_eq!(plan(50, 50), []);
        assert_eq!(plan(0, 50), []);
        assert_eq!(plan(500, 0), []);
        assert_eq!(plan(51, 50), [Range { first: 1, last: 26 }, Range { first: 27, last: 51 }]);
        assert_eq!(plan(u32::MAX, u32::MAX - 1).last().map(|range| range.last), Some(u32::MAX));
    }
}
