//! The crate job, batched: one call of the handler for many jobs and one commit for all of them (`add_batched_initializer`),
//! which is what its documentation names for many small jobs. It keeps finished jobs.

use anyhow::Result;
use async_trait::async_trait;
use bench_harness::{CONCURRENCY, Handler, Peer, text};
use job::{
    BatchedJobInitializer, BatchedJobRunner, CurrentBatchedJob, JobBatchCompletion, JobId, JobPollerConfig,
    JobSpawner, JobSpec, JobSvcConfig, JobType, Jobs,
};
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgPool, PgPoolOptions};
use std::sync::{Arc, OnceLock};
use tokio::sync::Mutex;

/// Jobs per call of the handler. The default is 25; of 20, 100, 500, 1,000 and 2,000, more than this was not faster here.
const BATCH: usize = 500;

#[derive(Clone)]
struct JobCrate {
    pool: PgPool,
    jobs: Arc<Mutex<Jobs>>,
    spawner: JobSpawner<Nothing>,
    handler: Arc<OnceLock<Handler>>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Nothing {
    text: String,
}

type Trouble = Box<dyn std::error::Error + Send + Sync>;

struct Initializer(Arc<OnceLock<Handler>>);

impl BatchedJobInitializer for Initializer {
    type Config = Nothing;

    fn job_type(&self) -> JobType {
        JobType::new("nothing")
    }

    fn max_batch_size(&self) -> usize {
        BATCH
    }

    fn max_concurrent_per_process(&self) -> usize {
        CONCURRENCY
    }

    fn init(&self, _: JobSpawner<Nothing>) -> Result<Box<dyn BatchedJobRunner<Config = Nothing>>, Trouble> {
        Ok(Box::new(Runner(self.0.clone())))
    }
}

struct Runner(Arc<OnceLock<Handler>>);

#[async_trait]
impl BatchedJobRunner for Runner {
    type Config = Nothing;

    async fn run_batch(&self, batch: CurrentBatchedJob<Nothing>) -> Result<JobBatchCompletion, Trouble> {
        if let Some(handler) = self.0.get() {
            batch.items().iter().for_each(|_| handler());
        }
        Ok(JobBatchCompletion::CompleteAll)
    }
}

impl Peer for JobCrate {
    const NAME: &'static str = "job";
    const VERSION: &'static str = "0.19.2";
    const ON: &'static str = "postgres";
    type Worker = ();

    async fn open(place: &str) -> Result<Self> {
        let pool = PgPoolOptions::new().max_connections(CONCURRENCY as u32 * 2 + 10).connect(place).await?;
        let poller =
            JobPollerConfig { max_jobs_per_process: CONCURRENCY * BATCH, ..JobPollerConfig::default() };
        let config = JobSvcConfig::builder()
            .pool(pool.clone())
            .exec_migrations(true)
            .poller_config(poller)
            .build()
            .map_err(|error| anyhow::anyhow!("{error:?}"))?;
        let mut jobs = Jobs::init(config).await.map_err(|error| anyhow::anyhow!("{error:?}"))?;
        let handler = Arc::new(OnceLock::new());
        let spawner = jobs.add_batched_initializer(Initializer(handler.clone()));
        Ok(Self { pool, jobs: Arc::new(Mutex::new(jobs)), spawner, handler })
    }

    async fn enqueue(&self) -> Result<()> {
        let spawned = self.spawner.spawn(JobId::new(), Nothing { text: text() }).await;
        spawned.map_err(|error| anyhow::anyhow!("{error:?}"))?;
        Ok(())
    }

    async fn bulk(&self, jobs: usize) -> Result<bool> {
        let specs = (0..jobs).map(|_| JobSpec::new(JobId::new(), Nothing { text: text() })).collect();
        self.spawner.spawn_all(specs).await.map_err(|error| anyhow::anyhow!("{error:?}"))?;
        Ok(true)
    }

    async fn start(&self, handler: Handler) -> Result<Self::Worker> {
        let _ = self.handler.set(handler);
        self.jobs.lock().await.start_poll().await.map_err(|error| anyhow::anyhow!("{error:?}"))
    }

    async fn unfinished(&self) -> Result<i64> {
        Ok(sqlx::query_scalar("SELECT count(*) FROM job_executions").fetch_one(&self.pool).await?)
    }

    async fn settle(&self) -> Result<()> {
        sqlx::query("VACUUM (ANALYZE)").execute(&self.pool).await?;
        sqlx::query("CHECKPOINT").execute(&self.pool).await?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    bench_harness::run::<JobCrate>().await
}
