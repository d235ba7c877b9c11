//! A batch as a whole. Its cost does not depend on how many members it has.

use std::collections::BTreeMap;

use redrive_api::{FetchBatch, FetchError, FetchSnapshot};
use redrive_engine::model::batch::EndRule;
use redrive_engine::model::{BatchState, State};
use redrive_engine::store::{BatchFilter, BatchRow, Page, PageRequest, StoreError};
use redrive_engine::{BatchId, Input, Owner, WorkloadName};

use super::failed::{self, Failed};
use crate::input::Resource;
use crate::manifest::{About, Manifests, unpack_id};

impl Manifests {
    /// The row of a batch that came from a manifest; nothing when there is none (any more).
    pub async fn batch(&self, id: BatchId) -> Result<Option<BatchRow>, StoreError> {
        let row = self.engine.store().batch(id).await?;
        Ok(row.filter(|row| row.workload.as_str() == Resource::WORKLOAD && About::of(row).is_some()))
    }

    /// Batches, newest first: of one owner, or of all.
    pub async fn batches(
        &self,
        owner: Option<Owner>,
        page: PageRequest,
    ) -> Result<Page<BatchRow>, StoreError> {
        let filter = BatchFilter { workload: WorkloadName::new(Resource::WORKLOAD)?, owner, live: false };
        self.engine.store().batches(filter, page).await
    }

    /// All batches of an owner that have not ended, however many have since.
    pub async fn live_batches(&self, owner: &Owner) -> Result<Vec<BatchId>, StoreError> {
        let workload = WorkloadName::new(Resource::WORKLOAD)?;
        let filter = BatchFilter { workload, owner: Some(owner.clone()), live: true };
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = PageRequest { limit: 200, cursor };
            let page = self.engine.store().batches(filter.clone(), page).await?;
            found.extend(page.rows.iter().map(|row| row.id));
            cursor = page.next;
            if cursor.is_none() {
                return Ok(found);
            }
        }
    }

    /// How a batch is.
    pub async fn snapshot(&self, row: &BatchRow) -> Result<FetchSnapshot, StoreError> {
        let batch = summary(row);
        let about = About::of(row);
        let mut failures_by_code = BTreeMap::new();
        for failures in self.engine.store().batch_failures(row.id).await? {
            *failures_by_code.entry(failures.code.public().name().to_owned()).or_default() += failures.jobs;
        }
        let (manifest_key, to, proxy_pool) =
            about.map(|about| (about.manifest_key, about.to, about.proxy_pool)).unwrap_or_default();
        Ok(FetchSnapshot {
            job_id: batch.job_id,
            status: batch.status,
            owner: batch.owner,
            resources_total: batch.resources_total,
            resources_completed: batch.resources_completed,
            resources_failed: batch.resources_failed,
            resources_cancelled: batch.resources_cancelled,
            unpacked: row.sealed,
            bytes: batch.bytes,
            created_at: batch.created_at,
            updated_at: batch.updated_at,
            finished_at: batch.finished_at,
            last_error: self.last_error(row).await?,
            dlq_offset: row.dead_offset.map(|offset| offset.0),
            failures_by_code,
            manifest_key,
            end_rule: match row.end_rule {
                EndRule::Strict => "strict".into(),
                EndRule::Tolerant => "tolerant".into(),
            },
            to,
            proxy_pool,
            // Whoever downloads knows.
            proxies: Vec::new(),
            metadata: batch.metadata,
        })
    }

    /// The newest failure: of a member, or of the job that unpacks when that was given up.
    async fn last_error(&self, row: &BatchRow) -> Result<Option<FetchError>, StoreError> {
        let store = self.engine.store();
        if !row.sealed && row.state == BatchState::Processing {
            let unpack = store.job(unpack_id(row.id)).await?.filter(|job| job.state == State::Failed);
            if let Some(job) = unpack
                && let (Some(code), Some(at)) = (job.failure_code, job.finished_at)
            {
                let attempts = store.attempts(job.id).await?;
                return Ok(Some(told(failed::of(code, attempts.last()), at)));
            }
        }
        let Some(((code, message), at)) = row.last_failure.clone().zip(row.last_failure_at) else {
            return Ok(None);
        };
        // The dead letter knows the member, and that one its attempts.
        let dead = match row.dead_offset {
            Some(offset) => store.dead_letter(offset).await?.filter(|dead| dead.code == code),
            None => None,
        };
        let found = match dead {
            Some(dead) => failed::newest(&**store, dead.job).await?,
            None => None,
        };
        let found = found.unwrap_or_else(|| Failed { message, ..failed::of(code, None) });
        Ok(Some(told(found, at)))
    }
}

fn told(failed: Failed, at: redrive_engine::Timestamp) -> FetchError {
    FetchError { code: failed.code, message: failed.message, context: failed.context, at }
}

/// A batch in a list.
#[must_use]
pub fn summary(row: &BatchRow) -> FetchBatch {
    let about = About::of(row);
    FetchBatch {
        job_id: row.id.to_string(),
        status: row.state.as_str().to_owned(),
        owner: row.owner.as_ref().map(ToString::to_string),
        // Known from the start, also while the manifest is being unpacked.
        resources_total: about
            .as_ref()
            .map_or(row.counters.total, |about| u64::from(about.resource_count).max(row.counters.total)),
        resources_completed: row.counters.ok,
        resources_failed: row.counters.failed,
        resources_cancelled: row.counters.cancelled,
        bytes: row.bytes,
        created_at: row.created_at,
        updated_at: row.updated_at,
        finished_at: row.finished_at,
        metadata: about.and_then(|about| about.metadata),
    }
}
