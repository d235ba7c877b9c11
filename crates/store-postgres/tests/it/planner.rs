//! Limits must not depend on the planner's mood.

use std::collections::HashSet;
use std::time::Duration;

use redrive_model::{WorkerId, WorkloadName};
use redrive_store::{Claim, ClaimMode, Enqueue, NewJob, Store, Want};
use redrive_store_conformance::Harness;
use redrive_store_postgres::Options;

use crate::harness::{Postgres, execute};

fn job(n: u32) -> NewJob {
    let id = redrive_model::JobId::from_uuid(uuid::Uuid::from_u128(
        0x0190_0000_0000_7000_8000_0000_0000_0000 + u128::from(n),
    ));
    NewJob::new(id, WorkloadName::new("work").unwrap(), vec![1])
}

fn claim(worker: u128) -> Claim {
    Claim {
        worker: WorkerId::from_uuid(uuid::Uuid::from_u128(worker)),
        wants: vec![Want::new(WorkloadName::new("work").unwrap(), 7)],
        limit: 7,
        ttl: Duration::from_secs(60),
        mode: ClaimMode::Normal,
        rooms: Vec::new(),
    }
}

/// 32 claimers on 500 jobs with join methods switched off: no batch exceeds its limit, each job is claimed once.
async fn hostile(settings: &[(&'static str, &'static str)]) {
    let h = Postgres::with(Options::default().planner(settings)).await;
    let jobs = (0..500).map(job).collect();
    h.store.enqueue(Enqueue::jobs(jobs)).await.unwrap();
    execute(format!("ANALYZE {}.jobs", h.schema)).await;
    let claimers = (0..32u128).map(|worker| {
        let store = h.store();
        tokio::spawn(async move {
            let mut mine = Vec::new();
            loop {
                let claimed = store.claim(claim(worker + 1)).await.unwrap();
                assert!(claimed.len() <= 7, "{} jobs in a claim of 7", claimed.len());
                if claimed.is_empty() {
                    return mine;
                }
                mine.extend(claimed.into_iter().map(|c| c.lease));
            }
        })
    });
    let mut all = Vec::new();
    for claimer in claimers.collect::<Vec<_>>() {
        all.extend(claimer.await.unwrap());
    }
    assert_eq!(all.len(), 500);
    assert_eq!(all.iter().map(|lease| lease.job).collect::<HashSet<_>>().len(), 500, "each job once");
    assert!(all.iter().all(|lease| lease.token.0 == 1));
}

/// Also covers: M24.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_keeps_its_limit_without_hash_and_merge_joins_and_material() {
    hostile(&[
        ("enable_hashjoin", "off"),
        ("enable_mergejoin", "off"),
        ("enable_material", "off"),
        ("jit", "off"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_keeps_its_limit_without_nested_loops() {
    hostile(&[("enable_nestloop", "off"), ("jit", "off")]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_keeps_its_limit_with_the_planner_left_alone() {
    hostile(&[]).await;
}
