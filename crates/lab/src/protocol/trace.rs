//! Writes a path of the model so that a person can follow it: who did what, and the row afterwards.
//!
//! It is what the tests print for a counterexample; nothing is decided here.

use std::fmt;

use stateright::Path;

use super::action::Action;
use super::row::{JobState, LeaseTime, Row};
use super::statements::Write;
use super::worker::WorkerId;
use super::{JobId, State};

/// One numbered line per step, with the rows as the step left them.
pub fn describe(path: Path<State, Action>) -> String {
    let steps = path.into_vec();
    let afterwards = steps.iter().skip(1).map(|(state, _)| state);
    let actions = steps.iter().filter_map(|(_, action)| *action);
    let line = |(number, (action, state)): (usize, (Action, &State))| {
        let rows: Vec<String> = state.jobs().map(|(id, job)| format!("{id} {}", job.row)).collect();
        format!("{:>3}. {:<50} {}\n", number + 1, action.to_string(), rows.join(" | "))
    };
    actions.zip(afterwards).enumerate().map(line).collect()
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claim(worker, job) => write!(f, "{worker} claims {job}"),
            Self::Write(worker, task, write) => {
                write!(f, "{worker} {write} {} with token {}", task.job, task.token)
            }
            Self::WriteUnanswered(worker, task, write) => {
                write!(f, "{worker} {write} {} with token {}, unanswered", task.job, task.token)
            }
            Self::Crash(worker) => write!(f, "{worker} crashes"),
            Self::Pause(worker) => write!(f, "{worker} stops"),
            Self::Resume(worker) => write!(f, "{worker} goes on"),
            Self::Expire(job) => write!(f, "the lease of {job} ends"),
            Self::Reclaim(job) => write!(f, "the sweep reclaims {job}"),
            Self::RetryByHand(job) => write!(f, "a person retries {job}"),
        }
    }
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Extend => "extends",
            Self::Complete => "completes",
            Self::Fail => "fails",
            Self::Release => "releases",
        })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state {
            JobState::Queued => write!(f, "queued")?,
            JobState::Processing => write!(f, "processing")?,
            JobState::Complete => write!(f, "complete")?,
            JobState::Failed => write!(f, "failed")?,
        }
        write!(f, " g{} token {} attempts {}", self.generation, self.lease_token, self.attempts)?;
        if let Some(worker) = self.leased_by {
            write!(f, " by {worker}")?;
        }
        match self.lease_time {
            Some(LeaseTime::Left) => write!(f, " lease runs")?,
            Some(LeaseTime::Over) => write!(f, " lease over")?,
            None => {}
        }
        if self.crashes > 0 {
            write!(f, " crashes {}", self.crashes)?;
        }
        if self.refunds > 0 {
            write!(f, " refunds {}", self.refunds)?;
        }
        if let Some(failure) = self.failure {
            write!(f, " {failure:?}")?;
        }
        if let Some(token) = self.result {
            write!(f, " result of {token}")?;
        }
        if self.open_dead_letters > 0 {
            write!(f, " open letters {}", self.open_dead_letters)?;
        }
        Ok(())
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job-{}", self.0)
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker-{}", self.0)
    }
}
