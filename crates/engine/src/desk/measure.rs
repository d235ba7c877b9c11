//! What can be counted only by looking: set when somebody asks for metrics, so that nobody pays for it otherwise.

use std::collections::{BTreeMap, BTreeSet};

use redrive_model::{Shown, State, Timestamp, WorkloadName};
use redrive_store::{DeadFilter, MinuteRow, QueueStats, WorkloadQueue};

use crate::runtime::level;
use crate::{Engine, Result};

/// What belongs to the engine itself: its chores, its replays and schedules.
pub(crate) const OWN: &str = "redrive.";

impl Engine {
    /// The queue of each workload, without the engine's own jobs and without permanent ones, which are never done.
    pub async fn queues(&self) -> Result<Vec<WorkloadQueue>> {
        let queues = self.store().queues().await?;
        Ok(queues.into_iter().filter(|queue| !self.is_chore(&queue.workload)).collect())
    }

    /// What happened from this minute on, in slots of so many minutes, without the engine's own jobs and without permanent ones.
    pub async fn minutes(&self, since: Timestamp, minutes_per_slot: u32) -> Result<Vec<MinuteRow>> {
        let rows = self.store().minutes(since, minutes_per_slot).await?;
        Ok(rows.into_iter().filter(|row| !self.is_chore(&row.workload)).collect())
    }

    /// Whether jobs of this workload are no work that anybody handed in.
    #[must_use]
    pub fn is_chore(&self, workload: &WorkloadName) -> bool {
        workload.as_str().starts_with(OWN) || self.permanent_names().contains(workload)
    }

    /// Sets the gauges that show the store as it is now: depth, age, dead letters, breakers, readers.
    pub async fn measure(&self) -> Result<()> {
        let store = self.store();
        let (counts, queues) = (store.counts().await?, self.queues().await?);
        let mut known: BTreeSet<WorkloadName> = self.workload_names().into_iter().collect();
        known.extend(counts.states.iter().map(|count| count.workload.clone()));
        known.retain(|workload| !self.is_chore(workload));
        let depths: BTreeMap<&WorkloadName, QueueStats> =
            queues.iter().map(|queue| (&queue.workload, queue.stats)).collect();
        for workload in &known {
            // One that has emptied says so.
            let stats = depths.get(workload).copied().unwrap_or_default();
            depth(workload, stats);
            metrics::gauge!("redrive_queue_age_seconds", "workload" => workload.to_string())
                .set(stats.oldest_age.unwrap_or_default().as_secs_f64());
            let failed = |count: &&redrive_store::StateCount| {
                count.state == State::Failed && count.workload == *workload
            };
            let open = if counts.states.iter().any(|count| failed(&count)) {
                let filter = DeadFilter { workload: Some(workload.clone()), ..DeadFilter::default() };
                store.count_dead(filter).await?
            } else {
                0
            };
            metrics::gauge!("redrive_dead_letters", "workload" => workload.to_string()).set(open as f64);
        }
        let age = queues.iter().filter_map(|queue| queue.stats.oldest_age).max().unwrap_or_default();
        metrics::gauge!("redrive_queue_oldest_age_seconds").set(age.as_secs_f64());
        level::show(&store.breakers().await?);
        for reader in self.readers().await? {
            metrics::gauge!("redrive_reader_behind_events", "reader" => reader.name)
                .set(reader.behind as f64);
        }
        Ok(())
    }
}

fn depth(workload: &WorkloadName, stats: QueueStats) {
    for (shown, jobs) in [
        (Shown::Queued, stats.ready),
        (Shown::Scheduled, stats.scheduled),
        (Shown::WaitingRetry, stats.waiting_retry),
        (Shown::WaitingBatch, stats.waiting_batch),
        (Shown::Held, stats.held),
        (Shown::Processing, stats.processing),
    ] {
        let labels = [("workload", workload.to_string()), ("state", shown.as_str().to_owned())];
        metrics::gauge!("redrive_queue_depth", &labels).set(jobs as f64);
    }
}
