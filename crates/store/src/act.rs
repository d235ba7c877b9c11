//! What people do to jobs, many at a time.

use std::time::Duration;

use redrive_model::decide::DeadReason;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::{Failure, JobId, Offset, ReplayId, Rule, State, Target};

/// What became of one job of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acted {
    /// Done.
    Done,
    /// There is no such job.
    NotFound,
    /// Not possible in this state.
    WrongState(State),
    /// A live twin holds its dedupe key.
    Duplicate(JobId),
    /// What it needs is gone. Stores know nothing of that; its handler does.
    SourceGone,
}

/// Starts a new generation of failed jobs.
#[derive(Debug, Clone, Default)]
pub struct RetryBy {
    /// The replay it belongs to, if it is one.
    pub replay: Option<ReplayId>,
    /// Only jobs with an open dead letter up to this one: one that died again since, or is not wanted any more, is in the wrong state.
    pub upto: Option<Offset>,
}

/// Gives up jobs that wait.
#[derive(Debug, Clone)]
pub struct GiveUp {
    /// Which.
    pub jobs: Vec<JobId>,
    /// Why.
    pub reason: DeadReason,
    /// The rule that said so.
    pub rule: Rule,
    /// What is recorded.
    pub failure: Failure,
    /// The group of that failure.
    pub fingerprint: Fingerprint,
    /// The target it is blamed on.
    pub target: Option<Target>,
    /// How long the rows are kept.
    pub keep: Option<Duration>,
}
