//! Keeps retries from becoming a storm: a token bucket per target, as a pure value.
//!
//! Retries against one target are let through at max(10 per second, a tenth of its first tries). What comes faster is
//! given a later place, never refused: the job waits in the queue and loses no attempt. The bucket is part of the breaker's
//! row, so the whole fleet shares it; workers take places in small lots.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::instant;

/// Retries per second that are always let through.
const FLOOR: u64 = 10;
/// First tries are counted over so long.
const WINDOW: Duration = Duration::from_secs(10);
/// A window that began less than this ago counts as this long.
const LEAST: Duration = Duration::from_secs(1);
/// So much of an unused allowance may be made up for.
const BURST: Duration = Duration::from_secs(1);

/// The bucket of one target.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bucket {
    /// The next place that nobody has.
    next: Option<Timestamp>,
    /// First tries per second in the window before.
    firsts: u64,
    /// First tries in this window.
    counted: u64,
    /// When this window began.
    since: Option<Timestamp>,
}

/// Places in time for retries, one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Places {
    first: Timestamp,
    apart: Duration,
    left: u32,
}

impl Places {
    /// Takes the next place.
    pub fn take(&mut self) -> Option<Timestamp> {
        self.left = self.left.checked_sub(1)?;
        let place = self.first;
        self.first = instant::after(self.first, self.apart);
        Some(place)
    }
}

impl Bucket {
    /// A bucket that nobody has taken from.
    #[must_use]
    pub const fn new() -> Self {
        Self { next: None, firsts: 0, counted: 0, since: None }
    }

    /// Whether nobody has ever taken from it.
    #[must_use]
    pub const fn is_unused(&self) -> bool {
        self.since.is_none()
    }

    /// Retries per second that pass now: a tenth of the first tries in this window or the one before, whichever had more. What has
    /// just begun has no window before.
    #[must_use]
    pub fn rate(&self, now: Timestamp) -> u64 {
        let span = self.since.map_or(LEAST, |since| instant::between(since, now).max(LEAST));
        (self.firsts.max(per_second(self.counted, span)) / 10).max(FLOOR)
    }

    /// Counts first tries that were made since the last call, and takes places for `n` retries.
    pub fn take(&mut self, now: Timestamp, firsts: u64, n: u32) -> Places {
        self.count(now, firsts);
        let apart = Duration::from_millis((1000 / self.rate(now)).max(1));
        let earliest = instant::before(now, BURST);
        let first = self.next.map_or(earliest, |next| next.max(earliest));
        self.next = Some(instant::after(first, apart * n));
        Places { first, apart, left: n }
    }

    fn count(&mut self, now: Timestamp, firsts: u64) {
        let since = *self.since.get_or_insert(now);
        self.counted = self.counted.saturating_add(firsts);
        let span = instant::between(since, now);
        if span >= WINDOW {
            self.firsts = per_second(self.counted, span);
            self.counted = 0;
            self.since = Some(now);
        }
    }
}

fn per_second(count: u64, span: Duration) -> u64 {
    count.saturating_mul(1000) / u64::try_from(span.as_millis()).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        instant::from_millis(1_800_000_000_000 + ms)
    }

    /// How many of `n` places asked for at `now` lie before `until`.
    fn before(bucket: &mut Bucket, now: i64, n: u32, until: i64) -> usize {
        let mut places = bucket.take(at(now), 0, n);
        std::iter::from_fn(|| places.take()).filter(|place| *place < at(until)).count()
    }

    #[test]
    fn a_few_retries_do_not_wait() {
        let mut bucket = Bucket::default();
        assert_eq!(before(&mut bucket, 0, 10, 1), 10);
    }

    #[test]
    fn a_storm_is_spread_at_the_floor() {
        let mut bucket = Bucket::default();
        assert_eq!(
            before(&mut bucket, 0, 1_000, 10_000),
            110,
            "ten for the second that was unused, ten for each to come"
        );
        assert_eq!(before(&mut bucket, 50, 10, 90_000), 0, "who comes later stands behind");
    }

    #[test]
    fn a_tenth_of_many_first_tries_passes() {
        let mut bucket = Bucket::default();
        bucket.take(at(0), 0, 0);
        bucket.take(at(10_000), 20_000, 0);
        assert_eq!(bucket.rate(at(10_000)), 200);
        assert_eq!(before(&mut bucket, 10_000, 10_000, 11_000), 400);
        bucket.take(at(20_000), 0, 0);
        assert_eq!(bucket.rate(at(20_000)), FLOOR, "the traffic has gone");
    }

    #[test]
    fn first_tries_that_have_just_begun_count() {
        let mut bucket = Bucket::default();
        bucket.take(at(0), 900, 0);
        assert_eq!(bucket.rate(at(1)), 90, "a moment is no second");
        bucket.take(at(2_000), 3_100, 0);
        assert_eq!(bucket.rate(at(2_000)), 200);
        assert_eq!(before(&mut bucket, 2_000, 1_000, 3_000), 400, "with the second before");
        assert_eq!(bucket.rate(at(200_000)), FLOOR);
    }

    #[test]
    fn an_idle_bucket_makes_up_for_one_second_only() {
        let mut bucket = Bucket::default();
        bucket.take(at(0), 0, 1);
        assert_eq!(before(&mut bucket, 3_600_000, 100, 3_600_000), 10);
    }

    #[test]
    fn a_clock_that_goes_back_neither_panics_nor_frees_places() {
        let mut bucket = Bucket::default();
        bucket.take(at(0), 0, 50);
        assert_eq!(before(&mut bucket, -60_000, 10, 0), 0);
    }
}
