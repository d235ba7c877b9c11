//! Resources that were accepted and are no jobs yet: large manifests on their way through `fetch.unpack`. Whoever counts what waits counts
//! them too, or a queue that is full looks empty.

use redrive_engine::model::Shown;
use redrive_engine::store::{JobFilter, PageRequest, StoreError};
use redrive_engine::{Input, WorkloadName};

use crate::manifest::{Manifests, Unpack};

/// The states in which one still unpacks something.
const LIVE: [Shown; 5] =
    [Shown::Queued, Shown::Scheduled, Shown::WaitingRetry, Shown::Held, Shown::Processing];

impl Manifests {
    /// How many resources of accepted manifests are no members of their batches yet. Once there are `enough` nobody counts on.
    pub async fn still_packed(&self, enough: u64) -> Result<u64, StoreError> {
        let store = self.engine.store();
        let workload = Some(WorkloadName::new(Unpack::WORKLOAD)?);
        let filter = JobFilter { workload, shown: LIVE.to_vec(), ..JobFilter::default() };
        let (mut waiting, mut cursor) = (0_u64, None);
        loop {
            let page = store.jobs(filter.clone(), PageRequest { limit: 200, cursor }).await?;
            let payloads = store.payloads(page.rows.iter().map(|row| row.id).collect()).await?;
            for (row, payload) in page.rows.iter().zip(payloads) {
                let unpack =
                    payload.and_then(|payload| serde_json::from_slice::<Unpack>(&payload.input).ok());
                let Some(unpack) = unpack else { continue };
                // Before its first attempt nothing of it is a member.
                let members = match row.attempt {
                    0 => 0,
                    _ => store.batch(unpack.batch).await?.map_or(0, |batch| batch.counters.total),
                };
                waiting += u64::from(unpack.resource_count).saturating_sub(members);
            }
            cursor = page.next;
            if cursor.is_none() || waiting >= enough {
                return Ok(waiting);
            }
        }
    }
}
