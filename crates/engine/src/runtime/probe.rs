//! Finding out whether a target is well again: exactly one trial call in the whole fleet, made by the oldest held job.

use std::sync::Arc;
use std::time::Duration;

use redrive_model::breaker::{Breaker, Call, Probe};
use redrive_model::{Target, Timestamp};
use redrive_store::{Claim, ClaimMode, Want};

use super::breakers::{change, probe_ended};
use super::{Worker, attempt, fail_fast, give_held_back};
use crate::ids;

/// While some breaker is open it is looked at so often.
const OFTEN: Duration = Duration::from_millis(500);
/// Else so often.
const SELDOM: Duration = Duration::from_secs(2);

pub(crate) async fn run(worker: Arc<Worker>) {
    let mut wait = OFTEN;
    loop {
        tokio::select! {
            () = tokio::time::sleep(wait.mul_f64(0.8 + 0.4 * ids::fraction())) => {}
            () = worker.draining.cancelled() => return,
        }
        wait = match look(&worker).await {
            Ok(true) => OFTEN,
            Ok(false) => SELDOM,
            Err(error) => {
                tracing::debug!(event = "breaker.look_failed", "{error}");
                SELDOM
            }
        };
    }
}

/// Looks at all breakers; answers whether one of them is not closed.
pub(crate) async fn look(worker: &Arc<Worker>) -> redrive_store::Result<bool> {
    let rows = worker.store.breakers().await?;
    let now = worker.store.now().await?;
    worker.breakers.learn(&rows, now);
    give_held_back(worker).await;
    fail_fast::run(worker, &rows, now).await?;
    let open: Vec<_> = rows.into_iter().filter(|row| row.breaker.next_probe_at().is_some()).collect();
    if open.is_empty() {
        return Ok(false);
    }
    let due = open.iter().filter(|row| row.breaker.next_probe_at().is_some_and(|at| at <= now));
    let due: Vec<&Target> = due.filter(|row| !row.breaker.is_held(now)).map(|row| &row.target).collect();
    if due.is_empty() {
        return Ok(true);
    }
    // Without a job that waits for it nobody asks.
    let lanes = worker.store.counts().await?.lanes;
    let wanted = |target: &Target| {
        lanes.iter().any(|lane| {
            lane.queued > 0 && lane.targets.contains(target) && worker.registry.get(&lane.workload).is_some()
        })
    };
    for target in due.into_iter().filter(|target| wanted(target)) {
        probe(worker, target).await?;
    }
    Ok(true)
}

async fn probe(worker: &Arc<Worker>, target: &Target) -> redrive_store::Result<()> {
    let config = (worker.options.breaker)(target);
    let start = |breaker: &mut Breaker, now: Timestamp| breaker.start_probe(&config, now, worker.id);
    let (probe, breaker) = change(&*worker.store, target, start).await?;
    // Somebody else may have been faster: the right is what the row says.
    let Some(probe) = probe.filter(|probe| is_ours(&breaker, probe)) else { return Ok(()) };
    let wants = worker.registry.names().into_iter().map(|workload| Want::new(workload, 1)).collect();
    let claim = Claim {
        worker: worker.id,
        wants,
        limit: 1,
        ttl: worker.options.lease_ttl,
        mode: ClaimMode::Probe(target.clone()),
        rooms: Vec::new(),
    };
    match worker.store.claim(claim).await.map(|claimed| claimed.into_iter().next()) {
        Ok(Some(claimed)) => {
            tracing::info!(event = "breaker.probe", %target, job_id = %claimed.lease.job, "one job tries the target");
            worker.breakers.put_probe(claimed.lease, target.clone(), probe);
            let started = worker.slots.start_now(claimed, &worker.registry);
            tokio::spawn(attempt::run_on(worker.clone(), started));
        }
        // It was taken or cancelled meanwhile: the next look tries again.
        Ok(None) => probe_ended(worker, target, probe, Call::Neutral).await,
        Err(error) => {
            probe_ended(worker, target, probe, Call::Neutral).await;
            return Err(error);
        }
    }
    Ok(())
}

fn is_ours(breaker: &Breaker, probe: &Probe) -> bool {
    matches!(&breaker.phase, redrive_model::breaker::Phase::HalfOpen { probe: at } if at == probe)
}
