//! Stopping: what runs may end, what does not end is given back, what has not started is given back at once.

use std::sync::Arc;
use std::time::Duration;

use redrive_engine::model::State;
use redrive_engine::{Done, Options};
use tokio::sync::Semaphore;

use crate::bench::{Bench, eventually, quick};
use crate::kit::{Does, Task};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_lets_a_short_job_end_and_claims_nothing_more() {
    let bench = Bench::new().await;
    let engine = bench.engine_with(Options { drain: Duration::from_secs(60), ..quick() }).await;
    let (gate, started) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (g, s) = (gate.clone(), started.clone());
    let mut does = Does::new(move |_, _| {
        let (gate, started) = (g.clone(), s.clone());
        async move {
            started.add_permits(1);
            gate.acquire().await.unwrap().forget();
            Ok(Done::Complete)
        }
    });
    does.concurrency = 1;
    engine.register(does);
    let runs = engine.enqueue(&Task::n(1)).await.unwrap();
    let waits = engine.enqueue(&Task::n(2)).await.unwrap();
    let running = engine.start();
    started.acquire().await.unwrap().forget();
    let drain = tokio::spawn(running.drain());
    gate.add_permits(1);
    assert_eq!(drain.await.unwrap(), 0);
    assert_eq!(bench.row(runs).await.state, State::Complete);
    let row = bench.row(waits).await;
    assert_eq!((row.state, row.attempt), (State::Queued, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_end_in_time_is_given_back_uncharged() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let started = Arc::new(Semaphore::new(0));
    let s = started.clone();
    engine.register(Does::new(move |ctx, _| {
        let started = s.clone();
        async move {
            started.add_permits(1);
            ctx.cancelled().await;
            std::future::pending::<()>().await;
            Ok(Done::Complete)
        }
    }));
    let id = engine.enqueue(&Task::n(1)).await.unwrap();
    let running = engine.start();
    started.acquire().await.unwrap().forget();
    assert_eq!(running.drain().await, 0);
    let row = bench.row(id).await;
    assert_eq!((row.state, row.attempt, row.releases), (State::Queued, 0, 1));
    assert_eq!(bench.outcomes(id).await, ["released"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_engines_share_the_work_and_one_may_go() {
    let bench = Bench::new().await;
    let (first, second) = (bench.engine().await, bench.engine().await);
    for engine in [&first, &second] {
        engine.register(Does::new(|_, _| async {
            tokio::task::yield_now().await;
            Ok(Done::Complete)
        }));
    }
    let tasks: Vec<Task> = (0..500).map(Task::n).collect();
    first.enqueue_many(&tasks).await.unwrap();
    let (a, b) = (first.start(), second.start());
    eventually(async || (bench.store.counts().await.unwrap().total(State::Complete) > 50).then_some(()))
        .await;
    assert_eq!(a.drain().await, 0);
    eventually(async || (bench.store.counts().await.unwrap().total(State::Complete) == 500).then_some(()))
        .await;
    assert_eq!(b.drain().await, 0);
}
