//! New ids and random draws: the one home of randomness.

use std::sync::{Mutex, PoisonError};

use rand::Rng;
use redrive_model::{JobId, Timestamp, instant};

/// Makes ids that sort in the order in which they were made, also within one millisecond.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    last: Mutex<(i64, u16)>,
}

impl Ids {
    /// The bytes behind the instant: twelve bits that count within a millisecond, the rest random.
    pub(crate) fn parts(&self, now: Timestamp) -> (Timestamp, [u8; 10]) {
        let mut draw: [u8; 10] = rand::rng().random();
        let ms = instant::to_millis(now);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that goes back, or more ids than a millisecond has room for, goes on from the last instant.
        *last = match *last {
            (at, _) if ms > at => (ms, 0),
            (at, n) if n < 0x0fff => (at, n + 1),
            (at, _) => (at + 1, 0),
        };
        let (at, n) = *last;
        let [high, low] = n.to_be_bytes();
        let [first, second, ..] = &mut draw;
        (*first, *second) = (high, low);
        (instant::from_millis(at), draw)
    }

    pub(crate) fn job(&self, now: Timestamp) -> JobId {
        let (at, draw) = self.parts(now);
        JobId::from_parts(at, draw)
    }
}

/// A uniform draw for `decide` and for jitter.
pub(crate) fn draw() -> u64 {
    rand::rng().random()
}

/// A uniform share between 0 and 1.
pub(crate) fn fraction() -> f64 {
    rand::rng().random()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_as_they_were_made_also_when_the_clock_stands_still_or_goes_back() {
        let ids = Ids::default();
        let at = |ms: i64| instant::from_millis(1_800_000_000_000 + ms);
        let mut made: Vec<JobId> = (0..10_000).map(|_| ids.job(at(0))).collect();
        made.extend((0..10).map(|n| ids.job(at(-n))));
        made.extend((0..10).map(|n| ids.job(at(n * 1_000))));
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
