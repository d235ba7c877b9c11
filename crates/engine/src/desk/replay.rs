//! Replays: many dead letters started again, supervised.
//!
//! A replay is a job like any other, of the workload `redrive.replay.<workload>`: its lease makes it run once in the fleet,
//! its execution state lets it go on after a crash, its dedupe key keeps it the only one of its workload, a pause of its
//! workload pauses it, and cancelling it ends it. It takes dead letters in the order in which they died, up to the newest
//! one when it was started, so that what dies again is not taken twice.

mod counted;
mod handler;
mod plan;
mod rest;
mod view;

pub(crate) use handler::Replaying;
pub use plan::{NewReplay, ReplayFilter};
pub(crate) use rest::{CountingOn, workload as counting_on};
pub use view::{Replay, ReplayPhase, Skipped};

use redrive_model::dedupe::DedupeKey;
use redrive_model::{Code, JobId, Offset, ReplayId, WorkloadName};
use redrive_store::{ActEnd, JobRow, Matching, NewJob};

use super::By;
use crate::{Engine, EngineError, Result};
use plan::Plan;

/// Workloads that replay others are called so.
const PREFIX: &str = "redrive.replay.";

/// The workload that replays this one.
pub(crate) fn replays_of(workload: &WorkloadName) -> Result<WorkloadName> {
    Ok(WorkloadName::new(format!("{PREFIX}{workload}"))?)
}

impl Engine {
    /// How many dead letters a replay would take, and the newest of them: exactly these, if nobody acts on them meanwhile and the replay is
    /// told how far it goes ([`NewReplay::upto`]).
    pub async fn count_replay(
        &self,
        workload: &WorkloadName,
        filter: &ReplayFilter,
    ) -> Result<Matching<Offset>> {
        Ok(self.store().matching_dead(filter.dead(Some(workload), None)).await?)
    }

    /// Starts a replay. Refused while another one of the same workload goes on: that one is as it was, also when it is paused.
    pub async fn start_replay(&self, new: NewReplay, by: &By) -> Result<ReplayId> {
        let subject = format!("dead letters of {}", new.workload);
        let act = async {
            let counted = self.store().matching_dead(new.filter.dead(Some(&new.workload), new.upto)).await?;
            let Some(upto) = counted.newest else {
                return Err(EngineError::refused(Code::NotFound, "no dead letter matches"));
            };
            let total = counted.count;
            let name = replays_of(&new.workload)?;
            let plan = Plan::new(&new, upto, total, by);
            let input = serde_json::to_vec(&plan).map_err(|error| EngineError::Input {
                workload: name.to_string(),
                reason: error.to_string(),
            })?;
            let mut job = NewJob::new(self.new_id(), name.clone(), input);
            job.dedupe = Some(DedupeKey::new(&name, None, &[b"replay"]));
            job.chore = true;
            job.label = Some(format!("replay of {total} {} jobs", new.workload));
            let id = job.id;
            match self.enqueue_only(job).await? {
                other if other == id => {
                    // A pause was meant for the one before, which has ended: one that goes on keeps its pause.
                    self.store().resume(Some(&name)).await?;
                    Ok((ReplayId::from_uuid(id.as_uuid()), total))
                }
                other => {
                    let reason = format!("replay {other} of {} goes on: one at a time", new.workload);
                    Err(EngineError::refused(Code::ConflictState, reason))
                }
            }
        };
        let words = |(id, total): &(ReplayId, u64)| {
            let after = match total {
                1 => "running, 1 dead letter".to_owned(),
                many => format!("running, {many} dead letters"),
            };
            ActEnd::from(format!("replay {id}")).changed(None, Some(after))
        };
        Ok(self.acted(by, "replay.start", subject, act, words).await?.0)
    }

    /// Stops taking further dead letters until it is resumed. What was started goes on. Refused when it has ended: a pause is of
    /// its workload, and would stop the one after it.
    pub async fn pause_replay(&self, id: ReplayId, by: &By) -> Result<()> {
        let name = self.live_replay(id).await?;
        let act = async {
            let before = self.runs(Some(&name)).await?;
            self.store().pause(Some(&name), by.actor()).await?;
            Ok(before)
        };
        let words = |before: &&str| ActEnd::from("paused").from_to(*before, "paused");
        self.acted(by, "replay.pause", format!("replay {id}"), act, words).await.map(drop)
    }

    /// Goes on. Refused when it has ended.
    pub async fn resume_replay(&self, id: ReplayId, by: &By) -> Result<()> {
        let name = self.live_replay(id).await?;
        let act = async {
            let before = self.runs(Some(&name)).await?;
            self.store().resume(Some(&name)).await?;
            Ok(before)
        };
        let words = |before: &&str| ActEnd::from("resumed").from_to(*before, "running");
        self.acted(by, "replay.resume", format!("replay {id}"), act, words).await.map(drop)
    }

    /// Ends a replay. What was started goes on; the rest stays among the dead letters.
    pub async fn cancel_replay(&self, id: ReplayId, by: &By) -> Result<()> {
        let name = self.replay_job(id).await?.workload;
        let act = async {
            let before = self.runs(Some(&name)).await?;
            self.count_on_for(&[JobId::from_uuid(id.as_uuid())]).await?;
            let acted = self.store().cancel(vec![JobId::from_uuid(id.as_uuid())], None).await?;
            match acted.first() {
                Some(redrive_store::Acted::Done) => {
                    self.store().resume(Some(&name)).await?;
                    Ok(before)
                }
                _ => Err(has_ended(id)),
            }
        };
        let words = |before: &&str| ActEnd::from("cancelled").from_to(*before, "cancelled");
        self.acted(by, "replay.cancel", format!("replay {id}"), act, words).await.map(drop)
    }

    /// The workload of a replay that goes on.
    async fn live_replay(&self, id: ReplayId) -> Result<WorkloadName> {
        let row = self.replay_job(id).await?;
        if row.state.is_terminal() { Err(has_ended(id)) } else { Ok(row.workload) }
    }

    /// The job of a replay that is there.
    async fn replay_job(&self, id: ReplayId) -> Result<JobRow> {
        let row = self.store().job(JobId::from_uuid(id.as_uuid())).await?;
        row.filter(|row| row.workload.as_str().starts_with(PREFIX))
            .ok_or_else(|| EngineError::refused(Code::NotFound, format!("there is no replay {id}")))
    }
}

fn has_ended(id: ReplayId) -> EngineError {
    EngineError::refused(Code::ConflictState, format!("replay {id} has ended already"))
}
