//! What a run on its own keeps, so that the same command goes on after it was killed: rows of what is done, and copies of what is on
//! its way.
//!
//! One folder per out folder and mapping, below `DATA_DIR/convert`. Files in it are scratch: they are checked by their hash before
//! they are used, and made again when they are damaged. Rows are as durable as everywhere.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use redrive_blob::{Blobs, Folder, Sha256};
use redrive_convert::Pdf;
use redrive_engine::Input;
use redrive_model::{JobId, Shown, WorkloadName};
use redrive_store::{JobFilter, PageRequest, Store};
use redrive_store_sqlite::SqliteStore;

use crate::exit::{Exit, Stop};
use crate::store::make_folder;

/// So long the row of a job that was left lying is kept; nobody looks at it.
const KEEP_LEFT: Duration = Duration::from_secs(3_600);
const PAGE: usize = 200;

/// The state of one run and of those before it.
pub(super) struct State {
    pub(super) store: Arc<dyn Store>,
    pub(super) sources: Arc<dyn Blobs>,
    pub(super) results: Arc<dyn Blobs>,
    folder: PathBuf,
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
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(folder.join("redrive.db")).await?);
        leave_nothing_active(&*store).await?;
        let sources = folder.join("sources");
        match fs::remove_dir_all(&sources) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
        let scratch = async |path: PathBuf| match Folder::open_scratch(&path).await {
            Ok(folder) => Ok(Arc::new(folder) as Arc<dyn Blobs>),
            Err(error) => Err(Stop::new(Exit::Failed, format!("cannot open {}: {error}", path.display()))),
        };
        let (sources, results) = (scratch(sources).await?, scratch(folder.join("results")).await?);
        Ok(Self { store, sources, results, folder, name, is_new })
    }

    /// Where a result lies.
    pub(super) fn result(&self, key: &str) -> PathBuf {
        self.folder.join("results").join(key)
    }

    /// Removes what a file needed on its way. What stays is removed by the next run.
    pub(super) fn tidy(&self, source: Option<JobId>, result: Option<&str>) {
        if let Some(job) = source {
            let _ = fs::remove_file(self.folder.join("sources").join(format!("{job}.pdf")));
        }
        if let Some(key) = result {
            let path = self.result(key);
            let _ = fs::remove_file(&path);
            let _ = path.parent().map(fs::remove_dir);
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
