//! A workbench: a store, engines on it, and ways to wait for what must come.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redrive_engine::model::{JobId, State};
use redrive_engine::store::clock::ManualClock;
use redrive_engine::store::{DeadFilter, JobRow, PageRequest, Store};
use redrive_engine::{Engine, Options};
use redrive_store_postgres::PostgresStore;
use redrive_store_sqlite::SqliteStore;

/// Nothing in a test may take longer than this.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn quick() -> Options {
    Options {
        lease_ttl: Duration::from_millis(800),
        sweep: Duration::from_millis(100),
        poll: Duration::from_millis(100),
        drain: Duration::from_millis(500),
        grace: Duration::from_millis(100),
        retention: Duration::from_millis(50),
        ..Options::default()
    }
}

/// One store: SQLite in memory, or Postgres where `REDRIVE_TEST_ENGINE_ON` says so.
pub(crate) struct Bench {
    pub(crate) store: Arc<dyn Store>,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        if setting("REDRIVE_TEST_ENGINE_ON").as_deref() == Some("postgres") {
            return Self { store: Arc::new(postgres().await) as Arc<dyn Store> };
        }
        let store = redrive_store_sqlite::Options::default().in_memory().unwrap();
        Self { store: Arc::new(store) as Arc<dyn Store> }
    }

    /// One whose time is moved by hand.
    pub(crate) fn with_clock(clock: ManualClock) -> Self {
        let store = redrive_store_sqlite::Options::default().clock(clock).in_memory().unwrap();
        Self { store: Arc::new(store) as Arc<dyn Store> }
    }

    pub(crate) async fn engine(&self) -> Engine {
        self.engine_with(quick()).await
    }

    pub(crate) async fn engine_with(&self, options: Options) -> Engine {
        Engine::new(self.store.clone(), options).await.unwrap()
    }

    pub(crate) async fn row(&self, id: JobId) -> JobRow {
        self.store.job(id).await.unwrap().unwrap()
    }

    /// Waits until the job is in this state.
    pub(crate) async fn until(&self, id: JobId, state: State) -> JobRow {
        self.until_row(id, |row| row.state == state).await
    }

    /// Waits until the job's row is as wanted.
    pub(crate) async fn until_row(&self, id: JobId, wanted: impl Fn(&JobRow) -> bool) -> JobRow {
        eventually(async || {
            let row = self.row(id).await;
            wanted(&row).then_some(row)
        })
        .await
    }

    pub(crate) async fn outcomes(&self, id: JobId) -> Vec<String> {
        self.store.attempts(id).await.unwrap().into_iter().map(|a| a.outcome).collect()
    }

    pub(crate) async fn dead(&self) -> Vec<redrive_engine::store::DeadRow> {
        self.store.dead_letters(DeadFilter::default(), PageRequest::default()).await.unwrap().rows
    }
}

/// A schema of its own, which goes with the test's private server.
async fn postgres() -> PostgresStore {
    let url = setting("REDRIVE_TEST_POSTGRES").expect("REDRIVE_TEST_POSTGRES is not set: run ./test");
    static NTH: AtomicUsize = AtomicUsize::new(0);
    let schema = format!("engine_{}_{}", once(), NTH.fetch_add(1, Ordering::SeqCst));
    redrive_store_postgres::Options::default().schema(&schema).unwrap().open(&url).await.unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the test script says here where its servers are")]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Asks until there is an answer.
pub(crate) async fn eventually<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect("it did not come")
}

const _: fn() = || {
    fn is_store<T: Store>() {}
    is_store::<SqliteStore>();
};

/// A word that no process had before: numbers of processes come again, and soon.
fn once() -> String {
    format!("{}_{}", std::process::id(), std::time::UNIX_EPOCH.elapsed().unwrap().as_micros())
}
