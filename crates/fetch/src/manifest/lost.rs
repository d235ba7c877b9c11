//! A manifest that is lost for good, though its batch is not unpacked: when somebody cancels the batch it ends all the same.
//!
//! For every resource that never became a member a member is written that stands for it and is cancelled at once, so completed, failed and
//! cancelled are the total here too. What it was nobody knows any more; what is missing does not name it.

use redrive_engine::model::State;
use redrive_engine::store::{Enqueue, NewJob, Result as StoreResult, Store, When};
use redrive_engine::{BatchId, Code, Context, Failure, Input, WorkloadName, member_id};

use super::commit::KEEP;
use super::unpack::{Unpack, unpack_id};
use super::wish::{goes_on, lost};
use crate::input::Resource;

/// So many at once.
const CHUNK: u32 = 500;
/// Nobody may begin one before it is cancelled.
const NEVER: std::time::Duration = std::time::Duration::from_secs(365 * 24 * 3_600);

/// What was to be unpacked, when that was given up because the manifest is gone or cannot be read.
pub(super) async fn lost_manifest(store: &dyn Store, batch: BatchId) -> StoreResult<Option<Unpack>> {
    let id = unpack_id(batch);
    let Some(job) = store.job(id).await?.filter(|job| job.state == State::Failed) else { return Ok(None) };
    if !matches!(job.failure_code, Some(Code::StorageManifestMissing | Code::StorageManifestInvalid)) {
        return Ok(None);
    }
    let payload = store.payload(id).await?;
    Ok(payload.and_then(|payload| serde_json::from_slice(&payload.input).ok()))
}

/// Ends a batch whose manifest is lost: the members from this number on are written as cancelled.
pub(super) async fn end_without(
    store: &dyn Store,
    ctx: &Context,
    unpack: &Unpack,
    from: u64,
) -> Result<(), Failure> {
    let mut first = u32::try_from(from).unwrap_or(u32::MAX);
    while first < unpack.resource_count {
        goes_on(ctx)?;
        let end = unpack.resource_count.min(first.saturating_add(CHUNK));
        let jobs = (first..end).map(|n| stand_in(unpack, n)).collect::<Result<_, _>>()?;
        store.enqueue(Enqueue::jobs(jobs)).await.map_err(lost)?;
        let members = (first..end).map(|n| member_id(unpack.batch, n)).collect();
        store.cancel(members, Some(KEEP)).await.map_err(lost)?;
        first = end;
    }
    ctx.seal(unpack.batch).await
}

fn stand_in(unpack: &Unpack, n: u32) -> Result<NewJob, Failure> {
    let internal = |error: &dyn std::fmt::Display| Failure::new(Code::SystemInternal, error);
    let resource = Resource {
        manifest: unpack.common.manifest_key.clone(),
        id: format!("resource {n} of a manifest that was lost"),
        url: String::new(),
        headers: Default::default(),
        sha256: None,
        tags: Default::default(),
        place: unpack.common.place.clone(),
        bucket: None,
        prefix: unpack.common.prefix.clone(),
        shared: unpack.common.shared,
        proxy_pool: None,
    };
    let workload = WorkloadName::new(Resource::WORKLOAD).map_err(|error| internal(&error))?;
    let input = serde_json::to_vec(&resource).map_err(|error| internal(&error))?;
    let mut job = NewJob::new(member_id(unpack.batch, n), workload, input);
    job.label = resource.label();
    job.batch = Some(unpack.batch);
    job.when = When::In(NEVER);
    Ok(job)
}
