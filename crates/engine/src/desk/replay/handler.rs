//! The steps of a replay, one a second.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use redrive_model::limits::MAX_PAGE;
use redrive_model::policy::Keep;
use redrive_model::{Code, Done, Failure, JobId, Policy, ReplayId, instant};
use redrive_store::{Acted, Enqueue, PageRequest, ReplayCounts, RetryBy, Store};

use super::plan::Plan;
use super::rest;
use super::view::{Progress, Reckoned, ReplayPhase};
use crate::Context;
use crate::registry::{Ended, Handler, caught};

/// Between two steps.
const STEP: Duration = Duration::from_secs(1);
/// The share of failures is looked at from so many ended ones on, or when all of a smaller canary have ended.
const ENOUGH: u64 = 10;
/// Sources that are looked for at once.
const AT_ONCE: usize = 16;

/// Runs the replays of one workload.
pub(crate) struct Replaying {
    pub(crate) store: Arc<dyn Store>,
    /// The handler whose jobs are replayed: it knows whether what they need is still there.
    pub(crate) of: Arc<dyn Handler>,
}

impl Replaying {
    /// A replay goes on whatever happens, and is kept as long as failures are.
    pub(crate) fn policy() -> Policy {
        let keep = Policy::on_demand().keep.failed;
        Policy { keep: Keep { complete: keep, failed: keep }, ..Policy::permanent() }
    }

    async fn step(&self, ctx: &Context, input: &[u8]) -> Ended {
        let began = self.store.now().await?;
        let plan: Plan =
            serde_json::from_slice(input).map_err(|error| Failure::new(Code::SystemUndecodable, error))?;
        let id = ReplayId::from_uuid(ctx.job().as_uuid());
        let mut progress = ctx.state::<Progress>()?.unwrap_or_default();
        let counts = self.store.replay_counts(id).await?;
        let before = progress.counted;
        progress.counted = before.and(&counts);
        let counts = progress.counted.with(counts.live);
        step(&mut progress, &plan, &counts);
        if matches!(progress.phase, ReplayPhase::Canary | ReplayPhase::Running) {
            let wanted = wanted(&progress, &plan, &counts);
            if wanted > 0 {
                self.take(&plan, id, wanted, &mut progress).await?;
            }
        }
        ctx.save_state(&progress).await?;
        progress.counted.tell_since(before);
        match progress.phase {
            ReplayPhase::Canary | ReplayPhase::Running | ReplayPhase::Finishing => {
                // What the step took is part of its second.
                let took = instant::between(began, self.store.now().await?);
                Ok(Done::RescheduleIn(STEP.saturating_sub(took)))
            }
            ReplayPhase::Done | ReplayPhase::Stopped | ReplayPhase::Cancelled => {
                if counts.live > 0 {
                    self.leave_rest(id).await?;
                }
                let reckoned = Reckoned::of(plan.total, progress.phase, &counts, progress.skipped);
                tracing::info!(
                    event = "replay.ended",
                    replay = %id,
                    workload = %plan.workload,
                    phase = progress.phase.as_str(),
                    complete = counts.complete,
                    failed = counts.failed,
                    skipped = reckoned.skipped.total(),
                    "a replay ended"
                );
                Ok(Done::Complete)
            }
        }
    }

    /// It ends before its jobs: somebody else counts on. Said again after a crash it is the same job.
    async fn leave_rest(&self, id: ReplayId) -> Result<(), Failure> {
        let job = rest::job(id).map_err(|error| Failure::new(Code::SystemInternal, error))?;
        self.store.enqueue(Enqueue::jobs(vec![job])).await?;
        Ok(())
    }

    /// Starts the next letters, page by page until there are as many as wanted.
    async fn take(
        &self,
        plan: &Plan,
        id: ReplayId,
        wanted: usize,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let mut left = wanted;
        while left > 0 && progress.phase != ReplayPhase::Finishing {
            let page = left.min(MAX_PAGE);
            let found = self.take_page(plan, id, page, progress).await?;
            left = left.saturating_sub(found);
            // Among many others a page is short: the next step goes on there.
            if found < page {
                break;
            }
        }
        Ok(())
    }

    /// One page of them; answers how many were looked at. Done twice it changes nothing: a letter that was taken is no longer open.
    async fn take_page(
        &self,
        plan: &Plan,
        id: ReplayId,
        wanted: usize,
        progress: &mut Progress,
    ) -> Result<usize, Failure> {
        let request = PageRequest { limit: wanted, cursor: progress.cursor.clone() };
        let page = self.store.dead_letters(plan.letters(), request).await?;
        let found: Vec<JobId> = page.rows.iter().map(|row| row.job).collect();
        let payloads = self.store.payloads(found.clone()).await?;
        let sources = payloads.into_iter().map(|payload| {
            let input = payload.map(|payload| payload.input).unwrap_or_default();
            self.of.clone().source(input)
        });
        let there: Vec<bool> =
            stream::iter(sources).buffered(AT_ONCE).map(|source| source.is_ok()).collect().await;
        progress.skipped.gone += there.iter().filter(|there| !**there).count() as u64;
        let jobs = found.iter().zip(there).filter_map(|(job, there)| there.then_some(*job)).collect();
        for acted in self.store.retry(jobs, RetryBy { replay: Some(id), upto: Some(plan.upto) }).await? {
            match acted {
                Acted::Done => {}
                Acted::Duplicate(_) => progress.skipped.duplicate += 1,
                Acted::SourceGone => progress.skipped.gone += 1,
                Acted::NotFound | Acted::WrongState(_) => progress.skipped.changed += 1,
            }
        }
        match page.next {
            Some(next) => progress.cursor = Some(next),
            None => progress.phase = ReplayPhase::Finishing,
        }
        Ok(found.len())
    }
}

impl Handler for Replaying {
    fn run(self: Arc<Self>, ctx: Context, input: Vec<u8>) -> BoxFuture<'static, Ended> {
        caught(async move { self.step(&ctx, &input).await })
    }
}

/// How many letters may be taken in this step. One of the canary that says nothing, because it could not be started or was cancelled, makes way
/// for another.
fn wanted(progress: &Progress, plan: &Plan, counts: &ReplayCounts) -> usize {
    let left = match progress.phase {
        ReplayPhase::Canary => u64::from(plan.canary).saturating_sub(counts.live + counts.ended()),
        _ => u64::MAX,
    };
    usize::try_from(left.min(u64::from(plan.rate))).unwrap_or(usize::MAX)
}

/// Moves on, as far as what has ended allows: what still waits or runs is no success and no failure.
fn step(progress: &mut Progress, plan: &Plan, counts: &ReplayCounts) {
    let canary = u64::from(plan.canary);
    let too_many = |of: u64| counts.failed > 0 && counts.failed as f64 / of.max(1) as f64 > plan.stop_share;
    let stops = match progress.phase {
        // Of the whole canary: before all of a large one has ended only what the others cannot change any more is an answer.
        ReplayPhase::Canary => counts.ended() >= canary.min(ENOUGH) && too_many(canary),
        ReplayPhase::Running => counts.ended() >= ENOUGH && too_many(counts.ended()),
        ReplayPhase::Finishing | ReplayPhase::Done | ReplayPhase::Stopped | ReplayPhase::Cancelled => false,
    };
    if stops {
        progress.phase = ReplayPhase::Stopped;
        tracing::warn!(
            event = "replay.stopped",
            workload = %plan.workload,
            failed = counts.failed,
            ended = counts.ended(),
            "a replay stops: too many of its jobs failed again"
        );
    } else if progress.phase == ReplayPhase::Canary && counts.live == 0 && counts.ended() >= canary {
        progress.phase = ReplayPhase::Running;
    } else if progress.phase == ReplayPhase::Finishing && counts.live == 0 {
        progress.phase = ReplayPhase::Done;
    }
}
