//! A worker: claims what it can start, runs it, writes down how it ended, and keeps its leases meanwhile.

mod attempt;
mod beat;
mod blame;
mod breakers;
mod claim;
mod give_up;
mod governor;
mod heart;
mod idle;
pub(crate) mod level;
mod probe;
mod record;
pub(crate) mod report;
mod slots;
#[cfg(feature = "testing")]
mod step;
mod surroundings;
mod wish;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redrive_model::{Outcome, WorkerId, WorkloadName};
use redrive_store::{Claimed, Lease, Store};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::contact::Contact;
use crate::context::Left;
use crate::registry::Registry;
use crate::{Options, StoreClock};
use breakers::Breakers;
pub(crate) use breakers::{change as change_breaker, change_as as change_breaker_as};
use governor::Governor;
pub(crate) use idle::{Idle, serve};
use record::Recorder;
use slots::{Slots, Why};
#[cfg(feature = "testing")]
pub(crate) use step::{begin, step};
use surroundings::Surroundings;
use wish::Wish;

/// What the parts of a worker share.
pub(crate) struct Worker {
    pub(crate) id: WorkerId,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) registry: Registry,
    pub(crate) options: Options,
    pub(crate) clock: Arc<StoreClock>,
    pub(crate) contact: Arc<Contact>,
    slots: Arc<Slots>,
    recorder: Recorder,
    breakers: Breakers,
    governor: Governor,
    surroundings: Surroundings,
    idle: Arc<Idle>,
    /// Handlers run here, whoever starts them.
    runtime: Handle,
    /// Nothing new is claimed any more.
    draining: CancellationToken,
    /// Nothing new is claimed until somebody wants otherwise.
    wish: Wish,
    /// Leases are no longer kept.
    stopped: CancellationToken,
    /// More handlers are stuck than may be replaced.
    broken: AtomicBool,
}

/// A worker at work. Dropping it stops claiming; what runs goes on until its lease runs out. [`Running::drain`] is the
/// friendly way.
pub struct Running {
    worker: Arc<Worker>,
    claiming: Option<JoinHandle<()>>,
    keeping: Vec<JoinHandle<()>>,
}

impl Worker {
    pub(crate) fn new(
        id: WorkerId,
        store: Arc<dyn Store>,
        registry: Registry,
        options: Options,
        clock: Arc<StoreClock>,
        contact: Arc<Contact>,
        idle: Arc<Idle>,
    ) -> Arc<Self> {
        let slots = Arc::new(Slots::default());
        Arc::new(Self {
            id,
            recorder: Recorder::start(store.clone(), slots.clone()),
            store,
            registry,
            options,
            clock,
            contact,
            slots,
            breakers: Breakers::default(),
            governor: Governor::default(),
            surroundings: Surroundings::default(),
            idle,
            runtime: Handle::current(),
            draining: CancellationToken::new(),
            wish: Wish::default(),
            stopped: CancellationToken::new(),
            broken: AtomicBool::new(false),
        })
    }

    /// Nothing new may be claimed, for now or for good.
    fn takes_nothing(&self) -> bool {
        self.draining.is_cancelled() || self.wish.is_drain()
    }

    /// Tells permanent jobs, which would never end by themselves, to come to an end: others take them.
    fn end_permanent(&self) {
        let permanent = |name: &_| self.registry.get(name).is_some_and(|r| r.rules.policy.is_permanent());
        self.slots.end_some(permanent, Why::Drain);
    }
}

impl Running {
    pub(crate) fn start(worker: Arc<Worker>) -> Self {
        let claiming = Some(tokio::spawn(claim::run(worker.clone())));
        let keeping = vec![
            heart::spawn(beat::run(worker.clone())),
            heart::spawn(beat::watch(worker.clone())),
            heart::spawn(heart::nudge(worker.stopped.clone(), Handle::current())),
            tokio::spawn(beat::safety_net(worker.clone())),
            tokio::spawn(breakers::run(worker.clone())),
            tokio::spawn(probe::run(worker.clone())),
        ];
        Self { worker, claiming, keeping }
    }

    /// The worker's id.
    #[must_use]
    pub fn id(&self) -> WorkerId {
        self.worker.id
    }

    /// Whether so many handlers ignore their end that this process should be started again.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.worker.broken.load(Ordering::Relaxed)
    }

    /// How many handlers run now.
    #[must_use]
    pub fn active(&self) -> usize {
        self.worker.slots.running()
    }

    /// Stops claiming at once, waits for what runs, then gives the rest back uncharged. Answers how many leases were left
    /// to run out because their handlers did not come to an end.
    pub async fn drain(mut self) -> usize {
        let worker = self.worker.clone();
        worker.draining.cancel();
        worker.end_permanent();
        // A claim that was on its way may still bring something.
        if let Some(claiming) = self.claiming.take() {
            let _ = claiming.await;
        }
        give_back(&worker, worker.slots.take_waiting(|_| true)).await;
        let until = Instant::now() + worker.options.drain;
        idle(&worker, until).await;
        worker.slots.end_some(|_| true, Why::Drain);
        let last = worker.options.grace().min(attempt::LAST_MOMENT);
        idle(&worker, Instant::now() + last + last).await;
        worker.stopped.cancel();
        for task in std::mem::take(&mut self.keeping) {
            let _ = task.await;
        }
        worker.slots.held()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.worker.draining.cancel();
        self.worker.stopped.cancel();
    }
}

/// Gives back what was claimed and has not started.
async fn give_back(worker: &Worker, unstarted: Vec<Claimed>) {
    let back = unstarted.iter().filter_map(|claimed| {
        let registered = worker.registry.get(&claimed.workload)?;
        Some(attempt::record(
            worker,
            registered,
            claimed,
            Instant::now(),
            Outcome::Unstarted,
            None,
            Left::default(),
        ))
    });
    futures::future::join_all(back).await;
}

/// Gives back whatever waits here for a target that lets nobody pass just now. Answers how many that were.
async fn give_held_back(worker: &Worker) -> usize {
    let now = worker.clock.now();
    let held = worker.slots.take_waiting(|claimed| worker.breakers.blocks(&claimed.targets, now));
    let count = held.len();
    if count > 0 {
        give_back(worker, held).await;
    }
    count
}

/// Waits until nothing is held, at most until then.
async fn idle(worker: &Worker, until: Instant) {
    while worker.slots.held() > 0 {
        let changed = worker.slots.changed.notified();
        if worker.slots.held() == 0 || tokio::time::timeout_at(until, changed).await.is_err() {
            return;
        }
    }
}

/// The right to this job was lost: whatever its handler did decides nothing.
fn lost(lease: Lease, workload: &WorkloadName, attempt: u32) {
    metrics::counter!("redrive_stale_writes_rejected_total").increment(1);
    tracing::warn!(
        event = "lease.lost",
        job_id = %lease.job,
        %workload,
        attempt,
        "the lease was lost; the attempt's end is not recorded"
    );
}
