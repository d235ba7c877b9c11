//! What is missing: a manifest of exactly the resources of a batch that are not stored, ready to be handed in again.
//!
//! It has the real URLs and headers, so it is for the owner and operators only. While the batch runs it names what is not stored yet;
//! what was not unpacked yet comes from the stored manifest. It is streamed: a few members are in memory, not a million.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt};
use futures::{TryStreamExt, stream};
use redrive_engine::model::Shown;
use redrive_engine::model::batch::EndRule;
use redrive_engine::store::{BatchRow, JobFilter, PageRequest, Store, StoreError};
use redrive_engine::{BatchId, Code, Failure, JobId, member_number};

use super::AT_A_TIME;
use crate::input::Resource;
use crate::manifest::{About, Entry, Format, Head, Manifests, Rest, Rule, artifact};

/// A document has so many bytes more than its resources as lines.
const AROUND: u64 = 64;
/// So many rows of a stored manifest at a time.
const CHUNK: usize = 500;
/// Everything but `complete`.
const NOT_STORED: [Shown; 8] = [
    Shown::Queued,
    Shown::Scheduled,
    Shown::WaitingRetry,
    Shown::WaitingBatch,
    Shown::Held,
    Shown::Processing,
    Shown::Failed,
    Shown::Cancelled,
];

/// A manifest of what is missing.
pub struct Missing {
    /// How it is written.
    pub format: Format,
    /// How many resources were missing when it was begun.
    pub count: u64,
    /// Its bytes. An error in the middle means that it is not whole.
    pub bytes: BoxStream<'static, Result<Bytes, Failure>>,
}

impl std::fmt::Debug for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Missing")
            .field("format", &self.format)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl Manifests {
    /// What of a batch is not stored, in this format, or in the one that fits. What is too much for a document comes as lines, also when a
    /// document was asked for: it could not be handed in again.
    pub async fn missing(&self, row: &BatchRow, format: Option<Format>) -> Missing {
        let about = About::of(row);
        let total = about.as_ref().map_or(0, |about| u64::from(about.resource_count)).max(row.counters.total);
        let count = total.saturating_sub(row.counters.ok);
        let format = match format {
            Some(Format::Ndjson) => Format::Ndjson,
            Some(Format::Json) | None if self.fits_a_document(count, about.as_ref()).await => Format::Json,
            Some(Format::Json) | None => Format::Ndjson,
        };
        let head = Head {
            end_rule: match row.end_rule {
                EndRule::Strict => None,
                EndRule::Tolerant => Some(Rule::Tolerant),
            },
            to: about.as_ref().and_then(|about| about.to.clone()),
            proxy_pool: about.as_ref().and_then(|about| about.proxy_pool.clone()),
            metadata: about.as_ref().and_then(|about| about.metadata.clone()),
            ..Head::default()
        };
        let members = self.members_not_stored(row.id, row.counters.total);
        let entries = if row.sealed { members } else { members.chain(self.not_unpacked(row)).boxed() };
        Missing { format, count, bytes: written(format, &head, entries) }
    }

    /// Whether so many resources of a manifest are few enough, and surely short enough, for a document.
    async fn fits_a_document(&self, count: u64, about: Option<&About>) -> bool {
        let limits = &self.options().limits;
        if usize::try_from(count).map_or(true, |count| count > limits.json_resources) {
            return false;
        }
        // What is missing is a part of what was stored.
        let Some(key) = about.and_then(|about| artifact(&about.manifest_key).ok()) else { return false };
        let stored = self.blobs.head(&key).await;
        stored.is_ok_and(|head| head.bytes + AROUND <= limits.json_bytes as u64)
    }

    /// Members that are not complete, of the first so many.
    fn members_not_stored(&self, batch: BatchId, upto: u64) -> Entries {
        let store = self.engine.store().clone();
        let pages = stream::try_unfold(Some(None), {
            let store = store.clone();
            move |cursor: Option<Option<String>>| {
                let store = store.clone();
                async move {
                    let Some(cursor) = cursor else { return Ok(None) };
                    let filter =
                        JobFilter { batch: Some(batch), shown: NOT_STORED.to_vec(), ..JobFilter::default() };
                    let page = store.jobs(filter, PageRequest { limit: 200, cursor }).await.map_err(lost)?;
                    // What was added since is told as not unpacked.
                    let known = |n: Option<u32>| n.is_none_or(|n| u64::from(n) < upto);
                    let rows = page.rows.iter().map(|row| row.id);
                    let jobs: Vec<_> = rows.filter(|id| known(member_number(batch, *id))).collect();
                    Ok::<_, Failure>(Some((jobs, page.next.map(Some))))
                }
            }
        });
        let few = pages.map_ok(|jobs| {
            let few: Vec<Vec<JobId>> = jobs.chunks(AT_A_TIME).map(<[JobId]>::to_vec).collect();
            stream::iter(few).map(Ok)
        });
        few.try_flatten().and_then(move |jobs| carried(store.clone(), jobs)).boxed()
    }

    /// Resources of the stored manifest that are no members yet.
    fn not_unpacked(&self, row: &BatchRow) -> Entries {
        let (store, blobs) = (self.engine.store().clone(), self.blobs.clone());
        let (batch, added) = (row.id, row.counters.total);
        let key = About::of(row).map(|about| about.manifest_key).unwrap_or_default();
        let opened = async move {
            let rest = Rest::open(&*store, &*blobs, batch, &key, added).await?;
            Ok::<_, Failure>(stream::try_unfold(rest, |mut rest: Rest| async move {
                let entries = rest.next(CHUNK).await?;
                Ok((!entries.is_empty()).then_some((entries, rest)))
            }))
        };
        stream::once(opened).try_flatten().boxed()
    }
}

/// What these members carry.
async fn carried(store: Arc<dyn Store>, jobs: Vec<JobId>) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::with_capacity(jobs.len());
    for payload in store.payloads(jobs).await.map_err(lost)?.into_iter().flatten() {
        let resource: Resource = serde_json::from_slice(&payload.input)
            .map_err(|error| Failure::new(Code::SystemUndecodable, error))?;
        // What stands for a resource of a manifest that was lost has nothing to ask for.
        if !resource.url.is_empty() {
            entries.push(Entry::of(resource));
        }
    }
    Ok(entries)
}

/// Resources, some at a time.
type Entries = BoxStream<'static, Result<Vec<Entry>, Failure>>;

fn lost(error: StoreError) -> Failure {
    Failure::new(error.code(), error)
}

/// The bytes of a manifest.
fn written(format: Format, head: &Head, entries: Entries) -> BoxStream<'static, Result<Bytes, Failure>> {
    let head = serde_json::to_string(head).unwrap_or_default();
    let (before, between, after) = match format {
        Format::Ndjson => (format!("{head}\n"), "\n", ""),
        // The head is an object with at least its version.
        Format::Json => {
            (format!("{},\"resources\":[", head.strip_suffix('}').unwrap_or_default()), ",", "]}\n")
        }
    };
    let mut first = true;
    let body = entries.map_ok(move |entries| {
        let mut text = String::new();
        for entry in entries {
            match (format, std::mem::take(&mut first)) {
                (Format::Json, false) => text.push_str(between),
                (Format::Json, true) | (Format::Ndjson, _) => {}
            }
            text.push_str(&serde_json::to_string(&entry).unwrap_or_default());
            if format == Format::Ndjson {
                text.push_str(between);
            }
        }
        Bytes::from(text)
    });
    let edge = |text: String| stream::once(async move { Ok(Bytes::from(text)) });
    edge(before)
        .chain(body)
        .chain(edge(after.to_owned()))
        .try_filter(|bytes| std::future::ready(!bytes.is_empty()))
        .boxed()
}
