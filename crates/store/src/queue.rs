//! How the queue is, in whole and by workload.

use std::collections::BTreeMap;
use std::time::Duration;

use redrive_model::WorkloadName;

/// How the queue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueStats {
    /// Could run now.
    pub ready: u64,
    /// Tried, due later.
    pub waiting_retry: u64,
    /// Not tried, due later.
    pub scheduled: u64,
    /// Waiting for a batch of their own; no time makes them due.
    pub waiting_batch: u64,
    /// Behind a closed gate.
    pub held: u64,
    /// Running.
    pub processing: u64,
    /// How long the oldest job that could run has been waiting.
    pub oldest_age: Option<Duration>,
    /// A count stopped at its bound and is really larger.
    pub capped: bool,
}

impl std::ops::AddAssign for QueueStats {
    fn add_assign(&mut self, other: Self) {
        self.ready += other.ready;
        self.waiting_retry += other.waiting_retry;
        self.scheduled += other.scheduled;
        self.waiting_batch += other.waiting_batch;
        self.held += other.held;
        self.processing += other.processing;
        self.oldest_age = self.oldest_age.max(other.oldest_age);
        self.capped |= other.capped;
    }
}

impl std::iter::Sum for QueueStats {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |mut sum, part| {
            sum += part;
            sum
        })
    }
}

/// How the queue of one workload is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadQueue {
    /// The workload.
    pub workload: WorkloadName,
    /// Its part of the queue.
    pub stats: QueueStats,
}

impl WorkloadQueue {
    /// Lanes put together by workload, sorted by name.
    pub fn gather(lanes: impl IntoIterator<Item = (WorkloadName, QueueStats)>) -> Vec<Self> {
        let mut queues = BTreeMap::<WorkloadName, QueueStats>::new();
        for (workload, stats) in lanes {
            *queues.entry(workload).or_default() += stats;
        }
        queues.into_iter().map(|(workload, stats)| Self { workload, stats }).collect()
    }
}
