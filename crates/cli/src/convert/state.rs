//! What a run on its own keeps, so that the same command goes on after it was killed: rows of what is done, and copies of what is on
//! its way.
//!
//! One folder per out folder and mapping, below `DATA_DIR/convert`. Files are scratch, small ones in memory only: they are checked by
//! their hash before they are used, and made again when they are damaged or gone. A machine that loses its power
//! may forget the last rows: those files are converted again, and what is in the out folder already is seen by its hash.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use redrive_blob::{Blobs, Key, Scratch, Sha256};
use redrive_convert::Pdf;
use redrive_engine::Input;
use redrive_model::{Shown, WorkloadName};
use redrive_store::{JobFilter, PageRequest, Store};
use redrive_store_sqlite::Options;

use crate::exit::{Exit, Stop};
use crate::store::make_folder;

/// So long the row of a job that was left lying is kept; nobody looks at it.
const KEEP_LEFT: Duration = Duration::from_secs(3_600);
const PAGE: usize = 200;

/// The state of one run and of those before it.
pub(super) struct State {
    pub(super) store: Arc<dyn Store>,
    pub(super) sources: Arc<Scratch>,
    pub(super) results: Arc<Scratch>,
    /// What it is called; nobody else is called so while this is open.
    pub(super) name: String,
    /// No run before this one left anything.
    pub(super) is_new: bool,
}

impl State {
    /// Opens it. Whoever has it is the only one, so what is still active there was left by a process that is gone.
    pub(super) async fn open(data_dir: &Path, out: &Path, mapping: &str) -> Result<Self, Stop> {
        let out = out
            .canonicalize()
            .map_err(|error| Stop::new(Exit::Failed, format!("{}: {error}", out.display())))?;
        let name = Sha256::of(format!("{}\0{mapping}", out.display()).as_bytes()).to_string();
        let name = name.get(..16).unwrap_or_default().to_owned();
        let folder = data_dir.join("convert").join(&name);
        let is_new = !folder.exists();
        make_folder(&folder)?;
        let store: Arc<dyn Store> =
            Arc::new(Options::default().may_forget().open(folder.join("redrive.db")).await?);
        leave_nothing_active(&*store).await?;
        let scratch = async |name: &str| {
            let path = folder.join(name);
            // What a run before left in it is of no use: its jobs are handed in again.
            match fs::remove_dir_all(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(Stop::from(error)),
                Ok(()) | Err(_) => {}
            }
            Scratch::open(&path)
                .await
                .map(Arc::new)
                .map_err(|error| Stop::new(Exit::Failed, format!("cannot open {}: {error}", path.display())))
        };
        let (sources, results) = (scratch("sources").await?, scratch("results").await?);
        Ok(Self { store, sources, results, name, is_new })
    }

    /// Removes what a file needed on its way. What stays is removed by the next run.
    pub(super) async fn tidy(&self, source: Option<&Key>, result: Option<&Key>) {
        if let Some(key) = source {
            let _ = self.sources.delete(key).await;
        }
        if let Some(key) = result {
            let _ = self.results.delete(key).await;
        }
    }
}

/// Files are handed in again as they come by; a lease of a process that is gone would be waited for.
async fn leave_nothing_active(store: &dyn Store) -> Result<(), Stop> {
    let workload = WorkloadName::new(Pdf::WORKLOAD).ok();
    for shown in [Shown::Processing, Shown::Queued, Shown::WaitingRetry, Shown::Held, Shown::Scheduled] {
        loop {
            let filter = JobFilter { workload: workload.clone(), shown: vec![shown], ..JobFilter::default() };
            let rows = store.jobs(filter, PageRequest { limit: PAGE, cursor: None }).await?.rows;
            if rows.is_empty() {
                break;
            }
            store.cancel(rows.iter().map(|row| row.id).collect(), Some(KEEP_LEFT)).await?;
        }
    }
    Ok(())
}
