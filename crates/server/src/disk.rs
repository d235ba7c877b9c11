//! Room for files: below the soft limit it is warned, below the hard one nothing new comes in.
//!
//! What lies between nothing and the hard limit is for work that was accepted already: its results must be written.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redrive_api::DiskState;
use redrive_blob::room::{Room, Space};
use redrive_blob::{Blobs, Result};

use crate::refusal::Refusal;
use crate::upload::overloaded;

/// Between two looks while nobody asks.
const EVERY: Duration = Duration::from_secs(10);
/// Room does not come back within a moment.
const COME_AGAIN: Duration = Duration::from_secs(30);

/// The places where files are, and how much room they must have.
#[derive(Debug)]
pub struct Disk {
    places: Vec<Arc<dyn Blobs>>,
    room: Room,
    last: Mutex<DiskState>,
}

impl Disk {
    /// These places with these limits.
    #[must_use]
    pub fn new(places: Vec<Arc<dyn Blobs>>, room: Room) -> Self {
        for (limit, bytes) in [("soft", room.soft), ("hard", room.hard)] {
            metrics::gauge!("redrive_disk_limit_bytes", "limit" => limit).set(bytes as f64);
        }
        Self { places, room, last: Mutex::new(DiskState::Unknown) }
    }

    /// How much room there is. Tells the log when that has changed, and the gauge always.
    pub async fn look(&self) -> Result<DiskState> {
        let free = self.free().await?;
        if let Some(free) = free {
            metrics::gauge!("redrive_disk_free_bytes").set(free as f64);
        }
        let state = match free.map(|free| self.room.check(free, 0)) {
            None => DiskState::Unknown,
            Some(Ok(Space::Plenty)) => DiskState::Enough,
            Some(Ok(Space::Low)) => DiskState::Low,
            Some(Err(_)) => DiskState::Full,
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *last, state) != state {
            tell(state, free.unwrap_or_default(), self.room);
        }
        Ok(state)
    }

    /// Whether something of so many bytes may come in now.
    pub(crate) async fn admit(&self, coming: u64) -> std::result::Result<(), Refusal> {
        let Some(free) = self.free().await? else { return Ok(()) };
        match self.room.check(free, coming) {
            Ok(Space::Plenty | Space::Low) => Ok(()),
            Err(_) => {
                let text = "The disk is nearly full, so no new file is taken; what was accepted before goes on. \
                            Try again later, or tell the operator to free space.";
                Err(overloaded(text).retry_after(COME_AGAIN))
            }
        }
    }

    /// Looks now and then, so that a disk that fills by itself is noticed too.
    pub(crate) async fn watch(&self) {
        loop {
            if let Err(error) = self.look().await {
                tracing::warn!(event = "disk.unknown", "{error}");
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// What the fullest place has left; nothing when none of them can tell.
    async fn free(&self) -> Result<Option<u64>> {
        let mut least: Option<u64> = None;
        for place in &self.places {
            least = least.into_iter().chain(place.free().await?).min();
        }
        Ok(least)
    }
}

fn tell(state: DiskState, free: u64, room: Room) {
    match state {
        DiskState::Unknown => {}
        DiskState::Enough => tracing::info!(event = "disk.enough", free),
        DiskState::Low => {
            tracing::warn!(
                event = "disk.low",
                free,
                soft = room.soft,
                "the disk is filling up: free some space"
            );
        }
        DiskState::Full => tracing::error!(
            event = "disk.full",
            free,
            hard = room.hard,
            "the disk is nearly full: uploads are refused until there is room"
        ),
    }
}
