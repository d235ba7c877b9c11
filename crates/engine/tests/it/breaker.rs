//! Breakers: a target that is down costs its jobs nothing, is tried by one of them, and comes back slowly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use redrive_engine::model::breaker::{Breaker, Config, Deed, Mode, Phase};
use redrive_engine::model::decide::DeadReason;
use redrive_engine::model::{Code, Shown, State, Target, instant};
use redrive_engine::store::PageRequest;
use redrive_engine::{Context, Done, Failure, Options};
use tokio::sync::Semaphore;

use crate::bench::{Bench, eventually, quick};
use crate::kit::{Does, Task, at_once};

fn gateway() -> Target {
    Target::new("gateway").unwrap()
}

fn task(n: u64) -> Task {
    Task { target: Some("gateway".into()), ..Task::n(n) }
}

/// Opens after three failures in a row, and is tried again soon.
fn touchy() -> Options {
    let config = Config {
        cooldown: Duration::from_millis(200),
        cooldown_ceiling: Duration::from_millis(400),
        probe_ttl: Duration::from_secs(20),
        ramp_end: 4,
        ..Config::for_timeout(Duration::from_secs(1))
    };
    Options { breaker: Arc::new(move |_| config.clone()), ..quick() }
}

async fn phase(bench: &Bench) -> Option<Phase> {
    bench.store.breaker(&gateway()).await.unwrap().map(|row| row.breaker.phase)
}

/// Also covers: T9, T10, M36.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_target_holds_its_jobs_and_lets_them_go_when_it_is_back() {
    let bench = Bench::new().await;
    let engine = bench.engine_with(touchy()).await;
    let (down, calls) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (d, c) = (down.clone(), calls.clone());
    let mut does = Does::new(move |_, _| {
        let (down, calls) = (d.clone(), c.clone());
        async move {
            calls.fetch_add(1, Ordering::SeqCst);
            if down.load(Ordering::SeqCst) {
                return Err(Failure::new(Code::TargetUnreachable, "nobody there"));
            }
            Ok(Done::Complete)
        }
    });
    does.policy = at_once(100);
    engine.register(does);
    let tasks: Vec<Task> = (0..40).map(task).collect();
    let jobs = engine.enqueue_many(&tasks).await.unwrap();
    let running = engine.start();
    let failed_probes = async |n: u32| {
        eventually(async || {
            let row = bench.store.breaker(&gateway()).await.unwrap();
            row.is_some_and(|row| row.breaker.reopened >= n).then_some(())
        })
        .await;
        calls.load(Ordering::SeqCst)
    };
    let (one, four) = (failed_probes(1).await, failed_probes(4).await);
    assert!(four - one <= 4, "{} calls for three probes", four - one);
    down.store(false, Ordering::SeqCst);
    for job in jobs {
        bench.until(job.job(), State::Complete).await;
    }
    let turns = bench.store.breaker_turns(Some(&gateway()), PageRequest::default()).await.unwrap().rows;
    let told: Vec<_> = turns.iter().rev().map(|row| (row.turn.deed, row.turn.why.as_deref())).collect();
    let why = Some("TARGET_UNREACHABLE");
    let first = [(Deed::Opened, why), (Deed::Probed, None), (Deed::Reopened, why), (Deed::Probed, None)];
    assert_eq!(told[..4], first, "{told:?}");
    assert!(told.contains(&(Deed::Answered, None)), "{told:?}");
    eventually(async || {
        matches!(phase(&bench).await, Some(Phase::Closed | Phase::Ramp { .. })).then_some(())
    })
    .await;
    running.drain().await;
}

/// However many engines look at an open breaker, one job tries the target.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_probe_among_eight_engines() {
    let bench = Bench::new().await;
    let now = bench.store.now().await.unwrap();
    let mut breaker = Breaker::new(now);
    breaker.phase = Phase::Open { until: now };
    bench.store.swap_breaker(&gateway(), None, &breaker, None).await.unwrap();
    let (entered, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let mut engines = Vec::new();
    for _ in 0..8 {
        // A lease that a busy machine does not lose: a job that runs again would look like a second probe.
        let engine = bench.engine_with(Options { lease_ttl: Duration::from_secs(6), ..touchy() }).await;
        let (e, g) = (entered.clone(), gate.clone());
        engine.register(Does::new(move |_, _| {
            let (entered, gate) = (e.clone(), g.clone());
            async move {
                entered.fetch_add(1, Ordering::SeqCst);
                gate.acquire().await.unwrap().forget();
                Ok(Done::Complete)
            }
        }));
        engines.push(engine);
    }
    let tasks: Vec<Task> = (0..20).map(task).collect();
    let jobs = engines[0].enqueue_many(&tasks).await.unwrap();
    let running: Vec<_> = engines.iter().map(|engine| engine.start()).collect();
    eventually(async || (entered.load(Ordering::SeqCst) >= 1).then_some(())).await;
    // Every engine has beaten, and so looked about, several times since.
    let first = bench.store.now().await.unwrap();
    eventually(async || {
        let seen = bench.store.workers().await.unwrap();
        let late = instant::after(first, Duration::from_millis(1_500));
        (seen.len() == 8 && seen.iter().all(|worker| worker.seen_at >= late)).then_some(())
    })
    .await;
    assert_eq!(entered.load(Ordering::SeqCst), 1, "one probe");
    gate.add_permits(1_000);
    for job in jobs {
        bench.until(job.job(), State::Complete).await;
    }
    for running in running {
        running.drain().await;
    }
}

/// The other side asked for time: everybody waits, nobody pays.
///
/// Also covers: M34.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_that_asks_for_time_gets_it() {
    let bench = Bench::new().await;
    let engine = bench.engine_with(touchy()).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let c = calls.clone();
    let mut does = Does::new(move |_, _| {
        let calls = c.clone();
        async move {
            if calls.fetch_add(1, Ordering::SeqCst) == 0 {
                let failure =
                    Failure::new(Code::TargetThrottled, "429").retry_after(Duration::from_millis(600));
                return Err(failure);
            }
            Ok(Done::Complete)
        }
    });
    does.concurrency = 1;
    engine.register(does);
    let first = engine.enqueue(&task(1)).await.unwrap();
    let second = engine.enqueue(&task(2)).await.unwrap();
    let running = engine.start();
    let row = bench.until(first, State::Complete).await;
    assert_eq!(row.attempt, 1, "waiting costs no attempt");
    assert_eq!(bench.outcomes(first).await, ["throttled", "complete"]);
    let other = bench.until(second, State::Complete).await;
    let until = bench.store.breaker(&gateway()).await.unwrap().unwrap().breaker.throttled_until.unwrap();
    assert!(other.started_at.unwrap() >= until, "the second did not wait");
    assert!(instant::between(row.created_at, until) >= Duration::from_millis(600));
    running.drain().await;
}

/// A target that is set to fail fast: what waits for it is given up with a reason, and the first job after the cool-down
/// tries it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_of_a_target_that_fails_fast_do_not_wait() {
    let bench = Bench::new().await;
    let config = Config {
        mode: Mode::FailFast,
        cooldown: Duration::from_millis(900),
        ..(touchy().breaker)(&gateway())
    };
    let options = Options { breaker: Arc::new(move |_| config.clone()), ..touchy() };
    let engine = bench.engine_with(options).await;
    engine.register(Does::new(|_, _| async { Ok(Done::Complete) }));
    let now = bench.store.now().await.unwrap();
    let mut breaker = Breaker::new(now);
    let until = instant::after(now, Duration::from_millis(900));
    breaker.phase = Phase::Open { until };
    bench.store.swap_breaker(&gateway(), None, &breaker, None).await.unwrap();
    let tasks: Vec<Task> = (0..10).map(task).collect();
    let jobs = engine.enqueue_many(&tasks).await.unwrap();
    let other = engine.enqueue(&Task::n(99)).await.unwrap();
    let running = engine.start();
    for job in jobs {
        let row = bench.until(job.job(), State::Failed).await;
        assert_eq!((row.failure_code, row.attempt), (Some(Code::SystemBreakerOpen), 0));
        assert!(row.finished_at.unwrap() < until, "at once, not after the cool-down");
    }
    bench.until(other, State::Complete).await;
    assert!(bench.dead().await.iter().all(|dead| dead.reason == DeadReason::FailFast));
    eventually(async || (bench.store.now().await.unwrap() > until).then_some(())).await;
    let probe = engine.enqueue(&task(100)).await.unwrap();
    bench.until(probe, State::Complete).await;
    running.drain().await;
}

/// One 503 with Retry-After delays its own job and costs an attempt; when a fifth of the answers are like that, all wait.
///
/// Also covers: M34.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_target_is_held_when_it_says_so_often() {
    let bench = Bench::new().await;
    let engine = bench.engine_with(touchy()).await;
    let mut does = Does::new(|_, task: Task| async move {
        if task.n < 4 {
            return Err(Failure::new(Code::GwBusy, "503").retry_after(Duration::from_secs(60)));
        }
        Ok(Done::Complete)
    });
    does.concurrency = 1;
    engine.register(does);
    let running = engine.start();
    for n in 0..3 {
        let id = engine.enqueue(&task(n)).await.unwrap();
        let row = bench.until_row(id, |row| row.attempt == 1 && row.state == State::Queued).await;
        assert!(row.due_at > row.started_at.unwrap(), "it waits");
    }
    let free = engine.enqueue(&task(10)).await.unwrap();
    bench.until(free, State::Complete).await;
    engine.enqueue(&task(3)).await.unwrap();
    eventually(async || {
        let row = bench.store.breaker(&gateway()).await.unwrap();
        row.is_some_and(|row| row.breaker.throttled_until.is_some()).then_some(())
    })
    .await;
    let held = engine.enqueue(&task(11)).await.unwrap();
    let row = bench.until_row(held, |row| row.shown == Shown::Held).await;
    assert_eq!((row.attempt, phase(&bench).await), (0, Some(Phase::Closed)), "no failure of the target");
    running.drain().await;
}

/// Refusals take no time: of many calls that begin together they come back first, and yet they are few.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_that_is_busy_now_and_then_is_not_held() {
    let bench = Bench::new().await;
    let engine = bench.engine_with(touchy()).await;
    let (refused, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (begun, heard, open) = (Arc::new(AtomicUsize::new(0)), refused.clone(), gate.clone());
    // Every tenth as they begin, which need not be the order in which they were enqueued.
    let mut does = Does::new(move |_, _: Task| {
        let (nth, heard, open) = (begun.fetch_add(1, Ordering::SeqCst), heard.clone(), open.clone());
        async move {
            if nth % 10 == 9 {
                heard.fetch_add(1, Ordering::SeqCst);
                return Err(Failure::new(Code::GwBusy, "503").retry_after(Duration::from_secs(60)));
            }
            open.acquire().await.unwrap().forget();
            Ok(Done::Complete)
        }
    });
    does.concurrency = 100;
    engine.register(does);
    let tasks: Vec<Task> = (0..100).map(task).collect();
    let ids = engine.enqueue_many(&tasks).await.unwrap();
    let running = engine.start();
    // All ten are back before one of the others is.
    eventually(async || (refused.load(Ordering::SeqCst) == 10).then_some(())).await;
    eventually(async || {
        let mut waiting = 0;
        for id in &ids {
            let row = bench.store.job(id.job()).await.unwrap().unwrap();
            waiting += usize::from(row.attempt == 1 && row.state == State::Queued);
        }
        (waiting == 10).then_some(())
    })
    .await;
    let row = bench.store.breaker(&gateway()).await.unwrap().unwrap();
    assert_eq!(row.breaker.throttled_until, None, "one in ten is no reason: {row:?}");
    gate.add_permits(90);
    running.drain().await;
}

/// A burst of retries against one target is spread; jobs without a target are not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_retries_is_spread() {
    let bench = Bench::new().await;
    let config = Config { threshold: 2.0, consecutive: 0, ..Config::default() };
    let engine = bench.engine_with(Options { breaker: Arc::new(move |_| config.clone()), ..quick() }).await;
    let mut does = Does::new(|ctx: Context, _| async move {
        if ctx.attempt() == 1 {
            return Err(Failure::new(Code::TargetError, "500"));
        }
        Ok(Done::Complete)
    });
    does.concurrency = 20;
    engine.register(does);
    let tasks: Vec<Task> = (0..60).map(task).collect();
    let jobs = engine.enqueue_many(&tasks).await.unwrap();
    let calm = engine.enqueue_many(&(0..60).map(Task::n).collect::<Vec<_>>()).await.unwrap();
    let running = engine.start();
    let mut waits = Vec::new();
    for job in jobs {
        bench.until(job.job(), State::Complete).await;
        let attempts = bench.store.attempts(job.job()).await.unwrap();
        assert_eq!(attempts.len(), 2);
        let wait = instant::between(attempts[0].ended_at, attempts[1].started_at.unwrap());
        waits.push(wait);
    }
    assert!(waits.iter().filter(|wait| **wait > Duration::from_millis(900)).count() >= 30, "{waits:?}");
    for job in calm {
        bench.until(job.job(), State::Complete).await;
        let attempts = bench.store.attempts(job.job()).await.unwrap();
        assert!(attempts[0].context.as_deref().is_none_or(|c| !c.contains("retry_delayed_ms")));
    }
    running.drain().await;
}

/// A full disk is no fault of the job: nothing is charged, claiming stops for a while, and people can see why.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_stops_claiming_and_charges_nobody() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let (full, calls) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (f, c) = (full.clone(), calls.clone());
    engine.register(Does::new(move |_, _| {
        let (full, calls) = (f.clone(), c.clone());
        async move {
            calls.fetch_add(1, Ordering::SeqCst);
            if full.load(Ordering::SeqCst) {
                return Err(Failure::new(Code::DiskFull, "no space left on device"));
            }
            Ok(Done::Complete)
        }
    }));
    let id = engine.enqueue(&Task::n(1)).await.unwrap();
    let running = engine.start();
    eventually(async || (calls.load(Ordering::SeqCst) >= 3).then_some(())).await;
    let disk = bench.store.breaker(&Target::new("disk").unwrap()).await.unwrap().unwrap();
    assert!(disk.breaker.throttled_until.is_some());
    full.store(false, Ordering::SeqCst);
    let row = bench.until(id, State::Complete).await;
    assert_eq!(row.attempt, 1, "only the one that worked counts");
    running.drain().await;
}

/// A bucket asked for time, was away or is broken, and the failure does not say which: the only target of the job is not to blame.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storage_failure_that_names_no_target_is_nobodys() {
    let bench = Bench::new().await;
    let engine = bench.engine_with(touchy()).await;
    let codes = [
        Code::UploadThrottled,
        Code::UploadTimeout,
        Code::UploadS3Error,
        Code::StorageUnavailable,
        Code::IoError,
    ];
    let mut does = Does::new(move |_, task: Task| async move {
        let Some(code) = codes.get(usize::try_from(task.n).unwrap()) else { return Ok(Done::Complete) };
        Err(Failure::new(*code, "the place").retry_after(Duration::from_secs(900)))
    });
    does.policy =
        redrive_engine::model::Policy { max_attempts: Some(9), ..redrive_engine::model::Policy::on_demand() };
    engine.register(does);
    let running = engine.start();
    for n in 0..codes.len() {
        let job = engine.enqueue(&task(n as u64)).await.unwrap();
        let row = bench.until_row(job, |row| row.state == State::Queued && row.token.0 > 0).await;
        assert_eq!(row.shown, Shown::WaitingRetry, "it waits by itself: {row:?}");
    }
    let last = engine.enqueue(&task(99)).await.unwrap();
    bench.until(last, State::Complete).await;
    let row = bench.store.breaker(&gateway()).await.unwrap();
    let untouched = |breaker: &Breaker| breaker.phase == Phase::Closed && breaker.throttled_until.is_none();
    assert!(row.as_ref().is_none_or(|row| untouched(&row.breaker)), "{row:?}");
    running.drain().await;
}
