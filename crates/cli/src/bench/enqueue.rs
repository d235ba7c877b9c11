//! How fast work is handed in while nobody works: one at a time from several callers, and all at once.

use std::time::Instant;

use anyhow::Result;

use super::load::Nothing;
use super::place::Place;

/// Callers at the same time, on every side.
pub(crate) const CALLERS: usize = 8;

/// One job per call; each is durable before its caller goes on.
pub(crate) async fn singles(place: &Place, jobs: usize) -> Result<f64> {
    let engine = place.engine().await?;
    place.settle().await?;
    let share = jobs / CALLERS;
    let started = Instant::now();
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let engine = engine.clone();
            tokio::spawn(async move {
                for _ in 0..share {
                    engine.enqueue(&Nothing::new()).await?;
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for caller in callers {
        caller.await??;
    }
    Ok((share * CALLERS) as f64 / started.elapsed().as_secs_f64())
}

/// Everything in one call.
pub(crate) async fn bulk(place: &Place, jobs: usize) -> Result<f64> {
    let engine = place.engine().await?;
    place.settle().await?;
    let inputs = vec![Nothing::new(); jobs];
    let started = Instant::now();
    engine.enqueue_many(&inputs).await?;
    Ok(jobs as f64 / started.elapsed().as_secs_f64())
}
