//! Instants are UTC milliseconds in the stores and `jiff::Timestamp` in code; this is the only bridge.
//!
//! Both directions saturate instead of failing: a due time beyond the calendar's end is the calendar's end.

use std::time::Duration;

use jiff::Timestamp;

/// Milliseconds since 1970, rounded towards the past.
#[must_use]
pub fn to_millis(at: Timestamp) -> i64 {
    at.as_millisecond()
}

/// The instant at so many milliseconds since 1970, clamped to what the calendar can hold.
#[must_use]
pub fn from_millis(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(if ms < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

/// The last millisecond of the calendar. What is due then is due never.
pub const LAST_MS: i64 = 253_402_207_200_999;

/// `ms + by`, at most the last millisecond of the calendar. Stores add this way.
#[must_use]
pub fn add_ms(ms: i64, by: Duration) -> i64 {
    ms.saturating_add(millis(by)).min(LAST_MS)
}

/// `at + by`, clamped to what the calendar can hold.
#[must_use]
pub fn after(at: Timestamp, by: Duration) -> Timestamp {
    from_millis(to_millis(at).saturating_add(millis(by)))
}

/// `at - by`, clamped to what the calendar can hold.
#[must_use]
pub fn before(at: Timestamp, by: Duration) -> Timestamp {
    from_millis(to_millis(at).saturating_sub(millis(by)))
}

/// A duration in whole milliseconds, saturating.
#[must_use]
pub fn millis(by: Duration) -> i64 {
    i64::try_from(by.as_millis()).unwrap_or(i64::MAX)
}

/// How long from `earlier` to `later`; zero when the clock went backwards, never negative.
#[must_use]
pub fn between(earlier: Timestamp, later: Timestamp) -> Duration {
    let ms = to_millis(later).saturating_sub(to_millis(earlier));
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_millisecond_count_has_an_instant() {
        assert_eq!(from_millis(i64::MAX), Timestamp::MAX);
        assert_eq!(from_millis(i64::MIN), Timestamp::MIN);
        assert_eq!(to_millis(from_millis(1_234)), 1_234);
        assert_eq!(after(Timestamp::MAX, Duration::MAX), Timestamp::MAX);
        assert_eq!(to_millis(Timestamp::MAX), LAST_MS);
        assert_eq!(add_ms(i64::MAX, Duration::MAX), LAST_MS);
    }

    #[test]
    fn a_clock_that_went_back_gives_no_negative_duration() {
        assert_eq!(between(from_millis(10), from_millis(3)), Duration::ZERO);
        assert_eq!(between(from_millis(3), from_millis(10)), Duration::from_millis(7));
    }
}
