//! Nothing gets stuck: from every state a path without further faults leads to the end of all jobs.
//!
//! `stateright` cannot check that directly (its `eventually` ignores cycles), so the model carries the proof with it: a
//! distance in natural numbers, and in every unfinished state some helpful step that makes it smaller. A distance
//! cannot shrink for ever, so the end is reached.

use super::action::Action;
use super::row::{JobState, LeaseTime};
use super::statements::Write;
use super::{Job, JobId, Protocol, State};

impl State {
    /// Whether every job has come to its end.
    pub fn is_finished(&self) -> bool {
        self.jobs().all(|(_, job)| job.row.is_terminal())
    }

    /// Whether a step that needs no fault and no person brings the jobs nearer to their end.
    pub(super) fn can_progress(&self, model: &Protocol) -> bool {
        let distance = self.distance();
        let mut actions = Vec::new();
        self.possible(model.rules, &mut actions);
        actions
            .into_iter()
            .any(|action| is_helpful(action) && self.after(model.rules, action).distance() < distance)
    }

    /// How far the jobs are from their end: the weights only have to fall along lease over → queued → running → end.
    fn distance(&self) -> usize {
        let jobs: usize = self.jobs().map(|(job_id, job)| self.distance_of(job_id, job)).sum();
        let workers: usize =
            self.workers().map(|(_, worker)| worker.tasks.len() + usize::from(worker.paused)).sum();
        jobs + workers
    }

    fn distance_of(&self, job_id: JobId, job: &Job) -> usize {
        match (job.row.state, job.row.lease_time) {
            (JobState::Complete | JobState::Failed, _) => 0,
            (JobState::Processing, _) if self.holder_lives(job_id) => 4,
            (JobState::Queued, _) => 6,
            (JobState::Processing, Some(LeaseTime::Over) | None) => 7,
            (JobState::Processing, Some(LeaseTime::Left)) => 8,
        }
    }
}

/// Steps that a healthy system takes by itself, sooner or later.
fn is_helpful(action: Action) -> bool {
    match action {
        Action::Claim(..)
        | Action::Write(_, _, Write::Complete)
        | Action::Resume(_)
        | Action::Expire(_)
        | Action::Reclaim(_) => true,
        Action::Write(_, _, Write::Extend | Write::Fail | Write::Release)
        | Action::WriteUnanswered(..)
        | Action::Crash(_)
        | Action::Pause(_)
        | Action::RetryByHand(_) => false,
    }
}
