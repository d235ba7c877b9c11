//! Handing a manifest in: the artifact gets its name, then one call to the store opens the batch with all that follows from it.

use redrive_blob::BlobError;
use redrive_engine::store::{Enqueue, EnqueueReply, Enqueued, Idempotency, NewBatch, NewJob, StoreError};
use redrive_engine::{
    BatchId, Code, EngineError, Enqueue as How, Failure, Input, JobId, WorkloadName, member_id,
};

use super::entry::Entry;
use super::quick::may_pass;
use super::receive::unavailable;
use super::stage::Staged;
use super::unpack::{Unpack, unpack_id};
use super::{About, AcceptError, Accepted, Handing, Manifests, Received, artifact};
use crate::input::Resource;

/// A batch and its members are kept so long after its end.
pub(super) const KEEP: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 3600);

impl Manifests {
    /// Hands in a manifest that was read. Once begun it should be let go to its end: what a drop leaves in the middle is an artifact
    /// for the sweeper, or an accepted manifest that nobody was told of.
    pub async fn commit<E>(&self, mut received: Received, how: Handing) -> Result<Accepted, AcceptError<E>> {
        let key = artifact(&received.common.manifest_key).map_err(|error| unavailable(error.into()))?;
        received.staged.publish(&*self.blobs, self.tries(), &key).await.map_err(|error| match error {
            BlobError::AlreadyExists { .. } => AcceptError::Mismatch,
            error => unavailable(error),
        })?;
        let call = self.call(&received, &how).map_err(refused)?;
        let (mut tries, mut unheard) = (self.tries(), false);
        let handed = loop {
            let handed = self.engine.hand_in(call.clone()).await;
            let Err(EngineError::Store(error)) = &handed else { break handed };
            unheard |= matches!(error, StoreError::Unknown { .. });
            if !may_pass(error) || !tries.again(error).await {
                break handed;
            }
        };
        let accepted = match handed {
            Ok(reply) => self.accepted(&received, &reply).await.map_err(|error| (error, Trace::Perhaps)),
            Err(error) => self.read_back(&received, error, unheard).await,
        };
        let left = match &accepted {
            Ok(accepted) => accepted.batch != received.batch,
            // Only when it is certain that no batch points at it; the sweeper finds the others.
            Err((_, trace)) => *trace == Trace::None && how.batch.is_none(),
        };
        if left && let Err(error) = self.blobs.delete(&key).await {
            tracing::warn!(event = "manifest.left_behind", %key, "{error}");
        }
        accepted.map_err(|(error, _)| error)
    }

    /// One call that says everything.
    fn call(&self, received: &Received, how: &Handing) -> Result<Enqueue, EngineError> {
        let about = About {
            manifest_key: received.common.manifest_key.clone(),
            resource_count: received.count,
            to: received.head.to.clone(),
            proxy_pool: received.head.proxy_pool.clone(),
            metadata: received.head.metadata.clone(),
        };
        let json = |error: serde_json::Error| EngineError::Input {
            workload: Resource::WORKLOAD.into(),
            reason: error.to_string(),
        };
        let open = NewBatch {
            id: received.batch,
            workload: WorkloadName::new(Resource::WORKLOAD)?,
            owner: how.owner.clone(),
            label: None,
            end_rule: received.head.rule(),
            keep: Some(KEEP),
            about: Some(serde_json::to_string(&about).map_err(json)?),
        };
        let (jobs, seal) = match &received.staged {
            Staged::Held { bytes, .. } => (self.members(received, bytes)?, vec![received.batch]),
            Staged::Spilled(_) => (vec![self.unpack(received)?], Vec::new()),
        };
        let idempotency = how.idempotency_key.clone().zip(how.owner.clone()).map(|(key, owner)| {
            let request_hash = *received.staged.sha256().as_bytes();
            Idempotency { owner, key, request_hash }
        });
        Ok(Enqueue { open: vec![open], jobs, seal, idempotency, split: false })
    }

    /// All members of a small manifest. They belong to their batch, and that one to its owner: so nobody's lists and counts are full of
    /// them.
    fn members(&self, received: &Received, text: &[u8]) -> Result<Vec<NewJob>, EngineError> {
        let lines = text.split(|byte| *byte == b'\n').skip(1).filter(|line| !line.is_empty());
        let member = |(n, line): (u32, &[u8])| {
            let entry: Entry = serde_json::from_slice(line).map_err(|error| EngineError::Input {
                workload: Resource::WORKLOAD.into(),
                reason: error.to_string(),
            })?;
            let new = How::default().id(member_id(received.batch, n)).batch(received.batch);
            self.engine.new_job(&entry.resource(&received.common), new)
        };
        (0_u32..).zip(lines).map(member).collect()
    }

    /// The job that unpacks a large one.
    fn unpack(&self, received: &Received) -> Result<NewJob, EngineError> {
        let unpack =
            Unpack { batch: received.batch, resource_count: received.count, common: received.common.clone() };
        self.engine.new_job(&unpack, How::default().id(unpack_id(received.batch)))
    }

    /// What the store said. The answer to a request that was made before names its first job, and that one its batch.
    async fn accepted<E>(
        &self,
        received: &Received,
        reply: &EnqueueReply,
    ) -> Result<Accepted, AcceptError<E>> {
        let first = reply.jobs.first().copied();
        let known = matches!(first, Some(Enqueued::Existing(_) | Enqueued::Duplicate(_)));
        let mut batch = received.batch;
        if reply.replayed {
            let job = first.map(Enqueued::job).unwrap_or(unpack_id(batch));
            batch = self.batch_of(job).await.map_err(|error| lost(&error))?;
        }
        Ok(Accepted {
            batch,
            manifest_key: super::manifest_key(batch),
            resource_count: received.count,
            replayed: known || (reply.replayed && batch != received.batch),
        })
    }

    async fn batch_of(&self, job: JobId) -> Result<BatchId, StoreError> {
        let store = self.engine.store();
        if let Some(batch) = store.job(job).await?.and_then(|row| row.batch) {
            return Ok(batch);
        }
        let payload = store.payload(job).await?;
        let unpack = payload.and_then(|payload| serde_json::from_slice::<Unpack>(&payload.input).ok());
        unpack
            .map(|unpack| unpack.batch)
            .ok_or_else(|| StoreError::NotFound { what: "batch of the first request (any more)".into() })
    }

    /// A call that got no good answer: what is there decides. `unheard` says that one of its tries may have been carried out, whatever
    /// the last one heard.
    async fn read_back<E>(
        &self,
        received: &Received,
        error: EngineError,
        unheard: bool,
    ) -> Result<Accepted, (AcceptError<E>, Trace)> {
        let EngineError::Store(error) = error else { return Err((refused(error), Trace::Perhaps)) };
        let there = self.engine.store().batch(received.batch).await;
        // What was not heard may still come: the artifact stays for it.
        let trace = if !unheard && matches!(there, Ok(None)) { Trace::None } else { Trace::Perhaps };
        let error = match error {
            StoreError::IdempotencyMismatch => AcceptError::Mismatch,
            error if unheard || may_pass(&error) => {
                if let Ok(Some(_)) = there {
                    return Ok(Accepted {
                        batch: received.batch,
                        manifest_key: received.common.manifest_key.clone(),
                        resource_count: received.count,
                        replayed: false,
                    });
                }
                lost(&error)
            }
            error => refused(EngineError::Store(error)),
        };
        Err((error, trace))
    }
}

/// Whether anything in the store may point at the artifact of a manifest that was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trace {
    None,
    Perhaps,
}

fn lost<E>(error: &StoreError) -> AcceptError<E> {
    AcceptError::Unavailable(Failure::new(Code::SystemUnavailable, error))
}

/// What no further try would change.
fn refused<E>(error: EngineError) -> AcceptError<E> {
    let code = match error.code() {
        Code::SystemUnavailable | Code::DiskFull => Code::SystemUnavailable,
        _ => Code::SystemInternal,
    };
    AcceptError::Unavailable(Failure::new(code, error))
}
