//! Taking work and keeping it (decisions 1, 3 and 14, faults 4.1).

use std::collections::BTreeMap;
use std::time::Duration;

use redrive_model::limits::MAX_CLAIM;
use redrive_model::{JobId, LeaseToken, State, Target, WorkerId, WorkloadName, instant};
use redrive_store::{Claim, ClaimMode, Claimed, Expired, Extension, Lease};

use super::{Held, Job, Reference};

/// Whether the claim tries this target.
fn probed(claim: &Claim, target: &Target) -> bool {
    matches!(&claim.mode, ClaimMode::Probe(targets) if targets.contains(target))
}

impl Reference {
    pub(super) fn claim(&mut self, claim: &Claim) -> Vec<Claimed> {
        let limit = match claim.mode {
            ClaimMode::Normal => claim.limit.min(MAX_CLAIM),
            ClaimMode::Alone | ClaimMode::Probe(_) => claim.limit.min(1),
        };
        let mut queue: Vec<&Job> = self.jobs.values().filter(|job| self.may_run(job, claim)).collect();
        queue.sort_by_key(|job| (job.priority, job.due_at, job.id));
        let mut wanted: BTreeMap<&WorkloadName, usize> =
            claim.wants.iter().map(|w| (&w.workload, w.limit)).collect();
        let mut room = self.room(claim);
        let mut taken: Vec<JobId> = Vec::new();
        for job in queue {
            let wants = wanted.entry(&job.workload).or_insert(0);
            let fits = job.targets.iter().all(|target| room.get(target).is_none_or(|left| *left > 0));
            if taken.len() == limit || *wants == 0 || !fits {
                continue;
            }
            *wants -= 1;
            for target in job.targets.iter() {
                room.entry(target.clone()).and_modify(|left| *left -= 1);
            }
            taken.push(job.id);
        }
        taken.into_iter().filter_map(|id| self.take(id, claim)).collect()
    }

    /// Everything but how many: its state, its time, its workload's pause, its targets.
    fn may_run(&self, job: &Job, claim: &Claim) -> bool {
        let ready = job.state == State::Queued && job.awaits.is_none() && job.due_at <= self.now;
        let paused = self.paused.contains("") || self.paused.contains(job.workload.as_str());
        let kind = match &claim.mode {
            ClaimMode::Normal => !job.alone,
            ClaimMode::Alone => job.alone,
            ClaimMode::Probe(targets) => {
                let mine =
                    |target| job.targets.contains(target) && self.gate(target).probe == Some(claim.worker);
                !job.alone && targets.iter().all(mine)
            }
        };
        let passes = |target: &Target| {
            let blocked = self.gate(target).blocked_until.is_some_and(|until| until > self.now);
            (probed(claim, target) || !blocked) && !claim.rooms.iter().any(|(full, _)| full == target)
        };
        ready && !paused && kind && job.targets.iter().all(passes)
    }

    /// How many more may run at once for the targets that count.
    fn room(&self, claim: &Claim) -> BTreeMap<Target, u32> {
        let limited = self.breakers.keys().filter(|target| !probed(claim, target));
        limited
            .filter_map(|target| {
                let limit = self.gate(target).limit?;
                let running =
                    self.jobs.values().filter(|j| j.state == State::Processing && j.targets.contains(target));
                Some((
                    target.clone(),
                    limit.saturating_sub(u32::try_from(running.count()).unwrap_or(u32::MAX)),
                ))
            })
            .collect()
    }

    fn take(&mut self, id: JobId, claim: &Claim) -> Option<Claimed> {
        let now = self.now;
        let job = self.jobs.get_mut(&id)?;
        job.state = State::Processing;
        job.token = LeaseToken(job.token.0 + 1);
        job.attempt += 1;
        job.started_at = job.started_at.or(Some(now));
        job.lease = Some(Held {
            by: claim.worker,
            since: now,
            until: instant::after(now, claim.ttl),
            probe: matches!(claim.mode, ClaimMode::Probe(_)),
        });
        job.claimed()
    }

    pub(super) fn extend(&mut self, worker: WorkerId, leases: &[Lease], ttl: Duration) -> Vec<Extension> {
        let until = instant::after(self.now, ttl);
        leases
            .iter()
            .map(|lease| {
                let job = self.jobs.get_mut(&lease.job).filter(|job| job.stands(*lease));
                match job.and_then(|job| job.lease.as_mut()).filter(|held| held.by == worker) {
                    Some(held) => {
                        held.until = until;
                        Extension::Held(until)
                    }
                    None => Extension::Lost,
                }
            })
            .collect()
    }

    pub(super) fn save_state(&mut self, lease: Lease, state: &[u8]) -> bool {
        match self.jobs.get_mut(&lease.job).filter(|job| job.stands(lease)) {
            Some(job) => {
                job.saved = Some(state.to_vec());
                true
            }
            None => false,
        }
    }

    /// What a worker holds.
    pub(crate) fn leases_of(&self, worker: WorkerId) -> Vec<Claimed> {
        let held = |job: &&Job| job.lease.as_ref().is_some_and(|held| held.by == worker);
        self.jobs.values().filter(held).filter_map(Job::claimed).collect()
    }

    /// Leases that have run out, oldest first.
    pub(crate) fn expired(&self) -> Vec<Expired> {
        let mut out: Vec<Expired> = Vec::new();
        for job in self.jobs.values() {
            let Some(held) = job.lease.as_ref().filter(|held| held.until <= self.now) else { continue };
            out.push(Expired {
                lease: Lease { job: job.id, token: job.token },
                workload: job.workload.clone(),
                worker: held.by,
                worker_alive: self.workers.get(&held.by).is_some_and(|row| row.alive_until > self.now),
                max_attempts: job.max_attempts,
                facts: job.facts(),
                expired_at: held.until,
            });
        }
        out.sort_by_key(|expired| (expired.expired_at, expired.lease.job));
        out
    }
}
