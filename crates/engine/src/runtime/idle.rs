//! A worker that waits for work is served by whoever enqueues in the same process: the job is handed in and claimed in one
//! commit instead of two, and its handler starts at once.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use redrive_store::{Claimed, Enqueue, EnqueueReply, NewJob, StoreError, When};
use tokio::runtime::Handle;

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
        if !knows || worker.takes_nothing() || worker.surroundings.closed_until().is_some() {
            return None;
        }
        *idle = None;
        Some(worker)
    }
}

/// Hands the jobs in and claims for the worker in the same commit. It goes on where the worker lives when the caller does not
/// wait for it: a claim that nobody hears of would be lost for the length of a lease.
pub(crate) async fn serve(worker: Arc<Worker>, call: Enqueue) -> redrive_store::Result<EnqueueReply> {
    let runtime = worker.runtime.clone();
    let serving = async move {
        match worker.store.enqueue_for(call.clone(), claim::question(&worker)).await {
            Ok((reply, claimed)) => {
                start(&worker, claimed).await;
                Ok(reply)
            }
            // Perhaps both happened: the claim is found by asking, the jobs by their ids.
            Err(StoreError::Unknown { reason }) => {
                claim::hear(&worker, &reason).await;
                worker.store.enqueue(call).await.map_err(|error| match error {
                    StoreError::Unavailable { reason } => StoreError::Unknown { reason },
                    error => error,
                })
            }
            Err(error) => Err(error),
        }
    };
    Kept { work: Some(Box::pin(serving)), runtime }.await
}

/// Work that its caller may leave but not stop: it runs in the caller's task, which costs no switch to another thread, and
/// moves to a task of its own when the caller is dropped.
struct Kept<F: Future<Output: Send> + Send + 'static> {
    work: Option<Pin<Box<F>>>,
    runtime: Handle,
}

impl<F: Future<Output: Send> + Send + 'static> Future for Kept<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Some(work) = self.work.as_mut() else { return Poll::Pending };
        let ended = work.as_mut().poll(cx);
        if ended.is_ready() {
            self.work = None;
        }
        ended
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for Kept<F> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.runtime.spawn(work);
        }
    }
}

/// Starts what was claimed; what may not run any more is given back.
async fn start(worker: &Arc<Worker>, claimed: Vec<Claimed>) {
    if claimed.is_empty() {
        return;
    }
    if worker.takes_nothing() {
        return give_back(worker, claimed).await;
    }
    let now = worker.clock.now();
    let held = claimed.iter().any(|claimed| worker.breakers.blocks(&claimed.targets, now));
    worker.slots.take_in(claimed);
    // What we believe to be held is left to the claim loop, which this has woken.
    if !held {
        claim::start_what_fits(worker);
    }
}
