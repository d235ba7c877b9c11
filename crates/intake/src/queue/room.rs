//! Whether more may be taken in, and why not.

use redrive_engine::model::{Target, WorkloadName};
use redrive_engine::{Failure, Input};

use super::{Queue, unknown};
use crate::input::Document;

/// How much may be taken in now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Room {
    /// So many documents.
    pub(super) free: usize,
    /// Why there is none, when it is not for want of room.
    pub(super) stopped: Option<String>,
}

impl Room {
    fn closed(why: impl Into<String>) -> Self {
        Self { free: 0, stopped: Some(why.into()) }
    }
}

impl Queue {
    /// Asks the rows. What waits for its next try is not in flight: its file lies in `queue/` again.
    pub(super) async fn room(&self) -> Result<Room, Failure> {
        let store = self.engine.store();
        let paused = store.paused().await.map_err(unknown)?;
        if paused.iter().any(|name| name.is_empty() || name == Document::WORKLOAD) {
            return Ok(Room::closed("paused"));
        }
        let free = self.options.room.free().await.map_err(|error| error.failure())?;
        if free.is_some_and(|free| free < self.options.reserve) {
            return Ok(Room::closed("the disk is nearly full"));
        }
        let live = self.mover.store.live_documents(self.mover.shelf.root()).await.map_err(unknown)?;
        let queues = store.queues().await.map_err(unknown)?;
        let name = WorkloadName::new(Document::WORKLOAD).map_err(unknown)?;
        let queue = queues.iter().find(|queue| queue.workload == name);
        let resting = queue.map_or(0, |queue| queue.stats.waiting_retry);
        let in_flight = usize::try_from(live.saturating_sub(resting)).unwrap_or(usize::MAX);
        if let Some(why) = self.held().await? {
            // A breaker asks by a job: one must be there, or it would never hear that its target is back.
            return Ok(Room { free: usize::from(in_flight == 0), stopped: Some(why) });
        }
        Ok(Room { free: self.options.max_in_flight.saturating_sub(in_flight), stopped: None })
    }

    /// Why the first target that lets nothing through does not.
    async fn held(&self) -> Result<Option<String>, Failure> {
        let store = self.engine.store();
        let now = store.now().await.map_err(unknown)?;
        for name in &self.options.targets {
            let Ok(target) = Target::new(name.clone()) else { continue };
            let Some(row) = store.breaker(&target).await.map_err(unknown)? else { continue };
            if row.breaker.is_held(now) {
                return Ok(Some(format!("{name} is held")));
            }
            if row.breaker.gate().blocked_until.is_some_and(|until| until > now) {
                return Ok(Some(format!("{name} does not answer")));
            }
        }
        Ok(None)
    }
}
