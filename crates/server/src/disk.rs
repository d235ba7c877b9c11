//! Room for files: below the soft limit it is warned, below the hard one nothing new comes in.
//!
//! What lies between nothing and the hard limit is for work that was accepted already: its results must be written.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redrive_api::DiskState;
use redrive_blob::room::{Places, Room, Space};
use redrive_blob::{Blobs, Result};
use redrive_engine::Input as _;
use redrive_fetch::Resource;
use redrive_model::WorkloadName;

use crate::refusal::Refusal;
use crate::upload::overloaded;

/// Between two looks while nobody asks.
const EVERY: Duration = Duration::from_secs(10);
/// Room does not come back within a moment.
const COME_AGAIN: Duration = Duration::from_secs(30);

/// So many bytes come in between two looks at the room.
const LOOK_AFTER: u64 = 4 << 20;

/// What comes in, by where it is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// A PDF, and what is made of it.
    Upload,
    /// A manifest, and what it names.
    Manifest,
}

impl Incoming {
    /// What a job of this kind writes.
    pub(crate) fn of(workload: &WorkloadName) -> Self {
        if workload.as_str() == Resource::WORKLOAD { Self::Manifest } else { Self::Upload }
    }
}

/// The places where files are, and how much room they must have.
#[derive(Debug)]
pub struct Disk {
    uploads: Places,
    manifests: Places,
    all: Places,
    room: Room,
    last: Mutex<DiskState>,
}

/// Where is written. Places on one disk have one room; a place on another disk keeps out only what goes there.
#[derive(Debug)]
pub struct DiskParts {
    /// The folders of the database, and of what is on its way to buckets.
    pub home: Vec<PathBuf>,
    /// Sources and results.
    pub uploads: Vec<Arc<dyn Blobs>>,
    /// Manifests, and what is fetched.
    pub manifests: Vec<Arc<dyn Blobs>>,
    /// What has a guard of its own, and is watched here.
    pub others: Vec<Arc<dyn Blobs>>,
}

impl Disk {
    /// These places with these limits.
    #[must_use]
    pub fn new(parts: DiskParts, room: Room) -> Self {
        for (limit, bytes) in [("soft", room.soft), ("hard", room.hard)] {
            metrics::gauge!("redrive_disk_limit_bytes", "limit" => limit).set(bytes as f64);
        }
        let uploads = Places::of(parts.uploads).folders(&parts.home);
        let manifests = Places::of(parts.manifests).folders(&parts.home);
        let all = Places::of(parts.others).and(&uploads).and(&manifests);
        Self { uploads, manifests, all, room, last: Mutex::new(DiskState::Unknown) }
    }

    /// How much room there is. Tells the log when that has changed, and the gauge always.
    pub async fn look(&self) -> Result<DiskState> {
        let free = self.all.free().await?;
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
    pub(crate) async fn admit(&self, what: Incoming, coming: u64) -> std::result::Result<(), Refusal> {
        let places = match what {
            Incoming::Upload => &self.uploads,
            Incoming::Manifest => &self.manifests,
        };
        let Some(free) = places.free().await? else { return Ok(()) };
        match self.room.check(free, coming) {
            Ok(Space::Plenty | Space::Low) => Ok(()),
            Err(_) => {
                let text = "The disk is nearly full, so nothing new is taken; what was accepted before goes on. \
                            Try again later, or tell the operator to free space.";
                Err(overloaded(text).retry_after(COME_AGAIN))
            }
        }
    }

    /// Looks at the room while something comes in: nobody needs to say how much it is, and others come in too.
    pub(crate) fn watch_over(self: &Arc<Self>, what: Incoming) -> Watch {
        Watch { disk: Arc::clone(self), what, unseen: 0 }
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
}

/// Something that comes in.
#[derive(Debug)]
pub(crate) struct Watch {
    disk: Arc<Disk>,
    what: Incoming,
    unseen: u64,
}

impl Watch {
    /// So many bytes more are about to be written.
    pub(crate) async fn count(&mut self, bytes: u64) -> std::result::Result<(), Refusal> {
        self.unseen = self.unseen.saturating_add(bytes);
        if self.unseen < LOOK_AFTER {
            return Ok(());
        }
        self.unseen = 0;
        self.disk.admit(self.what, 0).await
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
            "the disk is nearly full: nothing new is taken until there is room"
        ),
    }
}
