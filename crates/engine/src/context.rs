//! What a handler knows about its attempt, and what it may do under its lease.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redrive_model::{
    BatchId, Code, EventSeq, Failure, JobId, Owner, Target, TargetSet, Timestamp, WorkloadName,
};
use redrive_store::{Claimed, Event, Lease, Progress, Store};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::ids;

/// Progress is written at most so often.
const SAY_EVERY: Duration = Duration::from_secs(1);

/// One attempt, as its handler sees it. Clones are the same attempt.
#[derive(Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    claimed: Arc<Claimed>,
    cancel: CancellationToken,
    /// What was saved since the claim.
    state: Mutex<Option<Vec<u8>>>,
    left: Mutex<Left>,
    said: Mutex<Option<Instant>>,
}

/// What a handler leaves behind when it ends.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Where its result is.
    pub(crate) reference: Option<String>,
    /// How many bytes that has.
    pub(crate) bytes: u64,
    /// Most charged executions, where the handler knows better than its policy.
    pub(crate) cap: Option<u32>,
    /// A target that it came to and that the job does not depend on.
    pub(crate) came_to: Option<Target>,
}

impl Context {
    pub(crate) fn new(store: Arc<dyn Store>, claimed: Arc<Claimed>, cancel: CancellationToken) -> Self {
        let inner = Inner {
            store,
            claimed,
            cancel,
            state: Mutex::default(),
            left: Mutex::default(),
            said: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The job.
    #[must_use]
    pub fn job(&self) -> JobId {
        self.inner.claimed.lease.job
    }

    /// The workload's name.
    #[must_use]
    pub fn workload(&self) -> &WorkloadName {
        &self.inner.claimed.workload
    }

    /// Whose job it is. A member without an owner of its own is its batch's owner's; see [`Context::whose`].
    #[must_use]
    pub fn owner(&self) -> Option<&Owner> {
        self.inner.claimed.owner.as_ref()
    }

    /// Whose job it is, or else whose batch it belongs to. Asks the store for the latter.
    pub async fn whose(&self) -> Result<Option<Owner>, Failure> {
        let (None, Some(batch)) = (self.owner(), self.batch()) else { return Ok(self.owner().cloned()) };
        let batch = self.inner.store.batch(batch).await;
        Ok(batch.map_err(|error| Failure::new(error.code(), error))?.and_then(|batch| batch.owner))
    }

    /// What people call it.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        self.inner.claimed.label.as_deref()
    }

    /// What it depends on.
    #[must_use]
    pub fn targets(&self) -> &TargetSet {
        &self.inner.claimed.targets
    }

    /// The batch it belongs to.
    #[must_use]
    pub fn batch(&self) -> Option<BatchId> {
        self.inner.claimed.batch
    }

    /// Which charged execution this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.inner.claimed.facts.attempt
    }

    /// Most charged executions, where this job has a number of its own.
    #[must_use]
    pub fn max_attempts(&self) -> Option<u32> {
        self.inner.claimed.max_attempts
    }

    /// When this attempt was claimed, by the store's clock.
    #[must_use]
    pub fn claimed_at(&self) -> Timestamp {
        self.inner.claimed.claimed_at
    }

    /// The id of the batch that this job may open for its parts: the same for every attempt of a generation.
    #[must_use]
    pub fn own_batch(&self) -> BatchId {
        let job = self.inner.claimed.lease.job;
        let generation = self.inner.claimed.generation.to_be_bytes();
        let draw = ids::same(&self.inner.claimed.workload, &[job.as_uuid().as_bytes(), &generation]);
        BatchId::from_parts(job.made_at(), draw)
    }

    /// Which generation: 1, and one more for every retry by hand.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.inner.claimed.generation
    }

    /// The lease this attempt runs under. Files that it makes carry the token in their name.
    #[must_use]
    pub fn lease(&self) -> Lease {
        self.inner.claimed.lease
    }

    /// The same for every attempt of a generation: whoever gets it twice has been called twice for one thing. A retry by hand
    /// is a new generation and has a new one.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        format!("{}-{}", self.inner.claimed.lease.job, self.inner.claimed.generation)
    }

    /// Resolves when the attempt should come to an end: its lease is lost, its time is over, its job was cancelled, or the
    /// process drains. Return any `Err` then: the engine knows why it stopped you and records that instead; an `Ok` counts as
    /// said.
    pub async fn cancelled(&self) {
        self.inner.cancel.cancelled().await;
    }

    /// Whether the attempt should come to an end.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.inner.cancel.is_cancelled()
    }

    /// A token for calls that take one.
    #[must_use]
    pub fn cancellation(&self) -> CancellationToken {
        self.inner.cancel.clone()
    }

    /// The execution state that was saved last, by whichever attempt, also of the generation before a retry by hand.
    pub fn state<T: DeserializeOwned>(&self) -> Result<Option<T>, Failure> {
        let saved = self.inner.state.lock().unwrap_or_else(PoisonError::into_inner);
        let read = |json: &Vec<u8>| serde_json::from_slice(json);
        saved
            .as_ref()
            .or(self.inner.claimed.state.as_ref())
            .map(read)
            .transpose()
            .map_err(|error| Failure::new(Code::SystemUndecodable, error))
    }

    /// Saves execution state under the lease: durable when this returns, and refused when the lease is gone.
    pub async fn save_state<T: Serialize + Sync>(&self, state: &T) -> Result<(), Failure> {
        let json = serde_json::to_vec(state).map_err(|error| Failure::new(Code::SystemInternal, error))?;
        match self.inner.store.save_state(self.inner.claimed.lease, json.clone()).await {
            Ok(true) => {
                *self.inner.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(json);
                Ok(())
            }
            Ok(false) => {
                self.inner.cancel.cancel();
                Err(Failure::new(Code::SystemLeaseLost, "the lease was lost before the state could be saved"))
            }
            Err(error) => Err(Failure::new(Code::StorageUnavailable, error)),
        }
    }

    /// Says how far the job is, for people who look. At most once a second is written; the rest is dropped.
    pub async fn progress(&self, done: u64, total: Option<u64>, note: Option<&str>) -> Result<(), Failure> {
        {
            let mut said = self.inner.said.lock().unwrap_or_else(PoisonError::into_inner);
            let whole = total == Some(done);
            if said.is_some_and(|at| at.elapsed() < SAY_EVERY) && !whole {
                return Ok(());
            }
            *said = Some(Instant::now());
        }
        let progress = Progress { done, total, note: note.map(str::to_owned) };
        if !self.inner.store.report_progress(self.inner.claimed.lease, progress).await? {
            self.inner.cancel.cancel();
            return Err(Failure::new(Code::SystemLeaseLost, "the lease was lost"));
        }
        Ok(())
    }

    /// Hands in jobs from within a handler.
    pub(crate) async fn hand_in(&self, call: redrive_store::Enqueue) -> Result<(), Failure> {
        let workload = call.jobs.first().map(|job| job.workload.clone());
        let reply =
            self.inner.store.enqueue(call).await.map_err(|error| Failure::new(error.code(), error))?;
        if let Some(workload) = workload {
            crate::engine::created(&workload, &reply.jobs);
        }
        Ok(())
    }

    /// Records where the result is. It counts when the attempt completes the job.
    pub fn set_result(&self, reference: impl Into<String>) {
        self.left().reference = Some(reference.into());
    }

    /// Says how many bytes the result has; the batch that the job belongs to adds them up.
    pub fn set_result_bytes(&self, bytes: u64) {
        self.left().bytes = bytes;
    }

    /// Says how often this job may be executed, for what is decided when this attempt ends: where that number can be changed while
    /// the program runs. An attempt that ends its process is decided by the policy.
    pub fn set_max_attempts(&self, cap: u32) {
        self.left().cap = Some(cap.max(1));
    }

    /// Names a target that this attempt came to and that the job does not depend on, such as the host that a redirect led to. How the
    /// attempt ends then speaks for or against that one too: what it asked for and what it did wrong holds the jobs that do depend on it,
    /// and a retry of this one waits for it. Say it only when it is so: not when another target is to blame.
    pub fn came_to(&self, target: Target) {
        self.left().came_to = Some(target);
    }

    pub(crate) fn take_left(&self) -> Left {
        std::mem::take(&mut *self.left())
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.inner.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Events behind `after`, in order, with none skipped; at most `limit` of them.
    pub async fn events_after(&self, after: EventSeq, limit: usize) -> Result<Vec<Event>, Failure> {
        self.inner.store.events_after(after, limit).await.map_err(|error| Failure::new(error.code(), error))
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("workload", &self.inner.claimed.workload)
            .field("lease", &self.inner.claimed.lease)
            .field("attempt", &self.inner.claimed.facts.attempt)
            .finish_non_exhaustive()
    }
}
