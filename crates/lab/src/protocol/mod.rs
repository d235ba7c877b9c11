//! A model of the lease protocol, checked in every reachable state with `stateright`.
//!
//! Jobs are claimed, extended, finished, released and reclaimed by two workers that crash, stop and come back, each
//! with two slots. What must always hold is in `properties.rs`; it follows faults.md, invariants I1, I4, I5, I6, I10
//! and the reachable half of I16. Broken protocols are variants of the same model (`rules.rs`), and `tests.rs` shows
//! which property each of them breaks.
//!
//! Deliberately absent: due times and backoff, breakers, cancelling, snoozes, batches, failures that policy does not
//! retry, and the lost answer to a claim (it leaves a lease without a task, as a crash does). None of them changes who
//! may write to a row.

mod action;
mod audit;
mod progress;
pub mod properties;
mod row;
mod rules;
mod statements;
#[cfg(test)]
mod tests;
mod trace;
mod worker;

pub use action::Action;
pub use audit::Audit;
pub use row::{Failure, JobState, LeaseTime, Row};
pub use rules::{CRASHES_BEFORE_ALONE, Rules, Variant};
pub use statements::Write;
pub use trace::describe;
pub use worker::{SLOTS, Task, Worker, WorkerId};

use stateright::{Model, Property};

/// A job's place among the jobs of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub u8);

/// One job: what the store knows and what really happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// The store's row.
    pub row: Row,
    /// The auditor's record.
    pub audit: Audit,
}

/// One state of the whole system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    jobs: Vec<Job>,
    workers: Vec<Worker>,
}

impl State {
    /// All jobs with their ids.
    pub fn jobs(&self) -> impl Iterator<Item = (JobId, &Job)> {
        (0..).map(JobId).zip(&self.jobs)
    }

    /// All workers with their names.
    pub fn workers(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        (0..).map(WorkerId).zip(&self.workers)
    }

    fn job(&self, id: JobId) -> Option<&Job> {
        self.jobs.get(usize::from(id.0))
    }

    fn job_mut(&mut self, id: JobId) -> Option<&mut Job> {
        self.jobs.get_mut(usize::from(id.0))
    }

    fn worker(&self, id: WorkerId) -> Option<&Worker> {
        self.workers.get(usize::from(id.0))
    }

    fn change_worker(&mut self, id: WorkerId, change: impl FnOnce(&mut Worker)) {
        if let Some(worker) = self.workers.get_mut(usize::from(id.0)) {
            change(worker);
        }
    }
}

/// The model: how many jobs and workers there are, and by which rules they live.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// Jobs enqueued at the start.
    pub jobs: usize,
    /// Worker processes.
    pub workers: usize,
    /// The numbers and the variant.
    pub rules: Rules,
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let job = Job { row: Row::enqueued(), audit: Audit::default() };
        vec![State { jobs: vec![job; self.jobs], workers: vec![Worker::default(); self.workers] }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        state.possible(self.rules, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        Some(last.after(self.rules, action)).filter(|next| next != last)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all(self.rules)
    }

    /// Broken variants can claim, complete and fail for ever. One time too many is enough to see that, and the correct
    /// protocol never gets so far, so nothing of it is cut off.
    fn within_boundary(&self, state: &State) -> bool {
        state.jobs().all(|(_, job)| {
            job.audit.claims_ever <= self.rules.most_claims() + 1
                && job.audit.completions <= 2
                && job.row.open_dead_letters <= 2
        })
    }
}
