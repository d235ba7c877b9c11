//! What a replay leaves behind when it ends before its jobs: somebody who counts on until all of them have ended.
//!
//! It is a job of its own, one for each such replay, so that the next replay need not wait and a crash loses no count.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use redrive_model::{Code, Done, Failure, JobId, ReplayId, Shown, WorkloadName, instant};
use redrive_store::{JobFilter, NewJob, PageRequest, Payload, Store};
use serde::{Deserialize, Serialize};

use super::PREFIX;
use super::counted::Counted;
use super::view::Progress;
use crate::registry::{Ended, Handler, caught};
use crate::{Context, Engine, Result, ids};

/// The workload of all of them.
const NAME: &str = "redrive.replayed";
/// Between two looks.
const EVERY: Duration = Duration::from_secs(5);
/// A worker that is in the middle of a step when its replay is cancelled may still start what it has read.
const SETTLED: Duration = Duration::from_secs(60);
/// Replays in these states can still end.
const LIVE: [Shown; 6] = [
    Shown::Queued,
    Shown::Scheduled,
    Shown::WaitingRetry,
    Shown::WaitingBatch,
    Shown::Held,
    Shown::Processing,
];

/// What has been counted since.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Rest {
    pub(super) counted: Counted,
    /// All have ended.
    pub(super) over: bool,
}

impl Rest {
    /// As it was saved; nothing where it has not begun.
    pub(super) fn read(payload: Payload) -> Self {
        payload.state.and_then(|state| serde_json::from_slice(&state).ok()).unwrap_or_default()
    }
}

/// Who counts on for a replay: the same job whoever asks for it.
pub(super) fn id(replay: ReplayId) -> Result<JobId> {
    let made_at = JobId::from_uuid(replay.as_uuid()).made_at();
    Ok(JobId::from_parts(made_at, ids::same(&workload()?, &[replay.as_uuid().as_bytes()])))
}

/// The job that counts on.
pub(super) fn job(replay: ReplayId) -> Result<NewJob> {
    let mut job = NewJob::new(id(replay)?, workload()?, replay.to_string().into_bytes());
    job.chore = true;
    job.label = Some(format!("counts what becomes of replay {replay}"));
    Ok(job)
}

/// The workload that counts on.
pub(crate) fn workload() -> Result<WorkloadName> {
    Ok(WorkloadName::new(NAME)?)
}

/// Counts on.
pub(crate) struct CountingOn {
    pub(crate) store: Arc<dyn Store>,
}

impl CountingOn {
    async fn step(&self, ctx: &Context, input: &[u8]) -> Ended {
        let replay: ReplayId = std::str::from_utf8(input)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| Failure::new(Code::SystemUndecodable, "this names no replay"))?;
        let job = JobId::from_uuid(replay.as_uuid());
        let Some(row) = self.store.job(job).await? else { return Ok(Done::Complete) };
        // It is there before its replay ends, so that nothing is between the two.
        let Some(ended) = row.finished_at else { return Ok(Done::RescheduleIn(EVERY)) };
        let mut rest = match ctx.state::<Rest>()? {
            Some(rest) => rest,
            None => {
                let state = self.store.payload(job).await?.and_then(|payload| payload.state);
                let counted = Progress::read(state.as_deref()).counted;
                Rest { counted, over: false }
            }
        };
        let counts = self.store.replay_counts(replay).await?;
        let before = rest.counted;
        rest.counted = before.and(&counts);
        rest.over = counts.live == 0 && instant::between(ended, self.store.now().await?) >= SETTLED;
        ctx.save_state(&rest).await?;
        rest.counted.tell_since(before);
        Ok(if rest.over { Done::Complete } else { Done::RescheduleIn(EVERY) })
    }
}

impl Handler for CountingOn {
    fn run(self: Arc<Self>, ctx: Context, input: Vec<u8>) -> BoxFuture<'static, Ended> {
        caught(async move { self.step(&ctx, &input).await })
    }
}

impl Engine {
    /// Leaves somebody behind for those of these jobs that are replays and go on. Done before they end: then it cannot be forgotten.
    pub(in crate::desk) async fn count_on_for(&self, jobs: &[JobId]) -> Result<()> {
        let filter = JobFilter { shown: LIVE.to_vec(), chore: true, ..JobFilter::default() };
        let mut cursor = None;
        loop {
            let page = self.store().jobs(filter.clone(), PageRequest { limit: 200, cursor }).await?;
            for row in page.rows.iter().filter(|row| row.workload.as_str().starts_with(PREFIX)) {
                if jobs.contains(&row.id) {
                    self.enqueue_only(job(ReplayId::from_uuid(row.id.as_uuid()))?).await?;
                }
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(());
            }
        }
    }
}
