//! Members of a batch, handed in from within a handler: a job that unpacks a large list gives each line a job of its own.

use redrive_model::limits::MAX_ENQUEUE;
use redrive_model::{BatchId, Failure, JobId, Owner};
use redrive_store::NewJob;

use crate::{Context, Input, ids};

/// The id of the n-th member of a batch: the same whenever it is made, and in the order of the members.
#[must_use]
pub fn member_id(batch: BatchId, n: u32) -> JobId {
    ids::member(batch, n)
}

/// Which member of its batch this is, if its number made its id.
#[must_use]
pub fn member_number(batch: BatchId, member: JobId) -> Option<u32> {
    let n = ids::number(member);
    (ids::member(batch, n) == member).then_some(n)
}

impl Context {
    /// Adds members to a batch that is open, numbered from `first`; durable when this returns. Their numbers make their ids:
    /// an attempt that is made again adds nothing twice.
    pub async fn add_members<I: Input>(
        &self,
        batch: BatchId,
        first: u32,
        owner: Option<&Owner>,
        inputs: &[I],
    ) -> Result<(), Failure> {
        let mut number = first;
        for part in inputs.chunks(MAX_ENQUEUE) {
            let mut jobs: Vec<NewJob> = Vec::with_capacity(part.len());
            for input in part {
                let id = ids::member(batch, number);
                let mut how = crate::Enqueue::default().id(id).batch(batch);
                how.owner = owner.cloned();
                jobs.push(how.job(input, || id)?);
                number = number.saturating_add(1);
            }
            self.hand_in(redrive_store::Enqueue::jobs(jobs)).await?;
        }
        Ok(())
    }

    /// No further members come: the batch ends when the last one has. Sealing it again changes nothing.
    pub async fn seal(&self, batch: BatchId) -> Result<(), Failure> {
        self.hand_in(redrive_store::Enqueue { seal: vec![batch], ..redrive_store::Enqueue::default() }).await
    }
}
