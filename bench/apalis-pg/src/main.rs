//! apalis on Postgres, with what its documentation and examples name for speed: large batches ("larger batches can improve
//! throughput", `Config::batch_size`), no second mark when a task starts (`lock_tasks(false)`, as in its examples), tasks
//! on the runtime's threads (`parallelize`), and LISTEN/NOTIFY. It keeps finished jobs.

use std::time::Duration;

use anyhow::Result;
use apalis::prelude::*;
use apalis_postgres::{Config, PgPool, PostgresStorage, Pubsub};
use bench_harness::{CONCURRENCY, Handler, Peer, text};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgPoolOptions;

/// Tasks fetched at once. Its default is 10 and its examples go to 100; from 20 to 2,000, more was always faster here.
const BATCH: usize = 2_000;
/// Beside the hints, it looks this often. What has ended is written when it looks, so a longer wait is slower; a shorter one
/// was not faster here.
const POLL: Duration = Duration::from_millis(10);

#[derive(Clone)]
struct Apalis {
    pool: PgPool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Nothing {
    text: String,
}

impl Apalis {
    fn storage(&self) -> PostgresStorage<Nothing> {
        let config = Config::default().queue("bench").batch_size(BATCH).lock_tasks(false);
        PostgresStorage::new(&self.pool).with_config(config)
    }
}

async fn run(_job: Nothing, does: Data<Handler>) -> Result<(), BoxDynError> {
    (does)();
    Ok(())
}

impl Peer for Apalis {
    const NAME: &'static str = "apalis-postgres";
    const VERSION: &'static str = "1.0.0";
    const ON: &'static str = "postgres";
    type Worker = std::thread::JoinHandle<()>;

    async fn open(place: &str) -> Result<Self> {
        let pool = PgPoolOptions::new().max_connections(CONCURRENCY as u32 + 10).connect(place).await?;
        PostgresStorage::setup(&pool).await?;
        Ok(Self { pool })
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
        let listen = Pubsub::new(self.pool.clone(), "bench".into());
        let strategy = Strategy::new().stream(listen).interval(POLL);
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
        let sql = "SELECT count(*) FROM apalis.jobs WHERE status <> 'Done'";
        Ok(sqlx::query_scalar(sql).fetch_one(&self.pool).await?)
    }

    async fn settle(&self) -> Result<()> {
        sqlx::query("VACUUM (ANALYZE)").execute(&self.pool).await?;
        sqlx::query("CHECKPOINT").execute(&self.pool).await?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    bench_harness::run::<Apalis>().await
}
