//! Proxies: who of a pool is next, and who is to blame.
//!
//! A pool's own proxies take turns, another one for every attempt; when none of them works, those of its fallbacks do. A proxy that
//! fails is left alone and then probed by one download. When nobody of a pool is left, the pool is held (`proxies:NAME`): its jobs
//! wait and lose nothing.
//!
//! A proxy gets the address that the guard has judged, never a name: what it reaches is what was checked.

mod health;
mod pools;
mod tunnel;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redrive_engine::Target;
use tokio::time::Instant;

use health::Health;
pub(crate) use pools::Proxy;
pub use pools::{PoolError, PoolOptions};
pub(crate) use tunnel::{TunnelError, open};

/// A pool with nobody alive is looked at again no sooner than this.
const BREATH: Duration = Duration::from_secs(1);

/// All pools of this process.
#[derive(Debug, Default)]
pub struct Pools {
    members: Vec<Arc<Member>>,
    /// By pool: ranks of members, the pool's own first.
    pools: BTreeMap<String, Vec<Vec<Arc<Member>>>>,
}

/// How a proxy is, as far as this process knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyState {
    /// It is used.
    Working,
    /// It failed, and is left alone for so long.
    LeftAlone(Duration),
    /// It failed, and the next download finds out whether it is back.
    Tried,
}

/// One proxy of a pool.
pub(crate) struct Member {
    /// What people call it: `POOL#INDEX`.
    pub(crate) name: String,
    pub(crate) proxy: Proxy,
    /// Its place among all.
    pub(crate) at: usize,
    health: Mutex<Health>,
}

/// Nobody of a pool works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exhausted {
    /// The first of them may be tried again then.
    pub(crate) wait: Duration,
}

impl Pools {
    /// Reads pools as they are set. Pools that fall back in a circle, or to nobody, are refused.
    pub fn new(options: &BTreeMap<String, PoolOptions>) -> Result<Self, PoolError> {
        let (mut members, mut own) = (Vec::new(), BTreeMap::new());
        for (name, pool) in options {
            let mut mine = Vec::new();
            for (n, proxy) in pools::proxies(name, pool)?.into_iter().enumerate() {
                let name = format!("{name}#{}", n + 1);
                let member = Arc::new(Member { name, proxy, at: members.len(), health: Mutex::default() });
                members.push(member.clone());
                mine.push(member);
            }
            own.insert(name.clone(), mine);
        }
        let mut pools = BTreeMap::new();
        for name in options.keys() {
            let ranks = pools::ranks(options, name)?;
            let ranks = ranks.iter().filter_map(|rank| own.get(rank).cloned()).collect();
            pools.insert(name.clone(), ranks);
        }
        Ok(Self { members, pools })
    }

    /// Whether there is a pool of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.pools.contains_key(name)
    }

    /// How the proxies of a pool and of its fallbacks are, for people: `POOL#INDEX` and nothing of where it is or what it wants to
    /// hear. In the order in which they are asked; nobody when there is no such pool.
    #[must_use]
    pub fn states(&self, pool: &str) -> Vec<(&str, ProxyState)> {
        let now = Instant::now();
        let members = self.pools.get(pool).into_iter().flatten().flatten();
        members.map(|member| (member.name.as_str(), member.health().state(now))).collect()
    }

    pub(crate) fn members(&self) -> &[Arc<Member>] {
        &self.members
    }

    /// Whether what another proxy brought of this host lately was not to be trusted either.
    pub(crate) fn not_trusted_by_another(&self, member: &Member, host: &Target) -> bool {
        let now = Instant::now();
        let mut others = self.members.iter().filter(|other| other.proxy != member.proxy);
        others.any(|other| other.health().is_not_trusted(host, now))
    }

    /// The proxy for this turn. `None` when there is no such pool.
    pub(crate) fn pick(
        &self,
        pool: &str,
        host: Option<&Target>,
        turn: u64,
    ) -> Option<Result<Arc<Member>, Exhausted>> {
        let ranks = self.pools.get(pool)?;
        let now = Instant::now();
        for rank in ranks {
            let usable: Vec<&Arc<Member>> =
                rank.iter().filter(|member| member.health().is_usable(now)).collect();
            // Those that did not reach this host a moment ago come last.
            let missed = |member: &&Arc<Member>| host.is_some_and(|host| member.health().missed(host, now));
            let (last, first): (Vec<&Arc<Member>>, Vec<&Arc<Member>>) = usable.into_iter().partition(missed);
            let choice = if first.is_empty() { last } else { first };
            let n = u64::try_from(choice.len()).ok().and_then(|len| turn.checked_rem(len));
            if let Some(member) = n.and_then(|n| choice.get(usize::try_from(n).unwrap_or(0))) {
                member.health().used(now);
                return Some(Ok(Arc::clone(member)));
            }
        }
        let wait = ranks.iter().flatten().map(|member| member.health().wait(now)).min().unwrap_or(BREATH);
        Some(Err(Exhausted { wait: wait.max(BREATH) }))
    }
}

impl Member {
    /// It brought an answer of this host, whatever the answer was.
    pub(crate) fn worked(&self, host: Option<&Target>) {
        self.health().worked(host);
    }

    /// Nothing was heard of it: whoever tried it has found out nothing.
    pub(crate) fn unheard(&self) {
        self.health().unheard();
    }

    /// It was at fault itself.
    pub(crate) fn failed(&self) {
        self.health().failed(Instant::now());
    }

    /// It did not reach this host.
    pub(crate) fn unreached(&self, host: &Target) {
        self.health().unreached(host, Instant::now());
    }

    /// What came through it as this host's was not to be trusted.
    pub(crate) fn not_trusted(&self, host: &Target) {
        self.health().not_trusted(host, Instant::now());
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

/// The target of a pool.
pub(crate) fn target(pool: &str) -> Option<Target> {
    Target::new(format!("proxies:{pool}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pools() -> Pools {
        let pool = |proxies: &[&str], fallbacks: &[&str]| PoolOptions {
            proxies: proxies.iter().map(|host| format!("http://{host}:1")).collect(),
            fallbacks: fallbacks.iter().map(ToString::to_string).collect(),
        };
        let options = BTreeMap::from([
            ("eu".to_owned(), pool(&["a", "b"], &["us"])),
            ("us".to_owned(), pool(&["c"], &[])),
        ]);
        Pools::new(&options).unwrap()
    }

    fn name(picked: Option<Result<Arc<Member>, Exhausted>>) -> String {
        picked.unwrap().unwrap().name.clone()
    }

    #[tokio::test(start_paused = true)]
    async fn a_pools_own_take_turns_and_the_others_stand_in() {
        let pools = pools();
        assert_eq!(
            (0..4).map(|n| name(pools.pick("eu", None, n))).collect::<Vec<_>>(),
            ["eu#1", "eu#2", "eu#1", "eu#2"]
        );
        pools.members()[0].failed();
        assert_eq!((0..2).map(|n| name(pools.pick("eu", None, n))).collect::<Vec<_>>(), ["eu#2", "eu#2"]);
        pools.members()[1].failed();
        assert_eq!(name(pools.pick("eu", None, 0)), "us#1");
        pools.members()[2].failed();
        assert_eq!(
            pools.pick("eu", None, 0).unwrap().unwrap_err(),
            Exhausted { wait: Duration::from_secs(5) }
        );
        let alone = ProxyState::LeftAlone(Duration::from_secs(5));
        assert_eq!(pools.states("eu"), [("eu#1", alone), ("eu#2", alone), ("us#1", alone)]);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(pools.states("us"), [("us#1", ProxyState::Tried)]);
        let probes: Vec<String> = (0..3).map(|_| name(pools.pick("eu", None, 0))).collect();
        assert_eq!(probes, ["eu#1", "eu#2", "us#1"], "each is probed by one");
        assert!(pools.pick("eu", None, 0).unwrap().is_err());
        pools.members()[1].worked(None);
        assert_eq!(name(pools.pick("eu", None, 0)), "eu#2");
        assert_eq!(pools.states("eu")[1], ("eu#2", ProxyState::Working));
        assert!(pools.pick("asia", None, 0).is_none() && pools.states("asia").is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_did_not_reach_a_host_is_not_asked_first_about_it() {
        let pools = pools();
        let (one, two) = (Target::new("host:1:80").unwrap(), Target::new("host:2:80").unwrap());
        pools.members()[0].unreached(&one);
        assert_eq!(name(pools.pick("eu", Some(&one), 0)), "eu#2");
        assert_eq!(name(pools.pick("eu", Some(&two), 0)), "eu#1");
        pools.members()[1].unreached(&one);
        assert_eq!(name(pools.pick("eu", Some(&one), 0)), "eu#1", "better than nobody");
    }
}
