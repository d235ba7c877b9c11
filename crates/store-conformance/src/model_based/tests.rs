//! The reference against SQLite, in memory and in a file.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use redrive_model::Timestamp;
use redrive_store::Store;
use redrive_store::clock::ManualClock;
use redrive_store::intake::IntakeStore;
use redrive_store_sqlite::{Options, SqliteStore};

use super::{Settings, check, universe};
use crate::{Backend, Harness};

struct Sqlite {
    store: Arc<SqliteStore>,
    clock: ManualClock,
    folder: Option<tempfile::TempDir>,
}

impl Sqlite {
    fn memory() -> Box<dyn Harness> {
        let clock = ManualClock::new(universe::start());
        let store = Options::default().clock(clock.clone()).in_memory().expect("a store in memory");
        Box::new(Self { store: Arc::new(store), clock, folder: None })
    }

    async fn file() -> Box<dyn Harness> {
        let clock = ManualClock::new(universe::start());
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("redrive.db");
        let store = Options::default().clock(clock.clone()).open(path).await.expect("a store in a file");
        Box::new(Self { store: Arc::new(store), clock, folder: Some(folder) })
    }
}

#[async_trait]
impl Harness for Sqlite {
    fn backend(&self) -> Backend {
        if self.folder.is_some() { Backend::SqliteFile } else { Backend::SqliteMemory }
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

    async fn raw(&self, _sql: &str) -> Result<(), String> {
        Err("this test writes no SQL".into())
    }
}

#[test]
fn sqlite_in_memory_does_what_the_reference_does() {
    let settings = Settings { cases: 200, steps: 20..=80, ..Settings::default() };
    check(&settings, async || vec![Sqlite::memory()]);
}

#[test]
fn sqlite_in_a_file_does_what_the_reference_does() {
    let settings = Settings { cases: 8, steps: 20..=60, ..Settings::default() };
    check(&settings, async || vec![Sqlite::file().await, Sqlite::memory()]);
}
