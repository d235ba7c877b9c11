//! Whether bytes come fast enough: by the time that we waited for them, not by the time that our disk took.

use std::time::Duration;

use tokio::time::Instant;

/// Judges speed over windows of waiting.
#[derive(Debug)]
pub(super) struct Pace {
    /// Bytes that must come in a window; 0 bears everything.
    least: u64,
    window: Duration,
    waited: Duration,
    came: u64,
}

impl Pace {
    pub(super) fn new(per_second: u64, window: Duration) -> Self {
        let least = (u128::from(per_second) * window.as_millis()).div_ceil(1000);
        Self { least: u64::try_from(least).unwrap_or(u64::MAX), window, waited: Duration::ZERO, came: 0 }
    }

    /// Until when the next bytes are waited for, from now.
    pub(super) fn until(&self, now: Instant) -> Option<Instant> {
        if self.least == 0 { None } else { now.checked_add(self.window.saturating_sub(self.waited)) }
    }

    /// So much came after so long. Answers whether it is fast enough so far.
    pub(super) fn came(&mut self, bytes: usize, after: Duration) -> bool {
        self.came = self.came.saturating_add(bytes as u64);
        self.waited = self.waited.saturating_add(after);
        if self.waited < self.window || self.least == 0 {
            return true;
        }
        let enough = self.came >= self.least;
        (self.came, self.waited) = (0, Duration::ZERO);
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_in_a_window_is_too_slow_and_bursts_are_not() {
        let second = Duration::from_secs(1);
        let mut pace = Pace::new(10, second * 3);
        assert!(pace.came(0, second) && pace.came(0, second));
        assert!(pace.came(30, second), "all at the end of the window");
        assert!(pace.came(10, second) && pace.came(10, second));
        assert!(!pace.came(9, second));
        let mut any = Pace::new(0, second);
        assert!(any.came(0, second * 100));
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_ends_with_the_window() {
        let now = Instant::now();
        let mut pace = Pace::new(10, Duration::from_secs(3));
        assert_eq!(pace.until(now), Some(now + Duration::from_secs(3)));
        pace.came(1, Duration::from_secs(1));
        assert_eq!(pace.until(now), Some(now + Duration::from_secs(2)));
        assert_eq!(Pace::new(0, Duration::from_secs(3)).until(now), None);
    }
}
