//! Stopping: what runs may end, what does not end is given back, what has not started is given back at once.

use std::sync::Arc;
use std::time::Duration;

use redrive_engine::model::{Code, State, WorkerId};
use redrive_engine::{By, Done, Options};
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

/// A handler that waits at a gate; how many have begun is counted.
fn gated(gate: &Arc<Semaphore>, started: &Arc<Semaphore>) -> Does {
    let (gate, started) = (gate.clone(), started.clone());
    Does::new(move |_, _| {
        let (gate, started) = (gate.clone(), started.clone());
        async move {
            started.add_permits(1);
            gate.acquire().await.unwrap().forget();
            Ok(Done::Complete)
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_is_wanted_drained_finishes_what_it_has_takes_nothing_and_comes_back() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let (gate, started) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    engine.register(gated(&gate, &started));
    let running = engine.start();
    let runs = engine.enqueue(&Task::n(1)).await.unwrap();
    started.acquire().await.unwrap().forget();
    let by = By::new("ann").because("the machine is replaced");
    let draining = async |wanted: bool| {
        eventually(async || {
            let rows = bench.store.workers().await.unwrap();
            rows.iter().any(|row| row.id == running.id() && row.draining == wanted).then_some(())
        })
        .await;
    };
    // Seen first, so that it is known.
    draining(false).await;
    engine.drain_worker(running.id(), true, &by).await.unwrap();
    draining(true).await;
    let waits = engine.enqueue(&Task::n(2)).await.unwrap();
    gate.add_permits(1);
    bench.until(runs, State::Complete).await;
    // Its own chores have gone too: it holds nothing any more.
    eventually(async || {
        let rows = bench.store.workers().await.unwrap();
        rows.iter().all(|row| row.leases == 0).then_some(())
    })
    .await;
    assert_eq!((bench.row(waits).await.state, started.available_permits()), (State::Queued, 0));
    engine.drain_worker(running.id(), false, &by).await.unwrap();
    gate.add_permits(1);
    bench.until(waits, State::Complete).await;
    draining(false).await;
    running.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_worker_is_told_another_does_not_hear_and_one_that_is_gone_is_told_nothing() {
    let bench = Bench::new().await;
    let (first, second) = (bench.engine().await, bench.engine().await);
    let (gate, at_first, at_second) =
        (Arc::new(Semaphore::new(100)), Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    first.register(gated(&gate, &at_first));
    second.register(gated(&gate, &at_second));
    let (a, b) = (first.start(), second.start());
    let seen = |id, draining| {
        let store = &bench.store;
        eventually(async move || {
            let rows = store.workers().await.unwrap();
            rows.iter().any(|row| row.id == id && row.draining == draining).then_some(())
        })
    };
    seen(a.id(), false).await;
    let by = By::new("ann");
    second.drain_worker(a.id(), true, &by).await.unwrap();
    seen(a.id(), true).await;
    let before = at_first.available_permits();
    for n in 0..20 {
        // Handed in where the drained one lives.
        let id = first.enqueue(&Task::n(n)).await.unwrap();
        bench.until(id, State::Complete).await;
    }
    assert_eq!((at_first.available_permits(), at_second.available_permits()), (before, 20));
    let gone = a.id();
    a.drain().await;
    eventually(async || {
        let refused = second.drain_worker(gone, true, &by).await.err()?;
        (refused.code() == Code::ConflictState).then_some(())
    })
    .await;
    let unknown = WorkerId::from_parts(bench.store.now().await.unwrap(), [7; 10]);
    assert_eq!(second.drain_worker(unknown, true, &by).await.unwrap_err().code(), Code::NotFound);
    b.drain().await;
}
