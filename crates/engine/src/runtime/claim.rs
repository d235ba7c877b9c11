//! Asking for work: only for what can start now, and again as soon as there may be some.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use redrive_model::limits::MAX_CLAIM;
use redrive_model::{WorkloadName, instant};
use redrive_store::{Claim, ClaimMode, StoreError, Want};
use tokio::time::{Instant, MissedTickBehavior};

use super::{Worker, attempt, give_back, give_held_back, wish};

/// Between two claims while the store is away.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// After everybody was sent away for a job that must run alone and could not be had.
const IN_VAIN: Duration = Duration::from_secs(60);

/// While others keep us busy, permanent jobs are asked for only so often.
const CHORES: Duration = Duration::from_millis(100);

/// After the store gave out what we think is held.
const DISAGREED: Duration = Duration::from_millis(100);

pub(crate) async fn run(worker: Arc<Worker>) {
    let mut failures = 0u32;
    let mut in_vain: Option<InVain> = None;
    let mut alone = tokio::time::interval(worker.options.sweep());
    alone.set_missed_tick_behavior(MissedTickBehavior::Delay);
    alone.reset();
    loop {
        wish::keep(&worker).await;
        if worker.draining.is_cancelled() {
            break;
        }
        start_what_fits(&worker);
        if alone.tick().now_or_never().is_some() {
            let had_its_turn = run_alone(&worker).await;
            if !had_its_turn {
                alone.reset_after(IN_VAIN);
            }
        }
        if let Some(until) = worker.surroundings.closed_until() {
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                () = worker.draining.cancelled() => {}
            }
            continue;
        }
        give_back(&worker, worker.slots.take_overdue()).await;
        let claim = question(&worker);
        if claim.wants.is_empty() {
            tokio::select! {
                () = worker.slots.changed.notified() => {}
                () = overdue(&worker) => {}
                () = worker.draining.cancelled() => {}
            }
            continue;
        }
        let chores = only_chores(&worker, &claim);
        if let Some(in_vain) = in_vain.as_ref().filter(|in_vain| chores && in_vain.is_fresh(&worker)) {
            tokio::select! {
                () = tokio::time::sleep_until(in_vain.until) => {}
                () = overdue(&worker) => {}
                () = worker.slots.changed.notified() => {}
                () = worker.draining.cancelled() => {}
            }
            continue;
        }
        match worker.store.claim(claim).await {
            Ok(claimed) if claimed.is_empty() => {
                failures = 0;
                in_vain = chores.then(|| InVain::now(&worker));
                rest(&worker).await;
            }
            Ok(claimed) => {
                failures = 0;
                worker.slots.take_in(claimed);
                // A target may have been held while the claim was on its way. Should we and the store not agree about
                // that, we do not ask again at once.
                if give_held_back(&worker).await > 0 {
                    tokio::time::sleep(DISAGREED).await;
                }
            }
            Err(error) => {
                failures = failures.saturating_add(1);
                trouble(&worker, &error, failures).await;
            }
        }
    }
    // Somebody may still wait for the last ones to start or end.
    worker.slots.changed.notify_waiters();
}

/// Nothing was found for the permanent jobs, which are all there was room for.
struct InVain {
    until: Instant,
    /// So many of them are held; one that ends may be due again.
    held: usize,
}

impl InVain {
    fn now(worker: &Worker) -> Self {
        Self { until: Instant::now() + CHORES, held: held_permanents(worker) }
    }

    fn is_fresh(&self, worker: &Worker) -> bool {
        self.until > Instant::now() && held_permanents(worker) >= self.held
    }
}

fn held_permanents(worker: &Worker) -> usize {
    worker.slots.held_by(|name| permanent(worker, name))
}

/// Whether the others are all full, so that only permanent jobs could start.
fn only_chores(worker: &Worker, claim: &Claim) -> bool {
    claim.wants.iter().all(|want| permanent(worker, &want.workload)) && users(worker).next().is_some()
}

/// What this worker can start now.
pub(crate) fn question(worker: &Worker) -> Claim {
    let wants = worker.slots.wants(&worker.registry);
    Claim {
        worker: worker.id,
        limit: wants.iter().map(|want| want.limit).sum::<usize>().min(MAX_CLAIM),
        wants,
        ttl: worker.options.lease_ttl,
        mode: ClaimMode::Normal,
        rooms: worker.slots.rooms(&worker.registry),
    }
}

/// A job that ended its process twice runs with nobody beside it, so that it cannot take neighbours down. While one waits,
/// nothing else is claimed until it has had its turn. The engine's own chores go on: they stand it. A permanent job that ended its process
/// twice begins alone too; as it may never end, the others do not wait for that.
///
/// Answers `false` when one waited and could not be had: somebody else was faster, or it is held or paused.
async fn run_alone(worker: &Arc<Worker>) -> bool {
    let names: Vec<WorkloadName> = worker.registry.iter().map(|(name, _)| name.clone()).collect();
    while !worker.takes_nothing() && worker.store.waits_alone(&names).await.unwrap_or(false) {
        give_back(worker, worker.slots.take_waiting(|_| true)).await;
        until_quiet(worker).await;
        let claim = Claim {
            worker: worker.id,
            wants: names.iter().map(|name| Want::new(name.clone(), 1)).collect(),
            limit: 1,
            ttl: worker.options.lease_ttl,
            mode: ClaimMode::Alone,
            rooms: Vec::new(),
        };
        if worker.takes_nothing() {
            return true;
        }
        let Ok(Some(claimed)) = worker.store.claim(claim).await.map(|claimed| claimed.into_iter().next())
        else {
            return false;
        };
        tracing::warn!(event = "job.alone", job_id = %claimed.lease.job, workload = %claimed.workload, crashes = claimed.facts.crashes, "this job runs alone: it has ended its process before");
        let started = worker.slots.start_now(claimed, &worker.registry);
        tokio::spawn(attempt::run_on(worker.clone(), started));
        until_quiet(worker).await;
    }
    true
}

/// The workloads that are not permanent.
fn users(worker: &Worker) -> impl Iterator<Item = &WorkloadName> {
    worker.registry.iter().map(|(name, _)| name).filter(|name| !permanent(worker, name))
}

fn permanent(worker: &Worker, name: &WorkloadName) -> bool {
    worker.registry.get(name).is_some_and(|r| r.rules.policy.is_permanent())
}

/// Waits until nothing of the users' is held.
async fn until_quiet(worker: &Worker) {
    while worker.slots.held_by(|name| !permanent(worker, name)) > 0 {
        tokio::select! {
            () = worker.slots.changed.notified() => {}
            () = worker.draining.cancelled() => return,
            () = tokio::time::sleep(LONGEST_WAIT) => {}
        }
    }
}

/// Starts whatever has a free slot.
pub(crate) fn start_what_fits(worker: &Arc<Worker>) {
    while let Some(started) = worker.slots.next(&worker.registry) {
        worker.runtime.spawn(attempt::run_on(worker.clone(), started));
    }
}

/// Nothing is ready: waits for a hint, for the next due time, or for the poll.
async fn rest(worker: &Arc<Worker>) {
    let due = worker.store.next_due().await.ok().flatten();
    let until_due = due.map(|at| instant::between(worker.clock.now().min(at), at) + Duration::from_millis(1));
    let wait = until_due.unwrap_or(worker.options.poll).min(worker.options.poll);
    worker.idle.waits(worker);
    tokio::select! {
        () = worker.store.wait_for_work(wait) => {}
        () = overdue(worker) => {}
        () = worker.slots.changed.notified() => {}
        () = worker.draining.cancelled() => {}
    }
    worker.idle.stops();
}

/// Until something that was taken ahead has waited for too long.
async fn overdue(worker: &Worker) {
    match worker.slots.patience_ends() {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// What a claim took whose answer was lost is found by asking; nothing is run on a guess. Answers whether the store could be
/// asked.
pub(crate) async fn hear(worker: &Worker, error: &str) -> bool {
    let hearing = worker.slots.hearing();
    let Ok(held) = worker.store.leases_of(worker.id).await else { return false };
    let found = hearing.take_in(held);
    tracing::warn!(event = "claim.unheard", found, "{error}");
    true
}

async fn trouble(worker: &Worker, error: &StoreError, failures: u32) {
    if matches!(error, StoreError::Unknown { .. }) && hear(worker, &error.to_string()).await {
        return;
    }
    if failures.is_power_of_two() {
        tracing::warn!(event = "claim.failed", failures, "{error}");
    }
    let ceiling = (Duration::from_millis(100) * 2u32.saturating_pow(failures.min(6))).min(LONGEST_WAIT);
    let spread = ceiling / 2 + ceiling.mul_f64(0.5 * crate::ids::fraction());
    tokio::select! {
        () = tokio::time::sleep(spread) => {}
        () = worker.draining.cancelled() => {}
    }
}
