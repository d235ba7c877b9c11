//! Keeping leases, and noticing handlers that do not end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use redrive_store::{Extension, WorkerBeat};
use tokio::time::{Instant, MissedTickBehavior};

use super::slots::Why;
use super::{Worker, wish};
use crate::chore::rescue;

/// Extends every lease four times per lease time, in one call. When that fails for too long, side effects stop before
/// somebody else may begin: neither a call that hangs nor one that fails quickly can put that off.
pub(crate) async fn run(worker: Arc<Worker>) {
    let (beat, safe) = (worker.options.beat(), worker.options.lease_ttl - worker.options.margin());
    let mut ticks = tokio::time::interval(beat);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Leases count from before the call that took them.
    let mut kept = Instant::now();
    // Everybody was told to end since then.
    let mut doubted = false;
    loop {
        tokio::select! {
            biased;
            () = worker.stopped.cancelled() => return,
            () = tokio::time::sleep_until(kept + safe), if !doubted => {
                worker.slots.end_some(|_| true, Why::Doubt);
                doubted = true;
                continue;
            }
            _ = ticks.tick() => {}
        }
        let leases = worker.slots.leases();
        let asked = Instant::now();
        let until = |kept, doubted| if doubted { Instant::now() + beat } else { kept + safe };
        if leases.is_empty() {
            (kept, doubted) = (asked, false);
        } else {
            let extend = worker.store.extend(worker.id, leases.clone(), worker.options.lease_ttl);
            // Later than this the answer is of no use.
            match tokio::time::timeout_at(until(kept, doubted), extend).await {
                Ok(Ok(answers)) => {
                    (kept, doubted) = (asked, false);
                    for (lease, answer) in leases.into_iter().zip(answers) {
                        if answer == Extension::Lost {
                            worker.slots.lose(lease);
                        }
                    }
                }
                Ok(Err(error)) => {
                    tracing::warn!(event = "lease.extend_failed", leases = leases.len(), "{error}");
                }
                Err(_) => tracing::warn!(event = "lease.extend_failed", leases = leases.len(), "no answer"),
            }
        }
        // Leases first: a store that is slow to hear this must not make them late.
        let until = until(kept, doubted).min(Instant::now() + beat);
        let _ = tokio::time::timeout_at(until, say_hello(&worker, asked)).await;
    }
}

async fn say_hello(worker: &Worker, asked: Instant) {
    let (lease, beat) = (worker.options.lease_ttl, worker.options.beat());
    let hello = WorkerBeat {
        id: worker.id,
        name: worker.options.name.clone(),
        build: worker.options.build.clone(),
        draining: worker.takes_nothing(),
        concurrency: u32::try_from(worker.registry.iter().map(|(_, r)| r.concurrency).sum::<usize>())
            .unwrap_or(u32::MAX),
        // One beat less than a lease, from when the leases were extended: whoever is gone does not look alive when they run out, also
        // where the store was slow in between.
        ttl: lease.saturating_sub(beat + asked.elapsed()).max(beat),
    };
    match worker.store.beat(hello).await {
        Ok(drain) => {
            worker.contact.heard();
            wish::heard(worker, drain);
        }
        Err(error) => tracing::debug!(event = "worker.beat_failed", "{error}"),
    }
    // Worth little: nothing waits long for it.
    if let Ok(Ok(now)) = tokio::time::timeout(beat / 4, worker.store.now()).await {
        worker.clock.correct(now);
    }
}

/// Ends attempts whose time is over, and replaces the slots of those that do not listen.
pub(crate) async fn watch(worker: Arc<Worker>) {
    let every = Duration::from_secs(1).min(worker.options.beat());
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = worker.stopped.cancelled() => return,
        }
        worker.slots.end_overdue();
        for stuck in worker.slots.replace_stuck(worker.options.grace + worker.options.grace) {
            metrics::gauge!("redrive_jobs_stuck").set(stuck.count as f64);
            tracing::error!(
                event = "handler.stuck",
                job_id = %stuck.lease.job,
                workload = %stuck.workload,
                stuck = stuck.count,
                "a handler blocks its thread and ignores the end of its attempt; its lease runs out, its slot is replaced"
            );
            if stuck.count > worker.options.stuck_limit {
                worker.broken.store(true, Ordering::Relaxed);
                worker.draining.cancel();
                tracing::error!(
                    event = "worker.broken",
                    "too many handlers are stuck: start this process again"
                );
            }
        }
    }
}

/// The permanent job `redrive.reclaim` sweeps for everybody, but nobody sweeps for a sweeper whose worker died: so every
/// worker looks now and then, half as often.
pub(crate) async fn safety_net(worker: Arc<Worker>) {
    loop {
        let wait = worker.options.sweep().mul_f64(1.6 + 0.4 * crate::ids::fraction());
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = worker.stopped.cancelled() => return,
        }
        if let Err(error) = rescue(&*worker.store, &worker.registry, &worker.options, &worker.contact).await {
            tracing::debug!(event = "reclaim.failed", "{error}");
        }
    }
}
