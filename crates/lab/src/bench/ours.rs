//! Our side, through the trait alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use redrive_model::{JobId, Policy, Rule, TargetSet, Timestamp, WorkerId, WorkloadName};
use redrive_store::{Claim, ClaimMode, Claimed, Enqueue, Finish, Finished, NewJob, Store, Want};

use super::measure::per_second;
use super::{BATCH, INPUT, WORKLOAD};

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A new id that sorts behind all earlier ones.
#[must_use]
pub fn fresh_id(now: Timestamp) -> JobId {
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut draw = [0u8; 10];
    if let Some(tail) = draw.get_mut(2..) {
        tail.copy_from_slice(&n.to_be_bytes());
    }
    JobId::from_parts(now, draw)
}

/// A job with a small input.
pub fn new_job(now: Timestamp) -> Result<NewJob> {
    Ok(NewJob::new(fresh_id(now), WorkloadName::new(WORKLOAD)?, INPUT.to_vec()))
}

/// A worker that asks for full batches.
pub fn claim_of(limit: usize) -> Result<Claim> {
    Ok(Claim {
        worker: WorkerId::from_uuid(uuid::Uuid::from_u128(7)),
        wants: vec![Want::new(WorkloadName::new(WORKLOAD)?, limit)],
        limit,
        ttl: Duration::from_secs(60),
        mode: ClaimMode::Normal,
        rooms: Vec::new(),
    })
}

/// Enqueues `total` jobs in batches from `callers` at once; answers jobs per second.
pub async fn enqueue(store: &Arc<dyn Store>, total: usize, callers: usize) -> Result<f64> {
    let now = store.now().await?;
    let started = Instant::now();
    let run = |share: usize| {
        let store = store.clone();
        async move {
            for _ in 0..share / BATCH {
                let jobs = (0..BATCH).map(|_| new_job(now)).collect::<Result<Vec<_>>>()?;
                store.enqueue(Enqueue::jobs(jobs)).await?;
            }
            anyhow::Ok(())
        }
    };
    let tasks: Vec<_> = (0..callers).map(|_| tokio::spawn(run(total / callers))).collect();
    for task in tasks {
        task.await??;
    }
    Ok(per_second(total, started))
}

/// Claims and completes everything in batches from `workers` at once; answers jobs per second.
pub async fn drain(store: &Arc<dyn Store>, total: usize, workers: usize) -> Result<f64> {
    let policy = Policy::on_demand();
    let started = Instant::now();
    let run = || {
        let (store, version, keep) = (store.clone(), policy.version(), policy.keep.complete);
        async move {
            let mut done = 0usize;
            loop {
                let claimed = store.claim(claim_of(BATCH)?).await?;
                if claimed.is_empty() {
                    return anyhow::Ok(done);
                }
                let finishes = claimed.iter().map(|c| success(c, &version, keep)).collect();
                let answers = store.finish(finishes).await?;
                ensure!(answers.iter().all(|a| matches!(a, Finished::Recorded(_))), "a finish was refused");
                done += answers.len();
            }
        }
    };
    let tasks: Vec<_> = (0..workers).map(|_| tokio::spawn(run())).collect();
    let mut done = 0;
    for task in tasks {
        done += task.await??;
    }
    ensure!(done == total, "{done} of {total} jobs were drained");
    Ok(per_second(total, started))
}

/// The finish of a plain success.
#[must_use]
pub fn success(claimed: &Claimed, policy: &str, keep: Option<Duration>) -> Finish {
    Finish {
        lease: claimed.lease,
        authority: redrive_store::Authority::Holder,
        step: redrive_store::Step::Complete { result: None, keep },
        report: redrive_store::Report {
            rule: Rule::HandlerCompleted,
            policy: policy.to_owned(),
            failure: None,
            fingerprint: None,
            target: None,
        },
        state: None,
        bytes: 0,
    }
}

/// Enqueues one job per call from many callers at once; answers jobs per second.
pub async fn singles(store: &Arc<dyn Store>, total: usize, callers: usize) -> Result<f64> {
    let now = store.now().await?;
    let started = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                for _ in 0..total / callers {
                    store.enqueue(Enqueue::jobs(vec![new_job(now)?])).await?;
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(per_second(total / callers * callers, started))
}

/// Jobs that depend on one target.
pub async fn enqueue_for(store: &Arc<dyn Store>, targets: &TargetSet, total: usize) -> Result<()> {
    let now = store.now().await?;
    for _ in 0..total / 5_000 {
        let jobs = (0..5_000)
            .map(|_| Ok(NewJob { targets: targets.clone(), ..new_job(now)? }))
            .collect::<Result<Vec<_>>>()?;
        store.enqueue(Enqueue::jobs(jobs)).await?;
    }
    Ok(())
}
