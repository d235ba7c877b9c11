//! How long an idle worker takes to start what is handed in: from before the call that enqueues until the handler runs.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::sync::mpsc;

use super::load::{Nothing, SayWhen};
use super::place::Place;

/// The worker has come to rest before the first sample.
const REST: Duration = Duration::from_secs(1);

/// So long before each sample, on every side: never in step with anybody's poll.
#[must_use]
pub(crate) fn gap(sample: usize) -> Duration {
    Duration::from_millis(20 + (sample as u64 * 7) % 13)
}

/// One figure per sample.
pub(crate) async fn pickup(place: &Place, samples: usize) -> Result<Vec<Duration>> {
    let engine = place.engine().await?;
    let (sender, mut starts) = mpsc::unbounded_channel();
    engine.register(SayWhen(sender));
    let running = engine.start();
    tokio::time::sleep(REST).await;
    let mut took = Vec::with_capacity(samples);
    for sample in 0..samples {
        tokio::time::sleep(gap(sample)).await;
        let began = Instant::now();
        engine.enqueue(&Nothing::new()).await?;
        let started = starts.recv().await.context("the worker is gone")?;
        took.push(started.duration_since(began));
    }
    running.drain().await;
    Ok(took)
}

/// The value below which so many of a hundred lie.
pub(crate) fn percentile(took: &[Duration], percent: usize) -> Duration {
    let mut sorted = took.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).copied().unwrap_or_default()
}
