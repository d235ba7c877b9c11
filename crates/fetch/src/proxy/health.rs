//! Which proxies work: one that fails is left alone for a while, then tried by one download, and is back when that went well.

use std::collections::VecDeque;
use std::time::Duration;

use redrive_engine::Target;
use tokio::time::Instant;

use super::ProxyState;

/// How long a proxy is left alone the first time.
const FIRST: Duration = Duration::from_secs(5);
/// And at most.
const LONGEST: Duration = Duration::from_secs(600);
/// A probe that nobody heard of for so long is given to somebody else.
const PROBE: Duration = Duration::from_secs(120);
/// So many hosts in a row that a proxy does not reach are the proxy's fault.
const HOSTS: usize = 3;
/// Others are asked first about a host that a proxy did not reach, for so long.
const GRUDGE: Duration = Duration::from_secs(600);
/// So many hosts are remembered for that.
const MOST: usize = 64;

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
    /// Hosts that it did not reach, and when, whatever it reached meanwhile. The oldest first.
    missed: VecDeque<(Target, Instant)>,
    /// Hosts as which it brought something that was not to be trusted, and when.
    not_trusted: VecDeque<(Target, Instant)>,
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

    /// How it is, for people.
    pub(super) fn state(&self, now: Instant) -> ProxyState {
        match self.until {
            None => ProxyState::Working,
            Some(until) if until <= now => ProxyState::Tried,
            Some(until) => ProxyState::LeftAlone(until - now),
        }
    }

    /// Somebody uses it.
    pub(super) fn used(&mut self, now: Instant) {
        if self.until.is_some() {
            self.probed = Some(now);
        }
    }

    /// It brought an answer of this host.
    pub(super) fn worked(&mut self, host: Option<&Target>) {
        let mut missed = std::mem::take(&mut self.missed);
        missed.retain(|(known, _)| Some(known) != host);
        let mut not_trusted = std::mem::take(&mut self.not_trusted);
        not_trusted.retain(|(known, _)| Some(known) != host);
        *self = Self { missed, not_trusted, ..Self::default() };
    }

    /// Somebody used it and did not hear of it.
    pub(super) fn unheard(&mut self) {
        self.probed = None;
    }

    /// It was at fault itself.
    pub(super) fn failed(&mut self, now: Instant) {
        // Downloads that were on their way together are one fault.
        if self.until.is_some_and(|until| now < until) {
            return;
        }
        let wait = FIRST.saturating_mul(2u32.saturating_pow(self.failed)).min(LONGEST);
        let (missed, not_trusted) = (std::mem::take(&mut self.missed), std::mem::take(&mut self.not_trusted));
        let (failed, until) = (self.failed.saturating_add(1), now.checked_add(wait));
        *self = Self { failed, until, missed, not_trusted, ..Self::default() };
    }

    /// It did not reach a host: its fault, the host's, or that of both together. Only when it reaches no host is it known.
    pub(super) fn unreached(&mut self, host: &Target, now: Instant) {
        self.probed = None;
        note(&mut self.missed, host, now);
        if !self.unreached.contains(host) {
            self.unreached.push(host.clone());
        }
        if self.unreached.len() >= HOSTS {
            self.failed(now);
        }
    }

    /// Whether it has failed at this host lately, and not reached it since.
    pub(super) fn missed(&self, host: &Target, now: Instant) -> bool {
        lately(&self.missed, host, now)
    }

    /// What it brought as this host's was not to be trusted: the proxy looks into what it carries, or the host has nothing better.
    pub(super) fn not_trusted(&mut self, host: &Target, now: Instant) {
        note(&mut self.not_trusted, host, now);
    }

    /// Whether that was so lately, and it has not brought anything better since.
    pub(super) fn is_not_trusted(&self, host: &Target, now: Instant) -> bool {
        lately(&self.not_trusted, host, now)
    }
}

fn note(hosts: &mut VecDeque<(Target, Instant)>, host: &Target, now: Instant) {
    hosts.retain(|(known, _)| known != host);
    hosts.push_back((host.clone(), now));
    if hosts.len() > MOST {
        hosts.pop_front();
    }
}

fn lately(hosts: &VecDeque<(Target, Instant)>, host: &Target, now: Instant) -> bool {
    hosts.iter().any(|(known, at)| known == host && now.duration_since(*at) < GRUDGE)
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
        health.unheard();
        assert!(health.is_usable(now), "who heard nothing of it has not tried it");
        health.worked(None);
        assert!(health.is_usable(now) && health.wait(now).is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_is_not_reached_is_not_the_proxys_fault_until_no_host_is() {
        let mut health = Health::default();
        let (now, host) = (Instant::now(), |n: u8| Target::new(format!("host:{n}:80")).unwrap());
        for _ in 0..10 {
            health.unreached(&host(1), now);
        }
        assert!(health.is_usable(now) && health.missed(&host(1), now) && !health.missed(&host(2), now));
        health.unreached(&host(2), now);
        health.worked(Some(&host(9)));
        health.unreached(&host(3), now);
        health.unreached(&host(4), now);
        assert!(health.is_usable(now), "it reached one meanwhile");
        health.unreached(&host(5), now);
        assert!(!health.is_usable(now));
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_it_did_not_reach_is_remembered_for_a_while_whatever_else_it_reaches() {
        let mut health = Health::default();
        let (now, host) = (Instant::now(), |n: usize| Target::new(format!("host:{n}:80")).unwrap());
        health.unreached(&host(1), now);
        health.unreached(&host(2), now);
        health.worked(Some(&host(9)));
        assert!(health.missed(&host(1), now) && health.missed(&host(2), now));
        health.worked(Some(&host(1)));
        assert!(!health.missed(&host(1), now) && health.missed(&host(2), now));
        assert!(!health.missed(&host(2), now + GRUDGE), "not for ever");
        for n in 0..1_000 {
            health.unreached(&host(n), now);
        }
        assert_eq!(health.missed.len(), MOST);
    }
}
