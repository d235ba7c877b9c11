//! How many of a target's last answers were "busy, come back later" (503 with Retry-After).
//!
//! One such answer delays its own job only. When a fifth of the last twenty carry it, the whole target is held.

use serde::{Deserialize, Serialize};

/// So many answers are looked at.
const LAST: u32 = 20;
/// So many of them must ask for time: a fifth.
const ENOUGH: u32 = LAST / 5;

/// The last answers, newest in the lowest bit: set where the target asked for time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Busy(u32);

impl Busy {
    /// No answer yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(0)
    }

    /// Whether no answer that is looked at asked for time.
    #[must_use]
    pub const fn is_quiet(&self) -> bool {
        self.0 == 0
    }

    /// Whether so many answers asked for time that the target is to be held.
    #[must_use]
    pub const fn is_too_busy(self) -> bool {
        self.0.count_ones() >= ENOUGH
    }

    /// Counts an answer that asked for time, and before it so many others. They stand in the order in which they were asked for:
    /// a refusal takes no time, and of many calls that begin together the refusals come back first.
    pub const fn count(&mut self, others: u32) {
        let before = if others >= LAST { 0 } else { self.0 << others };
        self.0 = ((before << 1) | 1) & ((1 << LAST) - 1);
    }

    /// Counts an answer that asked for time and was asked for so many before the last one that did: answers come back in any order.
    pub const fn count_earlier(&mut self, before: u32) {
        if before < LAST {
            self.0 |= 1 << before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers that asked for time, each with the number of others before it.
    fn after(others: impl IntoIterator<Item = u32>) -> Busy {
        let mut busy = Busy::new();
        others.into_iter().for_each(|others| busy.count(others));
        busy
    }

    #[test]
    fn a_fifth_of_the_last_twenty_answers_is_too_busy() {
        assert!(!after([0; 3]).is_too_busy());
        assert!(after([0; 4]).is_too_busy());
        assert!(after([0, 0, 0, 16]).is_too_busy());
        assert!(!after([0, 0, 0, 17]).is_too_busy());
        assert!(after([4; 8]).is_too_busy());
        assert!(!after([9; 50]).is_too_busy(), "one in ten is no reason");
        assert_eq!(after([0, 0, 0, 20]), after([0]));
        assert_eq!(after([0, 0, 0, u32::MAX]), after([0]));
        assert!(Busy::new().is_quiet() && !after([0]).is_quiet());
        // One in ten, and the last of them comes back first.
        let mut late = after([39]);
        [10, 20, 30].into_iter().for_each(|before| late.count_earlier(before));
        assert!(!late.is_too_busy());
        (1..4).for_each(|before| late.count_earlier(before));
        assert!(late.is_too_busy());
    }
}
