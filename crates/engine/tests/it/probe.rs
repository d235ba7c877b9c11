//! Probes: what each kind of end means for the target, for the job, and for others that wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use redrive_engine::model::breaker::{Breaker, Config, Phase};
use redrive_engine::model::{Code, JobId, Shown, State, Target, instant};
use redrive_engine::{Context, Done, Engine, Failure, Options};
use tokio::sync::Semaphore;

use crate::bench::{Bench, eventually, quick};
use crate::kit::{Does, Task, at_once};

fn target(name: &str) -> Target {
    Target::new(name).unwrap()
}

fn task(n: u64, targets: &str) -> Task {
    Task { target: Some(targets.into()), ..Task::n(n) }
}

fn touchy(config: Config) -> Options {
    Options { breaker: Arc::new(move |_| config.clone()), ..quick() }
}

fn soon() -> Config {
    Config {
        cooldown: Duration::from_millis(200),
        cooldown_ceiling: Duration::from_millis(400),
        ramp_end: 4,
        ..Config::for_timeout(Duration::from_secs(1))
    }
}

/// An open breaker that may be tried at once.
async fn open(bench: &Bench, name: &str) {
    let now = bench.store.now().await.unwrap();
    let breaker = Breaker { phase: Phase::Open { until: now }, epoch: 1, ..Breaker::new(now) };
    bench.store.swap_breaker(&target(name), None, &breaker, None).await.unwrap();
}

async fn breaker(bench: &Bench, name: &str) -> Option<Breaker> {
    bench.store.breaker(&target(name)).await.unwrap().map(|row| row.breaker)
}

async fn enqueue(engine: &Engine, tasks: impl IntoIterator<Item = Task>) -> Vec<JobId> {
    let tasks: Vec<Task> = tasks.into_iter().collect();
    engine.enqueue_many(&tasks).await.unwrap().into_iter().map(|enqueued| enqueued.job()).collect()
}

/// A failure that says nothing about the target is the job's own: it pays, and comes to an end. Each frees the probe.
///
/// Also covers: B10.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_that_meets_its_own_trouble_pays_and_ends() {
    let bench = Bench::new().await;
    let engine = bench.engine_with(touchy(soon())).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let c = calls.clone();
    let mut does = Does::new(move |_, _| {
        c.fetch_add(1, Ordering::SeqCst);
        async { Err(Failure::new(Code::Unknown, "nobody knows")) }
    });
    does.policy = at_once(2);
    engine.register(does);
    open(&bench, "gateway").await;
    let jobs = enqueue(&engine, (0..2).map(|n| task(n, "gateway"))).await;
    let running = engine.start();
    for job in jobs {
        let row = bench.until(job, State::Failed).await;
        assert_eq!((row.failure_code, row.attempt), (Some(Code::Unknown), 2));
    }
    assert_eq!(calls.load(Ordering::SeqCst), 4);
    assert_eq!(breaker(&bench, "gateway").await.unwrap().phase_name(), "open", "nothing is known about it");
    running.drain().await;
}

/// Whatever is wrong with the one job, a target that answers is there: its jobs are let go.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_no_success_lets_the_jobs_of_its_target_go() {
    for code in [Code::DownloadTooSlow, Code::DownloadHttp4xx, Code::DownloadDnsNxdomain] {
        let bench = Bench::new().await;
        let engine = bench.engine_with(touchy(soon())).await;
        let mut does = Does::new(move |_, _| async move { Err(Failure::new(code, "an answer")) });
        does.policy = at_once(2);
        engine.register(does);
        open(&bench, "host:a").await;
        let jobs = enqueue(&engine, (0..20).map(|n| task(n, "host:a"))).await;
        let running = engine.start();
        for job in jobs {
            let row = bench.until(job, State::Failed).await;
            assert_eq!(row.failure_code, Some(code));
        }
        eventually(async || (breaker(&bench, "host:a").await?.phase == Phase::Closed).then_some(())).await;
        running.drain().await;
    }
}

/// A probe that fails because of another target of its job is counted there. When both are open, one job tries both, or each
/// would wait for the other for ever.
///
/// Also covers: B14.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_that_fails_elsewhere_is_counted_there_and_both_come_back() {
    let bench = Bench::new().await;
    let engine = bench.engine_with(touchy(soon())).await;
    let down = Arc::new(AtomicBool::new(true));
    let d = down.clone();
    let mut does = Does::new(move |_, _| {
        let down = d.load(Ordering::SeqCst);
        async move {
            if down {
                return Err(Failure::new(Code::UploadTimeout, "no answer").at(target("bucket:b")));
            }
            Ok(Done::Complete)
        }
    });
    does.policy = at_once(100);
    engine.register(does);
    open(&bench, "host:a").await;
    let jobs = enqueue(&engine, (0..10).map(|n| task(n, "bucket:b,host:a"))).await;
    let running = engine.start();
    eventually(async || (breaker(&bench, "bucket:b").await?.reopened > 0).then_some(())).await;
    let host = breaker(&bench, "host:a").await.unwrap();
    assert_eq!(host.reopened, 0, "it is not to blame: {host:?}");
    down.store(false, Ordering::SeqCst);
    for job in jobs {
        bench.until(job, State::Complete).await;
    }
    running.drain().await;
}

/// A probe takes as long as its job takes: it stays the one probe, and its success counts.
///
/// Also covers: B8.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_probe_stays_the_probe_and_counts() {
    let bench = Bench::new().await;
    let config = Config { probe_ttl: Duration::from_secs(3), ..soon() };
    let engine = bench.engine_with(touchy(config)).await;
    let (calls, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (c, g) = (calls.clone(), gate.clone());
    engine.register(Does::new(move |_, _| {
        let (calls, gate) = (c.clone(), g.clone());
        async move {
            calls.fetch_add(1, Ordering::SeqCst);
            gate.acquire().await.unwrap().forget();
            Ok(Done::Complete)
        }
    }));
    open(&bench, "host:a").await;
    let jobs = enqueue(&engine, (0..3).map(|n| task(n, "host:a"))).await;
    let running = engine.start();
    let out = async || match breaker(&bench, "host:a").await?.phase {
        Phase::HalfOpen { probe } => Some(probe),
        _ => None,
    };
    let first = eventually(out).await;
    let late = instant::after(first.expires_at, Duration::from_millis(600));
    eventually(async || (bench.store.now().await.unwrap() > late).then_some(())).await;
    let kept = out().await.expect("still the same probe");
    assert_eq!((kept.epoch, calls.load(Ordering::SeqCst)), (first.epoch, 1));
    gate.add_permits(100);
    for job in jobs {
        bench.until(job, State::Complete).await;
    }
    running.drain().await;
}

/// A redirect led to a host that the job does not depend on, and that host is down: its breaker knows, jobs that do depend
/// on it wait, and this job's retry waits for it too instead of spending its attempts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_that_is_blamed_elsewhere_counts_there_and_the_job_waits() {
    let bench = Bench::new().await;
    let config = Config { cooldown: Duration::from_secs(600), ..soon() };
    let engine = bench.engine_with(touchy(config)).await;
    let mut does = Does::new(|_, _| async {
        Err(Failure::new(Code::DownloadConnect, "no connection").at(target("host:b")))
    });
    does.policy = at_once(100);
    does.concurrency = 1;
    engine.register(does);
    let jobs = enqueue(&engine, (0..4).map(|n| task(n, "host:a"))).await;
    let running = engine.start();
    let opened =
        eventually(async || breaker(&bench, "host:b").await.filter(|b| b.phase_name() == "open")).await;
    let Phase::Open { until } = opened.phase else { panic!("{opened:?}") };
    for job in jobs {
        let row = bench.until_row(job, |row| row.state == State::Queued && row.due_at >= until).await;
        assert!(row.attempt < 10, "{} attempts were spent", row.attempt);
    }
    let other = enqueue(&engine, [task(9, "host:b")]).await;
    bench.until_row(other[0], |row| row.shown == Shown::Held).await;
    assert!(breaker(&bench, "host:a").await.is_none_or(|a| a.phase == Phase::Closed), "it is not to blame");
    running.drain().await;
}

/// The same for a host that asked for time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_elsewhere_that_asks_for_time_gets_it_from_everybody() {
    let bench = Bench::new().await;
    let engine = bench.engine_with(touchy(soon())).await;
    engine.register(Does::new(|_, _| async {
        let asked = Failure::new(Code::DownloadRateLimited, "429").at(target("host:b"));
        Err(asked.retry_after(Duration::from_secs(900)))
    }));
    let job = enqueue(&engine, [task(0, "host:a")]).await[0];
    let running = engine.start();
    let row = bench.until_row(job, |row| row.state == State::Queued && row.token.0 > 0).await;
    assert_eq!(row.attempt, 0, "nobody pays");
    let until = breaker(&bench, "host:b").await.unwrap().throttled_until.unwrap();
    assert!(instant::between(row.created_at, until) >= Duration::from_secs(900));
    let other = enqueue(&engine, [task(9, "host:b")]).await;
    bench.until_row(other[0], |row| row.shown == Shown::Held).await;
    running.drain().await;
}

/// What an attempt came to hears how it ended, like the targets of the job: trouble, a wish for time, and that all is well again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_that_an_attempt_came_to_hears_how_it_ended() {
    let bench = Bench::new().await;
    let config = Config { cooldown: Duration::from_secs(600), ..soon() };
    let engine = bench.engine_with(touchy(config)).await;
    let mut does = Does::new(|ctx: Context, task: Task| async move {
        match task.n {
            0 if ctx.attempt() == 1 && task.key.is_some() => {
                ctx.came_to(target("host:asks"));
                let asked = Failure::new(Code::DownloadRateLimited, "429");
                Err(asked.retry_after(Duration::from_secs(900)))
            }
            1 => {
                ctx.came_to(target("host:asks"));
                Ok(Done::Complete)
            }
            _ => {
                ctx.came_to(target("host:down"));
                Err(Failure::new(Code::DownloadConnect, "no connection"))
            }
        }
    });
    does.policy = at_once(100);
    does.concurrency = 1;
    engine.register(does);
    let running = engine.start();
    let throttled = Task { key: Some("x".into()), ..task(0, "host:a") };
    enqueue(&engine, [throttled]).await;
    for name in ["host:a", "host:asks"] {
        eventually(async || {
            breaker(&bench, name).await.filter(|b| b.throttled_until.is_some() && b.asking.is_some())
        })
        .await;
    }
    enqueue(&engine, [task(1, "host:c")]).await;
    eventually(async || breaker(&bench, "host:asks").await.filter(|b| b.asking.is_none())).await;

    enqueue(&engine, (2..6).map(|n| task(n, "host:d"))).await;
    for name in ["host:d", "host:down"] {
        eventually(async || breaker(&bench, name).await.filter(|b| b.phase_name() == "open")).await;
    }
    running.drain().await;
}
