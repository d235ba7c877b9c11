//! Acts on jobs, dead letters, groups, targets and workloads.

use redrive_model::breaker::{Breaker, Hold, Turn};
use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_model::{Code, JobId, Offset, Policy, Target, Timestamp, WorkerId, WorkloadName};
use redrive_store::{Acted, RetryBy};

use super::By;
use crate::runtime::{change_breaker, change_breaker_as};
use crate::{Engine, EngineError, Result};

impl Engine {
    /// Stops jobs that wait or run. A handler that runs is told within a heartbeat.
    pub async fn cancel(&self, jobs: Vec<JobId>, by: &By) -> Result<Vec<Acted>> {
        let keep = Policy::on_demand().keep.failed;
        let subject = of_jobs(&jobs);
        let act = async { Ok(self.store().cancel(jobs, keep).await?) };
        self.acted(by, "jobs.cancel", subject, act, |acted| done_of(acted)).await
    }

    /// Starts failed jobs again as a new generation, but for those whose source is gone, as far as their handlers are
    /// registered here and can tell.
    pub async fn retry(&self, jobs: Vec<JobId>, by: &By) -> Result<Vec<Acted>> {
        let subject = of_jobs(&jobs);
        let act = async {
            let mut answers = vec![Acted::SourceGone; jobs.len()];
            let (mut there, mut places) = (Vec::new(), Vec::new());
            for (place, job) in jobs.iter().enumerate() {
                match self.has_source(*job).await {
                    Ok(()) => {
                        there.push(*job);
                        places.push(place);
                    }
                    // One alone is refused in words.
                    Err(refused @ EngineError::Refused { .. }) if jobs.len() == 1 => return Err(refused),
                    Err(EngineError::Refused { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            let acted = self.store().retry(there, RetryBy::default()).await?;
            metrics::counter!("redrive_manual_retry_total").increment(done(&acted));
            for (place, acted) in places.into_iter().zip(acted) {
                if let Some(answer) = answers.get_mut(place) {
                    *answer = acted;
                }
            }
            Ok(answers)
        };
        self.acted(by, "jobs.retry", subject, act, |acted| done_of(acted)).await
    }

    /// Changes when waiting jobs may run; an instant in the past is now.
    pub async fn run_at(&self, jobs: Vec<JobId>, at: Timestamp, by: &By) -> Result<Vec<Acted>> {
        let subject = of_jobs(&jobs);
        let act = async { Ok(self.store().reschedule(jobs, at).await?) };
        self.acted(by, "jobs.run_at", subject, act, |acted| done_of(acted)).await
    }

    /// Marks open dead letters as not wanted. Answers how many were open.
    pub async fn discard(&self, offsets: Vec<Offset>, by: &By) -> Result<u64> {
        let subject = match offsets.as_slice() {
            [one] => format!("dead letter {one}"),
            many => format!("{} dead letters", many.len()),
        };
        let act = async { Ok(self.store().discard(offsets).await?) };
        self.acted(by, "dead.discard", subject, act, |n| format!("{n} discarded")).await
    }

    /// Moves a failure group: acknowledged, resolved. A resolved group that is seen again is regressed by itself.
    pub async fn move_group(&self, group: &Fingerprint, to: GroupState, by: &By) -> Result<()> {
        let act = async {
            if self.store().move_group(group, to).await? {
                return Ok(());
            }
            let reason = format!("group {group} is not there, or cannot become {}", to.as_str());
            Err(EngineError::refused(Code::ConflictState, reason))
        };
        let action = format!("group.{}", to.as_str());
        self.acted(by, &action, group.to_string(), act, |()| "moved".into()).await
    }

    /// Holds a target: its jobs wait and lose nothing, until then or until it is released.
    pub async fn hold(&self, target: &Target, until: Option<Timestamp>, by: &By) -> Result<()> {
        let act = async {
            let hold = |breaker: &mut Breaker, now: Timestamp| {
                let reason = by.reason().unwrap_or_default().to_owned();
                breaker.hold(Hold { by: by.actor().to_owned(), reason, since: now, until });
            };
            change_breaker(&**self.store(), target, hold).await?;
            Ok(())
        };
        let words = |(): &()| match until {
            Some(until) => format!("held until {until}"),
            None => "held".into(),
        };
        self.acted(by, "target.hold", target.to_string(), act, words).await
    }

    /// Lets a target go: ends a hold, and closes an open breaker with a ramp.
    pub async fn release(&self, target: &Target, by: &By) -> Result<()> {
        let act = async {
            let turn = |_: &Breaker, _: &Breaker, _: Timestamp| Some(Turn::released(by.actor(), by.reason()));
            let release = |breaker: &mut Breaker, now: Timestamp| breaker.release(now);
            change_breaker_as(&**self.store(), target, turn, release).await?;
            Ok(())
        };
        self.acted(by, "target.release", target.to_string(), act, |()| "released".into()).await
    }

    /// Wants a worker to take no new work, or wants that no longer. It hears so with its next heartbeat, finishes what it has, and
    /// stays. Refused when it is gone.
    pub async fn drain_worker(&self, worker: WorkerId, wanted: bool, by: &By) -> Result<()> {
        let act = async {
            let rows = self.store().workers().await?;
            let unknown = || EngineError::refused(Code::NotFound, format!("there is no worker {worker}"));
            let row = rows.into_iter().find(|row| row.id == worker).ok_or_else(unknown)?;
            if row.alive_until < self.store().now().await? {
                return Err(EngineError::refused(Code::ConflictState, format!("worker {worker} is gone")));
            }
            if self.store().want_drained(worker, wanted).await? { Ok(()) } else { Err(unknown()) }
        };
        let words = |(): &()| if wanted { "wanted" } else { "not wanted any more" }.to_owned();
        self.acted(by, "worker.drain", format!("worker {worker}"), act, words).await
    }

    /// Stops claiming a workload, or everything with `None`. What runs goes on.
    pub async fn pause(&self, workload: Option<&WorkloadName>, by: &By) -> Result<()> {
        let act = async { Ok(self.store().pause(workload, by.actor()).await?) };
        self.acted(by, "workload.pause", all_or(workload), act, |()| "paused".into()).await
    }

    /// Ends a pause.
    pub async fn resume(&self, workload: Option<&WorkloadName>, by: &By) -> Result<()> {
        let act = async { Ok(self.store().resume(workload).await?) };
        self.acted(by, "workload.resume", all_or(workload), act, |()| "resumed".into()).await
    }

    /// Asks the job's handler, where it is registered here, whether what the job needs is still there.
    pub(crate) async fn has_source(&self, job: JobId) -> Result<()> {
        let Some(row) = self.store().job(job).await? else { return Ok(()) };
        let Some(handler) = self.handler(&row.workload) else { return Ok(()) };
        let Some(payload) = self.store().payload(job).await? else { return Ok(()) };
        handler
            .source(payload.input)
            .await
            .map_err(|failure| EngineError::refused(failure.code, format!("job {job}: {}", failure.message)))
    }
}

fn of_jobs(jobs: &[JobId]) -> String {
    match jobs {
        [one] => format!("job {one}"),
        many => format!("{} jobs", many.len()),
    }
}

fn all_or(workload: Option<&WorkloadName>) -> String {
    workload.map_or_else(|| "everything".into(), ToString::to_string)
}

fn done(acted: &[Acted]) -> u64 {
    acted.iter().filter(|acted| **acted == Acted::Done).count() as u64
}

fn done_of(acted: &[Acted]) -> String {
    format!("{} of {}", done(acted), acted.len())
}
