//! A worker that waits for work is served by whoever enqueues in the same process: the job is handed in and claimed in one
//! commit instead of two, and its handler starts at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use redrive_store::{Claimed, Enqueue, EnqueueReply, NewJob, StoreError, When};

use super::{Worker, claim, give_back};

/// Larger calls go the usual way: the worker claims as much of them as it can run.
const SMALL: usize = 8;

/// The worker of this engine that waits, if one does.
#[derive(Default)]
pub(crate) struct Idle(Mutex<Option<Weak<Worker>>>);

impl Idle {
    fn lock(&self) -> MutexGuard<'_, Option<Weak<Worker>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This worker waits from now on.
    pub(crate) fn waits(&self, worker: &Arc<Worker>) {
        *self.lock() = Some(Arc::downgrade(worker));
    }

    /// It does not wait any more.
    pub(crate) fn stops(&self) {
        *self.lock() = None;
    }

    /// The worker that waits, if it can run these jobs now. Whoever gets it serves it; others go the usual way.
    pub(crate) fn take_for(&self, call: &Enqueue) -> Option<Arc<Worker>> {
        let plain = call.open.is_empty() && call.seal.is_empty() && call.idempotency.is_none();
        let now = |job: &NewJob| matches!(job.when, When::In(Duration::ZERO)) && job.rejected.is_none();
        if !plain || call.jobs.is_empty() || call.jobs.len() > SMALL || !call.jobs.iter().all(now) {
            return None;
        }
        let mut idle = self.lock();
        let worker = idle.as_ref()?.upgrade()?;
        let knows = call.jobs.iter().all(|job| worker.registry.get(&job.workload).is_some());
        if !knows || worker.draining.is_cancelled() || worker.surroundings.closed_until().is_some() {
            return None;
        }
        *idle = None;
        Some(worker)
    }
}

/// Hands the jobs in and claims for the worker in the same commit.
pub(crate) async fn serve(worker: Arc<Worker>, call: Enqueue) -> redrive_store::Result<EnqueueReply> {
    let mut unheard = Unheard(Some(worker.clone()));
    let answer = worker.store.enqueue_for(call.clone(), claim::question(&worker)).await;
    unheard.0 = None;
    match answer {
        Ok((reply, claimed)) => {
            if !claimed.is_empty() {
                start(worker, claimed);
            }
            Ok(reply)
        }
        // Perhaps both happened: the claim is found by asking, the jobs by their ids.
        Err(StoreError::Unknown { reason }) => {
            claim::hear(&worker, &reason).await;
            worker.store.enqueue(call).await
        }
        Err(error) => Err(error),
    }
}

/// Starts what was claimed; what may not run any more is given back.
fn start(worker: Arc<Worker>, claimed: Vec<Claimed>) {
    if worker.draining.is_cancelled() {
        tokio::spawn(async move { give_back(&worker, claimed).await });
        return;
    }
    let now = worker.clock.now();
    let held = claimed.iter().any(|claimed| worker.breakers.blocks(&claimed.targets, now));
    worker.slots.take_in(claimed);
    // What we believe to be held is left to the claim loop, which this has woken.
    if !held {
        claim::start_what_fits(&worker);
    }
}

/// A caller that does not wait for the answer must not cost the jobs the length of a lease: what was claimed is found by
/// asking.
struct Unheard(Option<Arc<Worker>>);

impl Drop for Unheard {
    fn drop(&mut self) {
        let Some(worker) = self.0.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { claim::hear(&worker, "nobody waited for the answer").await });
        }
    }
}
