//! Very many sets of targets: every job has its turn, and with few of them the order is exact.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use redrive_model::JobId;
use redrive_store::{Claim, NewJob, When};

use crate::Harness;
use crate::kit::{Kit, ids, secs, target};

/// Three hundred sets of targets, several jobs in each: every job is claimed in the end, none twice.
pub async fn with_three_hundred_target_sets_every_job_has_its_turn(h: &dyn Harness) {
    let k = Kit::new(h);
    let mut put = BTreeSet::new();
    for n in 0..300 {
        let name = format!("host:{n}.example");
        let jobs = (0..3).map(|p| NewJob { priority: p, ..k.job_on(&[name.as_str()]) }).collect();
        put.extend(k.put(jobs).await);
    }
    let mut got: Vec<JobId> = Vec::new();
    for _ in 0..200 {
        got.extend(k.claim_ids(50).await);
        if got.len() >= put.len() {
            break;
        }
    }
    assert_eq!(got.len(), put.len(), "not every job was claimed");
    assert_eq!(got.iter().copied().collect::<BTreeSet<_>>(), put);
}

/// With at most 64 sets the priority is respected across all of them.
pub async fn with_sixty_four_target_sets_the_order_is_exact(h: &dyn Harness) {
    let k = Kit::new(h);
    let mut expected = Vec::new();
    for n in 0..64u8 {
        let priority = n % 10;
        let id = k.put_one(NewJob { priority, ..k.job_on(&[&format!("host:{n}")]) }).await;
        expected.push((priority, id));
    }
    expected.sort_unstable();
    let mut got = Vec::new();
    while got.len() < 64 {
        got.extend(k.claim_ids(10).await);
    }
    assert_eq!(got, expected.into_iter().map(|(_, id)| id).collect::<Vec<_>>());
    k.audit().await;
}

/// Hundreds of sets whose jobs are all due later or held do not keep a worker from the one that can run.
pub async fn hundreds_of_waiting_target_sets_do_not_hide_the_one_that_can_run(h: &dyn Harness) {
    let k = Kit::new(h);
    let jobs = (0..400).map(|n| {
        let when = When::In(secs(if n % 2 == 0 { 3_600 } else { 0 }));
        NewJob { when, ..k.job_on(&[&format!("host:{n}")]) }
    });
    k.put(jobs.collect()).await;
    let full: Vec<_> = (0..400).map(|n| (target(&format!("host:{n}")), 0)).collect();
    let ready = k.put_one(k.job_on(&["open"])).await;
    let mut got = Vec::new();
    for _ in 0..20 {
        got.extend(ids(&k.claim_with(Claim { rooms: full.clone(), ..k.ask(10) }).await));
    }
    assert_eq!(got, [ready]);
}

/// While as much new work keeps coming for the same hundred sets as is claimed, jobs of the others still have their turn.
pub async fn a_steady_stream_of_other_sets_does_not_starve_one(h: &dyn Harness) {
    let k = Kit::new(h);
    let jobs = (0..300).map(|n| k.job_on(&[&format!("host:{n}")]));
    let mut waiting: HashSet<JobId> = k.put(jobs.collect()).await.into_iter().collect();
    for round in 0..300 {
        k.advance(Duration::from_millis(1)).await;
        let fresh = (0..10).map(|n| k.job_on(&[&format!("host:{}", (round * 10 + n) % 100)]));
        k.put(fresh.collect()).await;
        for id in k.claim_ids(10).await {
            waiting.remove(&id);
        }
        if waiting.is_empty() {
            return;
        }
    }
    panic!("{} of the first jobs were never claimed", waiting.len());
}
