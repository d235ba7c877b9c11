//! How calls to targets end, counted for everybody: shared rows, changed by compare-and-swap.
//!
//! Successes are gathered here and written about once a second. A failure is written before its slot is free again, so that no
//! more jobs find out that a target is down than it takes. Any worker may open a breaker; only the one fenced probe,
//! or a person, closes it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redrive_model::breaker::{Breaker, Call, Probe, Turn};
use redrive_model::{Code, Target, TargetSet, Timestamp, instant};
use redrive_store::{BreakerRow, Lease, Store, StoreError, Swapped};
use tokio::time::Instant;

use super::Worker;
use crate::ids;

/// Results wait so long before they are written.
const FLUSH: Duration = Duration::from_secs(1);
/// So many results per target are kept while the store is away.
const MOST_PENDING: usize = 1_000;
/// Calls to more targets than this are numbered anew.
const MOST_TARGETS: usize = 10_000;
/// Somebody else was faster so often: later again.
const TRIES: u32 = 10;

/// What this worker knows about breakers, and what it has not told yet.
#[derive(Default)]
pub(crate) struct Breakers {
    state: Mutex<State>,
    /// One writes at a time: whoever waits here knows that what it noted is written.
    writing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    /// Calls that ended, with the breaker's epoch when they started.
    pending: HashMap<Target, Vec<(Heard, u64)>>,
    /// The epoch of every breaker that has a row.
    epochs: HashMap<Target, Epoch>,
    /// Calls that began here.
    calls: HashMap<Target, Calls>,
    /// Targets that let nobody pass, as far as we know.
    blocked: HashMap<Target, Blocked>,
    /// Probes that run here. One job may try several targets.
    probes: HashMap<Lease, Vec<(Target, Probe)>>,
}

/// What was heard of a target: how the call ended, and what it failed with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heard {
    pub(crate) call: Call,
    pub(crate) code: Option<Code>,
}

impl Heard {
    /// It says nothing.
    pub(crate) const NOTHING: Self = Self { call: Call::Neutral, code: None };

    /// Whoever is given up because of this target reads what was heard of it last.
    fn blame(self, breaker: &mut Breaker) {
        if let Some(code) = self.code.filter(|_| self.call.is_failure()) {
            breaker.blame(code);
        }
    }
}

/// A breaker's epoch, and since when we know it.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    number: u64,
    known: Instant,
}

/// A target that lets nobody pass.
#[derive(Debug, Clone, Copy)]
struct Blocked {
    /// Nobody who asks the store before this.
    until: Timestamp,
    /// When a call may be made at the earliest.
    free: Option<Timestamp>,
}

impl Blocked {
    fn of(breaker: &Breaker, now: Timestamp) -> Option<Self> {
        let until = breaker.gate().blocked_until.filter(|until| *until > now)?;
        Some(Self { until, free: breaker.free_at(now) })
    }
}

/// Calls to one target, numbered from 1.
#[derive(Default)]
struct Calls {
    begun: u64,
    /// Up to this one they were counted when it asked for time.
    counted: u64,
}

/// A call that began: by this breaker's epoch it is judged, and it has this number among those to its target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun {
    pub(crate) epoch: u64,
    pub(crate) number: u64,
}

impl Breakers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call to each of these targets begins.
    pub(crate) fn begin(&self, targets: &TargetSet) -> Vec<Begun> {
        let mut state = self.state();
        if state.calls.len() > MOST_TARGETS {
            state.calls.clear();
        }
        let begin = |target: &Target| {
            let calls = state.calls.entry(target.clone()).or_default();
            calls.begun += 1;
            let number = calls.begun;
            Begun { epoch: state.epochs.get(target).map_or(0, |epoch| epoch.number), number }
        };
        targets.iter().map(begin).collect()
    }

    /// The epoch of a target's breaker when a call began of which nobody knew where it would lead.
    pub(crate) fn epoch_at(&self, target: &Target, began: Instant) -> u64 {
        match self.state().epochs.get(target) {
            None => 0,
            // Before the first one there was none.
            Some(epoch) if epoch.number == 0 || epoch.known <= began => epoch.number,
            // It was another one, and its result decides nothing.
            Some(epoch) => epoch.number.wrapping_sub(1),
        }
    }

    /// When a call to this target may be made again, where none may be made now.
    pub(crate) fn free_at(&self, target: &Target, now: Timestamp) -> Option<Timestamp> {
        self.state().blocked.get(target)?.free.filter(|at| *at > now)
    }

    /// This call was asked for time: where it stands among those that were, which is where it began.
    fn stands(&self, target: &Target, number: u64) -> Stands {
        let mut state = self.state();
        let calls = state.calls.entry(target.clone()).or_default();
        let counted = calls.counted;
        calls.counted = counted.max(number);
        let few = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        match number.checked_sub(counted.saturating_add(1)) {
            Some(others) => Stands::Behind(few(others)),
            None => Stands::Before(few(counted.saturating_sub(number))),
        }
    }

    /// A call to this target ended.
    pub(crate) fn note(&self, target: &Target, heard: Heard, epoch: u64) {
        let mut state = self.state();
        let call = heard.call;
        // Nothing is known against it: a success says nothing new, and costs nothing.
        if matches!(call, Call::Neutral | Call::Busy)
            || !call.is_failure() && !state.epochs.contains_key(target) && !state.pending.contains_key(target)
        {
            return;
        }
        let pending = state.pending.entry(target.clone()).or_default();
        if pending.len() < MOST_PENDING {
            pending.push((heard, epoch));
        }
    }

    /// The probes that this lease is, if it is one.
    pub(crate) fn take_probes(&self, lease: Lease) -> Vec<(Target, Probe)> {
        self.state().probes.remove(&lease).unwrap_or_default()
    }

    pub(crate) fn put_probes(&self, lease: Lease, probes: Vec<(Target, Probe)>) {
        self.state().probes.insert(lease, probes);
    }

    /// What a look at all rows has told.
    pub(crate) fn learn(&self, rows: &[BreakerRow], now: Timestamp) {
        let mut state = self.state();
        let known = Instant::now();
        let epoch = |row: &BreakerRow| {
            let number = row.breaker.epoch;
            let same = state.epochs.get(&row.target).filter(|epoch| epoch.number == number);
            (row.target.clone(), same.copied().unwrap_or(Epoch { number, known }))
        };
        let epochs = rows.iter().map(epoch).collect();
        let blocked = |row: &BreakerRow| Some((row.target.clone(), Blocked::of(&row.breaker, now)?));
        state.epochs = epochs;
        state.blocked = rows.iter().filter_map(blocked).collect();
    }

    /// What one row looks like now.
    fn learn_one(&self, target: &Target, breaker: &Breaker, now: Timestamp) {
        let mut state = self.state();
        let number = breaker.epoch;
        if state.epochs.get(target).is_none_or(|epoch| epoch.number != number) {
            state.epochs.insert(target.clone(), Epoch { number, known: Instant::now() });
        }
        match Blocked::of(breaker, now) {
            Some(blocked) => state.blocked.insert(target.clone(), blocked),
            None => state.blocked.remove(target),
        };
    }

    /// Whether one of these targets lets nobody pass now.
    pub(crate) fn blocks(&self, targets: &TargetSet, now: Timestamp) -> bool {
        let state = self.state();
        let blocked = |target: &Target| state.blocked.get(target).is_some_and(|blocked| blocked.until > now);
        !state.blocked.is_empty() && targets.iter().any(blocked)
    }
}

/// Writes down what has gathered, for as long as the worker works.
pub(crate) async fn run(worker: Arc<Worker>) {
    loop {
        let stopped = tokio::select! {
            () = tokio::time::sleep(FLUSH.mul_f64(0.8 + 0.4 * ids::fraction())) => false,
            () = worker.stopped.cancelled() => true,
        };
        flush(&worker).await;
        if stopped {
            return;
        }
        super::give_held_back(&worker).await;
        keep_probes(&worker).await;
    }
}

/// Keeps the probes that run here for as long as their leases are kept, however long they take.
async fn keep_probes(worker: &Worker) {
    let leases: HashSet<Lease> = worker.slots.leases().into_iter().collect();
    let now = worker.clock.now();
    let running = {
        let state = worker.breakers.state();
        let kept = state.probes.iter().filter(|(lease, _)| leases.contains(lease));
        kept.flat_map(|(_, probes)| probes.clone()).collect::<Vec<_>>()
    };
    for (target, probe) in running {
        let config = (worker.options.breaker)(&target);
        if instant::between(now, probe.expires_at) > config.probe_ttl / 2 {
            continue;
        }
        let keep = |breaker: &mut Breaker, now: Timestamp| {
            breaker.keep_probe(&config, now, probe.epoch).then(|| instant::after(now, config.probe_ttl))
        };
        match change(&*worker.store, &target, keep).await {
            Ok((until, _)) => {
                let mut state = worker.breakers.state();
                let of_it = |(of, same): &&mut (Target, Probe)| *of == target && same.epoch == probe.epoch;
                let it = state.probes.values_mut().flatten().find(of_it);
                if let (Some((_, kept)), Some(until)) = (it, until) {
                    kept.expires_at = until;
                }
            }
            Err(error) => tracing::debug!(event = "breaker.probe_not_kept", %target, "{error}"),
        }
    }
}

/// A call failed: writes that down, and gives back what would call the same target next.
pub(crate) async fn failed(worker: &Worker) {
    flush(worker).await;
    super::give_held_back(worker).await;
}

/// Writes down what has gathered.
pub(crate) async fn flush(worker: &Worker) {
    let _one = worker.breakers.writing.lock().await;
    let pending = std::mem::take(&mut worker.breakers.state().pending);
    for (target, calls) in pending {
        let config = (worker.options.breaker)(&target);
        let record = |breaker: &mut Breaker, now: Timestamp| {
            for (heard, epoch) in &calls {
                breaker.record(&config, now, ids::draw(), heard.call, *epoch);
                heard.blame(breaker);
            }
        };
        match change(&*worker.store, &target, record).await {
            Ok(((), breaker)) => worker.breakers.learn_one(&target, &breaker, worker.clock.now()),
            Err(error) => {
                tracing::debug!(event = "breaker.not_written", %target, "{error}");
                let mut state = worker.breakers.state();
                let kept = state.pending.entry(target).or_default();
                kept.extend(calls.into_iter().take(MOST_PENDING.saturating_sub(kept.len())));
            }
        }
    }
}

/// Changes the breaker of a target, whoever else changes it at the same time. Answers what `f` said and the breaker as
/// it is now.
pub(crate) async fn change<T>(
    store: &dyn Store,
    target: &Target,
    f: impl FnMut(&mut Breaker, Timestamp) -> T,
) -> redrive_store::Result<(T, Breaker)> {
    change_as(store, target, Turn::between, f).await
}

/// The same, where somebody else says what the change was.
pub(crate) async fn change_as<T>(
    store: &dyn Store,
    target: &Target,
    turn: impl Fn(&Breaker, &Breaker, Timestamp) -> Option<Turn>,
    mut f: impl FnMut(&mut Breaker, Timestamp) -> T,
) -> redrive_store::Result<(T, Breaker)> {
    let mut tries = 0;
    loop {
        let now = store.now().await?;
        let row = store.breaker(target).await?;
        let version = row.as_ref().map(|row| row.version);
        let before = row.map_or_else(|| Breaker::new(now), |row| row.breaker);
        let mut breaker = before.clone();
        let said = f(&mut breaker, now);
        if breaker == before {
            return Ok((said, breaker));
        }
        let turn = turn(&before, &breaker, now);
        match store.swap_breaker(target, version, &breaker, turn.as_ref()).await? {
            Swapped::Done(_) => {
                report(target, &before, &breaker);
                return Ok((said, breaker));
            }
            Swapped::Stale if tries >= TRIES => {
                let reason = format!("the breaker of {target} keeps changing");
                return Err(StoreError::Unavailable { reason });
            }
            Swapped::Stale => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(5).mul_f64(f64::from(tries) * ids::fraction()))
                    .await;
            }
        }
    }
}

/// A probe came back. Answers how many of its target have failed since it was last closed.
pub(crate) async fn probe_ended(worker: &Worker, target: &Target, probe: Probe, heard: Heard) -> u32 {
    let config = (worker.options.breaker)(target);
    let ended = |breaker: &mut Breaker, now: Timestamp| {
        breaker.probe_ended(&config, now, ids::draw(), probe.epoch, heard.call);
        heard.blame(breaker);
    };
    match change(&*worker.store, target, ended).await {
        Ok((_, breaker)) => {
            worker.breakers.learn_one(target, &breaker, worker.clock.now());
            breaker.reopened
        }
        Err(error) => {
            tracing::warn!(event = "breaker.probe_not_written", %target, "{error}: another probe follows");
            0
        }
    }
}

/// The target asked for time, with this code: everybody who depends on it waits. Our own surroundings ask for nothing, and have none.
pub(crate) async fn throttle(worker: &Worker, target: &Target, wait: Duration, code: Option<Code>) {
    let asked = |breaker: &mut Breaker, now: Timestamp| {
        let until = instant::after(now, wait);
        match code {
            Some(code) => breaker.asks(now, until, code),
            None => breaker.throttle(until),
        }
    };
    match change(&*worker.store, target, asked).await {
        Ok(((), breaker)) => {
            worker.breakers.learn_one(target, &breaker, worker.clock.now());
            super::give_held_back(worker).await;
        }
        Err(error) => tracing::warn!(event = "breaker.throttle_not_written", %target, "{error}"),
    }
}

/// Where a call that was asked for time stands.
#[derive(Debug, Clone, Copy)]
enum Stands {
    /// Behind all that were, with so many others in between.
    Behind(u32),
    /// So many before the last one that was.
    Before(u32),
}

/// The target asked for time with a 503: that delays this job alone, unless many of its answers are like that.
/// A call whose number nobody knows stands for itself.
pub(crate) async fn busy(worker: &Worker, target: &Target, number: Option<u64>, wait: Duration, code: Code) {
    let config = (worker.options.breaker)(target);
    // Those that come at once are counted one after the other: where one stands depends on which were counted before.
    let _one = worker.breakers.writing.lock().await;
    let stands = number.map_or(Stands::Behind(0), |number| worker.breakers.stands(target, number));
    let asked = |breaker: &mut Breaker, now: Timestamp| {
        match stands {
            Stands::Behind(others) => breaker.busy.count(others),
            Stands::Before(later) => breaker.busy.count_earlier(later),
        }
        if !breaker.busy.is_too_busy() {
            return;
        }
        let until = instant::after(now, wait);
        // What everybody needs is waited for until it is free again. Where each job asks for a thing of its own, that has an end.
        if config.counts_retries { breaker.throttle(until) } else { breaker.asks(now, until, code) }
    };
    match change(&*worker.store, target, asked).await {
        Ok(((), breaker)) => {
            worker.breakers.learn_one(target, &breaker, worker.clock.now());
            super::give_held_back(worker).await;
        }
        Err(error) => tracing::debug!(event = "breaker.busy_not_written", %target, "{error}"),
    }
}

fn report(target: &Target, before: &Breaker, after: &Breaker) {
    let (from, to) = (before.phase_name(), after.phase_name());
    if from == to {
        return;
    }
    // Whoever moves it counts the time, so that it is counted once in the fleet.
    if before.level() >= 0.5 {
        let secs = instant::between(before.since, after.since).as_secs();
        metrics::counter!("redrive_breaker_open_seconds_total", "target" => target.kind().to_owned())
            .increment(secs);
    }
    if to == "open" {
        tracing::error!(event = "breaker.opened", %target, from, "too many calls failed: jobs that depend on it wait");
    } else {
        tracing::warn!(event = "breaker.moved", %target, from, to, "the breaker moved");
    }
}
