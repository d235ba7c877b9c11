//! How a replay is, for those who look.

use redrive_model::limits::MAX_PAGE;
use redrive_model::{Code, JobId, ReplayId, State, Timestamp, WorkloadName};
use redrive_store::{JobFilter, JobRow, Page, PageRequest, Payload, ReplayCounts};
use serde::{Deserialize, Serialize};

use super::counted::Counted;
use super::plan::{Plan, ReplayFilter};
use super::rest::{self, Rest};
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
    #[serde(flatten)]
    pub(super) counted: Counted,
}

impl Progress {
    /// As it was saved; what it begins with where nothing was.
    pub(super) fn read(state: Option<&[u8]>) -> Self {
        state.and_then(|state| serde_json::from_slice(state).ok()).unwrap_or_default()
    }
}

/// Each letter that matched is in one number: started, skipped, or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reckoned {
    pub(super) skipped: Skipped,
    pub(super) left: u64,
}

impl Reckoned {
    /// A letter that somebody closed before its turn is among no letters that are read: it is what is missing when all have been read.
    pub(super) fn of(total: u64, phase: ReplayPhase, counts: &ReplayCounts, skipped: Skipped) -> Self {
        let started = counts.live + counts.ended() + counts.cancelled;
        match phase {
            ReplayPhase::Finishing | ReplayPhase::Done => {
                let changed = total.saturating_sub(started + skipped.duplicate + skipped.gone);
                Self { skipped: Skipped { changed, ..skipped }, left: 0 }
            }
            ReplayPhase::Canary | ReplayPhase::Running | ReplayPhase::Stopped | ReplayPhase::Cancelled => {
                Self { skipped, left: total.saturating_sub(started + skipped.total()) }
            }
        }
    }
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
    /// Neither started nor skipped: to come, or left where it was because the replay ended before.
    pub left: u64,
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

    /// A page of the replays of a workload, or of all, newest first. They are found whatever else there is.
    pub async fn replays(&self, workload: Option<&WorkloadName>, page: PageRequest) -> Result<Page<Replay>> {
        let workload = workload.map(replays_of).transpose()?;
        let filter = JobFilter { workload, chore: true, ..JobFilter::default() };
        let (wanted, mut cursor) = (page.rows(), page.cursor);
        let mut rows = Vec::new();
        loop {
            let part = PageRequest { limit: MAX_PAGE, cursor };
            let part = self.store().jobs(filter.clone(), part).await?;
            rows.extend(part.rows.into_iter().filter(|row| row.workload.as_str().starts_with(PREFIX)));
            cursor = part.next;
            if rows.len() > wanted || cursor.is_none() {
                break;
            }
        }
        // One more than wanted says that there is another page.
        let more = rows.len() > wanted;
        rows.truncate(wanted);
        let next = rows.last().filter(|_| more).map(|row| row.id.to_string());
        Ok(Page { rows: self.views(rows).await?, next })
    }

    async fn view(&self, row: JobRow) -> Result<Replay> {
        let gone = unreadable(&row);
        self.views(vec![row]).await?.pop().ok_or(gone)
    }

    /// How they are: what they carry and what is paused is read once for all of them.
    async fn views(&self, rows: Vec<JobRow>) -> Result<Vec<Replay>> {
        let paused = self.store().paused().await?;
        let payloads = self.store().payloads(rows.iter().map(|row| row.id).collect()).await?;
        let rests = rows.iter().map(|row| rest::id(replay_of(row))).collect::<Result<_>>()?;
        let rests = self.store().payloads(rests).await?;
        let mut views = Vec::with_capacity(rows.len());
        for ((row, payload), rest) in rows.into_iter().zip(payloads).zip(rests) {
            // One that retention has just removed is none.
            let Some(payload) = payload else { continue };
            let is_paused = paused.iter().any(|name| name.is_empty() || *name == *row.workload.as_str());
            views.push(self.told(row, &payload, rest.map(Rest::read), is_paused).await?);
        }
        Ok(views)
    }

    async fn told(&self, row: JobRow, payload: &Payload, rest: Option<Rest>, paused: bool) -> Result<Replay> {
        let id = replay_of(&row);
        let plan: Plan = serde_json::from_slice(&payload.input).map_err(|_| unreadable(&row))?;
        let progress = Progress::read(payload.state.as_deref());
        let ended = row.state.is_terminal();
        let phase = match progress.phase {
            _ if row.state == State::Cancelled => ReplayPhase::Cancelled,
            // It is about to say so: until then it can still be paused or ended.
            ReplayPhase::Done | ReplayPhase::Stopped if !ended => ReplayPhase::Finishing,
            phase => phase,
        };
        let counts = match rest {
            Some(Rest { counted, over: true }) => counted.with(0),
            None if ended && row.state != State::Cancelled => progress.counted.with(0),
            rest => {
                let now = self.store().replay_counts(id).await?;
                let counted = rest.unwrap_or_default().counted;
                counted.and(&progress.counted.with(0)).and(&now).with(now.live)
            }
        };
        let Reckoned { skipped, left } = Reckoned::of(plan.total, progress.phase, &counts, progress.skipped);
        Ok(Replay {
            id,
            name: plan.name,
            workload: plan.workload,
            filter: plan.filter,
            total: plan.total,
            counts,
            skipped,
            left,
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

fn replay_of(row: &JobRow) -> ReplayId {
    ReplayId::from_uuid(row.id.as_uuid())
}

fn unreadable(row: &JobRow) -> EngineError {
    EngineError::refused(Code::NotFound, format!("replay {} cannot be read", row.id))
}
