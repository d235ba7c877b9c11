//! Jobs that wait for a target: not behind one that cannot be done, and not for ever where nobody wants that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use redrive_engine::model::breaker::{Breaker, Config, Phase};
use redrive_engine::model::decide::DeadReason;
use redrive_engine::model::{Code, State, Target};
use redrive_engine::{Done, Failure, Options};

use crate::bench::{Bench, eventually, quick};
use crate::kit::{Does, Task, at_once};

fn host() -> Target {
    Target::new("host:a.example").unwrap()
}

fn task(n: u64) -> Task {
    Task { target: Some("host:a.example".into()), ..Task::n(n) }
}

fn soon() -> Config {
    Config {
        cooldown: Duration::from_millis(100),
        cooldown_ceiling: Duration::from_millis(200),
        ramp_end: 4,
        ..Config::for_timeout(Duration::from_secs(1))
    }
}

fn with(config: Config) -> Options {
    Options { breaker: Arc::new(move |_| config.clone()), ..quick() }
}

async fn breaker(bench: &Bench) -> Option<Breaker> {
    bench.store.breaker(&host()).await.unwrap().map(|row| row.breaker)
}

/// What was never tried is given up too, with what the target was last heard of. Whoever comes later finds it tried at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_a_target_that_stays_down_is_given_up_with_its_last_failure() {
    let bench = Bench::new().await;
    let config = Config { patience: Some(Duration::from_millis(700)), ..soon() };
    let engine = bench.engine_with(with(config)).await;
    let (down, calls) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (d, c) = (down.clone(), calls.clone());
    let mut does = Does::new(move |_, task: Task| {
        let down = task.target.is_some() && d.load(Ordering::SeqCst);
        let nth = if down { c.fetch_add(1, Ordering::SeqCst) } else { 0 };
        async move {
            match (down, nth) {
                (false, _) => Ok(Done::Complete),
                (true, 0..3) => Err(Failure::new(Code::TargetUnreachable, "nobody there")),
                (true, _) => Err(Failure::new(Code::TargetError, "500")),
            }
        }
    });
    does.policy = at_once(100);
    does.concurrency = 1;
    engine.register(does);
    let tasks: Vec<Task> = (0..500).map(task).collect();
    let jobs = engine.enqueue_many(&tasks).await.unwrap();
    let other = engine.enqueue(&Task::n(1_000)).await.unwrap();
    let running = engine.start();
    for job in &jobs {
        let row = bench.until(job.job(), State::Failed).await;
        assert_eq!(row.failure_code, Some(Code::TargetError), "as it was last heard of");
    }
    let tried = calls.load(Ordering::SeqCst);
    assert!(tried < 20, "{tried} calls of a target that is down");
    let dead = bench.dead().await;
    let of_it = |message: &str| message.contains("host:a.example has been down since");
    assert!(!dead.is_empty());
    assert!(
        dead.iter().all(|dead| dead.reason == DeadReason::Exhausted && of_it(&dead.message)),
        "{:?}",
        dead[0]
    );
    bench.until(other, State::Complete).await;

    // Nobody waits any more: the next one need not wait for the rest of a cool-down.
    eventually(async || breaker(&bench).await.filter(|breaker| breaker.down.is_none())).await;
    down.store(false, Ordering::SeqCst);
    let next = engine.enqueue(&task(2_000)).await.unwrap();
    bench.until(next, State::Complete).await;
    running.drain().await;
}

/// The oldest may be the one job that its target cannot stand. Each probe that fails leaves the next one to another job.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_its_target_cannot_stand_keeps_nobody_else_waiting() {
    let bench = Bench::new().await;
    let engine = bench.engine_with(with(soon())).await;
    let mut does = Does::new(|_, task: Task| async move {
        if task.n < 2 {
            return Err(Failure::new(Code::TargetUnreachable, "reset by it"));
        }
        Ok(Done::Complete)
    });
    does.policy = at_once(3);
    engine.register(does);
    let now = bench.store.now().await.unwrap();
    let breaker = Breaker { phase: Phase::Open { until: now }, epoch: 1, ..Breaker::new(now) };
    bench.store.swap_breaker(&host(), None, &breaker, None).await.unwrap();
    let mut jobs = Vec::new();
    for n in 0..20 {
        jobs.push(engine.enqueue(&task(n)).await.unwrap());
    }
    let running = engine.start();
    for job in jobs.into_iter().skip(2) {
        bench.until(job, State::Complete).await;
    }
    running.drain().await;
}

/// Each resource of a host is a thing of its own: what resets again and again says nothing about the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_need_not_count_against_their_target() {
    let bench = Bench::new().await;
    let config = Config { counts_retries: false, ..soon() };
    let engine = bench.engine_with(with(config)).await;
    let mut does =
        Does::new(|_, _: Task| async { Err(Failure::new(Code::TargetUnreachable, "reset by it")) });
    does.policy = at_once(10);
    engine.register(does);
    let jobs = [engine.enqueue(&task(0)).await.unwrap(), engine.enqueue(&task(1)).await.unwrap()];
    let running = engine.start();
    for job in jobs {
        let row = bench.until(job, State::Failed).await;
        assert_eq!((row.failure_code, row.attempt), (Some(Code::TargetUnreachable), 10));
    }
    assert!(breaker(&bench).await.is_none_or(|breaker| breaker.phase == Phase::Closed));
    running.drain().await;
}
