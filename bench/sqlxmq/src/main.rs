//! sqlxmq. Of its few settings one is about speed: "larger batch sizes are more efficient"
//! (`JobRunnerOptions::set_concurrency`), and the batch is the distance between the two numbers. It deletes finished jobs
//! and has no call that enqueues many.

use std::path::Path;

use anyhow::Result;
use bench_harness::{CONCURRENCY, Handler, Peer, text};
use serde::{Deserialize, Serialize};
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlxmq::{CurrentJob, JobBuilder, JobRunnerHandle, JobRunnerOptions};

/// More are fetched when fewer than this run.
const FEWEST: usize = CONCURRENCY / 2;

#[derive(Clone)]
struct Sqlxmq {
    pool: PgPool,
}

#[derive(Serialize, Deserialize)]
struct Nothing {
    text: String,
}

async fn run(mut job: CurrentJob, handler: Handler) -> Result<()> {
    let _input: Option<Nothing> = job.json()?;
    handler();
    job.complete().await?;
    Ok(())
}

impl Peer for Sqlxmq {
    const NAME: &'static str = "sqlxmq";
    const VERSION: &'static str = "0.6.0";
    const ON: &'static str = "postgres";
    type Worker = JobRunnerHandle;

    async fn open(place: &str) -> Result<Self> {
        let pool = PgPoolOptions::new().max_connections(CONCURRENCY as u32 + 10).connect(place).await?;
        // Its migrations are files of its source, to be run by its user.
        Migrator::new(Path::new(env!("SQLXMQ_MIGRATIONS"))).await?.run(&pool).await?;
        Ok(Self { pool })
    }

    async fn enqueue(&self) -> Result<()> {
        JobBuilder::new("nothing").set_json(&Nothing { text: text() })?.spawn(&self.pool).await?;
        Ok(())
    }

    async fn bulk(&self, _jobs: usize) -> Result<bool> {
        Ok(false)
    }

    async fn start(&self, handler: Handler) -> Result<Self::Worker> {
        let dispatch = move |job: CurrentJob| {
            let handler = handler.clone();
            tokio::spawn(async move {
                if let Err(error) = run(job, handler).await {
                    eprintln!("a job failed: {error}");
                }
            });
        };
        let mut options = JobRunnerOptions::new(&self.pool, dispatch);
        Ok(options.set_concurrency(FEWEST, CONCURRENCY).run().await?)
    }

    async fn unfinished(&self) -> Result<i64> {
        // One row is the anchor of its queue.
        let sql = "SELECT count(*) FROM mq_msgs WHERE id <> uuid_nil()";
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
    bench_harness::run::<Sqlxmq>().await
}
