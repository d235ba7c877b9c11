//! Batches: exact counters, waiting for one's own, halving.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use redrive_engine::model::{BatchState, Code, Shown, State};
use redrive_engine::store::{JobFilter, PageRequest};
use redrive_engine::{
    BatchOptions, By, Context, Done, Engine, Failure, Input, Items, Many, Policy, Workload, member_id,
    member_number,
};
use serde::{Deserialize, Serialize};

use crate::bench::{Bench, eventually};
use crate::kit::{Does, Task, at_once};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_counts_exactly_and_ends_as_its_rule_says() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    engine.register(Does::new(|_, task: Task| async move {
        match task.n {
            0 => Err(Failure::new(Code::HandlerRefused, "no")),
            n if n % 10 == 3 => Err(Failure::new(Code::TargetError, "later")),
            _ => Ok(Done::Complete),
        }
    }));
    let running = engine.start();
    let tasks: Vec<Task> = (0..100).map(Task::n).collect();
    let strict = engine.enqueue_batch(&tasks, BatchOptions::default().label("all of them")).await.unwrap();
    let tolerant = engine.enqueue_batch(&tasks, BatchOptions::default().tolerant()).await.unwrap();
    let good = engine.enqueue_batch(&tasks[1..3], BatchOptions::default()).await.unwrap();
    let row = engine.batch_ended(strict).await.unwrap().unwrap();
    assert_eq!((row.state, row.label.as_deref()), (BatchState::Failed, Some("all of them")));
    let c = row.counters;
    assert_eq!((c.total, c.ok, c.failed, c.hard, c.cancelled), (100, 89, 11, 1, 0));
    assert_eq!(engine.batch_ended(tolerant).await.unwrap().unwrap().state, BatchState::Partial);
    assert_eq!(engine.batch_ended(good).await.unwrap().unwrap().state, BatchState::Complete);
    running.drain().await;
    assert!(engine.audit().await.unwrap().is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_batch_ends_and_takes_no_more() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    engine.register(Does::new(|ctx: Context, _| async move {
        ctx.cancelled().await;
        Ok(Done::Complete)
    }));
    let running = engine.start();
    let tasks: Vec<Task> = (0..300).map(Task::n).collect();
    let mut batch = engine.open_batch::<Task>(BatchOptions::default()).await.unwrap();
    batch.add(&tasks).await.unwrap();
    eventually(async || (running.active() >= 4).then_some(())).await;
    let id = batch.id();
    let stopped = engine.cancel_batch(id, &By::new("ann")).await.unwrap();
    let row = engine.batch_ended(id).await.unwrap().unwrap();
    assert_eq!(row.state, BatchState::Cancelled);
    assert_eq!((row.counters.cancelled, stopped), (300, 300));
    let refused = batch.add(&tasks[..1]).await.unwrap_err();
    assert!(refused.to_string().contains("sealed"), "{refused}");
    running.drain().await;
}

#[derive(Serialize, Deserialize)]
struct Parent {
    parts: u64,
}

impl Input for Parent {
    const WORKLOAD: &'static str = "parent";
}

struct FansOut {
    engine: Engine,
    runs: Arc<AtomicUsize>,
}

impl Workload for FansOut {
    type Input = Parent;

    fn policy(&self) -> Policy {
        at_once(5)
    }

    async fn run(&self, ctx: Context, parent: Parent) -> Result<Done, Failure> {
        let id = ctx.own_batch();
        if let Some(batch) =
            self.engine.batch(id).await?.filter(|batch| batch.state != BatchState::Processing)
        {
            ctx.set_result(format!("{} of {}", batch.counters.ok, batch.counters.total));
            return Ok(Done::Complete);
        }
        let tasks: Vec<Task> = (0..parent.parts).map(Task::n).collect();
        let mut batch = self.engine.open_batch(BatchOptions::default().of(&ctx)).await?;
        batch.add(&tasks).await?;
        if self.runs.fetch_add(1, Ordering::SeqCst) == 0 {
            return Err(Failure::new(Code::TargetError, "stopped in the middle"));
        }
        Ok(Done::AwaitBatch(batch.seal().await?))
    }
}

/// A job hands its parts in, waits without a slot, and goes on when they have ended; an attempt that is made again hands in
/// the same parts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_waits_for_its_parts_without_a_slot() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let (gate, open) = (Arc::new(tokio::sync::Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (g, o) = (gate.clone(), open.clone());
    engine.register(Does::new(move |_, _| {
        let (gate, open) = (g.clone(), o.clone());
        async move {
            open.fetch_add(1, Ordering::SeqCst);
            gate.acquire().await.unwrap().forget();
            Ok(Done::Complete)
        }
    }));
    engine.register(FansOut { engine: engine.clone(), runs: Arc::default() });
    let id = engine.enqueue(&Parent { parts: 50 }).await.unwrap();
    let running = engine.start();
    bench.until_row(id, |row| row.shown == Shown::WaitingBatch).await;
    eventually(async || (open.load(Ordering::SeqCst) >= 4).then_some(())).await;
    gate.add_permits(1_000);
    let row = bench.until(id, State::Complete).await;
    assert_eq!((row.result.as_deref(), row.attempt), (Some("50 of 50"), 2), "waiting costs no attempt");
    running.drain().await;
    assert!(engine.audit().await.unwrap().is_clean());
}

/// Fails for good when a bad number is among the items.
struct Bulk {
    calls: Arc<AtomicUsize>,
    done: Arc<std::sync::Mutex<Vec<u32>>>,
}

impl Many for Bulk {
    const WORKLOAD: &'static str = "bulk";
    type Item = u32;

    fn policy(&self) -> Policy {
        at_once(2)
    }

    async fn run(&self, _ctx: Context, items: Vec<u32>) -> Result<(), Failure> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if let Some(bad) = items.iter().find(|n| **n % 37 == 5) {
            return Err(Failure::new(Code::HandlerRefused, format!("item {bad} is bad")));
        }
        self.done.lock().unwrap().extend(items);
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_item_that_spoils_it_for_the_others_is_found_by_halving() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let bulk = Bulk { calls: Arc::default(), done: Arc::default() };
    let (calls, done) = (bulk.calls.clone(), bulk.done.clone());
    engine.register_many(bulk);
    let running = engine.start();
    let items = [Items::<Bulk>::new((0..100).collect()), Items::new(vec![1000])];
    let batch = engine.enqueue_batch(&items, BatchOptions::default()).await.unwrap();
    let row = engine.batch_ended(batch).await.unwrap().unwrap();
    // 5, 42 and 79 became jobs of their own, and failed.
    assert_eq!((row.counters.total, row.counters.ok, row.counters.failed), (5, 2, 3));
    assert_eq!(row.state, BatchState::Failed);
    let mut seen = done.lock().unwrap().clone();
    seen.sort_unstable();
    let good: Vec<u32> = (0..100).filter(|n| n % 37 != 5).chain([1000]).collect();
    assert_eq!(seen, good, "every good item once");
    let dead = bench.dead().await;
    let mut messages: Vec<&str> = dead.iter().map(|dead| dead.message.as_str()).collect();
    messages.sort_unstable();
    assert_eq!(messages, ["item 42 is bad", "item 5 is bad", "item 79 is bad"]);
    assert!(calls.load(Ordering::SeqCst) < 60, "halved, not one by one: {}", calls.load(Ordering::SeqCst));
    running.drain().await;
    assert!(engine.audit().await.unwrap().is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_is_seen_while_it_runs() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    engine.register(Does::new(|ctx: Context, _| async move {
        for n in 0..=1_000 {
            ctx.progress(n, Some(1_000), Some("rows")).await?;
        }
        Ok(Done::Complete)
    }));
    let id = engine.enqueue(&Task::n(1)).await.unwrap();
    let running = engine.start();
    bench.until(id, State::Complete).await;
    let rows = bench.store.jobs(JobFilter::default(), PageRequest::default()).await.unwrap().rows;
    let progress = rows.into_iter().find(|row| row.id == id).unwrap().progress.unwrap();
    assert_eq!((progress.done, progress.total, progress.note.as_deref()), (1_000, Some(1_000), Some("rows")));
    running.drain().await;
}

/// Unpacks its number into members of a batch, and dies once in the middle.
struct Unpacks {
    batch: redrive_engine::BatchId,
    died: Arc<AtomicUsize>,
}

impl Workload for Unpacks {
    type Input = Parent;

    fn policy(&self) -> Policy {
        at_once(5)
    }

    async fn run(&self, ctx: Context, parent: Parent) -> Result<Done, Failure> {
        let tasks: Vec<Task> = (0..parent.parts).map(Task::n).collect();
        let half = tasks.len() / 2;
        ctx.add_members(self.batch, 0, None, &tasks[..half]).await?;
        if self.died.fetch_add(1, Ordering::SeqCst) == 0 {
            return Err(Failure::new(Code::TargetError, "later"));
        }
        ctx.add_members(self.batch, u32::try_from(half).unwrap(), None, &tasks[half..]).await?;
        ctx.seal(self.batch).await?;
        ctx.seal(self.batch).await?;
        Ok(Done::Complete)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_adds_members_to_a_batch_and_adds_none_twice() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let batch = engine.open_batch::<Task>(BatchOptions::default()).await.unwrap().id();
    engine.register(Unpacks { batch, died: Arc::default() });
    engine.register(Does::new(|_, _: Task| async { Ok(Done::Complete) }));
    let running = engine.start();
    engine.enqueue(&Parent { parts: 100 }).await.unwrap();
    let row = engine.batch_ended(batch).await.unwrap().unwrap();
    assert_eq!((row.state, row.counters.total, row.counters.ok), (BatchState::Complete, 100, 100));
    let filter = JobFilter { batch: Some(batch), ..JobFilter::default() };
    let rows = bench.store.jobs(filter, PageRequest { limit: 200, cursor: None }).await.unwrap().rows;
    let numbers: Vec<_> = rows.iter().rev().map(|row| member_number(batch, row.id)).collect();
    assert_eq!(numbers, (0..100).map(Some).collect::<Vec<_>>());
    assert!(rows.iter().rev().zip(0..).all(|(row, n)| row.id == member_id(batch, n)));
    assert_eq!(member_number(batch, engine.new_id()), None);
    running.drain().await;
}
