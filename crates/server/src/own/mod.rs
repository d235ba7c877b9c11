//! The one way to jobs.
//!
//! [`Desk`] alone holds the engine, and its field is private to this module: a handler gets a job only as [`Owned`], and an
//! [`Owned`] is made only after the session was asked whether it may see it ([`Session::may_see`]). "Not yours" and "not there"
//! are the same refusal after the same work; operators, who see everything, are told that it is not there.

mod batch;
mod dead;
mod desk;
mod documents;
mod intake;
mod keys;
mod overview;
mod owned;
mod tokens;

use redrive_convert::Pdf;
use redrive_engine::{AuditReport, Engine, Enqueue, Failure, Input};
use redrive_fetch::Resource;
use redrive_model::{EventSeq, JobId, Shown, State, Timestamp, WorkloadName};
use redrive_store::{
    BreakerRow, Counts, EnqueueReply, Event, Idempotency, JobFilter, JobRow, LastFailure, PageRequest,
    QueueStats, SessionKey, SessionLife, SessionRow, ShownCount, WorkloadQueue,
};

pub(crate) use batch::OwnedBatch;
pub(crate) use owned::Owned;

use crate::fetch::FetchParts;
use crate::intake::IntakeParts;
use crate::operator::Operator;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::view::attempts_know;

/// Whether every job of this kind is a member of a batch, and shown with that: downloads, and ranges of a document's pages.
pub(crate) fn is_of_batches(workload: &WorkloadName) -> bool {
    [Resource::WORKLOAD, redrive_intake::Part::WORKLOAD].contains(&workload.as_str())
}

/// What handlers may ask of the engine.
#[derive(Clone)]
pub(crate) struct Desk {
    engine: Engine,
    fetch: Option<FetchParts>,
    intake: Option<IntakeParts>,
}

/// One page of a session's jobs.
pub(crate) struct OwnedPage {
    /// The jobs, newest first.
    pub(crate) jobs: Vec<Owned>,
    /// Where the next page starts.
    pub(crate) next: Option<String>,
}

impl Desk {
    pub(crate) const fn new(engine: Engine, fetch: Option<FetchParts>, intake: Option<IntakeParts>) -> Self {
        Self { engine, fetch, intake }
    }

    // --- a session's own ---------------------------------------------------------------------------------------

    /// A job that this session may see; the same refusal for one of somebody else and for none.
    pub(crate) async fn owned(&self, session: &Session, id: JobId) -> Result<Owned, Refusal> {
        let Some(row) = self.engine.job(id).await? else { return Err(session.missing()) };
        match self.may_see(session, &row).await? {
            true => Ok(Owned::new(self.clone(), session.clone(), row)),
            false => Err(session.missing()),
        }
    }

    /// Whether a session may see a job: its own, and the members of its own batches, which belong to nobody but their batch.
    async fn may_see(&self, session: &Session, row: &JobRow) -> Result<bool, Refusal> {
        if session.may_see(row.owner.as_ref()) {
            return Ok(true);
        }
        let (None, Some(batch)) = (&row.owner, row.batch) else { return Ok(false) };
        let batch = self.engine.batch(batch).await?;
        Ok(batch.is_some_and(|batch| session.may_see(batch.owner.as_ref())))
    }

    /// A page of the jobs that this session may see: its own, whatever the filter says about owners; for operators all, and the
    /// engine's own only when they ask for such a workload by name. Members of a batch are listed for whom the batch is, and among
    /// all jobs when the filter takes them.
    pub(crate) async fn list(
        &self,
        session: &Session,
        filter: JobFilter,
        page: PageRequest,
    ) -> Result<OwnedPage, Refusal> {
        if let Some(batch) = filter.batch {
            self.batch(session, batch).await?;
            return self.page(session, filter, page).await;
        }
        if !session.is_operator() {
            // Who runs what, and what it depends on, is the operators' business.
            for (name, asked) in [("worker", filter.worker.is_some()), ("target", filter.target.is_some())] {
                if asked {
                    return Err(Refusal::field(name, "is for operators"));
                }
            }
            return self.list_own(session, filter, page).await;
        }
        let chores_too = filter.workload.is_some() || filter.worker.is_some();
        // Among millions of others they are found by what they are.
        if filter.workload.as_ref().is_some_and(|workload| self.engine.is_chore(workload)) {
            let chores = JobFilter { chore: true, ..filter.clone() };
            let found = self.page(session, chores, page.clone()).await?;
            if !found.jobs.is_empty() {
                return Ok(found);
            }
        }
        let mut page = self.page(session, filter, page).await?;
        page.jobs.retain(|job| chores_too || !self.engine.is_chore(&job.workload));
        Ok(page)
    }

    /// A page of the jobs that are this session's own, also when it may see more.
    pub(crate) async fn list_own(
        &self,
        session: &Session,
        filter: JobFilter,
        page: PageRequest,
    ) -> Result<OwnedPage, Refusal> {
        let filter = JobFilter { owner: Some(session.owner().clone()), ..filter };
        self.page(session, filter, page).await
    }

    async fn page(
        &self,
        session: &Session,
        filter: JobFilter,
        page: PageRequest,
    ) -> Result<OwnedPage, Refusal> {
        let page = self.engine.store().jobs(filter, page).await?;
        let own = |row| Owned::new(self.clone(), session.clone(), row);
        Ok(OwnedPage { jobs: page.rows.into_iter().map(own).collect(), next: page.next })
    }

    /// How many jobs this session may see, by what people see; for operators with or without the members of batches.
    pub(crate) async fn counts(&self, session: &Session, members: bool) -> Result<Vec<ShownCount>, Refusal> {
        if session.is_operator() {
            return self.all_counts(members).await;
        }
        self.own_counts(session).await
    }

    /// How many jobs this session has, by what people see.
    pub(crate) async fn own_counts(&self, session: &Session) -> Result<Vec<ShownCount>, Refusal> {
        Ok(self.engine.store().owner_counts(session.owner()).await?)
    }

    /// How many jobs there are, without the engine's own. Every job of some kinds is a member of a batch, and no other is.
    async fn all_counts(&self, members: bool) -> Result<Vec<ShownCount>, Refusal> {
        let (lanes, queues) = (self.lanes().await?, self.workload_queues().await?);
        let counted =
            |workload: &WorkloadName| !self.is_own(workload) && (members || !is_of_batches(workload));
        let queue: QueueStats =
            queues.iter().filter(|queue| counted(&queue.workload)).map(|queue| queue.stats).sum();
        let ended = |state: State| {
            let of = lanes.states.iter().filter(|count| count.state == state);
            of.filter(|count| counted(&count.workload)).map(|count| count.jobs).sum()
        };
        let counts = [
            (Shown::Queued, queue.ready),
            (Shown::Scheduled, queue.scheduled),
            (Shown::WaitingRetry, queue.waiting_retry),
            (Shown::WaitingBatch, queue.waiting_batch),
            (Shown::Held, queue.held),
            (Shown::Processing, queue.processing),
            (Shown::Complete, ended(State::Complete)),
            (Shown::Failed, ended(State::Failed)),
            (Shown::Cancelled, ended(State::Cancelled)),
        ];
        let counts = counts.into_iter().filter(|(_, jobs)| *jobs > 0);
        Ok(counts.map(|(shown, jobs)| ShownCount { shown, jobs }).collect())
    }

    /// What the jobs of a page were asked to convert, with one look. Others may carry much, and nobody asks for that here.
    pub(crate) async fn pdfs(&self, jobs: &[Owned]) -> Result<Vec<Option<Pdf>>, Refusal> {
        let asked: Vec<JobId> = jobs.iter().filter(|job| job.converts()).map(|job| job.id).collect();
        if asked.is_empty() {
            return Ok(vec![None; jobs.len()]);
        }
        let mut found = self.engine.store().payloads(asked).await?.into_iter();
        let read = |job: &Owned| if job.converts() { job.read(found.next().flatten()) } else { None };
        Ok(jobs.iter().map(read).collect())
    }

    /// The newest failures that only attempts know, with one look.
    pub(crate) async fn last_failures(&self, jobs: &[Owned]) -> Result<Vec<Option<LastFailure>>, Refusal> {
        let asked: Vec<JobId> = jobs.iter().filter(|job| attempts_know(job)).map(|job| job.id).collect();
        if asked.is_empty() {
            return Ok(vec![None; jobs.len()]);
        }
        let mut found = self.engine.store().last_failures(asked).await?.into_iter();
        Ok(jobs.iter().map(|job| if attempts_know(job) { found.next().flatten() } else { None }).collect())
    }

    /// Hands in a conversion for this session.
    pub(crate) async fn hand_in(
        &self,
        session: &Session,
        id: JobId,
        pdf: &Pdf,
        idempotency: Option<Idempotency>,
    ) -> Result<EnqueueReply, Refusal> {
        let how = Enqueue::default().id(id).owner(session.owner().clone());
        let job = self.engine.new_job(pdf, how)?;
        let call = redrive_store::Enqueue { jobs: vec![job], idempotency, ..Default::default() };
        Ok(self.engine.hand_in(call).await?)
    }

    /// Whether this session asked with this idempotency key before, and has its answer.
    pub(crate) async fn is_answered(&self, session: &Session, key: &str) -> Result<bool, Refusal> {
        Ok(self.engine.store().is_answered(session.owner(), key).await?)
    }

    /// Leaves a failed job for an upload that was refused.
    pub(crate) async fn reject(
        &self,
        session: &Session,
        id: JobId,
        pdf: &Pdf,
        why: Failure,
    ) -> Result<JobId, Refusal> {
        let how = Enqueue::default().id(id).owner(session.owner().clone());
        Ok(self.engine.reject(pdf, how, why).await?)
    }

    // --- sessions themselves -----------------------------------------------------------------------------------

    pub(crate) async fn open_session(&self, key: SessionKey) -> Result<(), Refusal> {
        Ok(self.engine.store().open_session(key).await?)
    }

    pub(crate) async fn session(
        &self,
        key: SessionKey,
        life: SessionLife,
    ) -> Result<Option<SessionRow>, Refusal> {
        Ok(self.engine.store().session(key, life).await?)
    }

    pub(crate) async fn touch_session(&self, key: SessionKey) -> Result<bool, Refusal> {
        Ok(self.engine.store().touch_session(key).await?)
    }

    pub(crate) async fn end_key(&self, key: SessionKey) -> Result<bool, Refusal> {
        Ok(self.engine.store().end_session(key).await?)
    }

    pub(crate) async fn forget_sessions(&self, life: SessionLife, limit: usize) -> Result<u64, Refusal> {
        Ok(self.engine.store().forget_sessions(life, limit).await?)
    }

    // --- what belongs to nobody --------------------------------------------------------------------------------

    /// A fresh id for a job.
    pub(crate) fn new_id(&self) -> JobId {
        self.engine.new_id()
    }

    pub(crate) async fn now(&self) -> Result<Timestamp, Refusal> {
        Ok(self.engine.store().now().await?)
    }

    /// The queue, without the engine's own jobs.
    pub(crate) async fn queue(&self) -> Result<QueueStats, Refusal> {
        Ok(self.engine.queues().await?.iter().map(|queue| queue.stats).sum())
    }

    /// The queue of each workload but the engine's own.
    pub(crate) async fn workload_queues(&self) -> Result<Vec<WorkloadQueue>, Refusal> {
        Ok(self.engine.queues().await?)
    }

    /// Downloads, and everything else.
    pub(crate) fn apart(queues: &[WorkloadQueue]) -> (QueueStats, QueueStats) {
        let (fetch, other): (Vec<_>, Vec<_>) =
            queues.iter().partition(|queue| queue.workload.as_str() == Resource::WORKLOAD);
        let sum = |queues: Vec<&WorkloadQueue>| queues.iter().map(|queue| queue.stats).sum();
        (sum(fetch), sum(other))
    }

    /// Whether an event is of the engine's own jobs.
    pub(crate) fn is_chore(&self, event: &Event) -> bool {
        event.workload.as_ref().is_some_and(|workload| self.is_own(workload))
    }

    /// Whether a workload is the engine's own.
    pub(crate) fn is_own(&self, workload: &WorkloadName) -> bool {
        self.engine.is_chore(workload)
    }

    /// Looks at every job, for operators.
    pub(crate) async fn audit(&self, _: Operator) -> Result<AuditReport, Refusal> {
        Ok(self.engine.audit().await?)
    }

    pub(crate) async fn breakers(&self) -> Result<Vec<BreakerRow>, Refusal> {
        Ok(self.engine.store().breakers().await?)
    }

    pub(crate) async fn lanes(&self) -> Result<Counts, Refusal> {
        Ok(self.engine.store().counts().await?)
    }

    /// Events of everybody, for the one reader that hands each to its owner.
    pub(crate) async fn events_after(
        &self,
        after: EventSeq,
        limit: usize,
    ) -> redrive_store::Result<Vec<Event>> {
        self.engine.store().events_after(after, limit).await
    }

    pub(crate) async fn last_event(&self) -> redrive_store::Result<EventSeq> {
        self.engine.store().last_event().await
    }
}
