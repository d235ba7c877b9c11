//! The resources of a batch, page by page: bounded by its rows, and by its bytes, because one resource may have a quarter of a megabyte.

use futures::{StreamExt, TryStreamExt, stream};
use redrive_api::{FetchResource, FetchResources, ResourceFailure};
use redrive_engine::BatchId;
use redrive_engine::model::State;
use redrive_engine::store::{JobFilter, JobRow, PageRequest, StoreError};

use super::{AT_A_TIME, failed};
use crate::id::{address, shown_id};
use crate::input::Resource;
use crate::made::Made;
use crate::manifest::Manifests;

/// So many looks at attempts at once.
const AT_ONCE: usize = 8;
/// A page has at most so many bytes of resources. The first one is always in it.
const PAGE_BYTES: usize = 1 << 20;

impl Manifests {
    /// One page of the members of a batch, in these states or in any, with no secret of theirs. While a large manifest is being unpacked
    /// its last resources are not members yet. A page that would be too long ends earlier, and the next one goes on there.
    pub async fn resources(
        &self,
        batch: BatchId,
        wanted: JobFilter,
        page: PageRequest,
    ) -> Result<FetchResources, StoreError> {
        let wanted = JobFilter { batch: Some(batch), single: false, ..wanted };
        let page = self.engine.store().jobs(wanted, page).await?;
        let (mut resources, mut bytes, mut rows) = (Vec::new(), 0_usize, page.rows.into_iter());
        loop {
            let few: Vec<JobRow> = rows.by_ref().take(AT_A_TIME).collect();
            if few.is_empty() {
                return Ok(FetchResources { resources, next_cursor: page.next });
            }
            for resource in self.views(few).await? {
                bytes = bytes.saturating_add(written(&resource));
                if bytes > PAGE_BYTES && !resources.is_empty() {
                    // Lists go on behind the last row that was told.
                    let next_cursor = resources.last().map(|last: &FetchResource| last.job_id.clone());
                    return Ok(FetchResources { resources, next_cursor });
                }
                resources.push(resource);
            }
        }
    }

    /// A few members.
    async fn views(&self, rows: Vec<JobRow>) -> Result<Vec<FetchResource>, StoreError> {
        let payloads = self.engine.store().payloads(rows.iter().map(|row| row.id).collect()).await?;
        let views = rows.into_iter().zip(payloads).map(|(row, payload)| async move {
            let resource = payload.and_then(|payload| serde_json::from_slice(&payload.input).ok());
            Ok::<_, StoreError>(view(&row, resource, self.failure(&row).await?))
        });
        stream::iter(views).buffered(AT_ONCE).try_collect().await
    }

    /// What went wrong last with a member that is not stored.
    async fn failure(&self, row: &JobRow) -> Result<Option<ResourceFailure>, StoreError> {
        // What has not run has no attempts.
        if row.state == State::Complete || (row.failure_code.is_none() && row.token.0 == 0) {
            return Ok(None);
        }
        let newest = failed::newest(&**self.engine.store(), row.id).await?;
        let found = newest.or_else(|| row.failure_code.map(|code| failed::of(code, None)));
        Ok(found.map(|failed| ResourceFailure {
            code: failed.code,
            message: failed.message,
            context: failed.context,
        }))
    }
}

/// How many bytes it is in an answer.
fn written(resource: &FetchResource) -> usize {
    serde_json::to_vec(resource).map_or(usize::MAX, |json| json.len())
}

fn view(row: &JobRow, resource: Option<Resource>, failure: Option<ResourceFailure>) -> FetchResource {
    let made = row.result.as_deref().and_then(Made::parse);
    let (id, url, mut tags, place) = match resource {
        Some(resource) => (shown_id(&resource.id), address(&resource.url), resource.tags, resource.place),
        None => (row.label.clone().unwrap_or_default(), String::new(), Default::default(), None),
    };
    // What handlers said about it counts more than what the manifest says.
    tags.extend(made.iter().flat_map(|made| made.tags.clone()));
    FetchResource {
        id,
        job_id: row.id.to_string(),
        url,
        status: row.shown.as_str().to_owned(),
        place: made.as_ref().map_or(place, |made| made.place.clone()),
        key: made.as_ref().map(|made| made.key.clone()),
        bytes: made.as_ref().map(|made| made.bytes),
        sha256: made.as_ref().map(|made| made.sha256.to_string()),
        content_type: made.and_then(|made| made.content_type),
        tags,
        attempts: row.attempt,
        failure,
    }
}
