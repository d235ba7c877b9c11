//! The smallest thing that works: one kind of job, one job, done.
//!
//! `cargo run --example hello`
#![allow(clippy::print_stdout, reason = "an example talks")]

use redrive::{Context, Done, Engine, Failure, Input, Workload};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Hello {
    name: String,
}

impl Input for Hello {
    const WORKLOAD: &'static str = "hello";
}

struct Greeter;

impl Workload for Greeter {
    type Input = Hello;

    async fn run(&self, ctx: Context, hello: Hello) -> Result<Done, Failure> {
        println!("Hello {}! (job {}, attempt {})", hello.name, ctx.job(), ctx.attempt());
        Ok(Done::Complete)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    run().await
}

/// The whole example.
pub async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::open("sqlite::memory:").await?; // "sqlite:jobs.db" keeps them
    engine.register(Greeter);
    let job = engine.enqueue(&Hello { name: "world".into() }).await?;

    let running = engine.start();
    engine.job_ended(job).await?;
    running.drain().await;

    let story = engine.explain(job).await?.ok_or("the job is gone")?;
    println!("{}", story.lines().join("\n"));
    Ok(())
}
