//! Random operations on Postgres, SQLite in memory and the reference model: all three must agree.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use redrive_model::Timestamp;
use redrive_store::Store;
use redrive_store::clock::ManualClock;
use redrive_store::intake::IntakeStore;
use redrive_store_conformance::model_based::{Settings, check};
use redrive_store_conformance::{Backend, Harness};
use redrive_store_sqlite::{Options, SqliteStore};

use crate::harness::Postgres;

struct Memory {
    store: Arc<SqliteStore>,
    clock: ManualClock,
}

impl Memory {
    fn fresh() -> Self {
        let clock = ManualClock::new(redrive_model::instant::from_millis(crate::harness::START));
        let store = Options::default().clock(clock.clone()).in_memory().unwrap();
        Self { store: Arc::new(store), clock }
    }
}

#[async_trait]
impl Harness for Memory {
    fn backend(&self) -> Backend {
        Backend::SqliteMemory
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
fn postgres_sqlite_and_the_reference_agree() {
    // The same sequences every time: new ones are tried by the long form.
    let settings =
        Settings { cases: 12, steps: 20..=60, look_every: 10, shrinks: 60, seed: Some(20_261_116) };
    check(&settings, async || {
        vec![Box::new(Postgres::fresh().await) as Box<dyn Harness>, Box::new(Memory::fresh())]
    });
}

#[test]
fn long_postgres_sqlite_and_the_reference_agree() {
    let settings = Settings { cases: 400, steps: 20..=120, shrinks: 200, ..Settings::default() };
    check(&settings, async || {
        vec![Box::new(Postgres::fresh().await) as Box<dyn Harness>, Box::new(Memory::fresh())]
    });
}
