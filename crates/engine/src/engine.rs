//! The handle that people hold: hand work in, register handlers, start.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redrive_model::dedupe::DedupeKey;
use redrive_model::limits::MAX_ENQUEUE;
use redrive_model::{Code, Failure, JobId, State, WorkerId, WorkloadName};
use redrive_store::{
    Acted, AttemptRow, EnqueueReply, Enqueued, JobFilter, JobRow, NewEvent, NewJob, PageRequest, Store,
};

use crate::chore::{Minutes, Reclaim, Retention};
use crate::contact::Contact;
use crate::desk::{CountingOn, OWN, Replaying};
use crate::ids::Ids;
use crate::many::Halving;
use crate::projector::{Parked, READERS, Reading};
use crate::registry::{Handler, Registry};
use crate::runtime::report::failed;
use crate::runtime::{Idle, Running, Worker, serve};
use crate::schedule::Keeping;
use crate::{
    By, EngineError, Enqueue, Input, Many, Missed, Options, Permanent, Policy, Projector, Result, Schedule,
    StoreClock, Timestamp, Workload,
};

/// Between two looks at a job that somebody waits for.
const LOOK: Duration = Duration::from_millis(20);
/// The permanent job that takes back leases that have run out.
const RECLAIM: &str = "redrive.reclaim";
/// The permanent job that removes what has been kept long enough.
const RETENTION: &str = "redrive.retention";

/// The permanent job that counts what happened by minute.
const MINUTES: &str = "redrive.minutes";

/// A durable job engine on one store. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    options: Options,
    clock: Arc<StoreClock>,
    ids: Ids,
    registry: Mutex<Registry>,
    /// A worker of this engine that waits for work.
    idle: Arc<Idle>,
}

impl Engine {
    /// An engine on this store.
    pub async fn new(store: Arc<dyn Store>, options: Options) -> Result<Self> {
        let clock = Arc::new(StoreClock::ask(&*store).await?);
        let inner = Inner {
            store,
            options,
            clock,
            ids: Ids::default(),
            registry: Mutex::default(),
            idle: Arc::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.inner.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store below, for looking and for acting by hand.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// Registers the handler of a workload. A name that cannot be one does not compile; a second handler of the same name
    /// takes the place of the first.
    pub fn register<W: Workload>(&self, workload: W) {
        const { assert!(WorkloadName::is_valid(W::Input::WORKLOAD), "this is no name for a workload") }
        if let Err(error) = self.registry().add(workload) {
            tracing::error!(event = "workload.refused", workload = W::Input::WORKLOAD, "{error}");
        }
    }

    /// Registers a handler that takes many items at once; its jobs are [`Items`](crate::Items).
    pub fn register_many<M: Many>(&self, many: M) {
        self.register(Halving(many));
    }

    /// Hands in one job; durable when this returns. A live twin, where [`Input::unique_by`] knows one, is the answer
    /// instead.
    pub async fn enqueue<I: Input>(&self, input: &I) -> Result<JobId> {
        Ok(self.enqueue_with(input, Enqueue::default()).await?.job())
    }

    /// Hands in one job in another way than the usual.
    pub async fn enqueue_with<I: Input>(&self, input: &I, how: Enqueue) -> Result<Enqueued> {
        let job = self.new_job(input, how)?;
        let id = job.id;
        let reply = self.hand_in(redrive_store::Enqueue::jobs(vec![job])).await?;
        Ok(reply.jobs.first().copied().unwrap_or(Enqueued::Existing(id)))
    }

    /// Hands in a job that was refused at the door: it is created as `failed`, so that whoever sent it sees it. It has no twin,
    /// no source and no dead letter, and cannot be retried.
    pub async fn reject<I: Input>(&self, input: &I, how: Enqueue, why: Failure) -> Result<JobId> {
        let mut job = self.new_job(input, how)?;
        job.keep = self.policy_of(&job.workload).unwrap_or_else(Policy::reliability).keep.failed;
        let (workload, code) = (job.workload.clone(), why.code);
        (job.dedupe, job.rejected) = (None, Some(why));
        let id = job.id;
        self.hand_in(redrive_store::Enqueue::jobs(vec![job])).await?;
        failed(&workload, code, 1);
        Ok(id)
    }

    /// Hands in whatever the store takes, and counts it: several jobs at once, with an idempotency key.
    pub async fn hand_in(&self, call: redrive_store::Enqueue) -> Result<EnqueueReply> {
        let workload = call.jobs.first().map(|job| job.workload.clone());
        let reply = match self.inner.idle.take_for(&call) {
            Some(worker) => serve(worker, call).await?,
            None => self.inner.store.enqueue(call).await?,
        };
        if let Some(workload) = workload {
            created(&workload, &reply.jobs);
        }
        Ok(reply)
    }

    /// Waits until a job has ended: complete, failed or cancelled. `None` when there is none (any more).
    pub async fn job_ended(&self, id: JobId) -> Result<Option<JobRow>> {
        loop {
            match self.inner.store.job(id).await? {
                Some(row) if !row.state.is_terminal() => tokio::time::sleep(LOOK).await,
                ended => return Ok(ended),
            }
        }
    }

    /// One job. `None` when there is none (any more).
    pub async fn job(&self, id: JobId) -> Result<Option<JobRow>> {
        Ok(self.inner.store.job(id).await?)
    }

    /// The executions of a job, oldest first.
    pub async fn attempts(&self, id: JobId) -> Result<Vec<AttemptRow>> {
        Ok(self.inner.store.attempts(id).await?)
    }

    /// Hands in many jobs, all or none. More than the store takes at once go in one call after the other: then those
    /// before a failure stay.
    pub async fn enqueue_many<I: Input>(&self, inputs: &[I]) -> Result<Vec<Enqueued>> {
        let mut answers = Vec::with_capacity(inputs.len());
        for part in inputs.chunks(MAX_ENQUEUE) {
            let jobs: Vec<NewJob> =
                part.iter().map(|input| self.new_job(input, Enqueue::default())).collect::<Result<_>>()?;
            answers.extend(self.hand_in(redrive_store::Enqueue::jobs(jobs)).await?.jobs);
        }
        Ok(answers)
    }

    /// The row that an input becomes, for handing it in within a transaction.
    pub fn new_job<I: Input>(&self, input: &I, how: Enqueue) -> Result<NewJob> {
        how.job(input, || self.new_id())
    }

    /// Registers work that never ends, and makes sure that it is there: one per name in the whole fleet.
    pub async fn permanent<P: Permanent>(&self, name: &str, job: P) -> Result<JobId> {
        let name = WorkloadName::new(name)?;
        self.registry().add_permanent(&name, job);
        self.ensure(&name).await
    }

    /// Registers a reader of the event stream under this name: one in the whole fleet, which goes on where it was.
    pub async fn projector<P: Projector>(&self, name: &str, projector: P) -> Result<JobId> {
        let name = WorkloadName::new(name)?;
        let parked = WorkloadName::new(format!("{name}.parked"))?;
        let projector = Arc::new(projector);
        {
            let store = self.inner.store.clone();
            let (name, parked) = (name.clone(), parked.clone());
            let reading =
                Reading { projector: projector.clone(), store, name: name.clone(), parked: parked.clone() };
            let mut registry = self.registry();
            registry.add_permanent(&name, reading);
            registry.insert(parked, Arc::new(Parked(projector)), Policy::reliability(), 1);
        }
        // Known from now on, so that retention keeps what it has not read.
        let key = format!("{READERS}{name}");
        if self.inner.store.settings(&key).await?.iter().all(|setting| setting.key != key) {
            self.inner.store.set_setting(&key, Some("0"), name.as_str()).await?;
        }
        self.ensure(&name).await
    }

    /// Registers the counting of what happened by minute, for whoever shows charts: one in the whole fleet, which goes on where it was.
    /// A job pays nothing for it; the events are read behind it.
    pub async fn count_minutes(&self) -> Result<JobId> {
        self.permanent(MINUTES, Minutes { store: self.inner.store.clone() }).await
    }

    /// Enqueues a job at every time of a schedule: once in the whole fleet, whatever the clocks do. The same name with
    /// another schedule takes its place.
    pub async fn schedule<I: Input>(
        &self,
        name: &str,
        schedule: Schedule,
        missed: Missed,
        input: &I,
    ) -> Result<JobId> {
        let name = WorkloadName::new(format!("{}{name}", crate::schedule::PREFIX))?;
        // Its time makes it the only one.
        let job = NewJob { dedupe: None, ..self.new_job(input, Enqueue::default())? };
        let keeping = Keeping { store: self.inner.store.clone(), name: name.clone(), schedule, missed, job };
        self.registry().add_permanent(&name, keeping);
        let id = self.ensure(&name).await?;
        // It may sleep until a time that is no longer the next one.
        self.inner.store.reschedule(vec![id], Timestamp::UNIX_EPOCH).await?;
        Ok(id)
    }

    /// Ends a permanent job, a reader or a schedule that is no longer wanted. A process that still registers it starts it
    /// again.
    pub async fn remove_permanent(&self, name: &str, by: &By) -> Result<bool> {
        let mut removed = false;
        for name in [name.to_owned(), format!("{}{name}", crate::schedule::PREFIX)] {
            let live = self.newest_chore(&WorkloadName::new(name)?).await?;
            let live = live.into_iter().filter(|row| !row.state.is_terminal());
            for row in live.collect::<Vec<_>>() {
                removed |= self.cancel(vec![row.id], by).await?.contains(&Acted::Done);
            }
        }
        Ok(removed)
    }

    async fn ensure(&self, name: &WorkloadName) -> Result<JobId> {
        let mut job = NewJob::new(self.new_id(), name.clone(), b"null".to_vec());
        job.dedupe = Some(DedupeKey::new(name, None, &[b"permanent"]));
        job.label = Some(name.to_string());
        job.chore = true;
        self.enqueue_only(job).await
    }

    /// The newest job of a permanent name, wherever it is among all others.
    pub(crate) async fn newest_chore(&self, name: &WorkloadName) -> Result<Option<JobRow>> {
        let filter = JobFilter { workload: Some(name.clone()), chore: true, ..JobFilter::default() };
        let one = || PageRequest { limit: 1, cursor: None };
        let found = self.inner.store.jobs(filter.clone(), one()).await?.rows.pop();
        if found.is_some() || name.as_str().starts_with(OWN) {
            return Ok(found);
        }
        // Handed in by others than us, under a policy that never ends: a job like any other.
        let filter = JobFilter { chore: false, ..filter };
        Ok(self.inner.store.jobs(filter, one()).await?.rows.pop())
    }

    /// Hands in a job that is the only one with its key: answers it, or the one that is there and has not ended. One that is
    /// complete makes way.
    pub(crate) async fn enqueue_only(&self, job: NewJob) -> Result<JobId> {
        let id = job.id;
        for _ in 0..3 {
            let reply = self.inner.store.enqueue(redrive_store::Enqueue::jobs(vec![job.clone()])).await?;
            let Some(Enqueued::Duplicate(other)) = reply.jobs.first().copied() else { return Ok(id) };
            let done = self.inner.store.job(other).await?.is_some_and(|row| row.state == State::Complete);
            if !done {
                return Ok(other);
            }
            self.inner.store.expire(vec![other]).await?;
        }
        Err(EngineError::refused(Code::ConflictDuplicate, "others hand in the same job at the same time"))
    }

    /// A fresh id, later than all before, for whoever must know it before the job is there.
    #[must_use]
    pub fn new_id(&self) -> JobId {
        self.inner.ids.job(self.inner.clock.now())
    }

    /// What time it is.
    #[cfg(feature = "testing")]
    pub(crate) fn clock(&self) -> &StoreClock {
        &self.inner.clock
    }

    /// The numbers it works with.
    pub(crate) fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Permanent jobs that are registered here, and the engine's own.
    pub(crate) fn permanent_names(&self) -> Vec<WorkloadName> {
        let registry = self.registry();
        let own = [RECLAIM, RETENTION].into_iter().filter_map(|name| WorkloadName::new(name).ok());
        let users =
            registry.iter().filter(|(_, r)| r.rules.policy.is_permanent()).map(|(name, _)| name.clone());
        own.chain(users).collect()
    }

    /// Workloads that are registered here.
    pub(crate) fn workload_names(&self) -> Vec<WorkloadName> {
        self.registry().names()
    }

    /// The most executions that a workload's policy allows, where it is registered here.
    #[must_use]
    pub fn policy_cap(&self, workload: &WorkloadName) -> Option<u32> {
        self.policy_of(workload)?.max_attempts
    }

    /// What is done when a job of this workload fails, where it is registered here.
    pub(crate) fn policy_of(&self, workload: &WorkloadName) -> Option<Policy> {
        self.registry().get(workload).map(|registered| registered.rules.policy.clone())
    }

    /// The handler of a workload, where it is registered here.
    pub(crate) fn handler(&self, workload: &WorkloadName) -> Option<Arc<dyn Handler>> {
        self.registry().get(workload).map(|registered| registered.handler.clone())
    }

    /// Publishes an event of the user's own into the stream that [`crate::Context::events_after`] reads.
    pub async fn publish(&self, topic: &str, payload: Vec<u8>) -> Result<()> {
        Ok(self.inner.store.publish(vec![NewEvent { topic: topic.to_owned(), payload }]).await?)
    }

    /// Starts claiming and running. Handlers that are registered later are not seen by this run.
    #[must_use = "dropping it stops the work"]
    pub fn start(&self) -> Running {
        let (store, options) = (self.inner.store.clone(), self.inner.options.clone());
        let mut registry = self.handlers();
        let known = registry.clone();
        let contact = Arc::new(Contact::new(options.lease_ttl));
        let reclaim = Reclaim {
            store: store.clone(),
            registry: known,
            options: options.clone(),
            contact: contact.clone(),
        };
        let retention =
            Retention { store: store.clone(), every: options.retention, keep_events: options.keep_events };
        self.chore(&mut registry, RECLAIM, reclaim);
        self.chore(&mut registry, RETENTION, retention);
        Running::start(self.worker(registry, contact))
    }

    /// A worker that has not begun.
    pub(crate) fn worker(&self, registry: Registry, contact: Arc<Contact>) -> Arc<Worker> {
        let (at, draw) = self.inner.ids.parts(self.inner.clock.now());
        let (store, options) = (self.inner.store.clone(), self.inner.options.clone());
        let id = WorkerId::from_parts(at, draw);
        Worker::new(id, store, registry, options, self.inner.clock.clone(), contact, self.inner.idle.clone())
    }

    /// The handlers that are registered, and the replays of their jobs.
    pub(crate) fn handlers(&self) -> Registry {
        let mut registry = self.registry().clone();
        self.add_replays(&mut registry);
        registry
    }

    /// Whoever can run a workload can replay it, and anybody can count on for a replay that has ended.
    fn add_replays(&self, registry: &mut Registry) {
        let users: Vec<_> = registry.iter().filter(|(_, r)| !r.rules.policy.is_permanent()).collect();
        let users: Vec<_> = users.into_iter().map(|(name, r)| (name.clone(), r.handler.clone())).collect();
        for (name, of) in users {
            let Ok(name) = crate::desk::replays_of(&name) else { continue };
            let replaying = Replaying { store: self.inner.store.clone(), of };
            registry.insert(name, Arc::new(replaying), Replaying::policy(), 1);
        }
        if let Ok(name) = crate::desk::counting_on() {
            let counting = CountingOn { store: self.inner.store.clone() };
            registry.insert(name, Arc::new(counting), Replaying::policy(), 1);
        }
    }

    fn chore<P: Permanent>(&self, registry: &mut Registry, name: &str, job: P) {
        if let Ok(name) = WorkloadName::new(name) {
            registry.add_permanent(&name, job);
            self.ensure_soon(name);
        }
    }

    /// Makes sure that a permanent job is there, as soon as the store is.
    fn ensure_soon(&self, name: WorkloadName) {
        let engine = self.clone();
        tokio::spawn(async move {
            while let Err(error) = engine.ensure(&name).await {
                tracing::warn!(event = "permanent.not_yet", %name, "{error}");
                tokio::time::sleep(engine.inner.options.poll).await;
            }
        });
    }
}

pub(crate) fn created(workload: &WorkloadName, answers: &[Enqueued]) {
    let new = answers.iter().filter(|answer| matches!(answer, Enqueued::Created(_))).count();
    metrics::counter!("redrive_jobs_created_total", "workload" => workload.to_string()).increment(new as u64);
}
