//! The rows of the fault matrix that belong to the model, told step by step (faults.md, section 3.A).
//!
//! The full search finds shorter mistakes than these. They are here because they are the ones that happen to people.

use std::collections::BTreeSet;

use stateright::Expectation;

use super::*;

const A: WorkerId = WorkerId(0);
const B: WorkerId = WorkerId(1);
const JOB: JobId = JobId(0);
const NEIGHBOUR: JobId = JobId(1);

/// A run of one story: every step must be possible where it is taken.
struct Story {
    model: Protocol,
    state: State,
}

impl Story {
    fn new(variant: Variant, jobs: usize) -> Self {
        let rules = Rules { variant, cap: 3, refunds: 1, generations: 2 };
        let model = Protocol { jobs, workers: 2, rules };
        Self { model, state: model.init_states().remove(0) }
    }

    fn step(&mut self, action: Action) {
        let mut possible = Vec::new();
        self.state.possible(self.model.rules, &mut possible);
        assert!(possible.contains(&action), "{action} is not possible in {:?}", self.state);
        self.state = self.state.after(self.model.rules, action);
    }

    fn claim(&mut self, worker: WorkerId, job: JobId) -> Task {
        self.step(Action::Claim(worker, job));
        let started = self.state.worker(worker).unwrap().tasks.iter().filter(|task| task.job == job);
        *started.max_by_key(|task| task.claim).unwrap()
    }

    fn lose_lease(&mut self, job: JobId) {
        self.step(Action::Expire(job));
        self.step(Action::Reclaim(job));
    }

    fn row(&self, job: JobId) -> &Row {
        &self.state.job(job).unwrap().row
    }

    fn broken_laws(&self) -> BTreeSet<&'static str> {
        let laws = self.model.properties().into_iter().filter(|law| law.expectation == Expectation::Always);
        laws.filter(|law| !(law.condition)(&self.model, &self.state)).map(|law| law.name).collect()
    }
}

fn stopped_worker_completes_after_another(variant: Variant) -> Story {
    let mut story = Story::new(variant, 1);
    let zombie = story.claim(A, JOB);
    story.step(Action::Pause(A));
    story.lose_lease(JOB);
    let task = story.claim(B, JOB);
    story.step(Action::Write(B, task, Write::Complete));
    story.step(Action::Resume(A));
    story.step(Action::Write(A, zombie, Write::Complete));
    story
}

/// Also covers: M8.
#[test]
fn row_8_completion_of_a_stopped_worker_is_refused() {
    let story = stopped_worker_completes_after_another(Variant::Correct);
    assert_eq!(story.row(JOB).result, Some(2));
    assert_eq!(story.broken_laws(), BTreeSet::new());

    let story = stopped_worker_completes_after_another(Variant::NoFence);
    assert_eq!(story.row(JOB).result, Some(1));
    assert_eq!(story.broken_laws(), [ONE_COMPLETION, RESULT_STAYS, STALE_WRITES_REFUSED].into());
}

/// The new lease is over too when the old task writes, so that even a heartbeat would leave a trace.
fn worker_claims_its_own_job_again(variant: Variant) -> (Story, Task) {
    let mut story = Story::new(variant, 1);
    let zombie = story.claim(A, JOB);
    story.lose_lease(JOB);
    story.claim(A, JOB);
    story.step(Action::Expire(JOB));
    (story, zombie)
}

/// Also covers: M9.
#[test]
fn row_9_old_task_cannot_touch_the_second_lease_of_its_own_worker() {
    for write in Write::ALL {
        let (mut story, zombie) = worker_claims_its_own_job_again(Variant::Correct);
        let before = story.row(JOB).clone();
        story.step(Action::Write(A, zombie, write));
        assert_eq!(*story.row(JOB), before, "{write:?}");

        let (mut story, zombie) = worker_claims_its_own_job_again(Variant::OwnerOnlyFence);
        story.step(Action::Write(A, zombie, write));
        assert_eq!(story.broken_laws(), [STALE_WRITES_REFUSED].into(), "{write:?}");
    }
}

/// Also covers: M10.
#[test]
fn row_10_late_failure_and_heartbeat_leave_the_next_lease_alone() {
    let mut story = Story::new(Variant::Correct, 1);
    let zombie = story.claim(A, JOB);
    story.lose_lease(JOB);
    story.claim(B, JOB);
    story.step(Action::Expire(JOB));
    let before = story.row(JOB).clone();
    story.step(Action::Write(A, zombie, Write::Extend));
    story.step(Action::Write(A, zombie, Write::Fail));
    assert_eq!(*story.row(JOB), before);
}

/// Also covers: M12.
#[test]
fn row_12_release_gives_the_attempt_back_up_to_the_limit() {
    let mut story = Story::new(Variant::Correct, 1);
    for attempts_left_charged in [0, 1, 2] {
        let task = story.claim(A, JOB);
        story.step(Action::Write(A, task, Write::Release));
        let row = story.row(JOB);
        assert_eq!((row.state, row.attempts, row.refunds), (JobState::Queued, attempts_left_charged, 1));
    }
}

/// Also covers: M14.
#[test]
fn row_14_poison_is_quarantined_at_its_third_crash_and_never_claimed_again() {
    let mut story = Story::new(Variant::Correct, 1);
    for _ in 0..3 {
        story.claim(A, JOB);
        story.step(Action::Crash(A));
        story.lose_lease(JOB);
    }
    let row = story.row(JOB);
    assert_eq!((row.failure, row.open_dead_letters), (Some(Failure::Quarantined), 1));
    assert_eq!(story.broken_laws(), BTreeSet::new());
}

#[test]
fn neighbour_of_poison_runs_alone_and_completes() {
    let mut story = Story::new(Variant::Correct, 2);
    for _ in 0..2 {
        story.claim(A, JOB);
        story.claim(A, NEIGHBOUR);
        story.step(Action::Crash(A));
        story.lose_lease(JOB);
        story.lose_lease(NEIGHBOUR);
    }
    story.claim(A, JOB);
    let innocent = story.claim(B, NEIGHBOUR);
    assert!(innocent.alone);
    story.step(Action::Crash(A));
    story.lose_lease(JOB);
    story.step(Action::Write(B, innocent, Write::Complete));
    assert_eq!(story.row(JOB).failure, Some(Failure::Quarantined));
    assert_eq!(story.row(NEIGHBOUR).state, JobState::Complete);
}
