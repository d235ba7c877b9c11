//! How long to wait before the next try: one formula per preset, as data.
//!
//! The random draw is an argument: a full `u64`, read as a fraction of its range. Nothing here overflows, whatever the
//! attempt number.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Thirty days, the longest any preset waits before jitter.
pub const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// Whatever a server says, it is left alone for so long.
const SOONEST: Duration = Duration::from_secs(1);
/// Those who were sent away together come back over at most so long.
const SPREAD: Duration = Duration::from_secs(5);

/// A curve of waits and the jitter on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backoff {
    /// The wait before jitter.
    pub curve: Curve,
    /// What is drawn on top.
    pub jitter: Jitter,
}

/// The wait before the n-th retry, n from 0, before jitter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Curve {
    /// `base · 2^n`, at most `ceiling`.
    Doubling {
        /// The first wait.
        base: Duration,
        /// The longest wait.
        ceiling: Duration,
    },
    /// These waits in turn; the last one stays.
    Steps(Vec<Duration>),
}

/// What is drawn on top of the curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// Adds a uniform draw from 0 up to this.
    UpTo(Duration),
    /// Moves the wait by a uniform draw of ± so many percent.
    Percent(u8),
}

impl Backoff {
    /// 5 s · 2^n plus up to 5 s: the default of convert, fetch and intake.
    #[must_use]
    pub fn reliability() -> Self {
        Self::reliability_with(Duration::from_secs(5), Duration::from_secs(5))
    }

    /// The reliability curve with other numbers (`RETRY_BASE_DELAY_MS`, `RETRY_JITTER_MAX_MS`).
    #[must_use]
    pub fn reliability_with(base: Duration, jitter: Duration) -> Self {
        Self { curve: Curve::Doubling { base, ceiling: LONGEST }, jitter: Jitter::UpTo(jitter) }
    }

    /// 5 s, 15 s, 45 s, each ± 20 %.
    #[must_use]
    pub fn stepped() -> Self {
        Self {
            curve: Curve::Steps([5, 15, 45].map(Duration::from_secs).to_vec()),
            jitter: Jitter::Percent(20),
        }
    }

    /// 1 s doubling to 30 days, ± 20 %.
    #[must_use]
    pub fn on_demand() -> Self {
        Self {
            curve: Curve::Doubling { base: Duration::from_secs(1), ceiling: LONGEST },
            jitter: Jitter::Percent(20),
        }
    }

    /// The curve of permanent jobs: the same as on demand, with a ceiling of its own.
    #[must_use]
    pub fn permanent(ceiling: Duration) -> Self {
        Self { curve: Curve::Doubling { base: Duration::from_secs(1), ceiling }, jitter: Jitter::Percent(20) }
    }

    /// No wait at all, for tests and benchmarks.
    #[must_use]
    pub fn none() -> Self {
        Self { curve: Curve::Steps(Vec::new()), jitter: Jitter::Percent(0) }
    }

    /// The wait before the n-th retry (n from 0) without jitter.
    #[must_use]
    pub fn base(&self, n: u32) -> Duration {
        match &self.curve {
            Curve::Doubling { base, ceiling } => {
                let factor = 1u64.checked_shl(n).unwrap_or(u64::MAX);
                let ms = millis(*base).saturating_mul(factor);
                Duration::from_millis(ms.min(millis(*ceiling)))
            }
            Curve::Steps(steps) => {
                let n = usize::try_from(n).unwrap_or(usize::MAX);
                steps.get(n).or(steps.last()).copied().unwrap_or(Duration::ZERO)
            }
        }
    }

    /// The wait before the n-th retry (n from 0). `draw` is uniform over all of `u64`.
    #[must_use]
    pub fn delay(&self, n: u32, draw: u64) -> Duration {
        let base = millis(self.base(n));
        let ms = match self.jitter {
            Jitter::UpTo(max) => base.saturating_add(fraction_of(millis(max), draw)),
            Jitter::Percent(percent) => {
                let width = u64::try_from(u128::from(base) * u128::from(percent) / 100).unwrap_or(u64::MAX);
                base.saturating_sub(width).saturating_add(fraction_of(width.saturating_mul(2), draw))
            }
        };
        Duration::from_millis(ms)
    }
}

/// A server said when to come again (`Retry-After`): as it said, or a little later (a tenth, at most 5 s), so that those who were
/// sent away together do not come back together. Never earlier, and never beyond `cap`.
///
/// The header has whole seconds, and a date may be over already: what asks for no wait at all gets one of a second, so that nobody
/// asks in a circle.
#[must_use]
pub fn asked(wish: Duration, cap: Duration, draw: u64) -> Duration {
    let wish = millis(wish).max(millis(SOONEST));
    let later = fraction_of((wish / 10).min(millis(SPREAD)), draw);
    Duration::from_millis(wish.saturating_add(later)).min(cap)
}

fn millis(d: Duration) -> u64 {
    u64::try_from(d.as_millis()).unwrap_or(u64::MAX)
}

/// `width` scaled by `draw / 2^64`, and `width` itself only for the largest draws.
fn fraction_of(width: u64, draw: u64) -> u64 {
    u64::try_from(((u128::from(width) + 1) * u128::from(draw)) >> 64).unwrap_or(width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(d: Duration) -> u64 {
        millis(d)
    }

    proptest! {
        /// Also covers: T1, R2.
        #[test]
        fn reliability_stays_in_its_bounds(n in 0u32..12, draw: u64) {
            let d = ms(Backoff::reliability().delay(n, draw));
            let base = 5_000u64 << n;
            prop_assert!((base..=base + 5_000).contains(&d));
        }

        /// Also covers: T1, R2.
        #[test]
        fn stepped_stays_within_a_fifth(n in 0u32..10, draw: u64) {
            let d = ms(Backoff::stepped().delay(n, draw));
            let base = [5_000u64, 15_000, 45_000][(n as usize).min(2)];
            prop_assert!((base * 4 / 5..=base * 6 / 5).contains(&d));
        }

        #[test]
        fn on_demand_doubles_to_thirty_days(n: u32, draw: u64) {
            let d = ms(Backoff::on_demand().delay(n, draw));
            let base = if n < 40 { (1_000u64 << n).min(ms(LONGEST)) } else { ms(LONGEST) };
            prop_assert!((base * 4 / 5..=base * 6 / 5).contains(&d), "{n}: {d}");
        }

        #[test]
        fn permanent_keeps_its_own_ceiling(n: u32, draw: u64) {
            let d = Backoff::permanent(Duration::from_secs(300)).delay(n, draw);
            prop_assert!(d <= Duration::from_secs(360));
        }

        /// Also covers: R6.
        #[test]
        fn who_says_when_is_asked_then_or_a_little_later_and_never_earlier(wish in 1_000u64..10_000_000, cap in 1_000u64..10_000_000, draw: u64) {
            let wait = ms(asked(Duration::from_millis(wish), Duration::from_millis(cap), draw));
            prop_assert!(wait >= wish.min(cap) && wait <= cap);
            prop_assert!(wait <= wish + wish / 10 && wait <= wish + 5_000);
        }

        #[test]
        fn a_curve_never_falls(n in 0u32..1000) {
            for b in [Backoff::reliability(), Backoff::stepped(), Backoff::on_demand()] {
                prop_assert!(b.base(n + 1) >= b.base(n));
            }
        }

        #[test]
        fn any_numbers_give_some_delay(base: u64, jitter: u64, n: u32, draw: u64) {
            let b = Backoff::reliability_with(Duration::from_millis(base), Duration::from_millis(jitter));
            let _ = b.delay(n, draw);
        }
    }

    /// Also covers: R3.
    #[test]
    fn attempt_four_billion_does_not_overflow() {
        for b in [Backoff::reliability(), Backoff::stepped(), Backoff::on_demand(), Backoff::none()] {
            let _ = b.delay(4_000_000_000, u64::MAX);
            let _ = b.delay(u32::MAX, u64::MAX);
        }
        let wild = Backoff {
            curve: Curve::Doubling { base: Duration::MAX, ceiling: Duration::MAX },
            jitter: Jitter::Percent(255),
        };
        let _ = wild.delay(u32::MAX, u64::MAX);
    }

    #[test]
    fn the_draw_reaches_both_ends() {
        let b = Backoff::reliability();
        assert_eq!(ms(b.delay(0, 0)), 5_000);
        assert_eq!(ms(b.delay(0, u64::MAX)), 10_000);
    }

    #[test]
    fn whoever_asks_for_no_wait_gets_a_second() {
        let hour = Duration::from_secs(3600);
        for wish in [Duration::ZERO, Duration::from_millis(1), Duration::from_secs(1)] {
            assert_eq!(ms(asked(wish, hour, 0)), 1_000);
            assert_eq!(ms(asked(wish, hour, u64::MAX)), 1_100);
        }
        assert_eq!(asked(Duration::MAX, hour, u64::MAX), hour);
    }

    #[test]
    fn none_waits_not_at_all() {
        assert_eq!(Backoff::none().delay(7, u64::MAX), Duration::ZERO);
    }
}
