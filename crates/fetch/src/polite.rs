//! How many requests at once each host bears, found out by asking: more while all goes well, half when it does not.
//!
//! Bounded: hosts that were not heard of for long are forgotten, and begin anew.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redrive_engine::Target;
use tokio::time::Instant;

/// A host that is not known yet gets so many at once.
const FIRST: usize = 4;
/// So many hosts are remembered, and as many of the time before.
const HOSTS: usize = 4_096;
/// A host that asks for time is in trouble when so much of its answers does, as the engine has it: one alone concerns its own job.
const TOO_BUSY: f64 = 0.2;
/// Of so many answers.
const ANSWERS: f64 = 20.0;
/// What goes wrong within this time is one trouble: requests on their way share it.
const ONE_TROUBLE: Duration = Duration::from_secs(1);

/// What every host bears.
#[derive(Debug)]
pub(crate) struct Politeness {
    most: usize,
    hosts: Mutex<Hosts>,
}

#[derive(Debug, Default)]
struct Hosts {
    now: HashMap<Target, Host>,
    before: HashMap<Target, Host>,
}

#[derive(Debug, Clone, Copy)]
struct Host {
    limit: usize,
    /// Successes since the limit changed.
    well: usize,
    /// Until the first trouble the limit grows with every success.
    careful: bool,
    trouble: Option<Instant>,
    /// How much of its last answers asked for time.
    busy: f64,
}

impl Host {
    fn new(limit: usize) -> Self {
        Self { limit, well: 0, careful: false, trouble: None, busy: 0.0 }
    }

    fn answered(&mut self, busy: bool) {
        self.busy += (f64::from(u8::from(busy)) - self.busy) / ANSWERS;
    }

    fn trouble(&mut self) {
        let now = Instant::now();
        if self.trouble.is_none_or(|at| now.duration_since(at) >= ONE_TROUBLE) {
            let limit = (self.limit / 2).max(1);
            *self = Self { careful: true, trouble: Some(now), ..Self::new(limit) };
        }
    }
}

impl Politeness {
    /// Never more than `most` at once to one host.
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), hosts: Mutex::default() }
    }

    /// What a host gets that nothing is known of.
    pub(crate) fn first(&self) -> usize {
        FIRST.min(self.most)
    }

    /// So many at once may go to this host now.
    pub(crate) fn at_once(&self, host: &Target) -> usize {
        self.hosts().get(host).map_or_else(|| self.first(), |host| host.limit)
    }

    /// It has answered well.
    pub(crate) fn went_well(&self, host: &Target) {
        let first = self.first();
        let mut hosts = self.hosts();
        let host = hosts.entry(host, first);
        host.answered(false);
        host.well += 1;
        if !host.careful || host.well >= host.limit {
            host.limit = (host.limit + 1).min(self.most);
            host.well = 0;
        }
    }

    /// It did not manage, or asked everybody for time.
    pub(crate) fn went_badly(&self, host: &Target) {
        let first = self.first();
        self.hosts().entry(host, first).trouble();
    }

    /// It asked one request for time.
    pub(crate) fn was_busy(&self, host: &Target) {
        let first = self.first();
        let mut hosts = self.hosts();
        let host = hosts.entry(host, first);
        host.answered(true);
        if host.busy >= TOO_BUSY {
            host.trouble();
        }
    }

    fn hosts(&self) -> MutexGuard<'_, Hosts> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hosts {
    fn get(&self, host: &Target) -> Option<&Host> {
        self.now.get(host).or_else(|| self.before.get(host))
    }

    fn entry(&mut self, host: &Target, first: usize) -> &mut Host {
        if !self.now.contains_key(host) && self.now.len() >= HOSTS {
            self.before = std::mem::take(&mut self.now);
        }
        let known = self.before.remove(host);
        let new = || known.unwrap_or_else(|| Host::new(first));
        self.now.entry(host.clone()).or_insert_with(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(n: usize) -> Target {
        Target::new(format!("host:{n}:80")).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn it_grows_fast_at_first_halves_on_trouble_and_then_grows_slowly() {
        let polite = Politeness::new(32);
        let one = host(1);
        assert_eq!(polite.at_once(&one), 4);
        for _ in 0..12 {
            polite.went_well(&one);
        }
        assert_eq!(polite.at_once(&one), 16);
        for _ in 0..16 {
            polite.went_badly(&one);
        }
        assert_eq!(polite.at_once(&one), 8, "what was on its way together is one trouble");
        for _ in 0..8 {
            polite.went_well(&one);
        }
        assert_eq!(polite.at_once(&one), 9, "one more for a whole window");
        tokio::time::advance(ONE_TROUBLE).await;
        for _ in 0..5 {
            polite.went_badly(&one);
            tokio::time::advance(ONE_TROUBLE).await;
        }
        assert_eq!(polite.at_once(&one), 1, "never nothing: somebody has to find out");
        for _ in 0..10_000 {
            polite.went_well(&one);
        }
        assert_eq!(polite.at_once(&one), 32);
        assert_eq!(polite.at_once(&host(2)), 4, "others are not concerned");
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_is_busy_now_and_then_keeps_its_number_and_one_that_is_so_often_does_not() {
        let (polite, one) = (Politeness::new(32), host(1));
        for n in 0..1_000 {
            if n % 20 == 0 { polite.was_busy(&one) } else { polite.went_well(&one) }
        }
        assert_eq!(polite.at_once(&one), 32);
        for n in 0..100 {
            if n % 3 == 0 { polite.was_busy(&one) } else { polite.went_well(&one) }
        }
        assert!(polite.at_once(&one) < 25, "{}", polite.at_once(&one));
    }

    #[tokio::test(start_paused = true)]
    async fn it_remembers_a_bounded_number_of_hosts_the_ones_in_use_longest() {
        let polite = Politeness::new(8);
        polite.went_badly(&host(0));
        for n in 1..20_000 {
            polite.went_well(&host(n));
            if n % 1_000 == 0 {
                polite.went_well(&host(0));
            }
        }
        let hosts = polite.hosts();
        assert!(hosts.now.len() + hosts.before.len() <= 2 * HOSTS);
        assert!(hosts.get(&host(0)).is_some_and(|host| host.careful), "it was in use all the time");
        assert!(hosts.get(&host(1)).is_none());
    }

    #[test]
    fn a_limit_below_the_first_guess_is_kept() {
        let polite = Politeness::new(1);
        assert_eq!((polite.first(), polite.at_once(&host(1))), (1, 1));
    }
}
