//! Downloads without a server: an engine in this process. Its rows under `DATA_DIR/fetch` are what a next run goes by.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use redrive_blob::{Location, Sha256};
use redrive_engine::{BatchId, By, Engine, Options, Running};
use redrive_fetch::{Destinations, Handing};
use redrive_model::Shown;
use redrive_store::{JobFilter, PageRequest, RetryBy, Store};
use redrive_store_sqlite::Options as StoreOptions;

use super::asked::Asked;
use super::doer::Doer;
use crate::exit::{Exit, Stop};
use crate::local::Lock;
use crate::settings::{Fetching, Values, Work};
use crate::store::make_folder;
use crate::wiring::{self, engine_stop, fetch};

/// What one command has here.
pub(crate) struct Alone {
    engine: Engine,
    pub(crate) doer: Doer,
    /// So many were stored before.
    pub(crate) before: u64,
    _lock: Lock,
}

/// Held while somebody works on the state.
const LOCK: &str = "fetch.lock";

impl Alone {
    /// Everything that is needed, with what was asked for handed in and nothing begun. The state's folder is locked from here on, before
    /// anything of it is forgotten.
    pub(crate) async fn open(
        values: &Values,
        data_dir: &Path,
        mut fetching: Fetching,
        work: &Work,
        asked: &Asked,
        again: bool,
    ) -> Result<Self, Stop> {
        let folder = folder(data_dir, &fetching.to, asked.sha256);
        make_folder(&folder)?;
        let lock = Lock::hold(&folder.join(LOCK), |who| {
            let to = &fetching.to;
            format!("another redrive fetch{who} works on the same, to {to}: wait for it, or stop it first")
        })?;
        if again {
            forget(&folder)?;
        }
        let store: Arc<dyn Store> = Arc::new(StoreOptions::default().open(folder.join("redrive.db")).await?);
        let options = Options {
            name: "fetch".to_owned(),
            lease_ttl: work.lease_ttl,
            drain: work.drain,
            breaker: work.breakers.clone().for_a_command(values).by_target(),
            ..Options::default()
        };
        let engine = Engine::new(store.clone(), options).await.map_err(engine_stop)?;
        fetching.manifests = Location::Folder(folder.clone());
        // One for all commands: what a killed one left there is swept by any other.
        let spool = data_dir.join("spool");
        let open = |location: &Location| -> futures::future::BoxFuture<'_, _> {
            let (location, spool) = (location.clone(), spool.clone());
            Box::pin(async move { wiring::open_at(&location, spool, values).await })
        };
        let destinations = Destinations::whole(fetching.to.clone());
        let fetches = fetch::register(&engine, &store, &fetching, destinations, &open).await?;
        fetch::sweep(&fetches.temps(&store)).await;
        let manifests = fetches.manifests;
        let batch = batch_id(asked.sha256);
        let before = match manifests.batch(batch).await? {
            None => {
                let handing = Handing { batch: Some(batch), ..Handing::default() };
                manifests
                    .accept(asked.body(), asked.shape, handing)
                    .await
                    .map_err(|error| asked.source.not_accepted(error))?;
                0
            }
            Some(row) => {
                come_back(&engine, batch).await?;
                row.counters.ok
            }
        };
        let doer = Doer::Here { engine: engine.clone(), manifests, batch };
        Ok(Self { engine, doer, before, _lock: lock })
    }

    /// Begins to work.
    pub(crate) fn start(&self) -> Running {
        self.engine.start()
    }
}

/// Goes on with what a run before left: what it held comes back, what it found out about hosts is old, what failed is tried again.
async fn come_back(engine: &Engine, batch: BatchId) -> Result<(), Stop> {
    engine.take_back().await.map_err(engine_stop)?;
    let by = By::new("redrive fetch").because("a new run");
    for row in engine.store().breakers().await? {
        engine.release(&row.target, &by).await.map_err(engine_stop)?;
    }
    let filter = JobFilter { batch: Some(batch), shown: vec![Shown::Failed], ..JobFilter::default() };
    let mut cursor = None;
    loop {
        let page = engine.store().jobs(filter.clone(), PageRequest { limit: 200, cursor }).await?;
        engine.store().retry(page.rows.iter().map(|row| row.id).collect(), RetryBy::default()).await?;
        cursor = page.next;
        if cursor.is_none() {
            return Ok(());
        }
    }
}

/// Where the state of a command is: the same for the same manifest and place.
fn folder(data_dir: &Path, to: &Location, asked: Sha256) -> PathBuf {
    let to = match to {
        Location::Folder(path) => {
            std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string()
        }
        s3 @ Location::S3 { .. } => s3.to_string(),
    };
    let name = Sha256::of(format!("{to}\0{asked}").as_bytes()).to_string();
    data_dir.join("fetch").join(name.get(..16).unwrap_or_default())
}

/// What was asked for names its batch.
fn batch_id(asked: Sha256) -> BatchId {
    let mut draw = [0; 10];
    for (to, from) in draw.iter_mut().zip(asked.as_bytes()) {
        *to = *from;
    }
    BatchId::from_parts(redrive_model::Timestamp::UNIX_EPOCH, draw)
}

/// Removes everything but the lock, which is ours.
fn forget(folder: &Path) -> Result<(), Stop> {
    let remove = || {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_name() == LOCK {
                continue;
            }
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                std::fs::remove_dir_all(path)
            } else {
                std::fs::remove_file(path)
            }?;
        }
        std::io::Result::Ok(())
    };
    remove().map_err(|error| Stop::new(Exit::Failed, format!("cannot remove {}: {error}", folder.display())))
}
