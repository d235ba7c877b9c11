//! Work that never ends: one at a time in the whole fleet.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redrive_engine::model::backoff::Backoff;
use redrive_engine::model::{Code, State};
use redrive_engine::{Context, Done, Failure, Permanent, Policy};

use crate::bench::{Bench, eventually};

#[derive(Clone, Default)]
struct Counter {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    runs: Arc<AtomicUsize>,
    fails: bool,
}

impl Permanent for Counter {
    fn policy(&self) -> Policy {
        Policy { backoff: Backoff::none(), ..Policy::permanent() }
    }

    async fn run(&self, ctx: Context) -> Result<Done, Failure> {
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let done = ctx.state::<usize>()?.unwrap_or(0);
        ctx.save_state(&(done + 1)).await?;
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.now.fetch_sub(1, Ordering::SeqCst);
        if self.fails {
            return Err(Failure::new(Code::HandlerRefused, "always"));
        }
        Ok(Done::RescheduleIn(Duration::from_millis(1)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_per_name_in_the_whole_fleet() {
    let bench = Bench::new().await;
    let counter = Counter::default();
    let mut ids = Vec::new();
    let mut running = Vec::new();
    for _ in 0..4 {
        let engine = bench.engine().await;
        ids.push(engine.permanent("count", counter.clone()).await.unwrap());
        running.push(engine.start());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "one job, whoever asks");
    eventually(async || (counter.runs.load(Ordering::SeqCst) >= 50).then_some(())).await;
    for running in running {
        running.drain().await;
    }
    assert_eq!(counter.most.load(Ordering::SeqCst), 1);
    let row = bench.row(ids[0]).await;
    assert_eq!((row.state, row.attempt), (State::Queued, 0));
}

/// Not even a failure that no other job would survive ends it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_never_gives_up() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let counter = Counter { fails: true, ..Counter::default() };
    let id = engine.permanent("fails", counter.clone()).await.unwrap();
    let running = engine.start();
    eventually(async || (counter.runs.load(Ordering::SeqCst) >= 40).then_some(())).await;
    running.drain().await;
    let row = bench.row(id).await;
    assert!(row.state == State::Queued && row.attempt >= 39, "{row:#?}");
    assert_eq!(bench.dead().await, []);
}

/// What never ends keeps its last attempts only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_history_does_not_grow_for_ever() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let counter = Counter::default();
    let id = engine.permanent("count", counter.clone()).await.unwrap();
    let running = engine.start();
    eventually(async || (counter.runs.load(Ordering::SeqCst) >= 350).then_some(())).await;
    running.drain().await;
    let attempts = bench.store.attempts(id).await.unwrap();
    assert!((100..200).contains(&attempts.len()), "{} attempts are kept", attempts.len());
}

/// A finished job goes when its time is over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_kept_long_enough_is_removed() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let mut does = crate::kit::Does::new(|_, _| async { Ok(Done::Complete) });
    does.policy.keep.complete = Some(Duration::from_millis(1));
    engine.register(does);
    let goes = engine.enqueue(&crate::kit::Task::n(1)).await.unwrap();
    let _running = engine.start();
    eventually(async || bench.store.job(goes).await.unwrap().is_none().then_some(())).await;
}
