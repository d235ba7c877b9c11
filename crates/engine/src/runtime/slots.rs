//! What this worker holds: leases that wait for a slot, that run, and whose end is being written.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redrive_model::limits::MAX_CLAIM;
use redrive_model::{Target, TargetSet, WorkloadName};
use redrive_store::{Claimed, Lease, Want};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::registry::Registry;
use held::Held;
pub(crate) use held::{Started, Stuck, Why};

mod held;

/// What can be started within this time may wait locally.
const AHEAD: Duration = Duration::from_millis(50);
/// What was taken ahead and has waited for so long is given back: whatever runs is slower than usual, and others may be free.
const TOO_LONG: Duration = Duration::from_millis(200);
/// Never more than this waits locally: what runs while the next claim is on its way, and that.
const MOST_AHEAD: usize = 2 * MAX_CLAIM;
/// So many times what may run or wait may have ended without being written down.
const UNWRITTEN: usize = 4;
/// Never more than this.
const MOST_UNWRITTEN: usize = 2_000;

/// The slots of one worker.
#[derive(Default)]
pub(crate) struct Slots {
    state: Mutex<State>,
    /// Something became free, or ready to run.
    pub(crate) changed: Notify,
}

#[derive(Default)]
struct State {
    held: HashMap<Lease, Held>,
    waiting: VecDeque<Claimed>,
    running: HashMap<WorkloadName, usize>,
    at: HashMap<Target, Busy>,
    usual: HashMap<WorkloadName, Duration>,
    /// Handlers that have ended and whose end is not written yet.
    ended: HashMap<WorkloadName, usize>,
    stuck: usize,
    /// So many are asking the store what we hold, and what has left since the first of them began.
    hearings: usize,
    left: HashSet<Lease>,
}

/// A target that something runs for.
#[derive(Debug, Clone, Copy, Default)]
struct Busy {
    running: usize,
    /// How long its handlers usually take.
    usual: Option<Duration>,
}

/// The store's answer to what we hold is older than what we know: what has ended since the question must not run again.
pub(crate) struct Hearing<'a>(&'a Slots);

impl Hearing<'_> {
    /// Takes in what of the store's answer was never heard of, and says how much that was.
    pub(crate) fn take_in(self, mut answer: Vec<Claimed>) -> usize {
        let state = self.0.state();
        answer.retain(|c| !state.held.contains_key(&c.lease) && !state.left.contains(&c.lease));
        drop(state);
        let unheard = answer.len();
        self.0.take_in(answer);
        unheard
    }
}

impl Drop for Hearing<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.hearings = state.hearings.saturating_sub(1);
        if state.hearings == 0 {
            state.left = HashSet::new();
        }
    }
}

/// What is usual changes slowly.
fn learn(usual: Option<Duration>, took: Duration) -> Duration {
    usual.map_or(took, |usual| (usual * 7 + took) / 8)
}

/// How many jobs may wait locally when handlers usually take so long.
fn ahead(concurrency: usize, usual: Duration) -> usize {
    let turns = AHEAD.as_micros() / usual.as_micros().max(1);
    usize::try_from(turns).unwrap_or(MOST_AHEAD).saturating_mul(concurrency).min(MOST_AHEAD)
}

impl Slots {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What may be claimed now: what can start at once, and a little more where handlers are fast.
    pub(crate) fn wants(&self, registry: &Registry) -> Vec<Want> {
        let state = self.state();
        let mut waiting: HashMap<&WorkloadName, usize> = HashMap::new();
        for claimed in &state.waiting {
            *waiting.entry(&claimed.workload).or_insert(0) += 1;
        }
        let want = |(name, registered): (&WorkloadName, &crate::registry::Registered)| {
            let ahead = state.usual.get(name).map_or(0, |usual| ahead(registered.concurrency, *usual));
            let running = state.running.get(name).copied().unwrap_or(0);
            let waiting = waiting.get(name).copied().unwrap_or(0);
            // Ends that are not written yet: when the store is slower than the handlers, they wait for it.
            let unwritten = state.ended.get(name).copied().unwrap_or(0);
            if unwritten > ((registered.concurrency + ahead) * UNWRITTEN).min(MOST_UNWRITTEN) {
                return None;
            }
            let limit = (registered.concurrency + ahead).saturating_sub(running + waiting);
            // A claim for the last few places of a buffer is not worth its commit.
            let worth = if ahead == 0 { 1 } else { ahead / 2 };
            (limit >= worth).then(|| Want {
                workload: name.clone(),
                limit,
                per_target: registered.handler.per_target(),
            })
        };
        registry.iter().filter_map(want).collect()
    }

    /// How much room is left for targets that something runs or waits for here: what can start at once, and a little more where
    /// the target is fast.
    pub(crate) fn rooms(&self, registry: &Registry) -> Vec<(Target, usize)> {
        let state = self.state();
        let mut taken: HashMap<&Target, Busy> =
            state.at.iter().map(|(target, busy)| (target, *busy)).collect();
        for target in state.waiting.iter().flat_map(|claimed| claimed.targets.iter()) {
            taken.entry(target).or_default().running += 1;
        }
        let room = |(target, busy): (&Target, Busy)| {
            let limit = registry.iter().filter_map(|(_, r)| r.handler.at_once(target)).min()?;
            let ahead = busy.usual.map_or(0, |usual| ahead(limit, usual));
            Some((target.clone(), (limit + ahead).saturating_sub(busy.running)))
        };
        taken.into_iter().filter_map(room).collect()
    }

    /// Takes claimed jobs in; they wait for their slots.
    pub(crate) fn take_in(&self, claimed: Vec<Claimed>) {
        let mut state = self.state();
        for claimed in claimed {
            // What a lost answer has brought in twice is one lease.
            if state.held.contains_key(&claimed.lease) {
                continue;
            }
            state.held.insert(claimed.lease, Held::new(&claimed));
            state.waiting.push_back(claimed);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Somebody begins to ask the store what we hold.
    pub(crate) fn hearing(&self) -> Hearing<'_> {
        self.state().hearings += 1;
        Hearing(self)
    }

    /// The next job whose slot is free. Its slot is then taken.
    pub(crate) fn next(&self, registry: &Registry) -> Option<Started> {
        let mut state = self.state();
        let fits = |claimed: &Claimed| {
            let Some(registered) = registry.get(&claimed.workload) else { return true };
            let running = state.running.get(&claimed.workload).copied().unwrap_or(0);
            let room = |target: &Target| {
                let limit = registered.handler.at_once(target);
                limit.is_none_or(|limit| state.at.get(target).map_or(0, |busy| busy.running) < limit)
            };
            running < registered.concurrency && claimed.targets.iter().all(room)
        };
        let at = state.waiting.iter().position(fits)?;
        let claimed = state.waiting.remove(at)?;
        Some(state.start(claimed, registry))
    }

    /// Takes a job in and starts it whether a slot is free or not: a probe waits for nobody.
    pub(crate) fn start_now(&self, claimed: Claimed, registry: &Registry) -> Started {
        self.state().start(claimed, registry)
    }

    /// Why this attempt was told to end, if it was.
    pub(crate) fn why(&self, lease: Lease) -> Option<Why> {
        self.state().held.get(&lease)?.why
    }

    /// The handler has ended: its slot is free, its lease is kept until its end is written. Whoever calls this starts the next
    /// job or says that something has changed.
    pub(crate) fn ended(&self, claimed: &Claimed) {
        let mut state = self.state();
        let Some(held) = state.held.get_mut(&claimed.lease) else { return };
        let (runs, was_stuck) = (held.runs.take(), std::mem::take(&mut held.stuck));
        held.ended = true;
        *state.ended.entry(claimed.workload.clone()).or_insert(0) += 1;
        if was_stuck {
            state.stuck = state.stuck.saturating_sub(1);
            metrics::gauge!("redrive_jobs_stuck").set(state.stuck as f64);
        } else if let Some((since, _)) = runs {
            let took = since.elapsed();
            for target in claimed.targets.iter() {
                if let Some(busy) = state.at.get_mut(target) {
                    busy.usual = Some(learn(busy.usual, took));
                }
            }
            state.free(&claimed.workload, &claimed.targets);
            let usual = learn(state.usual.get(&claimed.workload).copied(), took);
            state.usual.insert(claimed.workload.clone(), usual);
        }
    }

    /// Their ends are written, or nobody may write them any more.
    pub(crate) fn forget(&self, leases: impl IntoIterator<Item = Lease>) {
        let mut state = self.state();
        for lease in leases {
            if state.hearings > 0 {
                state.left.insert(lease);
            }
            if let Some(held) = state.held.remove(&lease).filter(|held| held.ended)
                && let Some(ended) = state.ended.get_mut(&held.workload)
            {
                *ended = ended.saturating_sub(1);
            }
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Every lease that is to be extended.
    pub(crate) fn leases(&self) -> Vec<Lease> {
        self.state().held.iter().filter(|(_, held)| !held.stuck).map(|(lease, _)| *lease).collect()
    }

    /// The right to this job is gone: its handler is told, and what waits is dropped.
    pub(crate) fn lose(&self, lease: Lease) {
        let mut state = self.state();
        state.waiting.retain(|claimed| claimed.lease != lease);
        match state.held.get_mut(&lease) {
            Some(held) if held.runs.is_some() => held.end(Why::Lost),
            // Its end is being written, and will be refused.
            Some(held) if held.ended => {}
            Some(_) => drop(state.held.remove(&lease)),
            None => {}
        }
    }

    /// Tells the handlers of these workloads to come to an end.
    pub(crate) fn end_some(&self, of: impl Fn(&WorkloadName) -> bool, why: Why) {
        let mut state = self.state();
        let running = state.held.values_mut().filter(|held| held.runs.is_some() && of(&held.workload));
        running.for_each(|held| held.end(why));
    }

    /// Tells every handler whose time is over to come to an end.
    pub(crate) fn end_overdue(&self) {
        let now = Instant::now();
        let mut state = self.state();
        let overdue = state.held.values_mut().filter(|held| held.runs.is_some_and(|(_, until)| until <= now));
        overdue.for_each(|held| held.end(Why::Timeout));
    }

    /// Gives up the slots of handlers that did not end within `grace` of their time: they block their thread, and others
    /// run in their place. Their leases are no longer extended.
    pub(crate) fn replace_stuck(&self, grace: Duration) -> Vec<Stuck> {
        let now = Instant::now();
        let mut guard = self.state();
        let state = &mut *guard;
        let over = |held: &Held| held.runs.is_some_and(|(_, until)| until + grace <= now) && !held.stuck;
        let leases: Vec<Lease> = state.held.iter().filter(|(_, held)| over(held)).map(|(l, _)| *l).collect();
        let mut stuck = Vec::new();
        for lease in leases {
            let Some(held) = state.held.get_mut(&lease) else { continue };
            held.stuck = true;
            let (workload, targets) = (held.workload.clone(), held.targets.clone());
            state.stuck += 1;
            state.free(&workload, &targets);
            stuck.push(Stuck { lease, workload, count: state.stuck });
        }
        drop(guard);
        if !stuck.is_empty() {
            self.changed.notify_one();
        }
        stuck
    }

    /// When the first of those that wait will have waited for too long.
    pub(crate) fn patience_ends(&self) -> Option<Instant> {
        let state = self.state();
        let first = state.waiting.front()?;
        Some(state.held.get(&first.lease)?.since + TOO_LONG)
    }

    /// What has waited for too long, taken out for being given back. Nothing of its kind is taken ahead until it is quick again.
    pub(crate) fn take_overdue(&self) -> Vec<Claimed> {
        let now = Instant::now();
        let mut guard = self.state();
        let state = &mut *guard;
        let mut overdue = Vec::new();
        while let Some(first) = state.waiting.front()
            && state.held.get(&first.lease).is_none_or(|held| held.since + TOO_LONG <= now)
            && let Some(first) = state.waiting.pop_front()
        {
            state.usual.insert(first.workload.clone(), TOO_LONG);
            for target in first.targets.iter() {
                if let Some(busy) = state.at.get_mut(target) {
                    busy.usual = Some(TOO_LONG);
                }
            }
            overdue.push(first);
        }
        overdue
    }

    /// What of this kind has not started yet, taken out for being given back.
    pub(crate) fn take_waiting(&self, of: impl Fn(&Claimed) -> bool) -> Vec<Claimed> {
        let mut state = self.state();
        let (out, stays): (VecDeque<Claimed>, VecDeque<Claimed>) =
            std::mem::take(&mut state.waiting).into_iter().partition(of);
        state.waiting = stays;
        Vec::from(out)
    }

    /// How many leases there are.
    pub(crate) fn held(&self) -> usize {
        self.state().held.len()
    }

    /// How many leases of these workloads there are.
    pub(crate) fn held_by(&self, of: impl Fn(&WorkloadName) -> bool) -> usize {
        self.state().held.values().filter(|held| of(&held.workload) && !held.stuck).count()
    }

    /// How many handlers run.
    pub(crate) fn running(&self) -> usize {
        self.state().running.values().sum()
    }
}

impl State {
    fn start(&mut self, claimed: Claimed, registry: &Registry) -> Started {
        let policy = registry.get(&claimed.workload).map(|r| &r.rules.policy);
        let timeout = policy.map_or(Duration::ZERO, |policy| policy.attempt_timeout);
        *self.running.entry(claimed.workload.clone()).or_insert(0) += 1;
        for target in claimed.targets.iter() {
            self.at.entry(target.clone()).or_default().running += 1;
        }
        let now = Instant::now();
        let held = self.held.entry(claimed.lease).or_insert_with(|| Held::new(&claimed));
        held.runs = Some((now, now + timeout));
        Started { cancel: held.cancel.clone(), since: held.since, claimed }
    }

    fn free(&mut self, workload: &WorkloadName, targets: &TargetSet) {
        if let Some(running) = self.running.get_mut(workload) {
            *running = running.saturating_sub(1);
        }
        for target in targets.iter() {
            if let Some(busy) = self.at.get_mut(target) {
                busy.running = busy.running.saturating_sub(1);
            }
        }
        self.at.retain(|_, busy| busy.running > 0);
    }
}

#[cfg(test)]
mod tests;
