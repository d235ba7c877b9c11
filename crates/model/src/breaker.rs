//! The breaker of one target, as a pure state machine.
//!
//! closed → open → half-open with exactly one probe → ramp of 1, 2, 4 … → closed. Stores keep it as a row; whoever
//! changes it writes with compare-and-swap, so the machine itself needs no lock. The law "a breaker never closes
//! without a good probe or a person's word" is checked in `breaker/tests.rs`.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::failure::Code;
use crate::governor::Bucket;
use crate::id::WorkerId;
use crate::instant;
use crate::state::words;

mod asking;
mod busy;
mod call;
mod turn;

pub use asking::{Asking, NEXT_WISH};
pub use busy::Busy;
pub use call::Call;
pub use turn::{Deed, Turn};

/// A breaker that stayed shut for so long after its time, while no job depended on its target, is of no use to anybody.
const FORGOTTEN: Duration = Duration::from_secs(7 * 24 * 3600);

/// After a probe that said nothing the next one waits so long, or for the cool-down where that is shorter.
const BREATH: Duration = Duration::from_secs(5);

words!(
    /// What happens to jobs while a breaker is open.
    Mode {
        /// They wait, and lose no attempt.
        Hold = "hold",
        /// They fail at once.
        FailFast = "fail_fast",
    }
);

/// The numbers of a breaker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// So many of the last finished calls are looked at.
    pub window: u32,
    /// Opens at this share of failures among them.
    pub threshold: f64,
    /// Never opens by share with fewer calls than this.
    pub min_calls: u32,
    /// Calls older than this are not looked at.
    pub max_age: Duration,
    /// Opens after so many connection failures or timeouts in a row; 0 switches that off.
    pub consecutive: u32,
    /// How long it stays open the first time.
    pub cooldown: Duration,
    /// How long it stays open at most, after failed probes.
    pub cooldown_ceiling: Duration,
    /// A probe whose worker has not been heard of for so long is given to somebody else. Whoever runs it keeps it by
    /// [`Breaker::keep_probe`], however long it takes.
    pub probe_ttl: Duration,
    /// The ramp ends when it has reached this many calls at once.
    pub ramp_end: u32,
    /// What happens to jobs while it is open.
    pub mode: Mode,
    /// What jobs fail with where they do not wait.
    pub refusal: Code,
    /// Whether the failure of a job's second try counts. It does not where each job asks for a thing of its own: what fails again
    /// and again then says more about that thing than about the target.
    pub counts_retries: bool,
    /// What waits for a target that has been down for so long is given up; nothing is, where none is set.
    pub patience: Option<Duration>,
}

impl Default for Config {
    fn default() -> Self {
        Self::for_timeout(Duration::from_secs(180))
    }
}

impl Config {
    /// The defaults for a target whose calls may take this long.
    #[must_use]
    pub fn for_timeout(timeout: Duration) -> Self {
        Self {
            window: 20,
            threshold: 0.5,
            min_calls: 10,
            max_age: Duration::from_secs(60).max(timeout.saturating_mul(4)),
            consecutive: 3,
            cooldown: Duration::from_secs(30),
            cooldown_ceiling: Duration::from_secs(300),
            probe_ttl: timeout.saturating_add(Duration::from_secs(60)),
            ramp_end: 32,
            mode: Mode::Hold,
            refusal: Code::SystemBreakerOpen,
            counts_retries: true,
            patience: None,
        }
    }
}

/// Where the breaker is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// Everything passes.
    Closed,
    /// Nothing passes; from `until` on one probe may.
    Open {
        /// When a probe may start.
        until: Timestamp,
    },
    /// One probe is out.
    HalfOpen {
        /// Who has it.
        probe: Probe,
    },
    /// Closed again, with a growing number of calls at once.
    Ramp {
        /// So many at once.
        limit: u32,
        /// Successes since the limit last grew.
        successes: u32,
    },
}

/// The right to make the one trial call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The worker that may make it.
    pub worker: WorkerId,
    /// The fence: the breaker's epoch when the probe was given out.
    pub epoch: u64,
    /// When it counts as lost.
    pub expires_at: Timestamp,
}

/// A target that has not been well since then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Down {
    /// Since when, however often it was tried meanwhile.
    pub since: Timestamp,
    /// What the last call to it failed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
}

/// A person's hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
    /// Since when.
    pub since: Timestamp,
    /// Until when; `None` until released.
    pub until: Option<Timestamp>,
}

/// The breaker of one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    /// Where it is.
    #[serde(flatten)]
    pub phase: Phase,
    /// Raised whenever it opens or gives out a probe; results of calls from an older epoch decide nothing.
    pub epoch: u64,
    /// Since when it is in this phase.
    pub since: Timestamp,
    /// Probes that failed since it was last closed.
    pub reopened: u32,
    /// Connection failures or timeouts in a row.
    pub streak: u32,
    /// The last calls that count, oldest first: when, and whether it was a failure.
    pub recent: VecDeque<(Timestamp, bool)>,
    /// A person's hold, apart from the phase.
    pub hold: Option<Hold>,
    /// The target asked for time (429) until then, apart from the phase.
    pub throttled_until: Option<Timestamp>,
    /// Since when it asks for time and does nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asking: Option<Asking>,
    /// How many of its last answers asked for time (503).
    #[serde(default, skip_serializing_if = "Busy::is_quiet")]
    pub busy: Busy,
    /// The places of retries.
    #[serde(default, skip_serializing_if = "Bucket::is_unused")]
    pub retries: Bucket,
    /// Since when it is down: from the call that opened it to the probe that was good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<Down>,
}

/// What the claim needs to know about a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate {
    /// Nothing passes before this; `Timestamp::MAX` until something changes.
    pub blocked_until: Option<Timestamp>,
    /// At most so many calls at once.
    pub limit: Option<u32>,
    /// The worker whose probe may pass all the same.
    pub probe: Option<WorkerId>,
}

impl Breaker {
    /// A breaker that has seen nothing yet.
    #[must_use]
    pub const fn new(now: Timestamp) -> Self {
        Self {
            phase: Phase::Closed,
            epoch: 0,
            since: now,
            reopened: 0,
            streak: 0,
            recent: VecDeque::new(),
            hold: None,
            throttled_until: None,
            asking: None,
            busy: Busy::new(),
            retries: Bucket::new(),
            down: None,
        }
    }

    /// What the claim needs to know.
    #[must_use]
    pub fn gate(&self) -> Gate {
        let (mut blocked_until, limit, probe) = match &self.phase {
            Phase::Closed => (None, None, None),
            Phase::Open { .. } => (Some(Timestamp::MAX), None, None),
            Phase::HalfOpen { probe } => (Some(Timestamp::MAX), None, Some(probe.worker)),
            Phase::Ramp { limit, .. } => (None, Some(*limit), None),
        };
        blocked_until = blocked_until.max(self.throttled_until);
        if let Some(hold) = &self.hold {
            blocked_until = blocked_until.max(Some(hold.until.unwrap_or(Timestamp::MAX)));
        }
        // Nobody probes a target that a person holds.
        let probe = probe.filter(|_| self.hold.is_none());
        Gate { blocked_until, limit, probe }
    }

    /// Counts a call that was started in `epoch` and has ended. Probes report by [`Breaker::probe_ended`].
    /// `draw` spreads the cool-down.
    pub fn record(&mut self, config: &Config, now: Timestamp, draw: u64, call: Call, epoch: u64) {
        if matches!(call, Call::Neutral | Call::Busy) {
            return;
        }
        if matches!(call, Call::Success | Call::Answered) {
            self.asking = None;
        }
        match self.phase {
            // A late result says nothing about the target as it is now.
            Phase::Open { .. } | Phase::HalfOpen { .. } => {}
            Phase::Closed | Phase::Ramp { .. } if epoch != self.epoch => {}
            // That it answers says little about how well it does its work; it is enough to go on with a ramp.
            Phase::Closed if call == Call::Answered => {}
            Phase::Closed => {
                self.remember(config, now, call);
                if self.too_many(config, now) {
                    self.open(config, now, draw);
                }
            }
            Phase::Ramp { limit, successes } => self.ramp(config, now, draw, call, limit, successes),
        }
    }

    /// Gives the one probe to a worker, if it is time and nobody has it. The epoch in the answer is its fence.
    pub fn start_probe(&mut self, config: &Config, now: Timestamp, worker: WorkerId) -> Option<Probe> {
        let free = match &self.phase {
            Phase::Open { until } => *until <= now,
            Phase::HalfOpen { probe } => probe.expires_at <= now,
            Phase::Closed | Phase::Ramp { .. } => false,
        };
        let throttled = self.throttled_until.is_some_and(|until| until > now);
        if !free || throttled || self.is_held(now) {
            return None;
        }
        // What is left of a hold has ended by its own time: it must not keep the probe away any longer.
        self.hold = None;
        self.epoch += 1;
        let probe = Probe { worker, epoch: self.epoch, expires_at: instant::after(now, config.probe_ttl) };
        self.phase = Phase::HalfOpen { probe };
        self.since = now;
        Some(probe)
    }

    /// Whoever runs the probe lives: it lasts for another `probe_ttl` from now. Answers whether it still had it.
    pub fn keep_probe(&mut self, config: &Config, now: Timestamp, epoch: u64) -> bool {
        let Phase::HalfOpen { probe } = &mut self.phase else { return false };
        if probe.epoch != epoch {
            return false;
        }
        probe.expires_at = probe.expires_at.max(instant::after(now, config.probe_ttl));
        true
    }

    /// Reports the probe. A result with an old fence changes nothing. Answers whether it counted.
    pub fn probe_ended(
        &mut self,
        config: &Config,
        now: Timestamp,
        draw: u64,
        epoch: u64,
        call: Call,
    ) -> bool {
        let Phase::HalfOpen { probe } = &self.phase else { return false };
        if probe.epoch != epoch {
            return false;
        }
        match call {
            Call::Success | Call::Answered => self.begin_ramp(now),
            Call::ServerError | Call::Unreachable => {
                self.reopened = self.reopened.saturating_add(1);
                self.open(config, now, draw);
            }
            // It said nothing: the slot is free, and after a breath the next one tries.
            Call::Neutral | Call::Busy => {
                self.phase = Phase::Open { until: instant::after(now, config.cooldown.min(BREATH)) };
                self.since = now;
            }
        }
        true
    }

    /// The target is left alone until then. A later wish wins, an earlier one is ignored. See [`Breaker::asks`].
    pub fn throttle(&mut self, until: Timestamp) {
        self.throttled_until = self.throttled_until.max(Some(until));
    }

    /// A person holds the target.
    pub fn hold(&mut self, hold: Hold) {
        self.hold = Some(hold);
    }

    /// A person lets the target go: ends a hold, and closes an open breaker with a ramp.
    pub fn release(&mut self, now: Timestamp) {
        self.hold = None;
        self.throttled_until = None;
        self.asking = None;
        match self.phase {
            Phase::Open { .. } | Phase::HalfOpen { .. } => {
                self.epoch += 1;
                self.begin_ramp(now);
            }
            Phase::Closed | Phase::Ramp { .. } => {}
        }
    }

    /// What the last call that spoke against it failed with, for whoever is given up because of it.
    pub const fn blame(&mut self, code: Code) {
        if let Some(down) = &mut self.down {
            down.code = Some(code);
        }
    }

    /// Since when it is down and what it failed with last, once that is longer than its jobs wait and nobody is asking it.
    #[must_use]
    pub fn overdue(&self, config: &Config, now: Timestamp) -> Option<Down> {
        let asked = !matches!(self.phase, Phase::Open { .. });
        let patience = config.patience?;
        self.down.filter(|down| !asked && !self.is_held(now) && instant::between(down.since, now) >= patience)
    }

    /// Nobody waits for it any more: whoever comes next asks it at once and waits as long as those before.
    pub fn start_over(&mut self, now: Timestamp) {
        if let Phase::Open { until } = &mut self.phase {
            *until = now.min(*until);
            self.down = None;
        }
    }

    /// Whether a person holds it now.
    #[must_use]
    pub fn is_held(&self, now: Timestamp) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.until.is_none_or(|until| until > now))
    }

    /// When the next probe may start, where one is due at all.
    #[must_use]
    pub fn next_probe_at(&self) -> Option<Timestamp> {
        let free = match &self.phase {
            Phase::Open { until } => *until,
            Phase::HalfOpen { probe } => probe.expires_at,
            Phase::Closed | Phase::Ramp { .. } => return None,
        };
        // A target that asked for time is not probed before.
        Some(self.throttled_until.map_or(free, |until| free.max(until)))
    }

    /// When a call may be made again at the earliest, where none may be made now.
    #[must_use]
    pub fn free_at(&self, now: Timestamp) -> Option<Timestamp> {
        let held = self.hold.as_ref().map(|hold| hold.until.unwrap_or(Timestamp::MAX));
        self.next_probe_at().max(self.throttled_until).max(held).filter(|at| *at > now)
    }

    /// Whether nothing is lost when its row is removed: nobody holds the target, it asked for no time, and it is not shut. One that
    /// is shut stays for as long as jobs depend on it (`wanted`), and for a week after.
    #[must_use]
    pub fn is_forgettable(&self, now: Timestamp, wanted: bool) -> bool {
        if self.is_held(now) || self.throttled_until.is_some_and(|until| until > now) || self.still_asks(now)
        {
            return false;
        }
        match self.next_probe_at() {
            None => true,
            Some(at) => !wanted && instant::between(at, now) >= FORGOTTEN,
        }
    }

    /// The word people see: `closed`, `open`, `half_open` or `ramp`.
    #[must_use]
    pub const fn phase_name(&self) -> &'static str {
        match self.phase {
            Phase::Closed => "closed",
            Phase::Open { .. } => "open",
            Phase::HalfOpen { .. } => "half_open",
            Phase::Ramp { .. } => "ramp",
        }
    }

    /// How far from closed it is, for graphs: 0 closed, 0.25 ramp, 0.5 half-open, 1 open.
    #[must_use]
    pub const fn level(&self) -> f64 {
        match self.phase {
            Phase::Closed => 0.0,
            Phase::Ramp { .. } => 0.25,
            Phase::HalfOpen { .. } => 0.5,
            Phase::Open { .. } => 1.0,
        }
    }

    fn remember(&mut self, config: &Config, now: Timestamp, call: Call) {
        self.streak = if call == Call::Unreachable { self.streak.saturating_add(1) } else { 0 };
        self.recent.push_back((now, call.is_failure()));
        let window = usize::try_from(config.window.max(1)).unwrap_or(usize::MAX);
        while self.recent.len() > window {
            self.recent.pop_front();
        }
    }

    fn too_many(&self, config: &Config, now: Timestamp) -> bool {
        if config.consecutive > 0 && self.streak >= config.consecutive {
            return true;
        }
        let young = self.recent.iter().filter(|(at, _)| instant::between(*at, now) < config.max_age);
        let (mut calls, mut failures) = (0u32, 0u32);
        for (_, failed) in young {
            calls += 1;
            failures += u32::from(*failed);
        }
        let enough = config.min_calls.min(config.window).max(1);
        calls >= enough && f64::from(failures) >= config.threshold * f64::from(calls)
    }

    fn begin_ramp(&mut self, now: Timestamp) {
        self.recent.clear();
        self.streak = 0;
        self.down = None;
        self.asking = None;
        self.phase = Phase::Ramp { limit: 1, successes: 0 };
        self.since = now;
    }

    fn open(&mut self, config: &Config, now: Timestamp, draw: u64) {
        self.down = self.down.or(Some(Down { since: now, code: None }));
        let doubled =
            config.cooldown.saturating_mul(1u32.checked_shl(self.reopened.min(31)).unwrap_or(u32::MAX));
        let wait = doubled.min(config.cooldown_ceiling.max(config.cooldown));
        // Up to a tenth on top, so that many processes do not wake at once.
        let spread = ((wait.as_millis() / 10) * u128::from(draw)) >> 64;
        let wait = wait + Duration::from_millis(u64::try_from(spread).unwrap_or(0));
        self.epoch += 1;
        self.streak = 0;
        self.recent.clear();
        self.phase = Phase::Open { until: instant::after(now, wait) };
        self.since = now;
    }

    fn ramp(&mut self, config: &Config, now: Timestamp, draw: u64, call: Call, limit: u32, successes: u32) {
        if call.is_failure() {
            if limit <= 1 {
                self.reopened = self.reopened.saturating_add(1);
                self.open(config, now, draw);
            } else {
                self.phase = Phase::Ramp { limit: limit / 2, successes: 0 };
            }
        } else if successes + 1 < limit {
            self.phase = Phase::Ramp { limit, successes: successes + 1 };
        } else if limit >= config.ramp_end {
            self.phase = Phase::Closed;
            self.since = now;
            self.reopened = 0;
        } else {
            self.phase = Phase::Ramp { limit: limit.saturating_mul(2), successes: 0 };
        }
    }
}

#[cfg(test)]
mod tests;
