//! How many of a target's last answers were "busy, come back later" (503 with Retry-After).
//!
//! One such answer delays its own job only. When a fifth of the last twenty carry it, the whole target is held.

use serde::{Deserialize, Serialize};

use super::Call;

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

    /// Counts an answer. What brought none is not counted.
    pub(super) const fn count(&mut self, call: Call) {
        let bit = match call {
            Call::Busy => 1,
            Call::Success | Call::ServerError => 0,
            Call::Unreachable | Call::Neutral => return,
        };
        self.0 = ((self.0 << 1) | bit) & ((1 << LAST) - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(calls: &[(Call, usize)]) -> Busy {
        let mut busy = Busy::new();
        for (call, n) in calls {
            (0..*n).for_each(|_| busy.count(*call));
        }
        busy
    }

    #[test]
    fn a_fifth_of_the_last_twenty_answers_is_too_busy() {
        assert!(!after(&[(Call::Busy, 3)]).is_too_busy());
        assert!(after(&[(Call::Busy, 4)]).is_too_busy());
        assert!(after(&[(Call::Busy, 4), (Call::Success, 16)]).is_too_busy());
        assert!(!after(&[(Call::Busy, 4), (Call::Success, 17)]).is_too_busy());
        assert!(after(&[(Call::Busy, 4), (Call::Neutral, 100), (Call::Unreachable, 100)]).is_too_busy());
        assert!(after(&[(Call::Busy, 1), (Call::Success, 20)]).is_quiet());
    }
}
