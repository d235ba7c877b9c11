//! Keeps retries from becoming a storm: takes places for them from the bucket that the whole fleet shares.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redrive_model::decide::{Due, Requeue};
use redrive_model::governor::Places;
use redrive_model::{Decision, NextStep, Target, Timestamp, instant};
use redrive_store::Claimed;

use super::{Worker, breakers};

/// So many places are taken at once.
const LOT: u32 = 10;

/// First tries of more targets than this are forgotten: what they would have earned is the floor.
const MOST_TARGETS: usize = 10_000;

/// What this worker has taken and not used, and first tries that it has not told yet.
#[derive(Default)]
pub(crate) struct Governor {
    targets: Mutex<HashMap<Target, Local>>,
    /// One lot at a time: others wait for it instead of taking one of their own.
    taking: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Local {
    firsts: u64,
    places: Option<Places>,
}

impl Governor {
    fn targets(&self) -> MutexGuard<'_, HashMap<Target, Local>> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A job starts. First tries earn retries.
    pub(crate) fn started(&self, claimed: &Claimed) {
        if claimed.facts.attempt > 1 || claimed.targets.is_empty() {
            return;
        }
        let mut targets = self.targets();
        if targets.len() > MOST_TARGETS {
            targets.retain(|_, local| local.places.is_some());
        }
        for target in claimed.targets.iter() {
            targets.entry(target.clone()).or_default().firsts += 1;
        }
    }

    fn place(&self, target: &Target) -> Option<Timestamp> {
        self.targets().get_mut(target)?.places.as_mut()?.take()
    }
}

/// Gives a retry against this target its place. Answers how much longer it waits than its policy says.
pub(crate) async fn delay(
    worker: &Worker,
    target: &Target,
    decision: &mut Decision,
    now: Timestamp,
) -> Duration {
    let NextStep::Requeue { why: Requeue::Retry, due, .. } = &mut decision.step else {
        return Duration::ZERO;
    };
    let Due::In(wait) = *due else { return Duration::ZERO };
    let Some(place) = take(worker, target).await else { return Duration::ZERO };
    let longer = instant::between(now, place).saturating_sub(wait);
    if !longer.is_zero() {
        *due = Due::In(wait + longer);
        metrics::counter!("redrive_retries_delayed_total").increment(1);
    }
    longer
}

/// The next place; none while the store is away, because a retry that is not delayed is better than none.
async fn take(worker: &Worker, target: &Target) -> Option<Timestamp> {
    let governor = &worker.governor;
    if let Some(place) = governor.place(target) {
        return Some(place);
    }
    let _taking = governor.taking.lock().await;
    if let Some(place) = governor.place(target) {
        return Some(place);
    }
    let firsts = std::mem::take(&mut governor.targets().entry(target.clone()).or_default().firsts);
    let lot = breakers::change(&*worker.store, target, |breaker, now| breaker.retries.take(now, firsts, LOT));
    let (places, _) =
        lot.await.inspect_err(|error| tracing::debug!(event = "governor.failed", "{error}")).ok()?;
    let mut targets = governor.targets();
    let places = targets.entry(target.clone()).or_default().places.insert(places);
    places.take()
}
