//! Totals that are kept beside the rows equal the rows: batch counters, counts, the queue.

use std::collections::{BTreeMap, BTreeSet};

use redrive_model::batch::{Counters, end_state};
use redrive_model::{BatchId, Shown, State, TargetSet, WorkloadName, instant};
use redrive_store::{JobFilter, JobRow, Store};

use super::all_jobs;

pub(super) async fn check(store: &dyn Store, rows: &[JobRow]) {
    let batches: BTreeSet<BatchId> = rows.iter().filter_map(|row| row.batch).collect();
    for id in batches {
        batch(store, id).await;
    }
    counts(store, rows).await;
    queue(store, rows).await;
}

async fn batch(store: &dyn Store, id: BatchId) {
    let members = all_jobs(store, JobFilter { batch: Some(id), ..JobFilter::default() }).await;
    let count = |state: State| members.iter().filter(|m| m.state == state).count() as u64;
    let hard =
        members.iter().filter(|m| m.failure_code.is_some_and(|code| !code.is_retryable())).count() as u64;
    let told = Counters {
        total: members.len() as u64,
        ok: count(State::Complete),
        failed: count(State::Failed),
        hard,
        cancelled: count(State::Cancelled),
    };
    let row = store.batch(id).await.unwrap().expect("the batch of a job");
    assert_eq!(row.counters, told, "the counters of {row:#?} and its members {members:#?}");
    assert_eq!(row.state, end_state(&told, row.sealed, row.end_rule), "{row:#?}");
    assert_eq!(row.finished_at.is_some(), row.state.is_ended(), "{row:#?}");
    assert_eq!(row.last_failure.is_some(), row.last_failure_at.is_some(), "{row:#?}");
    let mut failures: BTreeMap<(i64, &str), u64> = BTreeMap::new();
    for member in &members {
        if let (Some(code), Some(at)) = (member.failure_code, member.finished_at) {
            let minute = instant::to_millis(at).div_euclid(60_000) * 60_000;
            *failures.entry((minute, code.name())).or_default() += 1;
        }
    }
    let told = store.batch_failures(id).await.unwrap();
    let told: Vec<_> = told.iter().map(|f| ((instant::to_millis(f.minute), f.code.name()), f.jobs)).collect();
    assert_eq!(told, failures.into_iter().collect::<Vec<_>>(), "what failed in {row:#?}, by minute and code");
}

async fn counts(store: &dyn Store, rows: &[JobRow]) {
    let counts = store.counts().await.unwrap();
    let mut states: BTreeMap<(WorkloadName, State), u64> = BTreeMap::new();
    let mut lanes: BTreeMap<(WorkloadName, TargetSet), (u64, u64)> = BTreeMap::new();
    for row in rows {
        *states.entry((row.workload.clone(), row.state)).or_default() += 1;
        let lane = || (row.workload.clone(), row.targets.clone());
        match row.state {
            State::Queued => lanes.entry(lane()).or_default().0 += 1,
            State::Processing => lanes.entry(lane()).or_default().1 += 1,
            State::Complete | State::Failed | State::Cancelled => {}
        }
    }
    let told: BTreeMap<_, _> =
        counts.states.iter().map(|c| ((c.workload.clone(), c.state), c.jobs)).collect();
    assert_eq!(told.len(), counts.states.len(), "a workload and state is counted once: {counts:#?}");
    assert_eq!(told, states, "counts by state are the rows");
    let told: BTreeMap<_, _> = counts
        .lanes
        .iter()
        .map(|c| ((c.workload.clone(), c.targets.clone()), (c.queued, c.processing)))
        .collect();
    assert_eq!(told.len(), counts.lanes.len(), "a workload and set of targets is counted once: {counts:#?}");
    assert_eq!(told, lanes, "counts by targets are the rows");
}

async fn queue(store: &dyn Store, rows: &[JobRow]) {
    let stats = store.queue().await.unwrap();
    let count = |shown: Shown| rows.iter().filter(|row| row.shown == shown).count() as u64;
    assert_eq!(stats.ready, count(Shown::Queued), "{stats:#?}");
    assert_eq!(stats.scheduled, count(Shown::Scheduled), "{stats:#?}");
    assert_eq!(stats.waiting_retry, count(Shown::WaitingRetry), "{stats:#?}");
    assert_eq!(stats.held, count(Shown::Held), "{stats:#?}");
    assert_eq!(stats.processing, count(Shown::Processing), "{stats:#?}");
    assert_eq!(stats.oldest_age.is_some(), stats.ready > 0, "{stats:#?}");
    assert!(!stats.capped, "{stats:#?}");
    let queues = store.queues().await.unwrap();
    assert!(queues.is_sorted_by(|a, b| a.workload < b.workload), "each once, by name: {queues:#?}");
    for queue in &queues {
        let waiting = |row: &&JobRow| row.workload == queue.workload && row.shown == Shown::Queued;
        assert_eq!(queue.stats.ready, rows.iter().filter(waiting).count() as u64, "{queue:#?}");
    }
}
