//! Handing work in.

use std::collections::HashSet;
use std::time::Duration;

use redrive_model::batch::EndRule;
use redrive_model::dedupe::DedupeKey;
use redrive_model::limits::{MAX_ABOUT_BYTES, MAX_ENQUEUE, MAX_INPUT_BYTES, MAX_LABEL_BYTES, MAX_PRIORITY};
use redrive_model::{BatchId, Failure, JobId, Owner, TargetSet, Timestamp, WorkloadName, text};

use crate::{Idempotency, Result, StoreError};

/// When a job may first run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// So long after the store's now; zero is at once.
    In(Duration),
    /// At this instant; one in the past is now, and no way to jump the queue.
    At(Timestamp),
}

/// A job to be created.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// Made by the caller, so that a lost answer can be read back.
    pub id: JobId,
    /// Which kind of job.
    pub workload: WorkloadName,
    /// Who may see and act on it.
    pub owner: Option<Owner>,
    /// What people call it: a file name, say. Cleaned and cut by the store.
    pub label: Option<String>,
    /// The typed input, encoded by the workload.
    pub input: Vec<u8>,
    /// What it depends on.
    pub targets: TargetSet,
    /// 0 runs first, 9 last.
    pub priority: u8,
    /// When it may first run.
    pub when: When,
    /// Most charged executions per generation.
    pub max_attempts: Option<u32>,
    /// Two live jobs with the same key are one job.
    pub dedupe: Option<DedupeKey>,
    /// The batch it belongs to.
    pub batch: Option<BatchId>,
    /// Refused at the door: the row is created as `failed`, so that the person sees it. It makes no dead letter.
    pub rejected: Option<Failure>,
    /// How long the row is kept when it was refused.
    pub keep: Option<Duration>,
    /// One of the engine's own, or permanent: [`JobFilter::chore`](crate::JobFilter::chore) finds it, however many others there are.
    pub chore: bool,
}

impl NewJob {
    /// A job with default priority that may run at once.
    #[must_use]
    pub fn new(id: JobId, workload: WorkloadName, input: Vec<u8>) -> Self {
        Self {
            id,
            workload,
            owner: None,
            label: None,
            input,
            targets: TargetSet::NONE,
            priority: 5,
            when: When::In(Duration::ZERO),
            max_attempts: None,
            dedupe: None,
            batch: None,
            rejected: None,
            keep: None,
            chore: false,
        }
    }

    /// The label as it is stored.
    #[must_use]
    pub fn clean_label(&self) -> Option<String> {
        self.label
            .as_deref()
            .map(|label| text::one_line(label, MAX_LABEL_BYTES, false))
            .filter(|l| !l.is_empty())
    }
}

/// A batch to be opened.
#[derive(Debug, Clone)]
pub struct NewBatch {
    /// Made by the caller.
    pub id: BatchId,
    /// Which kind of jobs it holds.
    pub workload: WorkloadName,
    /// Who may see it.
    pub owner: Option<Owner>,
    /// What people call it. Cleaned and cut by the store.
    pub label: Option<String>,
    /// What whoever opens it keeps with it, in a form of their own.
    pub about: Option<String>,
    /// What a mix of outcomes makes of it.
    pub end_rule: EndRule,
    /// How long it and its members are kept after its end.
    pub keep: Option<Duration>,
}

/// One call: all of it is committed, or nothing.
#[derive(Debug, Clone, Default)]
pub struct Enqueue {
    /// Batches to open first. Opening one that exists already changes nothing.
    pub open: Vec<NewBatch>,
    /// The jobs.
    pub jobs: Vec<NewJob>,
    /// Batches that get no further members after this call. Sealing one that is sealed already changes nothing.
    pub seal: Vec<BatchId>,
    /// Makes the whole call safe to repeat.
    pub idempotency: Option<Idempotency>,
    /// A member of their batch that still runs hands these jobs in: a sealed batch takes them too.
    pub split: bool,
}

impl Enqueue {
    /// Just these jobs.
    #[must_use]
    pub fn jobs(jobs: Vec<NewJob>) -> Self {
        Self { jobs, ..Self::default() }
    }
}

/// What became of one job of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// It was created.
    Created(JobId),
    /// A row with this very id was there already: the call was made before. This is said before anything about twins.
    Existing(JobId),
    /// A live job has the same dedupe key; this is its id.
    Duplicate(JobId),
}

impl Enqueued {
    /// The job that does the work.
    #[must_use]
    pub const fn job(self) -> JobId {
        match self {
            Self::Created(id) | Self::Existing(id) | Self::Duplicate(id) => id,
        }
    }
}

/// What became of the call, job by job in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnqueueReply {
    /// One for each job of the call.
    pub jobs: Vec<Enqueued>,
    /// The idempotency key had been used for the same request: this is the first answer, nothing was written now.
    pub replayed: bool,
}

impl EnqueueReply {
    /// The answer as it is kept under an idempotency key.
    #[must_use]
    pub fn to_kept(&self) -> String {
        let word = |answer: &Enqueued| match answer {
            Enqueued::Created(_) => "created",
            Enqueued::Existing(_) => "existing",
            Enqueued::Duplicate(_) => "duplicate",
        };
        let words: Vec<_> = self.jobs.iter().map(|answer| (word(answer), answer.job())).collect();
        serde_json::to_string(&words).unwrap_or_default()
    }

    /// Reads back what [`EnqueueReply::to_kept`] wrote, for a request that is made again.
    pub fn from_kept(kept: &str) -> Result<Self> {
        let bad = |why: String| StoreError::Internal(format!("a kept reply cannot be read: {why}"));
        let words: Vec<(String, JobId)> =
            serde_json::from_str(kept).map_err(|error| bad(error.to_string()))?;
        let answer = |(word, id): (String, JobId)| match word.as_str() {
            "created" => Ok(Enqueued::Created(id)),
            "existing" => Ok(Enqueued::Existing(id)),
            "duplicate" => Ok(Enqueued::Duplicate(id)),
            other => Err(bad(format!("unknown word {other:?}"))),
        };
        Ok(Self { jobs: words.into_iter().map(answer).collect::<Result<_>>()?, replayed: true })
    }
}

/// Checks a call before anything is written. Both stores use this, so that both refuse the same things in the same
/// words.
pub fn validate(call: &Enqueue) -> Result<()> {
    let invalid = |text: String| Err(StoreError::Invalid(text));
    if call.jobs.len() > MAX_ENQUEUE {
        return invalid(format!(
            "one call may enqueue at most {MAX_ENQUEUE} jobs, not {}: send them in parts and seal the batch at the end",
            call.jobs.len()
        ));
    }
    for batch in &call.open {
        let len = batch.about.as_ref().map_or(0, String::len);
        if len > MAX_ABOUT_BYTES {
            let id = batch.id;
            return invalid(format!(
                "what is kept with batch {id} has {len} bytes, at most {MAX_ABOUT_BYTES} are allowed"
            ));
        }
    }
    let mut ids = HashSet::with_capacity(call.jobs.len());
    for job in &call.jobs {
        if job.input.len() > MAX_INPUT_BYTES {
            return invalid(format!(
                "the input of job {} has {} bytes, at most {MAX_INPUT_BYTES} are allowed: store the data as an artifact and \
                 point at it",
                job.id,
                job.input.len()
            ));
        }
        if job.priority > MAX_PRIORITY {
            return invalid(format!(
                "priority {} of job {} is not between 0 and {MAX_PRIORITY}",
                job.priority, job.id
            ));
        }
        if job.max_attempts == Some(0) {
            return invalid(format!("job {} may not have a cap of 0 attempts", job.id));
        }
        if !ids.insert(job.id) {
            return invalid(format!("job id {} is used twice in one call", job.id));
        }
    }
    call.idempotency.as_ref().map_or(Ok(()), Idempotency::validate)
}
