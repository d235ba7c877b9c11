//! Removing what is no longer kept (decision 18).

use redrive_model::{JobId, LeaseToken, Timestamp};
use redrive_store::{Acted, EventKind};

use super::{Job, Reference};

impl Reference {
    /// Retention removed the artifacts; saying so twice changes nothing.
    pub(super) fn expire(&mut self, id: JobId) -> Acted {
        let now = self.now;
        match self.jobs.get_mut(&id) {
            None => Acted::NotFound,
            Some(job) if job.state != redrive_model::State::Complete => Acted::WrongState(job.state),
            Some(job) if job.expired_at.is_some() => Acted::Done,
            Some(job) => {
                job.result = None;
                job.expired_at = Some(now);
                self.event(id, EventKind::Expired, None);
                Acted::Done
            }
        }
    }

    /// A whole sweep: jobs whose time is over, then batches whose time is over and that have no members.
    pub(super) fn purge(&mut self) -> u64 {
        let over: Vec<JobId> = self.jobs.values().filter(|job| self.is_over(job)).map(|job| job.id).collect();
        for id in &over {
            self.jobs.remove(id);
            self.attempts.retain(|(job, _), _| job != id);
            self.dead.retain(|dead| dead.job != *id);
        }
        let members: Vec<_> = self.jobs.values().filter_map(|job| job.batch).collect();
        let now = self.now;
        self.batches.retain(|id, batch| batch.purge_at().is_none_or(|at| at > now) || members.contains(id));
        over.len() as u64
    }

    /// A member of a batch lives as long as its batch.
    fn is_over(&self, job: &Job) -> bool {
        let purge_at = match job.batch.and_then(|id| self.batches.get(&id)) {
            Some(batch) => batch.purge_at(),
            None => job.purge_at,
        };
        job.state.is_terminal() && purge_at.is_some_and(|at| at <= self.now)
    }

    pub(super) fn prune_attempts(&mut self, id: JobId, keep: usize) -> u64 {
        let tokens: Vec<LeaseToken> =
            self.attempts.keys().filter(|(job, _)| *job == id).map(|(_, token)| *token).collect();
        let old = tokens.len().saturating_sub(keep);
        for token in tokens.iter().take(old) {
            self.attempts.remove(&(id, *token));
        }
        old as u64
    }

    /// A worker that still holds a lease is not forgotten.
    pub(super) fn forget(&mut self, before: Timestamp) -> u64 {
        let known = self.keys.len() + self.workers.len();
        self.keys.retain(|_, key| key.at >= before);
        let holds = |id| self.jobs.values().any(|job| job.lease.as_ref().is_some_and(|held| held.by == id));
        let workers: Vec<_> =
            self.workers.values().filter(|w| w.alive_until < before && !holds(w.id)).map(|w| w.id).collect();
        for id in workers {
            self.workers.remove(&id);
        }
        (known - self.keys.len() - self.workers.len()) as u64
    }
}
