//! What can be counted only by looking: set when somebody asks for metrics, so that nobody pays for it otherwise.

use std::collections::BTreeMap;

use redrive_model::{State, WorkloadName};
use redrive_store::DeadFilter;

use crate::{Engine, Result};

impl Engine {
    /// Sets the gauges that show the store as it is now: depth, age, dead letters, breakers, readers.
    pub async fn measure(&self) -> Result<()> {
        let store = self.store();
        let counts = store.counts().await?;
        for count in counts.states.iter().filter(|count| !count.state.is_terminal()) {
            let labels =
                [("workload", count.workload.to_string()), ("state", count.state.as_str().to_owned())];
            metrics::gauge!("redrive_queue_depth", &labels).set(count.jobs as f64);
        }
        let failed: BTreeMap<&WorkloadName, u64> = counts
            .states
            .iter()
            .filter(|count| count.state == State::Failed)
            .map(|count| (&count.workload, count.jobs))
            .collect();
        for workload in failed.into_keys() {
            let filter = DeadFilter { workload: Some(workload.clone()), ..DeadFilter::default() };
            let open = store.count_dead(filter).await?;
            metrics::gauge!("redrive_dead_letters", "workload" => workload.to_string()).set(open as f64);
        }
        let age = store.queue().await?.oldest_age.unwrap_or_default();
        metrics::gauge!("redrive_queue_oldest_age_seconds").set(age.as_secs_f64());
        for row in store.breakers().await? {
            metrics::gauge!("redrive_breaker_state", "target" => row.target.to_string())
                .set(row.breaker.level());
        }
        for reader in self.readers().await? {
            metrics::gauge!("redrive_reader_behind_events", "reader" => reader.name)
                .set(reader.behind as f64);
        }
        Ok(())
    }
}
