//! Fan out and gather: a job hands its parts in as a batch, waits for them without a slot, and goes on when they have ended.
//!
//! `cargo run --example fan_out`
#![allow(clippy::print_stdout, reason = "an example talks")]

use redrive::model::BatchState;
use redrive::{BatchOptions, Code, Context, Done, Engine, Failure, Input, Workload};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Report {
    pages: u32,
}

impl Input for Report {
    const WORKLOAD: &'static str = "report";
}

#[derive(Serialize, Deserialize)]
struct Page {
    number: u32,
}

impl Input for Page {
    const WORKLOAD: &'static str = "report-page";
}

struct Pages;

impl Workload for Pages {
    type Input = Page;

    async fn run(&self, ctx: Context, page: Page) -> Result<Done, Failure> {
        ctx.set_result(format!("page {}", page.number));
        Ok(Done::Complete)
    }
}

struct Reports {
    engine: Engine,
}

impl Workload for Reports {
    type Input = Report;

    async fn run(&self, ctx: Context, report: Report) -> Result<Done, Failure> {
        // The second time round: the parts have ended.
        match self.engine.batch(ctx.own_batch()).await? {
            Some(batch) if batch.state == BatchState::Complete => {
                ctx.set_result(format!("{} pages", batch.counters.ok));
                return Ok(Done::Complete);
            }
            Some(batch) if batch.state != BatchState::Processing => {
                let text = format!("{} of {} pages failed", batch.counters.failed, batch.counters.total);
                return Err(Failure::new(Code::HandlerFailed, text));
            }
            _ => {}
        }
        // An attempt that is made again opens the same batch with the same members.
        let pages: Vec<Page> = (1..=report.pages).map(|number| Page { number }).collect();
        let batch = self.engine.enqueue_batch(&pages, BatchOptions::default().of(&ctx)).await?;
        Ok(Done::AwaitBatch(batch))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    run().await
}

/// The whole example.
pub async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::open("sqlite::memory:").await?;
    engine.register(Pages);
    engine.register(Reports { engine: engine.clone() });
    let running = engine.start();

    let report = engine.enqueue(&Report { pages: 100 }).await?;
    let row = engine.job_ended(report).await?.ok_or("the job is gone")?;
    println!("{}: {}", row.shown.as_str(), row.result.as_deref().unwrap_or("nothing"));
    running.drain().await;
    if row.result.as_deref() == Some("100 pages") { Ok(()) } else { Err("pages are missing".into()) }
}
