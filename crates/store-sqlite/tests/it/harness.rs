//! The SQLite store as the conformance suite sees it: a file in a folder of its own, or memory, and a clock that
//! stands still until the test moves it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use redrive_model::{Timestamp, instant};
use redrive_store::Store;
use redrive_store::clock::ManualClock;
use redrive_store::intake::IntakeStore;
use redrive_store_conformance::{Backend, Harness};
use redrive_store_sqlite::{Options, SqliteStore};
use tempfile::TempDir;

/// One fresh store.
pub(crate) struct Sqlite {
    /// The store with what only it has.
    pub(crate) store: Arc<SqliteStore>,
    clock: ManualClock,
    backend: Backend,
    folder: Option<TempDir>,
}

impl Sqlite {
    /// A store on this file, which is not removed.
    pub(crate) async fn at(path: &Path) -> redrive_store::Result<Self> {
        let clock = clock();
        let store = Options::default().clock(clock.clone()).open(path).await?;
        Ok(Self { store: Arc::new(store), clock, backend: Backend::SqliteFile, folder: None })
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> PathBuf {
        file_in(self.folder.as_ref().unwrap())
    }

    /// Closes the store as a clean stop does; the folder stays.
    pub(crate) fn close(self) -> TempDir {
        let Self { store, folder, .. } = self;
        assert!(Arc::into_inner(store).is_some(), "somebody still has the store");
        folder.unwrap()
    }
}

/// The database file in a folder.
pub(crate) fn file_in(folder: &TempDir) -> PathBuf {
    folder.path().join("redrive.db")
}

/// A folder with the database, its write-ahead log and its lock file as they are at this moment: what a kill leaves.
pub(crate) fn snapshot(database: &Path, suffixes: &[&str]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for suffix in suffixes {
        let from = beside(database, suffix);
        std::fs::copy(&from, beside(&file_in(&folder), suffix)).unwrap();
    }
    folder
}

/// `path` with something appended to its file name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A clock that stands at some time in 2025.
pub(crate) fn clock() -> ManualClock {
    ManualClock::new(instant::from_millis(1_750_000_000_000))
}

/// A store in a file.
pub(crate) async fn file() -> Sqlite {
    let folder = TempDir::new().unwrap();
    let opened = Sqlite::at(&file_in(&folder)).await.unwrap();
    Sqlite { folder: Some(folder), ..opened }
}

/// A store in memory.
pub(crate) async fn memory() -> Sqlite {
    let clock = clock();
    let store = Options::default().clock(clock.clone()).in_memory().unwrap();
    Sqlite { store: Arc::new(store), clock, backend: Backend::SqliteMemory, folder: None }
}

#[async_trait]
impl Harness for Sqlite {
    fn backend(&self) -> Backend {
        self.backend
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    fn intake(&self) -> Arc<dyn IntakeStore> {
        self.store.clone()
    }

    async fn second(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    async fn set_clock(&self, at: Timestamp) {
        self.clock.set(at);
    }

    async fn raw(&self, sql: &str) -> Result<(), String> {
        let sql = sql.to_owned();
        let said = self
            .store
            .transaction(move |tx| Ok(tx.connection().execute_batch(&sql).map_err(|e| e.to_string())));
        said.await.unwrap()
    }
}
