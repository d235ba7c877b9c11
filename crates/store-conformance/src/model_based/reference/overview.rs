//! Counts, the queue and the workers, counted anew from the jobs.

use std::collections::BTreeMap;

use redrive_model::{Shown, State, Timestamp, instant};
use redrive_store::{Counts, JobRow, LaneCount, QueueStats, StateCount, WorkerRow};

use super::{Job, Reference};

impl Reference {
    pub(crate) fn job_rows(&self) -> Vec<JobRow> {
        self.jobs.values().map(|job| job.row(self.is_held(&job.targets), self.now)).collect()
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut states = BTreeMap::new();
        let mut lanes = BTreeMap::new();
        for job in self.jobs.values() {
            *states.entry((job.workload.clone(), job.state)).or_insert(0) += 1;
            let (queued, processing) = match job.state {
                State::Queued => (1, 0),
                State::Processing => (0, 1),
                State::Complete | State::Failed | State::Cancelled => continue,
            };
            let lane = lanes.entry((job.workload.clone(), job.targets.clone())).or_insert((0, 0));
            *lane = (lane.0 + queued, lane.1 + processing);
        }
        let states = states.into_iter().map(|((workload, state), jobs)| StateCount { workload, state, jobs });
        let lanes = lanes.into_iter().map(|((workload, targets), (queued, processing))| LaneCount {
            workload,
            targets,
            queued,
            processing,
        });
        Counts { states: states.collect(), lanes: lanes.collect() }
    }

    /// Every job counts as what people see of it.
    pub(crate) fn queue(&self) -> QueueStats {
        let mut stats = QueueStats::default();
        let mut oldest: Option<Timestamp> = None;
        for row in self.job_rows() {
            match row.shown {
                Shown::Queued => {
                    stats.ready += 1;
                    oldest = Some(oldest.map_or(row.due_at, |at| at.min(row.due_at)));
                }
                Shown::Scheduled => stats.scheduled += 1,
                Shown::WaitingRetry => stats.waiting_retry += 1,
                Shown::WaitingBatch => stats.waiting_batch += 1,
                Shown::Held => stats.held += 1,
                Shown::Processing => stats.processing += 1,
                Shown::Complete | Shown::Partial | Shown::Failed | Shown::Cancelled => {}
            }
        }
        stats.oldest_age = oldest.map(|due| instant::between(due, self.now));
        stats
    }

    /// When the next queued job that is not due yet becomes due.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        let waits = |job: &&Job| job.state == State::Queued && job.awaits.is_none() && job.due_at > self.now;
        self.jobs.values().filter(waits).map(|job| job.due_at).min()
    }

    pub(crate) fn worker_rows(&self) -> Vec<WorkerRow> {
        let rows = self.workers.values();
        rows.map(|row| WorkerRow { leases: self.leases_of(row.id).len() as u64, ..row.clone() }).collect()
    }
}
