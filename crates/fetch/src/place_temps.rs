//! Removing what downloads left behind: bytes that were kept for a next attempt that never came, temps of workers that were killed,
//! multipart uploads that nobody finished, and copies that were made for a handler.
//!
//! Only that. What has a name was asked for by somebody, and stays, whether a row knows it or not.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use redrive_blob::{Sweep, Temps};
use redrive_engine::model::instant;
use redrive_engine::store::Store;
use redrive_engine::{Code, Context, Done, Failure, Permanent};

use crate::handler::Places;
use crate::hook;

/// After a walk that had more to do than one walk does.
const SOON: Duration = Duration::from_secs(1);
/// Between two walks, unless said.
const EVERY: Duration = Duration::from_secs(3_600);

/// The permanent job that walks over the places of downloads.
#[derive(Clone)]
pub struct TempRetention {
    store: Arc<dyn Store>,
    places: Places,
    scratch: PathBuf,
    every: Duration,
}

impl TempRetention {
    /// Walks over these places, and over the folder with copies for handlers. The store says what time it is.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, places: Places, scratch: PathBuf) -> Self {
        Self { store, places, scratch, every: EVERY }
    }

    /// Walks so often, where an hour will not do.
    #[must_use]
    pub const fn every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    /// One walk over what is older than a day. One place that is away does not keep the others: it is told at the end.
    pub async fn walk(&self) -> Result<Temps, Failure> {
        Ok(self.round().await?.0)
    }

    /// What was removed, and whether that is all that there is.
    async fn round(&self) -> Result<(Temps, bool), Failure> {
        let now = self.store.now().await.map_err(|error| Failure::new(error.code(), error))?;
        let plan = Sweep::at(now);
        let before = instant::before(now, plan.temps_older_than);
        let (mut all, mut through, mut failed) = (Temps::default(), true, None);
        for place in std::iter::once(&self.places.usual).chain(self.places.listed.values()) {
            match place.blobs.sweep_temps(before, plan.most).await {
                Ok(swept) => {
                    through &= usize::try_from(swept.removed).unwrap_or(usize::MAX) < plan.most;
                    add(&mut all, swept);
                }
                Err(error) => failed = Some(away(&format!("{}: {error}", place.target))),
            }
        }
        let scratch = self.scratch.clone();
        let swept = tokio::task::spawn_blocking(move || hook::sweep_scratch(&scratch, Some(before))).await;
        match swept {
            Ok(Ok(swept)) => add(&mut all, swept),
            Ok(Err(error)) => failed = Some(away(&format!("{}: {error}", self.scratch.display()))),
            Err(error) => failed = Some(Failure::new(Code::SystemInternal, error)),
        }
        if all.removed > 0 {
            tracing::info!(event = "retention.temps", removed = all.removed, bytes = all.bytes);
        }
        failed.map_or(Ok((all, through)), Err)
    }
}

impl Permanent for TempRetention {
    async fn run(&self, _: Context) -> Result<Done, Failure> {
        let (_, through) = self.round().await?;
        Ok(Done::RescheduleIn(if through { self.every } else { SOON.min(self.every) }))
    }
}

fn add(all: &mut Temps, swept: Temps) {
    all.removed += swept.removed;
    all.bytes = all.bytes.saturating_add(swept.bytes);
}

fn away(why: &str) -> Failure {
    Failure::new(Code::StorageUnavailable, format!("temps were not swept: {why}"))
}
