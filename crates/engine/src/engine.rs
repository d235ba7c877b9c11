//! The handle that people hold: hand work in, register handlers, start.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redrive_model::dedupe::DedupeKey;
use redrive_model::limits::MAX_ENQUEUE;
use redrive_model::{JobId, WorkerId, WorkloadName};
use redrive_store::{Enqueued, NewEvent, NewJob, Store};

use crate::chore::{Reclaim, Retention};
use crate::contact::Contact;
use crate::ids::Ids;
use crate::registry::Registry;
use crate::runtime::Running;
use crate::{Enqueue, Input, Options, Permanent, Result, StoreClock, Workload};

/// The permanent job that takes back leases that have run out.
const RECLAIM: &str = "redrive.reclaim";
/// The permanent job that removes what has been kept long enough.
const RETENTION: &str = "redrive.retention";

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
}

impl Engine {
    /// An engine on this store.
    pub async fn new(store: Arc<dyn Store>, options: Options) -> Result<Self> {
        let clock = Arc::new(StoreClock::ask(&*store).await?);
        let inner = Inner { store, options, clock, ids: Ids::default(), registry: Mutex::default() };
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

    /// Hands in one job; durable when this returns. A live twin, where [`Input::unique_by`] knows one, is the answer
    /// instead.
    pub async fn enqueue<I: Input>(&self, input: &I) -> Result<JobId> {
        Ok(self.enqueue_with(input, Enqueue::default()).await?.job())
    }

    /// Hands in one job in another way than the usual.
    pub async fn enqueue_with<I: Input>(&self, input: &I, how: Enqueue) -> Result<Enqueued> {
        let job = self.new_job(input, how)?;
        let (id, workload) = (job.id, job.workload.clone());
        let reply = self.inner.store.enqueue(redrive_store::Enqueue::jobs(vec![job])).await?;
        created(&workload, &reply.jobs);
        Ok(reply.jobs.first().copied().unwrap_or(Enqueued::Existing(id)))
    }

    /// Hands in many jobs, all or none. More than the store takes at once go in one call after the other: then those
    /// before a failure stay.
    pub async fn enqueue_many<I: Input>(&self, inputs: &[I]) -> Result<Vec<Enqueued>> {
        let mut answers = Vec::with_capacity(inputs.len());
        for part in inputs.chunks(MAX_ENQUEUE) {
            let jobs: Vec<NewJob> =
                part.iter().map(|input| self.new_job(input, Enqueue::default())).collect::<Result<_>>()?;
            let reply = self.inner.store.enqueue(redrive_store::Enqueue::jobs(jobs)).await?;
            if let Ok(workload) = WorkloadName::new(I::WORKLOAD) {
                created(&workload, &reply.jobs);
            }
            answers.extend(reply.jobs);
        }
        Ok(answers)
    }

    /// The row that an input becomes, for handing it in within a transaction.
    pub fn new_job<I: Input>(&self, input: &I, how: Enqueue) -> Result<NewJob> {
        how.job(input, || self.inner.ids.job(self.inner.clock.now()))
    }

    /// Registers work that never ends, and makes sure that it is there: one per name in the whole fleet.
    pub async fn permanent<P: Permanent>(&self, name: &str, job: P) -> Result<JobId> {
        let name = WorkloadName::new(name)?;
        self.registry().add_permanent(&name, job);
        self.ensure(&name).await
    }

    async fn ensure(&self, name: &WorkloadName) -> Result<JobId> {
        let id = self.inner.ids.job(self.inner.clock.now());
        let mut job = NewJob::new(id, name.clone(), b"null".to_vec());
        job.dedupe = Some(DedupeKey::new(name, None, &[b"permanent"]));
        job.label = Some(name.to_string());
        let reply = self.inner.store.enqueue(redrive_store::Enqueue::jobs(vec![job])).await?;
        Ok(reply.jobs.first().map_or(id, |enqueued| enqueued.job()))
    }

    /// Publishes an event of the user's own into the stream that [`crate::Context::events_after`] reads.
    pub async fn publish(&self, topic: &str, payload: Vec<u8>) -> Result<()> {
        Ok(self.inner.store.publish(vec![NewEvent { topic: topic.to_owned(), payload }]).await?)
    }

    /// Starts claiming and running. Handlers that are registered later are not seen by this run.
    #[must_use = "dropping it stops the work"]
    pub fn start(&self) -> Running {
        let (store, options) = (self.inner.store.clone(), self.inner.options.clone());
        let mut registry = self.registry().clone();
        let known = registry.clone();
        let contact = Arc::new(Contact::new(options.lease_ttl));
        let reclaim = Reclaim {
            store: store.clone(),
            registry: known,
            options: options.clone(),
            contact: contact.clone(),
        };
        let retention = Retention { store: store.clone(), every: options.retention };
        self.chore(&mut registry, RECLAIM, reclaim);
        self.chore(&mut registry, RETENTION, retention);
        let (at, draw) = self.inner.ids.parts(self.inner.clock.now());
        let id = WorkerId::from_parts(at, draw);
        Running::start(id, store, registry, options, self.inner.clock.clone(), contact)
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

fn created(workload: &WorkloadName, answers: &[Enqueued]) {
    let new = answers.iter().filter(|answer| matches!(answer, Enqueued::Created(_))).count();
    metrics::counter!("redrive_jobs_created_total", "workload" => workload.to_string()).increment(new as u64);
}
