//! Targets that ask for time again and again: everybody behind them waits, for a day and no longer. Time is moved by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redrive_engine::model::decide::DeadReason;
use redrive_engine::model::{BatchState, Code, Shown, State, Target, Timestamp, instant};
use redrive_engine::store::clock::{Clock, ManualClock};
use redrive_engine::{BatchOptions, Context, Done, Engine, Failure, Policy};

use crate::bench::{Bench, quick};
use crate::kit::{Does, Task, at_once};

const HOUR: Duration = Duration::from_secs(3600);
/// A little longer than what was asked for: jobs come back over some seconds.
const ROUND: Duration = Duration::from_secs(3606);

fn task(n: u64) -> Task {
    Task { target: Some("host:a.example".into()), ..Task::n(n) }
}

fn asks() -> Failure {
    Failure::new(Code::TargetThrottled, "429").status(429).retry_after(HOUR)
}

struct World {
    bench: Bench,
    engine: Engine,
    clock: ManualClock,
    calls: Arc<AtomicUsize>,
}

impl World {
    /// What the target says to the nth call of it, and to which task. Those without a target go well.
    async fn new(
        policy: Policy,
        says: impl Fn(usize, u64) -> Result<Done, Failure> + Send + Sync + 'static,
    ) -> Self {
        let clock = ManualClock::new(instant::from_millis(1_800_000_000_000));
        let bench = Bench::with_clock(clock.clone());
        let engine = bench.engine_with(quick()).await;
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let mut does = Does::new(move |_: Context, task: Task| {
            let said = match task.target {
                Some(_) => says(counted.fetch_add(1, Ordering::SeqCst), task.n),
                None => Ok(Done::Complete),
            };
            async move { said }
        });
        does.policy = policy;
        engine.register(does);
        Self { bench, engine, clock, calls }
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Lets so many rounds of asking go by.
    async fn rounds(&self, rounds: usize) {
        for _ in 0..rounds {
            self.engine.run_until_idle().await.unwrap();
            self.clock.advance(ROUND);
        }
        self.engine.run_until_idle().await.unwrap();
    }

    /// Since when the target asks for time, as its row has it.
    async fn asking_since(&self) -> Option<Timestamp> {
        let row = self.bench.store.breaker(&Target::new("host:a.example").unwrap()).await.unwrap().unwrap();
        row.breaker.asking.map(|asking| asking.since)
    }
}

#[tokio::test]
async fn what_waits_for_a_target_that_only_asks_for_time_ends_together_after_a_day() {
    let world = World::new(at_once(3), |_, _| Err(asks())).await;
    let (engine, began) = (&world.engine, world.clock.now());
    let mut tasks: Vec<Task> = (0..60).map(task).collect();
    tasks.push(Task::n(1_000));
    let batch = engine.enqueue_batch(&tasks, BatchOptions::default()).await.unwrap();
    let waits = engine.enqueue(&task(99)).await.unwrap();
    world.rounds(2).await;
    assert_eq!(world.calls(), 3, "one asks after each hold");
    assert_eq!(world.asking_since().await, Some(began));
    assert_eq!(world.bench.row(waits).await.shown, Shown::Held);
    let told = engine.explain(waits).await.unwrap().unwrap().now;
    let ends = format!("without one good answer since {began}, and what waits for it is given up at {}", {
        instant::after(began, 24 * HOUR)
    });
    assert!(told.contains(&ends), "{told}");

    world.rounds(21).await;
    assert_eq!(world.bench.row(waits).await.state, State::Queued, "not before its time");
    world.rounds(1).await;
    let asked = instant::between(began, world.clock.now());
    assert!(asked < 25 * HOUR && world.calls() == 25, "{asked:?}, {} calls", world.calls());
    let row = engine.batch(batch).await.unwrap().unwrap();
    let counted = (row.counters.ok, row.counters.failed, row.counters.hard);
    assert_eq!((row.state, counted), (BatchState::Partial, (1, 60, 0)), "trying again may help");
    let row = world.bench.row(waits).await;
    assert_eq!((row.state, row.failure_code, row.attempt), (State::Failed, Some(Code::TargetThrottled), 0));
    let dead = world.bench.dead().await;
    let of_it = format!("host:a.example has asked for time since {began:.0}, without one good answer");
    assert!(
        dead.iter().all(|dead| dead.reason == DeadReason::Deadline && dead.message.contains(&of_it)),
        "{:?}",
        dead[0]
    );
    let told = engine.explain(waits).await.unwrap().unwrap().now;
    assert!(
        told.contains("Failed with TARGET_THROTTLED.") && told.contains("for longer than a job waits"),
        "{told}"
    );

    // Whoever comes later has a day of its own.
    assert_eq!(world.asking_since().await, None);
    let late = engine.enqueue(&task(2_000)).await.unwrap();
    world.rounds(20).await;
    assert_eq!(world.bench.row(late).await.state, State::Queued);
}

#[tokio::test]
async fn a_target_that_does_something_now_and_then_keeps_nobody_from_waiting_for_it() {
    // One of ten calls goes well, or is answered with what another try will not change.
    let world = World::new(at_once(3), |nth, _| match nth % 20 {
        9 => Ok(Done::Complete),
        19 => Err(Failure::new(Code::DownloadHttp4xx, "404")),
        _ => Err(asks()),
    })
    .await;
    for n in 0..6 {
        world.engine.enqueue(&task(n)).await.unwrap();
    }
    for _ in 0..200 {
        world.rounds(1).await;
        assert!(world.bench.dead().await.iter().all(|dead| dead.reason == DeadReason::NonRetryable));
        if world.bench.store.counts().await.unwrap().total(State::Queued) == 0 {
            break;
        }
    }
    assert_eq!(world.calls(), 60, "each had its answer");
}

#[tokio::test]
async fn what_never_gives_up_and_what_is_due_much_later_is_left_alone() {
    let world = World::new(Policy { max_attempts: None, ..at_once(1) }, |_, _| Err(asks())).await;
    let lasting = world.engine.enqueue(&task(1)).await.unwrap();
    world.rounds(30).await;
    assert_eq!(world.bench.row(lasting).await.state, State::Queued);

    let world = World::new(at_once(3), |_, _| Err(asks())).await;
    let mut jobs = Vec::new();
    for n in 0..3 {
        jobs.push(world.engine.enqueue(&task(n)).await.unwrap());
    }
    let next_week = world.engine.enqueue(&task(9)).await.unwrap();
    let due = instant::after(world.clock.now(), 24 * 7 * HOUR);
    world.bench.store.reschedule(vec![next_week], due).await.unwrap();
    world.rounds(30).await;
    for job in jobs {
        assert_eq!(world.bench.row(job).await.state, State::Failed);
    }
    assert_eq!(world.bench.row(next_week).await.state, State::Queued);
}

#[tokio::test]
async fn another_patience_of_a_workload_is_its_own() {
    let policy = Policy { throttle_deadline: 3 * HOUR, ..at_once(3) };
    let world = World::new(policy, |_, _| Err(asks())).await;
    let mut jobs = Vec::new();
    for n in 0..10 {
        jobs.push(world.engine.enqueue(&task(n)).await.unwrap());
    }
    world.rounds(2).await;
    assert_eq!(world.bench.row(jobs[9]).await.state, State::Queued);
    world.rounds(1).await;
    for job in jobs {
        assert_eq!(world.bench.row(job).await.failure_code, Some(Code::TargetThrottled));
    }
}
