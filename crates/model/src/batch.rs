//! How a batch ends: exact counters and the end rule.

use crate::state::{BatchState, words};
use serde::{Deserialize, Serialize};

words!(
    /// What a mix of outcomes makes of the batch.
    EndRule {
        /// Anything that could never have worked fails the batch.
        Strict = "strict",
        /// Every mix is partial.
        Tolerant = "tolerant",
    }
);

/// The counters of a batch. `ok + failed + cancelled = total` once it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Members added so far.
    pub total: u64,
    /// Members that completed.
    pub ok: u64,
    /// Members that failed.
    pub failed: u64,
    /// Of the failed ones, those with a failure that is not retryable.
    pub hard: u64,
    /// Members that were cancelled.
    pub cancelled: u64,
}

impl Counters {
    /// Members that have ended.
    #[must_use]
    pub const fn ended(&self) -> u64 {
        self.ok + self.failed + self.cancelled
    }
}

/// The state a batch has with these counters. It stays `processing` until it is sealed and every member has ended.
#[must_use]
pub fn end_state(counters: &Counters, sealed: bool, rule: EndRule) -> BatchState {
    let c = counters;
    if !sealed || c.ended() < c.total {
        return BatchState::Processing;
    }
    if c.ok == c.total {
        return BatchState::Complete;
    }
    if c.cancelled == c.total {
        return BatchState::Cancelled;
    }
    match rule {
        EndRule::Tolerant => BatchState::Partial,
        EndRule::Strict if c.hard > 0 || c.ok == 0 => BatchState::Failed,
        EndRule::Strict => BatchState::Partial,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(ok: u64, failed: u64, hard: u64, cancelled: u64, rule: EndRule) -> BatchState {
        end_state(&Counters { total: ok + failed + cancelled, ok, failed, hard, cancelled }, true, rule)
    }

    #[test]
    fn a_batch_ends_as_decisions_say() {
        use BatchState::*;
        use EndRule::*;
        for (ok, failed, hard, cancelled, strict, tolerant) in [
            (3, 0, 0, 0, Complete, Complete),
            (0, 0, 0, 3, Cancelled, Cancelled),
            (2, 1, 0, 0, Partial, Partial),
            (2, 1, 1, 0, Failed, Partial),
            (0, 3, 0, 0, Failed, Partial),
            (0, 3, 3, 0, Failed, Partial),
            (2, 0, 0, 1, Partial, Partial),
            (0, 1, 0, 2, Failed, Partial),
            (0, 0, 0, 0, Complete, Complete),
        ] {
            assert_eq!(end(ok, failed, hard, cancelled, Strict), strict, "{ok} {failed} {hard} {cancelled}");
            assert_eq!(
                end(ok, failed, hard, cancelled, Tolerant),
                tolerant,
                "{ok} {failed} {hard} {cancelled}"
            );
        }
    }

    #[test]
    fn nothing_ends_before_it_is_sealed_and_everybody_is_back() {
        let c = Counters { total: 2, ok: 2, ..Counters::default() };
        assert_eq!(end_state(&c, false, EndRule::Strict), BatchState::Processing);
        let c = Counters { total: 3, ok: 2, ..Counters::default() };
        assert_eq!(end_state(&c, true, EndRule::Strict), BatchState::Processing);
    }
}
