//! What stays the same when the tables are full: the claim, and memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use redrive_model::breaker::{Breaker, Hold};
use redrive_model::{Policy, Target, TargetSet};
use redrive_store::{Enqueue, Store};

use super::measure::{percentile, resident_mib};
use super::ours::{claim_of, drain, enqueue, enqueue_for, new_job, success};

/// Holds a target by hand.
pub async fn hold(store: &Arc<dyn Store>, target: &Target) -> Result<()> {
    let now = store.now().await?;
    let mut breaker = Breaker::new(now);
    breaker.hold(Hold { by: "bench".into(), reason: "bench".into(), since: now, until: None });
    store.swap_breaker(target, None, &breaker, None).await?;
    Ok(())
}

/// The 99th percentile of claiming ten ready jobs, over so many claims. Each claim is paid back by its finish, which is
/// not in the measured time.
pub async fn claim_p99(store: &Arc<dyn Store>, claims: usize) -> Result<Duration> {
    let policy = Policy::on_demand();
    let mut times = Vec::with_capacity(claims);
    for _ in 0..claims {
        let now = store.now().await?;
        let jobs = (0..10).map(|_| new_job(now)).collect::<Result<Vec<_>>>()?;
        store.enqueue(Enqueue::jobs(jobs)).await?;
        let started = Instant::now();
        let claimed = store.claim(claim_of(10)?).await?;
        times.push(started.elapsed());
        anyhow::ensure!(claimed.len() == 10, "{} of 10 claimed", claimed.len());
        let finishes = claimed.iter().map(|c| success(c, &policy.version(), policy.keep.complete)).collect();
        store.finish(finishes).await?;
    }
    Ok(percentile(times, 99))
}

/// Fills the store with finished and with held jobs.
pub async fn fill(store: &Arc<dyn Store>, finished: usize, held: usize) -> Result<()> {
    enqueue(store, finished, 1).await?;
    drain(store, finished, 1).await?;
    let target = Target::new("gateway")?;
    hold(store, &target).await?;
    enqueue_for(store, &TargetSet::new([target])?, held).await
}

/// Resident memory before, at its highest and after draining so many jobs, in MiB.
pub async fn memory(store: &Arc<dyn Store>, total: usize) -> Result<(f64, f64, f64)> {
    enqueue(store, total, 1).await?;
    let before = resident_mib();
    let mut highest = before;
    for _ in 0..10 {
        drain_some(store, total / 10).await?;
        highest = highest.max(resident_mib());
    }
    Ok((before, highest, resident_mib()))
}

async fn drain_some(store: &Arc<dyn Store>, total: usize) -> Result<()> {
    let policy = Policy::on_demand();
    let mut done = 0;
    while done < total {
        let claimed = store.claim(claim_of(100)?).await?;
        if claimed.is_empty() {
            break;
        }
        done += claimed.len();
        let finishes = claimed.iter().map(|c| success(c, &policy.version(), policy.keep.complete)).collect();
        store.finish(finishes).await?;
    }
    Ok(())
}
