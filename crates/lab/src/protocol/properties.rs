//! What must hold in every state, and what must be reached at all.
//!
//! Each `always` property is broken by some variant, and each `sometimes` property keeps the model honest: a checker
//! that never meets a zombie proves nothing about zombies. `tests.rs` asserts both.

use stateright::Property;

use super::row::{Failure, JobState};
use super::rules::{CRASHES_BEFORE_ALONE, Rules};
use super::worker::{Task, Worker};
use super::{Job, Protocol, State};

/// A property of this model.
pub type Law = Property<Protocol>;

/// I4: a generation is completed once.
pub const ONE_COMPLETION: &str = "at most one completion per generation is accepted";
/// I4: a recorded result stays.
pub const RESULT_STAYS: &str = "a recorded result never changes";
/// I6: the policy bounds executions, crashes included.
pub const CLAIMS_CAPPED: &str = "claims minus given back never exceed the cap";
/// Rule 12: drains cannot give attempts back for ever.
pub const REFUNDS_CAPPED: &str = "releases give back no more than the limit";
/// I5: tokens never come again.
pub const TOKENS_RISE: &str = "tokens strictly increase";
/// I5: who lost the lease changes nothing.
pub const STALE_WRITES_REFUSED: &str = "a write from an old token changes nothing";
/// I10: a failed job is found among the dead letters, exactly once.
pub const ONE_DEAD_LETTER: &str = "a failed job has exactly one open dead letter and others none";
/// I1: the row's CHECK constraints.
pub const ROW_SHAPE: &str = "lease, failure and result are set exactly in their states";
/// Rule 1: a job that crashed twice takes no neighbour with it.
pub const ALONE: &str = "a job that runs alone has no neighbour in its worker";
/// I16, as far as a path without further faults goes.
pub const NEVER_STUCK: &str = "every job can still reach its end";

/// A zombie wrote, and the store refused.
pub const STALE_WRITE_SEEN: &str = "a stale write is refused";
/// A crash did not cost the job.
pub const COMPLETED_AFTER_CRASH: &str = "a job completes after a crash";
/// An innocent job survived two crashes of its neighbours.
pub const COMPLETED_ALONE: &str = "a job completes while it runs alone";
/// Poison was found.
pub const QUARANTINED: &str = "a job is quarantined";
/// Drain was not charged.
pub const GIVEN_BACK: &str = "a released attempt is given back";
/// The ABA case.
pub const RECLAIMED_BY_SAME_WORKER: &str = "a worker claims a job again while its old task of it lives";
/// A task outlived a whole generation of its job.
pub const ZOMBIE_OF_OLD_GENERATION: &str = "a task lives on into the next generation";

/// The properties of the model. What the run's numbers rule out is not asked for.
pub fn all(rules: Rules) -> Vec<Law> {
    let mut properties = always();
    properties.extend(sometimes());
    if rules.cap > CRASHES_BEFORE_ALONE {
        properties.extend(sometimes_with_crashes_alone());
    }
    if rules.refunds > 0 {
        properties
            .push(Law::sometimes(GIVEN_BACK, |_, state| state.some_job(|job| job.audit.given_back > 0)));
    }
    if rules.generations > 1 {
        properties.push(Law::sometimes(ZOMBIE_OF_OLD_GENERATION, |_, state| {
            state.some_task(|_, task, job| task.claim + job.audit.claims <= job.audit.claims_ever)
        }));
    }
    properties
}

/// What must hold in every state.
pub fn always() -> Vec<Law> {
    vec![
        Law::always(ONE_COMPLETION, |_, state| state.every_job(|job| job.audit.completions <= 1)),
        Law::always(RESULT_STAYS, |_, state| {
            state
                .every_job(|job| job.audit.first_result.is_none() || job.audit.first_result == job.row.result)
        }),
        Law::always(CLAIMS_CAPPED, |model, state| {
            state.every_job(|job| job.audit.claims <= model.rules.cap + job.audit.given_back)
        }),
        Law::always(REFUNDS_CAPPED, |model, state| {
            state.every_job(|job| job.audit.given_back <= model.rules.refunds)
        }),
        Law::always(TOKENS_RISE, |_, state| state.every_job(|job| !job.audit.token_did_not_rise)),
        Law::always(STALE_WRITES_REFUSED, |_, state| {
            state.every_job(|job| !job.audit.stale_write_took_effect)
        }),
        Law::always(ONE_DEAD_LETTER, |_, state| {
            state.every_job(|job| job.row.open_dead_letters == u8::from(job.row.state == JobState::Failed))
        }),
        Law::always(ROW_SHAPE, |_, state| state.every_job(|job| job.row.has_lawful_shape())),
        Law::always(ALONE, |_, state| {
            !state.some_task(|worker, task, _| task.alone && worker.tasks.len() > 1)
        }),
        Law::always(NEVER_STUCK, |model, state| state.is_finished() || state.can_progress(model)),
    ]
}

fn sometimes() -> Vec<Law> {
    vec![
        Law::sometimes(STALE_WRITE_SEEN, |model, state| state.can_refuse_a_write(model.rules)),
        Law::sometimes(COMPLETED_AFTER_CRASH, |_, state| {
            state.some_job(|job| job.row.state == JobState::Complete && job.row.crashes > 0)
        }),
        Law::sometimes(RECLAIMED_BY_SAME_WORKER, |_, state| {
            state.some_task(|worker, task, job| {
                job.audit.rightful == Some(task.claim)
                    && worker.tasks.iter().any(|other| other.job == task.job && other.claim < task.claim)
            })
        }),
    ]
}

/// Only a job with an attempt left after its second crash can run alone.
fn sometimes_with_crashes_alone() -> Vec<Law> {
    vec![
        Law::sometimes(COMPLETED_ALONE, |_, state| {
            state.some_job(|job| job.row.state == JobState::Complete && job.row.runs_alone())
        }),
        Law::sometimes(QUARANTINED, |_, state| {
            state.some_job(|job| job.row.failure == Some(Failure::Quarantined))
        }),
    ]
}

impl State {
    fn every_job(&self, holds: impl Fn(&Job) -> bool) -> bool {
        self.jobs().all(|(_, job)| holds(job))
    }

    fn some_job(&self, holds: impl Fn(&Job) -> bool) -> bool {
        self.jobs().any(|(_, job)| holds(job))
    }

    fn some_task(&self, holds: impl Fn(&Worker, &Task, &Job) -> bool) -> bool {
        self.workers().any(|(_, worker)| {
            worker.tasks.iter().any(|task| self.job(task.job).is_some_and(|job| holds(worker, task, job)))
        })
    }

    /// Whether a task that can write now would be told that it lost its authority.
    fn can_refuse_a_write(&self, rules: Rules) -> bool {
        self.workers().filter(|(_, worker)| !worker.paused).any(|(worker_id, worker)| {
            let refused = |task: &Task| {
                self.job(task.job).is_some_and(|job| !rules.admits(&job.row, worker_id, task.token))
            };
            worker.tasks.iter().any(refused)
        })
    }
}
