//! Everything that can happen, which of it can happen now, and what it does.
//!
//! A statement of the store is one step, as one transaction is. Time passes by itself: a lease may end at any moment,
//! also under a worker that lives (its heartbeat can be blocked or cut off).

use super::row::{JobState, LeaseTime};
use super::rules::{Rules, Variant};
use super::statements::Write;
use super::worker::{Task, Worker, WorkerId};
use super::{JobId, State};

/// One step of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A worker claims a queued job.
    Claim(WorkerId, JobId),
    /// A worker writes about one of its tasks, in time or late.
    Write(WorkerId, Task, Write),
    /// The same, but the store's answer is lost: the task lives on and will write again.
    WriteUnanswered(WorkerId, Task, Write),
    /// A worker dies: its tasks vanish, its leases stay, and a new process takes its place.
    Crash(WorkerId),
    /// A worker stops, with its tasks in it.
    Pause(WorkerId),
    /// A stopped worker goes on as if no time had passed.
    Resume(WorkerId),
    /// The database's clock passes the end of a lease.
    Expire(JobId),
    /// The sweep takes an expired lease away.
    Reclaim(JobId),
    /// A person retries a failed job.
    RetryByHand(JobId),
}

impl State {
    /// Every step that is possible from here, in a fixed order.
    pub fn possible(&self, rules: Rules, actions: &mut Vec<Action>) {
        for (worker_id, worker) in self.workers() {
            if worker.paused {
                actions.push(Action::Resume(worker_id));
            } else {
                let claimable = self.jobs().filter(|(job_id, _)| self.may_claim(rules, worker_id, *job_id));
                actions.extend(claimable.map(|(job_id, _)| Action::Claim(worker_id, job_id)));
                for task in &worker.tasks {
                    actions.extend(Write::ALL.map(|write| Action::Write(worker_id, *task, write)));
                    actions.extend(Write::LAST.map(|write| Action::WriteUnanswered(worker_id, *task, write)));
                }
                if !worker.tasks.is_empty() {
                    actions.push(Action::Pause(worker_id));
                }
            }
            if !worker.tasks.is_empty() {
                actions.push(Action::Crash(worker_id));
            }
        }
        for (job_id, job) in self.jobs() {
            match job.row.state {
                JobState::Processing if job.row.lease_time == Some(LeaseTime::Over) => {
                    actions.push(Action::Reclaim(job_id));
                }
                JobState::Processing => actions.push(Action::Expire(job_id)),
                JobState::Failed if job.row.generation < rules.generations => {
                    actions.push(Action::RetryByHand(job_id));
                }
                JobState::Queued | JobState::Complete | JobState::Failed => {}
            }
        }
    }

    /// The state after the action. An action on something that does not exist changes nothing.
    pub fn after(&self, rules: Rules, action: Action) -> Self {
        let mut next = self.clone();
        match action {
            Action::Claim(worker, job) => next.claim(rules, worker, job),
            Action::Write(worker, task, write) => {
                next.write(rules, worker, task, write);
                if Write::LAST.contains(&write) {
                    next.change_worker(worker, |worker| worker.stop(task));
                }
            }
            Action::WriteUnanswered(worker, task, write) => next.write(rules, worker, task, write),
            Action::Crash(worker) => next.change_worker(worker, |worker| *worker = Worker::default()),
            Action::Pause(worker) => next.change_worker(worker, |worker| worker.paused = true),
            Action::Resume(worker) => next.change_worker(worker, |worker| worker.paused = false),
            Action::Expire(job) => {
                if let Some(job) = next.job_mut(job) {
                    job.row.lease_time = Some(LeaseTime::Over);
                }
            }
            Action::Reclaim(job) => next.reclaim(rules, job),
            Action::RetryByHand(job) => {
                if let Some(job) = next.job_mut(job) {
                    job.row.retry_by_hand(rules);
                    job.audit.retried();
                }
            }
        }
        next
    }

    /// A job that runs alone needs a worker without any task, zombies included: only the worker knows about those.
    fn may_claim(&self, rules: Rules, worker_id: WorkerId, job_id: JobId) -> bool {
        let (Some(worker), Some(job)) = (self.worker(worker_id), self.job(job_id)) else { return false };
        let empty = match rules.variant {
            Variant::AloneByLeases => self.jobs().all(|(_, job)| job.row.leased_by != Some(worker_id)),
            Variant::Correct
            | Variant::NoFence
            | Variant::OwnerOnlyFence
            | Variant::TokenOnlyFence
            | Variant::ChargedLate
            | Variant::TokenResetByRetry
            | Variant::UnlimitedReleases
            | Variant::SpentReleaseQueues => worker.tasks.is_empty(),
        };
        worker.has_room() && job.row.is_claimable(rules) && (empty || !job.row.runs_alone())
    }

    fn claim(&mut self, rules: Rules, worker_id: WorkerId, job_id: JobId) {
        let Some(job) = self.job_mut(job_id) else { return };
        job.row.claim(rules, worker_id);
        let claim = job.audit.claimed(&job.row);
        let task = Task { job: job_id, token: job.row.lease_token, claim, alone: job.row.runs_alone() };
        self.change_worker(worker_id, |worker| worker.start(task));
    }

    fn write(&mut self, rules: Rules, worker_id: WorkerId, task: Task, write: Write) {
        let Some(job) = self.job_mut(task.job) else { return };
        if rules.admits(&job.row, worker_id, task.token) {
            let before = job.row.clone();
            job.row.write(rules, write, task.token);
            job.audit.wrote(task, write, &before, &job.row);
        }
    }

    /// A stopped worker cannot be told from a dead one, so it counts as gone; one that answers has lost only its lease.
    fn reclaim(&mut self, rules: Rules, job_id: JobId) {
        let holder_is_gone = !self.holder_lives(job_id);
        if let Some(job) = self.job_mut(job_id) {
            job.row.reclaim(rules, holder_is_gone);
            job.audit.reclaimed();
        }
    }

    /// Whether the worker in `leased_by` answers and still runs the task of this lease.
    pub fn holder_lives(&self, job_id: JobId) -> bool {
        let Some(job) = self.job(job_id) else { return false };
        let holder = job.row.leased_by.and_then(|worker| self.worker(worker));
        holder.is_some_and(|worker| !worker.paused && worker.runs(job_id, job.row.lease_token))
    }
}
