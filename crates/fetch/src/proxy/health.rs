//! Which proxies work: one that fails is left alone for a while, then tried by one download, and is back when that went well.

use std::time::Duration;

use redrive_engine::Target;
use tokio::time::Instant;

/// How long a proxy is left alone the first time.
const FIRST: Duration = Duration::from_secs(5);
/// And at most.
const LONGEST: Duration = Duration::from_secs(600);
/// A probe that nobody heard of for so long is given to somebody else.
const PROBE: Duration = Duration::from_secs(120);
/// So many hosts in a row that a proxy does not reach are the proxy's fault.
const HOSTS: usize = 3;

/// How one proxy is.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// It failed so often in a row.
    failed: u32,
    /// It is left alone until then.
    until: Option<Instant>,
    /// Somebody tries it, since then.
    probed: Option<Instant>,
    /// Hosts that it did not reach, since it last reached one.
    unreached: Vec<Target>,
}

impl Health {
    /// Whether it may be used now; a proxy that was left alone is used by one at a time.
    pub(super) fn is_usable(&self, now: Instant) -> bool {
        let Some(until) = self.until else { return true };
        now >= until && self.probed.is_none_or(|since| now.duration_since(since) >= PROBE)
    }

    /// How long until it may be used again.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        self.until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    /// Somebody uses it.
    pub(super) fn used(&mut self, now: Instant) {
        if self.until.is_some() {
            self.probed = Some(now);
        }
    }

    /// It brought an answer.
    pub(super) fn worked(&mut self) {
        *self = Self::default();
    }

    /// It was at fault itself.
    pub(super) fn failed(&mut self, now: Instant) {
        // Downloads that were on their way together are one fault.
        if self.until.is_some_and(|until| now < until) {
            return;
        }
        let wait = FIRST.saturating_mul(2u32.saturating_pow(self.failed)).min(LONGEST);
        *self =
            Self { failed: self.failed.saturating_add(1), until: now.checked_add(wait), ..Self::default() };
    }

    /// It did not reach a host: its fault, the host's, or that of both together. Only when it reaches no host is it known.
    pub(super) fn unreached(&mut self, host: &Target, now: Instant) {
        self.probed = None;
        if !self.unreached.contains(host) {
            self.unreached.push(host.clone());
        }
        if self.unreached.len() >= HOSTS {
            self.failed(now);
        }
    }

    /// Whether it has just failed at this host.
    pub(super) fn missed(&self, host: &Target) -> bool {
        self.unreached.contains(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_that_fails_is_left_alone_longer_each_time_and_tried_by_one() {
        let mut health = Health::default();
        let mut now = Instant::now();
        for wait in [5, 10, 20, 40] {
            health.failed(now);
            health.failed(now);
            assert!(!health.is_usable(now));
            assert_eq!(health.wait(now), Duration::from_secs(wait));
            now += Duration::from_secs(wait);
            assert!(health.is_usable(now));
            health.used(now);
            assert!(!health.is_usable(now), "one at a time");
            assert!(health.is_usable(now + PROBE), "unless that one is never heard of again");
        }
        health.worked();
        assert!(health.is_usable(now) && health.wait(now).is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_is_not_reached_is_not_the_proxys_fault_until_no_host_is() {
        let mut health = Health::default();
        let (now, host) = (Instant::now(), |n: u8| Target::new(format!("host:{n}:80")).unwrap());
        for _ in 0..10 {
            health.unreached(&host(1), now);
        }
        assert!(health.is_usable(now) && health.missed(&host(1)) && !health.missed(&host(2)));
        health.unreached(&host(2), now);
        health.worked();
        health.unreached(&host(3), now);
        health.unreached(&host(4), now);
        assert!(health.is_usable(now));
        health.unreached(&host(5), now);
        assert!(!health.is_usable(now));
    }
}
