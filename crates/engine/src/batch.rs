//! Jobs that belong together: handed in as one, counted as one, ended as one.

use std::marker::PhantomData;
use std::time::Duration;

use redrive_model::batch::EndRule;
use redrive_model::limits::MAX_ENQUEUE;
use redrive_model::{BatchId, BatchState, JobId, Owner, WorkloadName};
use redrive_store::{
    ActEnd, Acted, BatchFailures, BatchFilter, BatchRow, Enqueued, JobFilter, NewBatch, NewJob, Page,
    PageRequest,
};

use crate::{By, Context, Engine, Enqueue, Input, Result, ids};

/// A batch and its members are kept so long after its end.
const KEEP: Duration = Duration::from_secs(30 * 24 * 3600);
/// Between two looks at a batch that somebody waits for.
const LOOK: Duration = Duration::from_millis(50);

/// How a batch is opened.
#[derive(Debug, Clone, Default)]
pub struct BatchOptions {
    id: Option<BatchId>,
    label: Option<String>,
    owner: Option<Owner>,
    about: Option<String>,
    tolerant: bool,
    keep: Option<Duration>,
}

impl BatchOptions {
    /// What people call it.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// What is to be kept with it, in a form of its own; at most 16 KiB.
    #[must_use]
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.about = Some(about.into());
        self
    }

    /// Who may see it and act on it.
    #[must_use]
    pub fn owner(mut self, owner: Owner) -> Self {
        self.owner = Some(owner);
        self
    }

    /// Every mix of outcomes makes it `partial`. Without this any failure that could never have worked makes it `failed`.
    #[must_use]
    pub const fn tolerant(mut self) -> Self {
        self.tolerant = true;
        self
    }

    /// How long it and its members are kept after its end; 30 days unless said.
    #[must_use]
    pub const fn keep(mut self, keep: Duration) -> Self {
        self.keep = Some(keep);
        self
    }

    /// With this id: opened twice it is still one batch.
    #[must_use]
    pub const fn id(mut self, id: BatchId) -> Self {
        self.id = Some(id);
        self
    }

    /// The batch of this job: an attempt that is made again opens the same one, and hands in the same members. Wait for it
    /// with [`Done::AwaitBatch`](crate::Done::AwaitBatch).
    #[must_use]
    pub fn of(self, ctx: &Context) -> Self {
        self.id(ctx.own_batch())
    }
}

/// A batch that takes members. Members are numbered in the order in which they are added, and their number makes their id:
/// handing the same ones in again changes nothing.
pub struct Batch<I> {
    engine: Engine,
    id: BatchId,
    owner: Option<Owner>,
    next: u32,
    input: PhantomData<fn() -> I>,
}

impl<I: Input> Batch<I> {
    /// Its id.
    #[must_use]
    pub const fn id(&self) -> BatchId {
        self.id
    }

    /// Adds members; durable when this returns.
    pub async fn add(&mut self, inputs: &[I]) -> Result<Vec<Enqueued>> {
        let mut answers = Vec::with_capacity(inputs.len());
        for part in inputs.chunks(MAX_ENQUEUE) {
            let jobs = self.jobs(part)?;
            let reply = self.engine.hand_in(redrive_store::Enqueue::jobs(jobs)).await?;
            answers.extend(reply.jobs);
            self.next = self.next.saturating_add(u32::try_from(part.len()).unwrap_or(u32::MAX));
        }
        Ok(answers)
    }

    /// No further members come: the batch ends when the last one has.
    pub async fn seal(self) -> Result<BatchId> {
        let call = redrive_store::Enqueue { seal: vec![self.id], ..redrive_store::Enqueue::default() };
        self.engine.hand_in(call).await?;
        Ok(self.id)
    }

    fn jobs(&self, inputs: &[I]) -> Result<Vec<NewJob>> {
        let job = |(n, input): (usize, &I)| {
            let number = self.next.saturating_add(u32::try_from(n).unwrap_or(u32::MAX));
            let mut how = Enqueue::default().id(ids::member(self.id, number)).batch(self.id);
            how.owner.clone_from(&self.owner);
            self.engine.new_job(input, how)
        };
        inputs.iter().enumerate().map(job).collect()
    }
}

impl Engine {
    /// Opens a batch that takes members until it is sealed.
    pub async fn open_batch<I: Input>(&self, how: BatchOptions) -> Result<Batch<I>> {
        let id = how.id.unwrap_or_else(|| BatchId::from_uuid(self.new_id().as_uuid()));
        let batch = Batch { engine: self.clone(), id, owner: how.owner.clone(), next: 0, input: PhantomData };
        let open = NewBatch {
            id,
            workload: WorkloadName::new(I::WORKLOAD)?,
            owner: how.owner,
            label: how.label,
            about: how.about,
            end_rule: if how.tolerant { EndRule::Tolerant } else { EndRule::Strict },
            keep: Some(how.keep.unwrap_or(KEEP)),
        };
        self.hand_in(redrive_store::Enqueue { open: vec![open], ..redrive_store::Enqueue::default() })
            .await?;
        Ok(batch)
    }

    /// Hands in jobs as one batch.
    pub async fn enqueue_batch<I: Input>(&self, inputs: &[I], how: BatchOptions) -> Result<BatchId> {
        let mut batch = self.open_batch(how).await?;
        batch.add(inputs).await?;
        batch.seal().await
    }

    /// How a batch is: exact counters, also while it runs.
    pub async fn batch(&self, id: BatchId) -> Result<Option<BatchRow>> {
        Ok(self.store().batch(id).await?)
    }

    /// Batches of a workload, newest first.
    pub async fn batches(&self, filter: BatchFilter, page: PageRequest) -> Result<Page<BatchRow>> {
        Ok(self.store().batches(filter, page).await?)
    }

    /// The failed members of a batch, by minute and code.
    pub async fn batch_failures(&self, id: BatchId) -> Result<Vec<BatchFailures>> {
        Ok(self.store().batch_failures(id).await?)
    }

    /// Waits until a batch has ended. `None` when there is none (any more).
    pub async fn batch_ended(&self, id: BatchId) -> Result<Option<BatchRow>> {
        loop {
            match self.batch(id).await? {
                Some(row) if row.state == BatchState::Processing => tokio::time::sleep(LOOK).await,
                ended => return Ok(ended),
            }
        }
    }

    /// Seals a batch and stops every member that has not ended. Answers how many were stopped.
    pub async fn cancel_batch(&self, id: BatchId, by: &By) -> Result<u64> {
        let state = |row: Option<BatchRow>| row.map(|row| row.state.to_string());
        let act = async {
            let before = state(self.batch(id).await?);
            let call = redrive_store::Enqueue { seal: vec![id], ..redrive_store::Enqueue::default() };
            self.hand_in(call).await?;
            let mut stopped = 0;
            let filter = JobFilter { batch: Some(id), ..JobFilter::default() };
            let mut cursor = None;
            loop {
                let page = self.store().jobs(filter.clone(), PageRequest { limit: 200, cursor }).await?;
                let live = page.rows.iter().filter(|row| !row.state.is_terminal());
                let jobs: Vec<JobId> = live.map(|row| row.id).collect();
                let acted = self.store().cancel(jobs, Some(KEEP)).await?;
                stopped += acted.iter().filter(|acted| **acted == Acted::Done).count() as u64;
                cursor = page.next;
                if cursor.is_none() {
                    return Ok((stopped, before, state(self.batch(id).await?)));
                }
            }
        };
        let words = |(stopped, before, after): &(u64, Option<String>, Option<String>)| {
            ActEnd::from(format!("{stopped} stopped")).changed(before.clone(), after.clone())
        };
        Ok(self.acted(by, "batch.cancel", format!("batch {id}"), act, words).await?.0)
    }
}
