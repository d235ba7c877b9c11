//! How fast a full queue is run to its end: every job succeeds, or every job fails once and then succeeds.

use std::time::{Duration, Instant};

use anyhow::Result;
use redrive::Engine;
use redrive::model::State;

use super::load::{Counter, DoNothing, FailOnce, Fragile, Nothing};
use super::place::Place;

/// Jobs per second, from the start of the worker until the last success is in the database.
pub(crate) async fn drain(place: &Place, jobs: usize) -> Result<f64> {
    let engine = place.engine().await?;
    engine.enqueue_many(&vec![Nothing::new(); jobs]).await?;
    let counter = Counter::to(jobs);
    engine.register(DoNothing(counter.clone()));
    let took = run(place, &engine, &counter, jobs).await?;
    Ok(jobs as f64 / took.as_secs_f64())
}

/// Executions per second, two per job: the first fails, the second succeeds.
pub(crate) async fn failures(place: &Place, jobs: usize) -> Result<f64> {
    let engine = place.engine().await?;
    engine.enqueue_many(&vec![Fragile::new(); jobs]).await?;
    let counter = Counter::to(jobs * 2);
    engine.register(FailOnce(counter.clone()));
    let took = run(place, &engine, &counter, jobs).await?;
    Ok((jobs * 2) as f64 / took.as_secs_f64())
}

async fn run(place: &Place, engine: &Engine, counter: &Counter, jobs: usize) -> Result<Duration> {
    place.settle().await?;
    let started = Instant::now();
    let running = engine.start();
    counter.reached().await;
    while engine.store().counts().await?.total(State::Complete) < jobs as u64 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let took = started.elapsed();
    running.drain().await;
    Ok(took)
}
