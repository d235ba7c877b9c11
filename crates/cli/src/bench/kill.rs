//! How long a job is at rest whose process was killed: from `kill -9` until it runs in the next one.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::child::WorkerProcess;
use super::load::Endless;
use super::place::Place;

/// Seconds from the kill until the job runs again. Another worker is started at once.
pub(crate) async fn kill(place: &Place, ttl: Duration) -> Result<Duration> {
    let engine = place.engine().await?;
    engine.enqueue(&Endless).await?;
    drop(engine);
    let mut first = WorkerProcess::start(&place.url, ttl)?;
    first.until_it_runs()?;
    first.kill()?;
    let killed = Instant::now();
    let mut second = WorkerProcess::start(&place.url, ttl)?;
    second.until_it_runs()?;
    Ok(killed.elapsed())
}
