//! The n-th fault: one short story is told once to count the calls of every verb of the store; then it is told again for every
//! verb, every call and every way to go wrong, and audited.

mod place;
mod story;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use redrive_engine::store::{JobFilter, JobRow, PageRequest, Store};
use redrive_lab::faulty::{Fault, Faulty, Plan};
use redrive_model::{State, instant};
use redrive_store_conformance::Audit;
use tokio::runtime::Builder;

use crate::kit::eventually;
use place::Place;
use story::{LEASE, engine, hand_in, steps};

const FAULTS: [Fault; 5] = [
    Fault::Refused,
    Fault::AnswerLost,
    Fault::Late(LEASE.saturating_mul(2)),
    Fault::CrashBefore,
    Fault::CrashAfter,
];

/// Also covers: M25, E5.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_any_single_fault_of_any_call_loses_nothing() {
    sweep(&Place::Sqlite, 2).await;
}

/// Also covers: M25, E5.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_any_single_fault_of_a_first_call_loses_nothing() {
    sweep(&Place::postgres().await, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_on_sqlite_any_single_fault_of_any_call_loses_nothing() {
    sweep(&Place::Sqlite, 20).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_on_postgres_any_single_fault_of_any_call_loses_nothing() {
    sweep(&Place::postgres().await, 20).await;
}

/// Faults of the first `upto` calls of every verb.
async fn sweep(place: &Place, upto: usize) {
    let calls = tell(place, None).await.calls;
    for verb in
        ["enqueue", "enqueue_for", "claim", "extend", "finish", "save_state", "report_progress", "batch"]
    {
        assert!(calls.contains_key(verb), "the story never calls {verb}: {calls:?}");
    }
    let plans: Vec<Plan> = calls
        .iter()
        .flat_map(|(verb, calls)| (1..=upto.min(*calls)).map(move |nth| (*verb, nth)))
        .flat_map(|(verb, nth)| FAULTS.map(|fault| Plan { verb, nth, fault }))
        .collect();
    let told: Vec<Told> = futures::stream::iter(plans)
        .map(|plan| tell(place, Some(plan)))
        .buffer_unordered(place.at_once())
        .collect()
        .await;
    let (happened, all) = (told.iter().filter(|t| t.happened).count(), told.len());
    println!("{happened} of {all} planned faults happened; calls of the undisturbed story: {calls:?}");
    // A call that is made now and then, such as a heartbeat, need not come in every telling.
    assert!(happened * 10 >= all * 8, "{happened} of {all}");
}

struct Told {
    calls: BTreeMap<&'static str, usize>,
    happened: bool,
}

/// Tells the story on a store that goes wrong once, to its end, and audits.
async fn tell(place: &Place, plan: Option<Plan>) -> Told {
    let opened = place.open().await;
    let store = opened.store();
    let faulty = Arc::new(match plan {
        Some(plan) => Faulty::new(store.clone(), plan),
        None => Faulty::counting(store.clone()),
    });
    // A runtime of its own is a process that can die.
    let process = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (stop, stopping) = tokio::sync::oneshot::channel::<()>();
    let first = process.spawn({
        let store: Arc<dyn Store> = faulty.clone();
        async move {
            let engine = loop {
                // Whoever starts it starts it again when the store did not answer.
                if let Ok(engine) = engine(store.clone()).await {
                    break engine;
                }
            };
            let running = engine.start();
            hand_in(&engine).await;
            let _ = stopping.await;
            running.drain().await;
        }
    });
    let crashes = plan.is_some_and(|p| matches!(p.fault, Fault::CrashBefore | Fault::CrashAfter));
    let dead = || crashes && faulty.happened();
    eventually(format!("the end of {plan:?}"), async || (dead() || all_ended(&*store).await).then_some(()))
        .await;
    let _ = stop.send(());
    eventually(format!("the end of its process: {plan:?}"), async || {
        (dead() || first.is_finished()).then_some(())
    })
    .await;
    process.shutdown_background();
    if dead() {
        again(&store, plan).await;
    }
    check(&*store, plan).await;
    opened.close().await;
    Told { calls: faulty.calls(), happened: faulty.happened() }
}

/// The process is started again, and so is its client.
async fn again(store: &Arc<dyn Store>, plan: Option<Plan>) {
    let engine = engine(store.clone()).await.unwrap();
    let running = engine.start();
    hand_in(&engine).await;
    eventually(format!("the end after {plan:?}"), async || all_ended(&**store).await.then_some(())).await;
    running.drain().await;
}

/// The story has ended as it must, and nobody can tell that something went wrong.
async fn check(store: &dyn Store, plan: Option<Plan>) {
    for step in steps() {
        let jobs = jobs_of(store, &format!("{step:?}")).await;
        // What has failed leaves its key free: a client that was interrupted hands it in again.
        let once = step.ends() == State::Complete;
        assert!(!jobs.is_empty() && (jobs.len() == 1 || !once), "{plan:?} {step:?} {jobs:#?}");
        for job in jobs {
            assert_eq!(job.state, step.ends(), "{plan:?} {job:#?}");
        }
    }
    let parent = jobs_of(store, "WaitsForParts").await.remove(0);
    assert_eq!(parent.result.as_deref(), Some("2 of 2"), "{plan:?} {parent:#?}");
    still(store).await;
    Audit::default().run(store).await;
}

/// The chores of a drained engine become due and then stay so: the audit looks several times and must see the same.
async fn still(store: &dyn Store) {
    eventually("the queue to be still", async || {
        let soon = instant::after(store.now().await.unwrap(), Duration::from_secs(30));
        store.next_due().await.unwrap().is_none_or(|due| due > soon).then_some(())
    })
    .await;
}

/// Every step was handed in, and nothing of the story is under way.
async fn all_ended(store: &dyn Store) -> bool {
    let jobs = story_jobs(store).await;
    let seen: BTreeSet<Option<String>> =
        jobs.iter().filter(|j| j.workload.as_str() == "step").map(|j| j.label.clone()).collect();
    seen.len() == steps().count() && jobs.iter().all(|job| job.state.is_terminal())
}

async fn story_jobs(store: &dyn Store) -> Vec<JobRow> {
    let page = PageRequest { limit: 200, ..PageRequest::default() };
    let rows = store.jobs(JobFilter::default(), page).await.unwrap().rows;
    rows.into_iter().filter(|job| matches!(job.workload.as_str(), "step" | "part")).collect()
}

async fn jobs_of(store: &dyn Store, label: &str) -> Vec<JobRow> {
    story_jobs(store).await.into_iter().filter(|job| job.label.as_deref() == Some(label)).collect()
}
