//! Acts on jobs, dead letters, groups, targets and workloads.

use redrive_model::breaker::{Breaker, Hold, Turn};
use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_model::{Code, JobId, Offset, Policy, Target, Timestamp, WorkerId, WorkloadName};
use redrive_store::{ActEnd, Acted, GroupFilter, JobRow, PageRequest, RetryBy};

use super::By;
use crate::runtime::{change_breaker, change_breaker_as};
use crate::{Engine, EngineError, Result};

/// How one job was, and what became of each.
type Before = (Option<String>, Vec<Acted>);
/// How something was and is.
type FromTo = (String, String);

impl Engine {
    /// Stops jobs that wait or run. A handler that runs is told within a heartbeat.
    pub async fn cancel(&self, jobs: Vec<JobId>, by: &By) -> Result<Vec<Acted>> {
        let keep = Policy::on_demand().keep.failed;
        let subject = of_jobs(&jobs);
        let act = async {
            let before = self.alone(&jobs, shown).await?;
            self.count_on_for(&jobs).await?;
            Ok((before, self.store().cancel(jobs, keep).await?))
        };
        let words = |(before, acted): &Before| done_of(acted, before, "cancelled");
        Ok(self.acted(by, "jobs.cancel", subject, act, words).await?.1)
    }

    /// Starts failed jobs again as a new generation, but for those whose source is gone, as far as their handlers are
    /// registered here and can tell.
    pub async fn retry(&self, jobs: Vec<JobId>, by: &By) -> Result<Vec<Acted>> {
        let subject = of_jobs(&jobs);
        let act = async {
            let before = self.alone(&jobs, shown).await?;
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
            Ok((before, answers))
        };
        let words = |(before, acted): &Before| done_of(acted, before, "queued");
        Ok(self.acted(by, "jobs.retry", subject, act, words).await?.1)
    }

    /// Changes when waiting jobs may run; an instant in the past is now.
    pub async fn run_at(&self, jobs: Vec<JobId>, at: Timestamp, by: &By) -> Result<Vec<Acted>> {
        let subject = of_jobs(&jobs);
        let act = async {
            let before = self.alone(&jobs, |row| format!("due {}", row.due_at)).await?;
            Ok((before, self.store().reschedule(jobs, at).await?))
        };
        let words = |(before, acted): &Before| done_of(acted, before, &format!("due {at}"));
        Ok(self.acted(by, "jobs.run_at", subject, act, words).await?.1)
    }

    /// Marks open dead letters as not wanted. Answers how many were open.
    pub async fn discard(&self, offsets: Vec<Offset>, by: &By) -> Result<u64> {
        let (subject, alone) = match offsets.as_slice() {
            [one] => (format!("dead letter {one}"), true),
            many => (format!("{} dead letters", many.len()), false),
        };
        let act = async { Ok(self.store().discard(offsets).await?) };
        // Only what was open is counted.
        let words = |n: &u64| match (ActEnd::from(format!("{n} discarded")), alone && *n == 1) {
            (end, true) => end.from_to("open", "discarded"),
            (end, false) => end,
        };
        self.acted(by, "dead.discard", subject, act, words).await
    }

    /// Moves a failure group: acknowledged, resolved. A resolved group that is seen again is regressed by itself.
    pub async fn move_group(&self, group: &Fingerprint, to: GroupState, by: &By) -> Result<()> {
        let act = async {
            let filter = GroupFilter { fingerprint: Some(group.clone()), ..GroupFilter::default() };
            let found = self.store().groups(filter, PageRequest { limit: 1, cursor: None }).await?;
            let before = found.rows.first().map(|row| row.state);
            if self.store().move_group(group, to).await? {
                return Ok(before);
            }
            let reason = format!("group {group} is not there, or cannot become {}", to.as_str());
            Err(EngineError::refused(Code::ConflictState, reason))
        };
        let action = format!("group.{}", to.as_str());
        let words = |before: &Option<GroupState>| {
            ActEnd::from("moved").changed(before.map(|state| state.to_string()), Some(to.to_string()))
        };
        self.acted(by, &action, group.to_string(), act, words).await.map(drop)
    }

    /// Holds a target: its jobs wait and lose nothing, until then or until it is released.
    pub async fn hold(&self, target: &Target, until: Option<Timestamp>, by: &By) -> Result<()> {
        let act = async {
            let hold = |breaker: &mut Breaker, now: Timestamp| {
                let reason = by.reason().unwrap_or_default().to_owned();
                let before = how(breaker, now);
                breaker.hold(Hold { by: by.actor().to_owned(), reason, since: now, until });
                (before, held(until))
            };
            Ok(change_breaker(&**self.store(), target, hold).await?.0)
        };
        let words = |(before, after): &FromTo| ActEnd::from(held(until)).from_to(before, after);
        self.acted(by, "target.hold", target.to_string(), act, words).await.map(drop)
    }

    /// Lets a target go: ends a hold, and closes an open breaker with a ramp.
    pub async fn release(&self, target: &Target, by: &By) -> Result<()> {
        let act = async {
            let turn = |_: &Breaker, _: &Breaker, _: Timestamp| Some(Turn::released(by.actor(), by.reason()));
            let release = |breaker: &mut Breaker, now: Timestamp| {
                let before = how(breaker, now);
                breaker.release(now);
                (before, how(breaker, now))
            };
            Ok(change_breaker_as(&**self.store(), target, turn, release).await?.0)
        };
        let words = |(before, after): &FromTo| ActEnd::from("released").from_to(before, after);
        self.acted(by, "target.release", target.to_string(), act, words).await.map(drop)
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
            let known = self.store().want_drained(worker, wanted).await?;
            if known { Ok(row.drain_wanted) } else { Err(unknown()) }
        };
        let wish = |wanted: bool| if wanted { "drain wanted" } else { "takes work" };
        let words = |before: &bool| {
            let outcome = if wanted { "wanted" } else { "not wanted any more" };
            ActEnd::from(outcome).from_to(wish(*before), wish(wanted))
        };
        self.acted(by, "worker.drain", format!("worker {worker}"), act, words).await.map(drop)
    }

    /// Stops claiming a workload, or everything with `None`. What runs goes on.
    pub async fn pause(&self, workload: Option<&WorkloadName>, by: &By) -> Result<()> {
        let act = async {
            let before = self.runs(workload).await?;
            self.store().pause(workload, by.actor()).await?;
            Ok(before)
        };
        let words = |before: &&str| ActEnd::from("paused").from_to(*before, "paused");
        self.acted(by, "workload.pause", all_or(workload), act, words).await.map(drop)
    }

    /// Ends a pause.
    pub async fn resume(&self, workload: Option<&WorkloadName>, by: &By) -> Result<()> {
        let act = async {
            let before = self.runs(workload).await?;
            self.store().resume(workload).await?;
            Ok(before)
        };
        let words = |before: &&str| ActEnd::from("resumed").from_to(*before, "running");
        self.acted(by, "workload.resume", all_or(workload), act, words).await.map(drop)
    }

    /// Whether somebody has paused a workload by its name, or everything with `None`, in the words of the trail.
    pub(super) async fn runs(&self, workload: Option<&WorkloadName>) -> Result<&'static str> {
        let name = workload.map_or("", WorkloadName::as_str);
        let paused = self.store().paused().await?.iter().any(|paused| paused == name);
        Ok(if paused { "paused" } else { "running" })
    }

    /// How one job is; of many only their number is told.
    async fn alone(&self, jobs: &[JobId], how: impl FnOnce(&JobRow) -> String) -> Result<Option<String>> {
        match jobs {
            [one] => Ok(self.store().job(*one).await?.as_ref().map(how)),
            _ => Ok(None),
        }
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

/// What was done of what was asked for, with the change of one alone: of many nobody has looked at each.
fn done_of(acted: &[Acted], before: &Option<String>, after: &str) -> ActEnd {
    let end = ActEnd::from(format!("{} of {}", done(acted), acted.len()));
    match (acted, before) {
        ([Acted::Done], Some(before)) => end.from_to(before, after),
        _ => end,
    }
}

fn shown(row: &JobRow) -> String {
    row.shown.to_string()
}

/// How a breaker is, with the hold that a person has on its target.
fn how(breaker: &Breaker, now: Timestamp) -> String {
    match &breaker.hold {
        Some(hold) if breaker.is_held(now) => held(hold.until),
        Some(_) | None => breaker.phase_name().to_owned(),
    }
}

/// To the second: more of an instant is nothing to read.
fn held(until: Option<Timestamp>) -> String {
    until.map_or_else(|| "held".to_owned(), |until| format!("held until {until:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_is_told_to_the_second() {
        let until = "2026-01-31T08:00:07.750447594Z".parse().unwrap();
        assert_eq!(held(Some(until)), "held until 2026-01-31T08:00:07Z");
        assert_eq!(held(None), "held");
    }
}
