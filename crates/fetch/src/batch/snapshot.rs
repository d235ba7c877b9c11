//! A batch as a whole. Its cost does not depend on how many members it has.

use std::collections::BTreeMap;

use redrive_api::{FetchBatch, FetchError, FetchSnapshot};
use redrive_engine::model::batch::EndRule;
use redrive_engine::model::{BatchState, Shown, State};
use redrive_engine::store::{
    BatchFilter, BatchRow, DeadRow, DeadState, JobFilter, Page, PageRequest, StoreError,
};
use redrive_engine::{BatchId, Input, Owner, WorkloadName};

use super::failed::{self, Failed};
use crate::input::Resource;
use crate::manifest::{About, Manifests, unpack_id};

/// A letter that waits is looked for among so many of those that failed last: its cost is bounded, whatever failed.
const LOOKED_AT: usize = 20;

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
        let about = About::of(row);
        let mut failures_by_code = BTreeMap::new();
        for failures in self.engine.store().batch_failures(row.id).await? {
            *failures_by_code.entry(failures.code.public().name().to_owned()).or_default() += failures.jobs;
        }
        let (manifest_key, to, proxy_pool) =
            about.map(|about| (about.manifest_key, about.to, about.proxy_pool)).unwrap_or_default();
        let letter = self.letter(row).await?;
        Ok(FetchSnapshot {
            batch: summary(row),
            unpacked: row.sealed,
            last_error: self.last_error(row, letter.as_ref()).await?,
            dlq_offset: letter.filter(|letter| letter.state == DeadState::Open).map(|letter| letter.offset.0),
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
        })
    }

    /// The newest dead letter of a member that is failed now. Which one died last is noted with the batch; once that one was tried again,
    /// or nobody wants it any more, it is looked for among those that are left.
    async fn letter(&self, row: &BatchRow) -> Result<Option<DeadRow>, StoreError> {
        let store = self.engine.store();
        if row.counters.failed == 0 {
            return Ok(None);
        }
        let noted = match row.dead_offset {
            Some(offset) => store.dead_letter(offset).await?,
            None => None,
        };
        match noted.as_ref().map(|letter| letter.state) {
            Some(DeadState::Open) | None => return Ok(noted),
            Some(DeadState::Replayed | DeadState::Discarded) => {}
        }
        let failed = JobFilter { batch: Some(row.id), shown: vec![Shown::Failed], ..JobFilter::default() };
        let mut failed = store.jobs(failed, PageRequest { limit: 200, cursor: None }).await?.rows;
        failed.sort_by_key(|job| std::cmp::Reverse(job.finished_at));
        let mut discarded = None;
        for job in failed.into_iter().take(LOOKED_AT) {
            let newest = store.dead_letters_of(job.id).await?.pop();
            if newest.as_ref().is_some_and(|letter| letter.state == DeadState::Open) {
                return Ok(newest);
            }
            discarded = discarded.or(newest);
        }
        Ok(discarded)
    }

    /// The newest failure that still stands: of a member that is failed, or of the job that unpacks when that was given up. What was mended
    /// since is in the attempts of its job.
    async fn last_error(
        &self,
        row: &BatchRow,
        letter: Option<&DeadRow>,
    ) -> Result<Option<FetchError>, StoreError> {
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
        if let Some(letter) = letter {
            // The letter knows the member, and that one its attempts.
            let newest = failed::newest(&**store, letter.job).await?;
            return Ok(Some(told(newest.unwrap_or_else(|| failed::of(letter.code, None)), letter.at)));
        }
        let noted = row.last_failure.clone().zip(row.last_failure_at).filter(|_| row.counters.failed > 0);
        Ok(noted.map(|((code, message), at)| told(Failed { message, ..failed::of(code, None) }, at)))
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
