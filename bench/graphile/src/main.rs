//! graphile_worker with what its documentation names for throughput: local queue and batched completion
//! (docs/src/configuration/worker-options.md, "Throughput-oriented worker"). It deletes finished jobs.

use std::time::Duration;

use anyhow::Result;
use bench_harness::{CONCURRENCY, Handler, Peer, text};
use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, LocalQueueConfig, TaskHandler, WorkerContext, WorkerOptions, WorkerUtils,
};
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgPool, PgPoolOptions};

const SCHEMA: &str = "graphile_worker";
/// Jobs fetched at once, as in its own throughput benchmark; of 100, 500, 1,000 and 5,000, in one queue or in four, this was
/// the fastest here.
const LOCAL: usize = 5_000;

#[derive(Clone)]
struct Graphile {
    pool: PgPool,
}

#[derive(Clone, Serialize, Deserialize)]
struct Nothing {
    text: String,
}

#[derive(Clone)]
struct Does(Handler);

impl std::fmt::Debug for Does {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Does")
    }
}

impl TaskHandler for Nothing {
    const IDENTIFIER: &'static str = "nothing";

    async fn run(self, ctx: WorkerContext) -> impl IntoTaskHandlerResult {
        if let Some(does) = ctx.get_ext::<Does>() {
            (does.0)();
        }
        Ok::<(), String>(())
    }
}

impl Graphile {
    fn utils(&self) -> WorkerUtils {
        WorkerUtils::new(self.pool.clone(), SCHEMA)
    }
}

impl Peer for Graphile {
    const NAME: &'static str = "graphile_worker";
    const VERSION: &'static str = "0.14.1";
    const ON: &'static str = "postgres";
    type Worker = tokio::task::JoinHandle<()>;

    async fn open(place: &str) -> Result<Self> {
        let pool = PgPoolOptions::new().max_connections(CONCURRENCY as u32 + 10).connect(place).await?;
        let peer = Self { pool };
        peer.utils().migrate().await?;
        // Its task is known from here on.
        WorkerOptions::default()
            .schema(SCHEMA)
            .define_job::<Nothing>()
            .pg_pool(peer.pool.clone())
            .init()
            .await?;
        Ok(peer)
    }

    async fn enqueue(&self) -> Result<()> {
        self.utils().add_job(Nothing { text: text() }, JobSpec::default()).await?;
        Ok(())
    }

    async fn bulk(&self, jobs: usize) -> Result<bool> {
        let spec = JobSpec::default();
        let jobs = vec![(Nothing { text: text() }, &spec); jobs];
        self.utils().add_jobs(&jobs).await?;
        Ok(true)
    }

    async fn start(&self, handler: Handler) -> Result<Self::Worker> {
        let worker = WorkerOptions::default()
            .schema(SCHEMA)
            .concurrency(CONCURRENCY)
            .poll_interval(Duration::from_millis(500))
            .complete_job_batch_delay(Duration::from_millis(5))
            .fail_job_batch_delay(Duration::from_millis(5))
            .local_queue(LocalQueueConfig::default().with_size(LOCAL))
            .add_extension(Does(handler))
            .define_job::<Nothing>()
            .pg_pool(self.pool.clone())
            .init()
            .await?;
        Ok(tokio::spawn(async move {
            if let Err(error) = worker.run().await {
                eprintln!("the worker ended: {error}");
            }
        }))
    }

    async fn unfinished(&self) -> Result<i64> {
        Ok(sqlx::query_scalar("SELECT count(*) FROM graphile_worker._private_jobs")
            .fetch_one(&self.pool)
            .await?)
    }

    async fn settle(&self) -> Result<()> {
        sqlx::query("VACUUM (ANALYZE)").execute(&self.pool).await?;
        sqlx::query("CHECKPOINT").execute(&self.pool).await?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    bench_harness::run::<Graphile>().await
}
