//! What was never unpacked of a batch that somebody cancelled: it becomes members that are cancelled at once. So completed, failed and
//! cancelled are the total here too, what is missing names each of them, and none of them ever runs.
//!
//! Of a manifest that is lost for good nothing can be read: then members stand for its resources. What they were nobody knows any more; what
//! is missing does not name them. A place that is only away is waited for.

use redrive_blob::Blobs;
use redrive_engine::store::{Acted, BatchRow, Enqueue, NewJob, Store, When};
use redrive_engine::{BatchId, Code, Context, Failure, Input, WorkloadName, member_id};

use super::About;
use super::commit::KEEP;
use super::entry::Common;
use super::rest::Rest;
use super::unpack::{Unpack, invalid, unpack_id};
use super::wish::{goes_on, lost};
use crate::input::Resource;

/// So many at once.
const CHUNK: u32 = 500;
/// Nobody may begin one before it is cancelled.
const NEVER: std::time::Duration = std::time::Duration::from_secs(365 * 24 * 3_600);

/// Ends the unpacking of a batch: nobody else goes on with it, and its resources from this number on are written as cancelled. Answers how
/// many were. Done again after a crash it goes on where it was.
pub(super) async fn end_unpacking(
    store: &dyn Store,
    blobs: &dyn Blobs,
    ctx: &Context,
    row: &BatchRow,
    first: u32,
) -> Result<u64, Failure> {
    // It may wait for a retry that is days away. One that runs is told to stop; what it adds until then is stopped by it, and is here too.
    store.cancel(vec![unpack_id(row.id)], Some(KEEP)).await.map_err(lost)?;
    let payload = store.payload(unpack_id(row.id)).await.map_err(lost)?;
    let unpack = payload.and_then(|payload| serde_json::from_slice(&payload.input).ok());
    let mut rest = Remaining { store, ctx, unpack: unpack.unwrap_or_else(|| known(row)), first, stopped: 0 };
    if let Err(failure) = rest.named(blobs).await {
        if !matches!(failure.code, Code::StorageManifestMissing | Code::StorageManifestInvalid) {
            return Err(failure);
        }
        tracing::warn!(event = "manifest.lost", batch = %row.id, from = rest.first, "{}", failure.message);
        rest.unnamed().await?;
    }
    ctx.seal(row.id).await?;
    Ok(rest.stopped)
}

/// What is left of a batch when retention has taken the job that unpacked it.
fn known(row: &BatchRow) -> Unpack {
    let about = About::of(row);
    let (manifest_key, resource_count, proxy_pool) =
        about.map(|about| (about.manifest_key, about.resource_count, about.proxy_pool)).unwrap_or_default();
    let common = Common {
        manifest_key,
        place: None,
        bucket: None,
        prefix: row.id.to_string(),
        shared: false,
        proxy_pool,
    };
    Unpack { batch: row.id, resource_count, common }
}

/// Resources that are no members yet.
struct Remaining<'a> {
    store: &'a dyn Store,
    ctx: &'a Context,
    unpack: Unpack,
    /// The number of the first one.
    first: u32,
    stopped: u64,
}

impl Remaining<'_> {
    /// As the manifest says them.
    async fn named(&mut self, blobs: &dyn Blobs) -> Result<(), Failure> {
        if self.first >= self.unpack.resource_count {
            return Ok(());
        }
        let (batch, key) = (self.unpack.batch, self.unpack.common.manifest_key.clone());
        let mut rest = Rest::open(self.store, blobs, batch, &key, u64::from(self.first)).await?;
        while self.first < self.unpack.resource_count {
            let entries = rest.next(CHUNK as usize).await?;
            if entries.is_empty() {
                return Err(invalid("it has fewer resources than were accepted"));
            }
            let common = &self.unpack.common;
            let resources = entries.into_iter().map(|entry| entry.resource(common)).collect();
            self.stop(resources).await?;
        }
        Ok(())
    }

    /// As what stands for them.
    async fn unnamed(&mut self) -> Result<(), Failure> {
        while self.first < self.unpack.resource_count {
            let end = self.unpack.resource_count.min(self.first.saturating_add(CHUNK));
            let resources = (self.first..end).map(|n| stand_in(&self.unpack.common, n)).collect();
            self.stop(resources).await?;
        }
        Ok(())
    }

    /// Writes the next ones as members and cancels them.
    async fn stop(&mut self, resources: Vec<Resource>) -> Result<(), Failure> {
        goes_on(self.ctx)?;
        let (batch, total) = (self.unpack.batch, self.unpack.resource_count);
        let mut jobs = Vec::with_capacity(resources.len());
        for resource in resources {
            jobs.push(member(batch, self.first, &resource)?);
            self.first = self.first.saturating_add(1);
        }
        let members = jobs.iter().map(|job| job.id).collect();
        self.store.enqueue(Enqueue::jobs(jobs)).await.map_err(lost)?;
        let acted = self.store.cancel(members, Some(KEEP)).await.map_err(lost)?;
        self.stopped += acted.iter().filter(|acted| **acted == Acted::Done).count() as u64;
        self.ctx.progress(u64::from(self.first), Some(u64::from(total)), Some("members")).await
    }
}

fn stand_in(common: &Common, n: u32) -> Resource {
    Resource {
        manifest: common.manifest_key.clone(),
        id: format!("resource {n} of a manifest that was lost"),
        url: String::new(),
        headers: Default::default(),
        sha256: None,
        tags: Default::default(),
        place: common.place.clone(),
        bucket: None,
        prefix: common.prefix.clone(),
        shared: common.shared,
        proxy_pool: None,
    }
}

fn member(batch: BatchId, n: u32, resource: &Resource) -> Result<NewJob, Failure> {
    let internal = |error: &dyn std::fmt::Display| Failure::new(Code::SystemInternal, error);
    let workload = WorkloadName::new(Resource::WORKLOAD).map_err(|error| internal(&error))?;
    let input = serde_json::to_vec(resource).map_err(|error| internal(&error))?;
    let mut job = NewJob::new(member_id(batch, n), workload, input);
    job.label = resource.label();
    job.batch = Some(batch);
    job.when = When::In(NEVER);
    Ok(job)
}
