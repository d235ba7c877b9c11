//! What is handed in: a typed input, and how it is to be enqueued.

use std::time::Duration;

use redrive_model::dedupe::DedupeKey;
use redrive_model::name::NameError;
use redrive_model::{BatchId, JobId, Owner, Target, TargetSet, Timestamp, WorkloadName};
use redrive_store::{NewJob, When};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{EngineError, Result};

/// The input of a job. Its type says which workload runs it, so whoever enqueues needs no handler.
///
/// ```
/// # use redrive_engine::Input;
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Invoice {
///     id: u64,
/// }
///
/// impl Input for Invoice {
///     const WORKLOAD: &'static str = "send-invoice";
/// }
/// ```
pub trait Input: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The workload that runs it: lower-case letters, digits, `.`, `-`, `_` and `:`.
    const WORKLOAD: &'static str;

    /// The outside dependencies it needs. While one of them is held, the job waits and loses nothing.
    fn targets(&self) -> Vec<Target> {
        Vec::new()
    }

    /// What people call it: a file name, a customer.
    fn label(&self) -> Option<String> {
        None
    }

    /// Two jobs that answer the same here are one job: while the first waits or runs, and after it has completed for as long
    /// as its row is kept (33 days unless its policy says otherwise). After it has failed, another one may follow.
    fn unique_by(&self) -> Option<String> {
        None
    }
}

/// How a job is enqueued, where the defaults will not do.
#[derive(Debug, Clone, Default)]
pub struct Enqueue {
    pub(crate) id: Option<JobId>,
    pub(crate) owner: Option<Owner>,
    pub(crate) when: Option<When>,
    pub(crate) priority: Option<u8>,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) batch: Option<BatchId>,
}

impl Enqueue {
    /// Enqueues as a job with this id: enqueued twice it is still one job.
    #[must_use]
    pub const fn id(mut self, id: JobId) -> Self {
        self.id = Some(id);
        self
    }

    /// Who may see it and act on it.
    #[must_use]
    pub fn owner(mut self, owner: Owner) -> Self {
        self.owner = Some(owner);
        self
    }

    /// Not before so long from now.
    #[must_use]
    pub const fn after(mut self, wait: Duration) -> Self {
        self.when = Some(When::In(wait));
        self
    }

    /// Not before this instant.
    #[must_use]
    pub const fn at(mut self, at: Timestamp) -> Self {
        self.when = Some(When::At(at));
        self
    }

    /// 0 runs first, 9 last; 5 unless said.
    #[must_use]
    pub const fn priority(mut self, priority: u8) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Most executions, where this job needs another number than its policy.
    #[must_use]
    pub const fn max_attempts(mut self, n: u32) -> Self {
        self.max_attempts = Some(n);
        self
    }

    /// As a member of this batch.
    #[must_use]
    pub const fn batch(mut self, batch: BatchId) -> Self {
        self.batch = Some(batch);
        self
    }

    /// The row to be written.
    pub(crate) fn job<I: Input>(self, input: &I, fresh: impl FnOnce() -> JobId) -> Result<NewJob> {
        let workload = WorkloadName::new(I::WORKLOAD)?;
        let json = serde_json::to_vec(input).map_err(|error| EngineError::Input {
            workload: I::WORKLOAD.into(),
            reason: error.to_string(),
        })?;
        let dedupe =
            input.unique_by().map(|key| DedupeKey::new(&workload, self.owner.as_ref(), &[key.as_bytes()]));
        let targets = targets(input)?;
        let id = self.id.unwrap_or_else(fresh);
        let mut job = NewJob::new(id, workload, json);
        job.owner = self.owner;
        job.label = input.label();
        job.targets = targets;
        job.dedupe = dedupe;
        job.batch = self.batch;
        job.max_attempts = self.max_attempts;
        job.when = self.when.unwrap_or(job.when);
        job.priority = self.priority.unwrap_or(job.priority);
        Ok(job)
    }
}

fn targets<I: Input>(input: &I) -> Result<TargetSet, NameError> {
    TargetSet::new(input.targets())
}
