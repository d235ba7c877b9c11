//! Running what is due, one job after the other, in the caller's own time: for tests.

use std::sync::Arc;

use redrive_store::{Claim, ClaimMode};
use tokio::time::Instant;

use super::{Worker, attempt, breakers, idle, probe};

/// Looks at the breakers, as a worker that runs does all the time: what goes well is told only of targets that something is known of.
pub(crate) async fn begin(worker: &Worker) -> redrive_store::Result<()> {
    let rows = worker.store.breakers().await?;
    worker.breakers.learn(&rows, worker.store.now().await?);
    Ok(())
}

/// Claims one job that is due, runs it to its end and records that. Answers whether there was one.
pub(crate) async fn step(worker: &Arc<Worker>) -> redrive_store::Result<bool> {
    for mode in [ClaimMode::Normal, ClaimMode::Alone] {
        let claim = Claim {
            worker: worker.id,
            wants: worker.slots.wants(&worker.registry),
            limit: 1,
            ttl: worker.options.lease_ttl,
            mode,
            rooms: Vec::new(),
        };
        if let Some(claimed) = worker.store.claim(claim).await?.into_iter().next() {
            let started = worker.slots.start_now(claimed, &worker.registry);
            attempt::run(worker, started).await;
            idle(worker, Instant::now() + worker.options.lease_ttl).await;
            breakers::flush(worker).await;
            return Ok(true);
        }
    }
    // A target that was down may have been given its time.
    if probe::look(worker).await? && worker.slots.held() > 0 {
        idle(worker, Instant::now() + worker.options.lease_ttl).await;
        return Ok(true);
    }
    Ok(false)
}
