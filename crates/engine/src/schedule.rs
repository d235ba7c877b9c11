//! Jobs that come again and again: each schedule is a permanent job that enqueues what is due and sleeps until the next time.

use std::sync::Arc;
use std::time::Duration;

use redrive_model::schedule::{Missed, Schedule};
use redrive_model::{Done, Failure, JobId, Timestamp, WorkloadName};
use redrive_store::{Enqueue, NewJob, Store};
use serde::{Deserialize, Serialize};

use crate::{Context, Permanent, ids};

/// Permanent jobs of schedules are called so.
pub(crate) const PREFIX: &str = "redrive.schedule.";
/// What comes later than this was missed.
const GRACE: Duration = Duration::from_secs(60);
/// A schedule that never comes again is looked at now and then all the same: its job must not end.
const NEVER: Duration = Duration::from_secs(24 * 3600);

/// Up to where the schedule has been kept: the execution state of its job.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// Which schedule that was: with another one the past is not made up for.
    schedule: String,
    upto: Timestamp,
}

/// Keeps one schedule.
pub(crate) struct Keeping {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) name: WorkloadName,
    pub(crate) schedule: Schedule,
    pub(crate) missed: Missed,
    /// The job that is enqueued each time, but for its id.
    pub(crate) job: NewJob,
}

impl Permanent for Keeping {
    async fn run(&self, ctx: Context) -> Result<Done, Failure> {
        let now = self.store.now().await?;
        let schedule = self.schedule.to_string();
        let kept = ctx.state::<Kept>()?.filter(|kept| kept.schedule == schedule);
        let upto = kept.map_or(now, |kept| kept.upto);
        let due = self.schedule.due(upto, now, self.missed, GRACE);
        if !due.is_empty() {
            tracing::debug!(event = "schedule.due", schedule = %self.name, jobs = due.len());
            let jobs = due.iter().map(|at| NewJob { id: self.id(*at), ..self.job.clone() }).collect();
            // The instant makes the id: enqueued twice it is still one job.
            ctx.hand_in(Enqueue::jobs(jobs)).await?;
        }
        ctx.save_state(&Kept { schedule, upto: now.max(upto) }).await?;
        Ok(self.schedule.next(now).map_or(Done::RescheduleIn(NEVER), Done::RescheduleAt))
    }
}

impl Keeping {
    fn id(&self, at: Timestamp) -> JobId {
        JobId::from_parts(at, ids::same(&self.name, &[b"tick"]))
    }
}
