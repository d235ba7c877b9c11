//! Downloads put together: who fetches, where it goes, and who takes manifests in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use redrive_blob::{Blobs, Location};
use redrive_engine::{Engine, Target};
use redrive_fetch::{
    Canceller, CommandHook, Destinations, Downloads, Fetch, ManifestOptions, ManifestRetention, Manifests,
    Place as FetchPlace, Places, Pools, Starter, TempRetention, Unpacker,
};
use redrive_store::Store;

use crate::exit::{Exit, Stop};
use crate::settings::Fetching;

/// Opens places for files.
pub(crate) type Opening<'a> = &'a (dyn Fn(&Location) -> Opened<'a> + Sync);
type Opened<'a> = futures::future::BoxFuture<'a, Result<Arc<dyn Blobs>, Stop>>;

/// What fetch is made of, registered and not yet started.
pub(crate) struct Fetches {
    /// Takes manifests in, and tells about their batches.
    pub(crate) manifests: Manifests,
    /// Where resources go.
    pub(crate) places: Places,
    /// Where manifests are kept.
    pub(crate) kept: Arc<dyn Blobs>,
    /// The proxies that downloads go through.
    pub(crate) pools: Arc<Pools>,
    /// Where copies for a handler lie.
    scratch: PathBuf,
}

impl Fetches {
    /// Who removes what downloads left behind.
    pub(crate) fn temps(&self, store: &Arc<dyn Store>) -> TempRetention {
        TempRetention::new(store.clone(), self.places.clone(), self.scratch.clone())
    }
}

/// Registers everything that fetch needs. `destinations` says what a manifest may name.
pub(crate) async fn register(
    engine: &Engine,
    store: &Arc<dyn Store>,
    fetching: &Fetching,
    destinations: Destinations,
    open: Opening<'_>,
) -> Result<Fetches, Stop> {
    let failed = |error: &dyn std::fmt::Display| Stop::new(Exit::Failed, error.to_string());
    let downloads = Downloads::new(fetching.download.clone()).map_err(|error| failed(&error))?;
    let usual = place(&fetching.to, open).await?;
    let mut listed = BTreeMap::new();
    for also in &fetching.also {
        listed.insert(also.to_string(), place(also, open).await?);
    }
    let blobs = open(&fetching.manifests).await?;
    let places = Places { usual, listed };
    let mut fetch = Fetch::new(downloads.clone(), places.clone(), fetching.options(&downloads));
    if let Some(options) = &fetching.handler {
        let hook = CommandHook::new(options.clone());
        let hook = hook.map_err(|error| Stop::new(Exit::Usage, format!("FETCH_HANDLER: {error}")))?;
        fetch = fetch.with_hook(Arc::new(hook));
    }
    engine.register(fetch);
    engine.register(Unpacker::new(store.clone(), blobs.clone()));
    engine.register(Canceller::new(store.clone(), blobs.clone()));
    engine.register(Starter::new(store.clone()));
    let options = ManifestOptions {
        guard: downloads.guard().clone(),
        pools: fetching.pools.clone(),
        ..ManifestOptions::new(destinations)
    };
    let manifests = Manifests::new(engine.clone(), blobs.clone(), options);
    let pools = downloads.options().pools.clone();
    Ok(Fetches { manifests, places, kept: blobs, pools, scratch: fetching.scratch.clone() })
}

/// Removes manifests that no batch needs any more, and what downloads left behind.
pub(crate) async fn retention(
    engine: &Engine,
    store: &Arc<dyn Store>,
    fetches: &Fetches,
    every: Duration,
) -> Result<(), Stop> {
    let retention = ManifestRetention::new(store.clone(), fetches.kept.clone(), every);
    engine.permanent("fetch.retention", retention).await.map_err(super::engine_stop)?;
    let temps = fetches.temps(store).every(every);
    engine.permanent("fetch.temps", temps.clone()).await.map_err(super::engine_stop)?;
    // The job runs on one machine of the fleet; what lies on this one alone is looked at when it begins.
    tokio::spawn(async move { sweep(&temps).await });
    Ok(())
}

/// Removes what downloads of dead processes left behind. Nobody has to wait because it cannot be removed now.
pub(crate) async fn sweep(temps: &TempRetention) {
    if let Err(failure) = temps.walk().await {
        tracing::warn!(event = "retention.temps_failed", "{}", failure.message);
    }
}

/// The places that a manifest may name, by the names that the workload knows them by.
pub(crate) fn destinations(fetching: &Fetching) -> Destinations {
    let listed = fetching.also.iter().map(|also| (also.to_string(), also.clone())).collect();
    Destinations::new(fetching.to.clone(), listed)
}

async fn place(location: &Location, open: Opening<'_>) -> Result<FetchPlace, Stop> {
    let target = match location {
        Location::Folder(_) => Target::new("disk"),
        Location::S3 { bucket, .. } => Target::new(format!("bucket:{bucket}")),
    };
    let target = target.map_err(|error| Stop::new(Exit::Usage, format!("{location}: {error}")))?;
    Ok(FetchPlace { blobs: open(location).await?, target })
}
