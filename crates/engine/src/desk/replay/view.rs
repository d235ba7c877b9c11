//! How a replay is, for those who look.

use redrive_model::{Code, JobId, ReplayId, State, Timestamp, WorkloadName};
use redrive_store::{JobFilter, JobRow, PageRequest, ReplayCounts};
use serde::{Deserialize, Serialize};

use super::plan::{Plan, ReplayFilter};
use super::{PREFIX, replays_of};
use crate::{Engine, EngineError, Result};

/// Where a replay is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayPhase {
    /// The first few are tried.
    #[default]
    Canary,
    /// The rest follows.
    Running,
    /// All are started, and some have not ended.
    Finishing,
    /// All have ended.
    Done,
    /// Too many failed again.
    Stopped,
    /// A person ended it.
    Cancelled,
}

impl ReplayPhase {
    /// The word in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Canary => "canary",
            Self::Running => "running",
            Self::Finishing => "finishing",
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Dead letters that could not be started again, by why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Skipped {
    /// A live twin does the work already.
    pub duplicate: u64,
    /// What the job needs is gone.
    pub gone: u64,
    /// Somebody else acted on it meanwhile.
    pub changed: u64,
}

impl Skipped {
    /// All of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.duplicate + self.gone + self.changed
    }
}

/// What a replay has done so far: the execution state of its job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Progress {
    pub(super) phase: ReplayPhase,
    pub(super) cursor: Option<String>,
    pub(super) skipped: Skipped,
    /// What has been counted in metrics, and the counts at the end.
    pub(super) complete: u64,
    pub(super) failed: u64,
    pub(super) cancelled: u64,
}

/// A replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// Its id.
    pub id: ReplayId,
    /// What people call it.
    pub name: Option<String>,
    /// Whose dead letters.
    pub workload: WorkloadName,
    /// Which of them.
    pub filter: ReplayFilter,
    /// How many matched when it was started.
    pub total: u64,
    /// Where its jobs are.
    pub counts: ReplayCounts,
    /// What could not be started again.
    pub skipped: Skipped,
    /// Where it is.
    pub phase: ReplayPhase,
    /// A person has paused it.
    pub paused: bool,
    /// Tried first.
    pub canary: u32,
    /// Per second.
    pub rate: u32,
    /// Stops above this share of failures.
    pub stop_share: f64,
    /// Who started it.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

impl Replay {
    /// How many were started again.
    #[must_use]
    pub const fn taken(&self) -> u64 {
        self.counts.live + self.counts.complete + self.counts.failed + self.counts.cancelled
    }
}

impl Engine {
    /// How a replay is.
    pub async fn replay(&self, id: ReplayId) -> Result<Option<Replay>> {
        let row = self.store().job(JobId::from_uuid(id.as_uuid())).await?;
        let Some(row) = row.filter(|row| row.workload.as_str().starts_with(PREFIX)) else { return Ok(None) };
        self.view(row).await.map(Some)
    }

    /// The replays of a workload, or of all, newest first.
    pub async fn replays(&self, workload: Option<&WorkloadName>) -> Result<Vec<Replay>> {
        let names = match workload {
            Some(workload) => vec![replays_of(workload)?],
            None => {
                let counts = self.store().counts().await?;
                let mut names: Vec<_> = counts.states.into_iter().map(|count| count.workload).collect();
                names.retain(|name| name.as_str().starts_with(PREFIX));
                names.sort_unstable();
                names.dedup();
                names
            }
        };
        let mut replays = Vec::new();
        for name in names {
            let filter = JobFilter { workload: Some(name), ..JobFilter::default() };
            for row in self.store().jobs(filter, PageRequest::default()).await?.rows {
                replays.push(self.view(row).await?);
            }
        }
        replays.sort_unstable_by_key(|replay| std::cmp::Reverse(replay.id));
        Ok(replays)
    }

    async fn view(&self, row: JobRow) -> Result<Replay> {
        let id = ReplayId::from_uuid(row.id.as_uuid());
        let gone = || EngineError::refused(Code::NotFound, format!("replay {id} cannot be read"));
        let payload = self.store().payload(row.id).await?.ok_or_else(gone)?;
        let plan: Plan = serde_json::from_slice(&payload.input).map_err(|_| gone())?;
        let state = payload.state.as_deref().map(serde_json::from_slice::<Progress>);
        let progress = state.and_then(std::result::Result::ok).unwrap_or_default();
        let paused = self
            .store()
            .paused()
            .await?
            .iter()
            .any(|name| name.is_empty() || *name == *row.workload.as_str());
        let ended = row.state.is_terminal();
        let phase = if row.state == State::Cancelled { ReplayPhase::Cancelled } else { progress.phase };
        // Its jobs may belong to another replay by now: what it was at its end is what counts.
        let counts = if ended && row.state != State::Cancelled {
            ReplayCounts {
                live: 0,
                complete: progress.complete,
                failed: progress.failed,
                cancelled: progress.cancelled,
            }
        } else {
            self.store().replay_counts(id).await?
        };
        Ok(Replay {
            id,
            name: plan.name,
            workload: plan.workload,
            filter: plan.filter,
            total: plan.total,
            counts,
            skipped: progress.skipped,
            phase,
            paused: paused && !ended,
            canary: plan.canary,
            rate: plan.rate,
            stop_share: plan.stop_share,
            by: plan.by,
            reason: plan.reason,
            started_at: row.created_at,
            finished_at: row.finished_at,
        })
    }
}
