//! apalis on SQLite, with what its documentation names for speed: large batches, no second mark when a task starts, and
//! SQLite's update hook instead of waiting for a poll. It keeps finished jobs.
//!
//! Its `setup` turns syncing off on the connection that runs it (`PRAGMA synchronous = OFF`). The comparison is about
//! durable work, so that connection is closed, and the ones that are measured have `synchronous = FULL`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use apalis::prelude::*;
use apalis_sqlite::callback::HookCallbackListener;
use apalis_sqlite::{Config, SqlitePool, SqliteStorage};
use bench_harness::{CONCURRENCY, Handler, Peer, text};
use serde::{Deserialize, Serialize};

/// Tasks fetched at once. Its default is 10 and its examples go to 100; from 20 to 2,000, more was always faster here.
const BATCH: usize = 2_000;
/// Beside the hints, it looks this often. What has ended is written when it looks, so a longer wait is slower; a shorter one
/// was not faster here.
const POLL: Duration = Duration::from_millis(10);

#[derive(Clone)]
struct Apalis {
    pool: SqlitePool,
    inserts: Arc<Mutex<Option<HookCallbackListener>>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Nothing {
    text: String,
}

impl Apalis {
    fn storage(&self) -> SqliteStorage<Nothing> {
        let config = Config::default().queue("bench").batch_size(BATCH).lock_tasks(false);
        SqliteStorage::new(&self.pool).with_config(config)
    }
}

async fn run(_job: Nothing, does: Data<Handler>) -> Result<(), BoxDynError> {
    (does)();
    Ok(())
}

impl Peer for Apalis {
    const NAME: &'static str = "apalis-sqlite";
    const VERSION: &'static str = "1.0.0";
    const ON: &'static str = "sqlite";
    type Worker = std::thread::JoinHandle<()>;

    async fn open(place: &str) -> Result<Self> {
        let url = format!("sqlite:{place}/jobs.db?mode=rwc");
        let first = SqlitePool::connect(&url).await?;
        SqliteStorage::setup(&first).await?;
        first.close().await;
        let (pool, inserts) = SqliteStorage::connect_with_callback(&url)?;
        let synchronous: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(&pool).await?;
        ensure!(synchronous == 2, "synchronous is {synchronous}, not FULL");
        Ok(Self { pool, inserts: Arc::new(Mutex::new(Some(inserts))) })
    }

    async fn enqueue(&self) -> Result<()> {
        self.storage().push(Nothing { text: text() }).await.map_err(|e| anyhow::anyhow!("{e}"))
    }

    async fn bulk(&self, jobs: usize) -> Result<bool> {
        let jobs = vec![Nothing { text: text() }; jobs];
        self.storage().push_bulk(jobs).await.map_err(|e| anyhow::anyhow!("{e}"))?;
        Ok(true)
    }

    async fn start(&self, handler: Handler) -> Result<Self::Worker> {
        let inserts = self.inserts.lock().ok().and_then(|mut inserts| inserts.take());
        let inserts = inserts.context("a worker was started before")?;
        let strategy = Strategy::new().stream(inserts).interval(POLL);
        let backend = self.storage().poll_with_strategy(strategy);
        // The future of its worker cannot be handed to another thread, so it is made where it runs. Tasks are spawned to
        // the runtime's threads all the same.
        let runtime = tokio::runtime::Handle::current();
        let work = move || {
            let worker = WorkerBuilder::new("bench")
                .backend(backend)
                .data(handler)
                .concurrency(CONCURRENCY)
                .parallelize(tokio::spawn)
                .build(run);
            if let Err(error) = runtime.block_on(worker.run()) {
                eprintln!("the worker ended: {error}");
            }
        };
        Ok(std::thread::spawn(work))
    }

    async fn unfinished(&self) -> Result<i64> {
        Ok(sqlx::query_scalar("SELECT count(*) FROM Jobs WHERE status <> 'Done'")
            .fetch_one(&self.pool)
            .await?)
    }

    async fn settle(&self) -> Result<()> {
        sqlx::query("ANALYZE").execute(&self.pool).await?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    bench_harness::run::<Apalis>().await
}
