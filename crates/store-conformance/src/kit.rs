//! Small helpers that the cases are written with: ids from a counter, enqueue, claim, finish through `decide`, look.
//!
//! Nothing here sleeps to wait for something to happen: time moves only by [`Harness::advance`]. The one exception is
//! [`Kit::events`], which polls with a deadline, because a store may show events a little later than it answers.

mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use redrive_model::dedupe::DedupeKey;
use redrive_model::{
    BatchId, Code, EventSeq, Failure, JobId, Owner, Policy, ReplayId, Target, TargetSet, Timestamp, WorkerId,
    WorkloadName, instant,
};
use redrive_store::{
    BatchRow, DeadFilter, DeadRow, DeadState, Enqueue, EnqueueReply, Enqueued, Event, JobRow, NewBatch,
    NewJob, PageRequest, Store,
};

pub use self::work::{ids, leases};
use crate::{Audit, Harness};

/// The lease time that claims of the kit ask for.
pub const TTL: Duration = Duration::from_secs(60);
/// How long the row of a finished job is kept, where a case does not say otherwise.
pub const KEEP: Duration = Duration::from_secs(24 * 3600);
/// How long to wait for events to become visible before the case fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// So many seconds.
#[must_use]
pub const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// A workload name that is known to be good.
#[must_use]
pub fn workload(name: &str) -> WorkloadName {
    WorkloadName::new(name).unwrap()
}

/// An owner that is known to be good.
#[must_use]
pub fn owner(name: &str) -> Owner {
    Owner::new(name).unwrap()
}

/// A target that is known to be good.
#[must_use]
pub fn target(name: &str) -> Target {
    Target::new(name).unwrap()
}

/// A set of targets that are known to be good.
#[must_use]
pub fn targets(names: &[&str]) -> TargetSet {
    TargetSet::new(names.iter().map(|name| target(name))).unwrap()
}

/// One store and the means to talk about it briefly.
pub struct Kit<'a> {
    /// The harness of the case.
    pub h: &'a dyn Harness,
    /// The store under test.
    pub store: Arc<dyn Store>,
    /// The policy that the kit decides with.
    pub policy: Policy,
    ids: AtomicU32,
}

impl<'a> Kit<'a> {
    /// A kit for this harness. Every job it makes is a `work` with a cap of three executions.
    #[must_use]
    pub fn new(h: &'a dyn Harness) -> Self {
        Self::on(h, h.store())
    }

    /// A kit that talks to this handle on the harness's data.
    #[must_use]
    pub fn on(h: &'a dyn Harness, store: Arc<dyn Store>) -> Self {
        Self { h, store, policy: Policy::reliability(), ids: AtomicU32::new(1) }
    }

    // --- time and ids ------------------------------------------------------------------------------------------

    /// The store's clock.
    pub async fn now(&self) -> Timestamp {
        self.store.now().await.unwrap()
    }

    /// The store's clock, moved by so much.
    pub async fn later(&self, by: Duration) -> Timestamp {
        instant::after(self.now().await, by)
    }

    /// Moves the clock on.
    pub async fn advance(&self, by: Duration) {
        self.h.advance(by).await;
    }

    fn draw(&self) -> [u8; 10] {
        let mut draw = [0; 10];
        draw[6..].copy_from_slice(&self.ids.fetch_add(1, Ordering::SeqCst).to_be_bytes());
        draw
    }

    /// The next job id. Ids grow in the order they are made.
    pub fn id(&self) -> JobId {
        JobId::from_parts(instant::from_millis(1_700_000_000_000), self.draw())
    }

    /// The next batch id.
    pub fn batch_id(&self) -> BatchId {
        BatchId::from_parts(instant::from_millis(1_700_000_000_000), self.draw())
    }

    /// The next replay id.
    pub fn replay_id(&self) -> ReplayId {
        ReplayId::from_parts(instant::from_millis(1_700_000_000_000), self.draw())
    }

    /// A worker by number: the same number is the same worker.
    #[must_use]
    pub fn worker(&self, n: u8) -> WorkerId {
        WorkerId::from_parts(instant::from_millis(1_600_000_000_000), [n; 10])
    }

    // --- handing in --------------------------------------------------------------------------------------------

    /// A job to be changed before it is handed in.
    pub fn job(&self) -> NewJob {
        NewJob { max_attempts: Some(3), ..NewJob::new(self.id(), workload("work"), b"input".to_vec()) }
    }

    /// A job of this workload.
    pub fn job_of(&self, name: &str) -> NewJob {
        NewJob { workload: workload(name), ..self.job() }
    }

    /// A job that depends on these targets.
    pub fn job_on(&self, names: &[&str]) -> NewJob {
        NewJob { targets: targets(names), ..self.job() }
    }

    /// A job with a dedupe key made of this text.
    pub fn keyed(&self, key: &str) -> NewJob {
        let dedupe = Some(DedupeKey::new(&workload("work"), None, &[key.as_bytes()]));
        NewJob { dedupe, ..self.job() }
    }

    /// A job that is refused at the door with this code.
    pub fn rejected(&self, code: Code) -> NewJob {
        NewJob { rejected: Some(Failure::new(code, "refused at the door")), keep: Some(KEEP), ..self.job() }
    }

    /// A call, as it is.
    pub async fn enqueue(&self, call: Enqueue) -> EnqueueReply {
        self.store.enqueue(call).await.unwrap()
    }

    /// Hands jobs in, all of which must be new.
    pub async fn put(&self, jobs: Vec<NewJob>) -> Vec<JobId> {
        let reply = self.enqueue(Enqueue::jobs(jobs)).await;
        let created = |answer| match answer {
            Enqueued::Created(id) => id,
            Enqueued::Existing(_) | Enqueued::Duplicate(_) => panic!("{answer:?} is not a new job"),
        };
        reply.jobs.into_iter().map(created).collect()
    }

    /// Hands one new job in.
    pub async fn put_one(&self, job: NewJob) -> JobId {
        self.put(vec![job]).await[0]
    }

    /// Hands in so many plain jobs.
    pub async fn put_n(&self, n: usize) -> Vec<JobId> {
        self.put((0..n).map(|_| self.job()).collect()).await
    }

    /// A batch to be changed before it is opened.
    pub fn new_batch(&self) -> NewBatch {
        NewBatch {
            id: self.batch_id(),
            workload: workload("work"),
            owner: None,
            label: None,
            about: None,
            end_rule: redrive_model::batch::EndRule::Strict,
            keep: Some(KEEP),
        }
    }

    /// Opens a batch with these members and seals it.
    pub async fn put_batch(&self, batch: NewBatch, jobs: Vec<NewJob>) -> (BatchId, Vec<JobId>) {
        let id = batch.id;
        let jobs = jobs.into_iter().map(|job| NewJob { batch: Some(id), ..job }).collect();
        let reply =
            self.enqueue(Enqueue { open: vec![batch], jobs, seal: vec![id], ..Enqueue::default() }).await;
        (id, reply.jobs.into_iter().map(Enqueued::job).collect())
    }

    // --- looking -----------------------------------------------------------------------------------------------

    /// A job that must be there.
    pub async fn row(&self, id: JobId) -> JobRow {
        self.store.job(id).await.unwrap().expect("the job's row")
    }

    /// A batch that must be there.
    pub async fn batch(&self, id: BatchId) -> BatchRow {
        self.store.batch(id).await.unwrap().expect("the batch's row")
    }

    /// The dead letters that a filter finds, newest first, all pages.
    pub async fn dead(&self, filter: DeadFilter) -> Vec<DeadRow> {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let page = PageRequest { limit: 200, cursor };
            let page = self.store.dead_letters(filter.clone(), page).await.unwrap();
            all.extend(page.rows);
            cursor = page.next;
            if cursor.is_none() {
                return all;
            }
        }
    }

    /// The open dead letter of a job, which must be there.
    pub async fn dead_of(&self, id: JobId) -> DeadRow {
        let open = self.dead(DeadFilter { state: Some(DeadState::Open), ..DeadFilter::default() }).await;
        open.into_iter().find(|dead| dead.job == id).expect("an open dead letter")
    }

    /// Exactly `count` events behind `after`: waits until they can be seen, and fails when more or fewer are there.
    pub async fn events(&self, after: EventSeq, count: usize) -> Vec<Event> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let events = self.store.events_after(after, count + 1).await.unwrap();
            assert!(events.len() <= count, "more than {count} events: {events:#?}");
            if events.len() == count {
                return events;
            }
            assert!(Instant::now() < deadline, "{count} events were expected, these came: {events:#?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Checks every invariant that can be seen through the trait.
    pub async fn audit(&self) {
        Audit::default().run(&*self.store).await;
    }
}
