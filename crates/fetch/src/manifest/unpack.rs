//! The job that unpacks a large manifest: every line becomes a member of its batch, and then the batch is sealed.
//!
//! It notes how far it is after each chunk, and members have their numbers as ids: a crash anywhere costs one chunk of work and changes
//! no count. Once somebody has cancelled the batch, each chunk is cancelled right after it was added, until whoever cancels takes the rest
//! over: so every resource of the manifest is counted once, whatever happens.

use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use redrive_blob::{BlobError, Blobs, ByteRange, ByteStream, Sha256};
use redrive_engine::store::Store;
use redrive_engine::{BatchId, Code, Context, Done, Failure, Input, JobId, Policy, Workload, member_id};
use serde::{Deserialize, Serialize};

use super::artifact;
use super::cancel::cancel_id;
use super::commit::KEEP;
use super::entry::{Common, Entry};
use super::lines::Lines;
use crate::input::Resource;

/// So many members are added at once: enough to be quick, few enough that others wait for nothing.
const CHUNK: usize = 250;
/// And so many bytes of the manifest.
const CHUNK_BYTES: u64 = 4 << 20;

/// Which manifest is unpacked into which batch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Unpack {
    pub(crate) batch: BatchId,
    pub(crate) resource_count: u32,
    pub(crate) common: Common,
}

impl Input for Unpack {
    const WORKLOAD: &'static str = "fetch.unpack";

    fn label(&self) -> Option<String> {
        Some(format!("{} resources of {}", self.resource_count, self.batch))
    }
}

/// The job that unpacks this batch.
pub(crate) fn unpack_id(batch: BatchId) -> JobId {
    derived(batch, "unpack", 0)
}

/// A job that a batch has of its own: the same id whenever it is asked for.
pub(super) fn derived(batch: BatchId, what: &str, round: u32) -> JobId {
    let hash = Sha256::of(format!("{what} {batch} {round}").as_bytes());
    let draw = std::array::from_fn(|n| hash.as_bytes().get(n).copied().unwrap_or_default());
    JobId::from_parts(batch.made_at(), draw)
}

/// Unpacks manifests.
#[derive(Clone)]
pub struct Unpacker {
    store: Arc<dyn Store>,
    blobs: Arc<dyn Blobs>,
    chunk: usize,
}

impl Unpacker {
    /// Reads manifests from this place.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, blobs: Arc<dyn Blobs>) -> Self {
        Self { store, blobs, chunk: CHUNK }
    }

    /// Adds so many members at once, where the usual number will not do.
    #[must_use]
    pub const fn chunks_of(mut self, members: usize) -> Self {
        self.chunk = members;
        self
    }
}

/// How far it is: members that were added, and where the line of the next one begins.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Position {
    pub(super) next: u32,
    pub(super) offset: u64,
}

impl Workload for Unpacker {
    type Input = Unpack;

    fn policy(&self) -> Policy {
        Policy { attempt_timeout: Duration::from_secs(6 * 3_600), ..Policy::on_demand() }
    }

    fn concurrency(&self) -> usize {
        2
    }

    async fn run(&self, ctx: Context, unpack: Unpack) -> Result<Done, Failure> {
        let mut position = ctx.state::<Position>()?.unwrap_or_default();
        let mut lines = Chunks::open(&*self.blobs, &unpack, position).await?;
        while position.next < unpack.resource_count {
            if ctx.is_cancelled() {
                return Err(Failure::new(Code::SystemInterrupted, "told to stop"));
            }
            let chunk = lines.next(&unpack, self.chunk, &mut position.offset).await?;
            let count = u32::try_from(chunk.len()).unwrap_or(u32::MAX);
            ctx.add_members(unpack.batch, position.next, None, &chunk).await?;
            let numbers = position.next..position.next.saturating_add(count);
            self.cancel_with_its_batch(&unpack, numbers.clone()).await?;
            position.next = numbers.end;
            ctx.save_state(&position).await?;
            let (done, all) = (u64::from(position.next), u64::from(unpack.resource_count));
            ctx.progress(done, Some(all), Some("resources")).await?;
        }
        ctx.seal(unpack.batch).await?;
        Ok(Done::Complete)
    }
}

impl Unpacker {
    /// Whoever cancelled the batch before these members were there meant them too. Whoever does so from now on finds them.
    async fn cancel_with_its_batch(
        &self,
        unpack: &Unpack,
        numbers: std::ops::Range<u32>,
    ) -> Result<(), Failure> {
        let lost = |error: redrive_engine::store::StoreError| Failure::new(error.code(), error);
        if self.store.job(cancel_id(unpack.batch, 0)).await.map_err(lost)?.is_some() {
            let members = numbers.map(|n| member_id(unpack.batch, n)).collect();
            self.store.cancel(members, Some(KEEP)).await.map_err(lost)?;
        }
        Ok(())
    }
}

/// A stored manifest from some line on, in chunks.
pub(super) struct Chunks {
    bytes: ByteStream,
    lines: Lines,
    /// The head's line is still to be passed over.
    at_head: bool,
}

impl Chunks {
    async fn open(blobs: &dyn Blobs, unpack: &Unpack, position: Position) -> Result<Self, Failure> {
        Self::from(blobs, &unpack.common.manifest_key, position.offset).await
    }

    /// Opens the manifest where a line begins; at 0 that of the head.
    pub(super) async fn from(blobs: &dyn Blobs, key: &str, offset: u64) -> Result<Self, Failure> {
        let key = artifact(key).map_err(|error| invalid(&error.to_string()))?;
        let range = (offset > 0).then_some(ByteRange::From(offset));
        let bytes = match blobs.read(&key, range).await {
            Ok(reading) => reading.bytes,
            // Everything was read before.
            Err(BlobError::Range { .. }) => Box::pin(futures::stream::empty()),
            Err(error) => return Err(of_blob(&error)),
        };
        Ok(Self { bytes, lines: Lines::default(), at_head: offset == 0 })
    }

    /// The next entries with where the line behind them begins; none at the end.
    pub(super) async fn entries(&mut self, most: usize, offset: &mut u64) -> Result<Vec<Entry>, Failure> {
        let (mut entries, begun) = (Vec::new(), *offset);
        while entries.len() < most && *offset - begun < CHUNK_BYTES {
            let Some((_, line)) = self.lines.next() else {
                match self.bytes.try_next().await.map_err(|error| of_blob(&error))? {
                    Some(chunk) => self.lines.push(&chunk),
                    None => break,
                }
                continue;
            };
            *offset += line.len() as u64 + 1;
            if !std::mem::take(&mut self.at_head) {
                entries.push(serde_json::from_slice(&line).map_err(|error| invalid(&error.to_string()))?);
            }
        }
        Ok(entries)
    }

    async fn next(
        &mut self,
        unpack: &Unpack,
        most: usize,
        offset: &mut u64,
    ) -> Result<Vec<Resource>, Failure> {
        let entries = self.entries(most, offset).await?;
        if entries.is_empty() {
            return Err(invalid("it has fewer resources than were accepted"));
        }
        Ok(entries.into_iter().map(|entry| entry.resource(&unpack.common)).collect())
    }
}

pub(super) fn invalid(why: &str) -> Failure {
    Failure::new(Code::StorageManifestInvalid, format!("the stored manifest cannot be read: {why}"))
}

fn of_blob(error: &BlobError) -> Failure {
    let failure = error.failure();
    match error {
        BlobError::NotFound { .. } => Failure { code: Code::StorageManifestMissing, ..failure },
        _ => Failure { code: Code::StorageUnavailable, ..failure },
    }
}
