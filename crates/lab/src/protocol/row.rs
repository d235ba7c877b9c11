//! A job's row as the store keeps it, and the law of its shape.
//!
//! The fields are flat columns and not an enum with data, on purpose: a wrong statement can then leave a row that no
//! state allows, and the model finds it. The CHECK constraints of both databases state the same law.

use super::rules::CRASHES_BEFORE_ALONE;
use super::worker::WorkerId;

/// The stored states that the lease protocol moves between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Waits for a claim. Due times are left out: a job that waits for its retry is simply not claimed yet.
    Queued,
    /// Leased to a worker.
    Processing,
    /// Has its result.
    Complete,
    /// Policy gave up; a person may start a new generation.
    Failed,
}

/// Whether the lease still runs by the database's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaseTime {
    /// `lease_expires_at` is in the future.
    Left,
    /// `lease_expires_at` has passed; nobody has noticed yet.
    Over,
}

/// Why policy gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The attempts are spent.
    Exhausted,
    /// The job crashed its worker while it ran alone.
    Quarantined,
}

/// The columns of one job, with the number of its open dead letters beside them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// Stored state.
    pub state: JobState,
    /// Raised by retry by hand.
    pub generation: u8,
    /// Charged executions of this generation.
    pub attempts: u8,
    /// Lost workers of this generation.
    pub crashes: u8,
    /// Releases of this generation that gave their attempt back.
    pub refunds: u8,
    /// The last token given out. It is a counter and stays when the lease ends.
    pub lease_token: u8,
    /// Who holds the lease.
    pub leased_by: Option<WorkerId>,
    /// When the lease ends.
    pub lease_time: Option<LeaseTime>,
    /// Why the job failed.
    pub failure: Option<Failure>,
    /// Which token's result is *the* result.
    pub result: Option<u8>,
    /// Dead letters of this job that nobody has closed.
    pub open_dead_letters: u8,
}

impl Row {
    /// A job as enqueue leaves it.
    pub fn enqueued() -> Self {
        Self {
            state: JobState::Queued,
            generation: 1,
            attempts: 0,
            crashes: 0,
            refunds: 0,
            lease_token: 0,
            leased_by: None,
            lease_time: None,
            failure: None,
            result: None,
            open_dead_letters: 0,
        }
    }

    /// Whether the job has come to an end that only a person can change.
    pub fn is_terminal(&self) -> bool {
        match self.state {
            JobState::Queued | JobState::Processing => false,
            JobState::Complete | JobState::Failed => true,
        }
    }

    /// Whether the job's next (or present) execution must have its worker to itself.
    pub fn runs_alone(&self) -> bool {
        self.crashes >= CRASHES_BEFORE_ALONE
    }

    /// Lease fields exactly when processing, failure exactly when failed, result exactly when complete.
    pub fn has_lawful_shape(&self) -> bool {
        let processing = self.state == JobState::Processing;
        self.leased_by.is_some() == processing
            && self.lease_time.is_some() == processing
            && self.failure.is_some() == (self.state == JobState::Failed)
            && self.result.is_some() == (self.state == JobState::Complete)
    }
}
