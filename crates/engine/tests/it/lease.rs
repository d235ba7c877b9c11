//! Leases: kept while a handler runs, taken back when its worker is gone, and never believed after that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use redrive_engine::model::decide::DeadReason;
use redrive_engine::model::{Code, State, instant};
use redrive_engine::{Context, Done, Failure, Options, Permanent};
use tokio::sync::Semaphore;

use crate::bench::{Bench, quick};
use crate::kit::{Does, Task, at_once};

/// A handler that runs three times as long as a lease keeps its job.
///
/// Also covers: T12.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_kept_as_long_as_its_handler_runs() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let gate = Arc::new(Semaphore::new(0));
    let g = gate.clone();
    engine.register(Does::new(move |_, _| {
        let gate = g.clone();
        async move {
            gate.acquire().await.unwrap().forget();
            Ok(Done::Complete)
        }
    }));
    let id = engine.enqueue(&Task::n(1)).await.unwrap();
    let _running = engine.start();
    let first = bench.until(id, State::Processing).await.lease_expires_at.unwrap();
    let thrice = redrive_engine::model::instant::after(first, Duration::from_millis(3 * 800));
    bench.until_row(id, |row| row.lease_expires_at.is_some_and(|at| at >= thrice)).await;
    gate.add_permits(1);
    assert_eq!(bench.until(id, State::Complete).await.attempt, 1);
    assert_eq!(bench.outcomes(id).await, ["complete"], "nobody else had it meanwhile");
}

/// A lease is worth three beats at least: two may be lost on the way and it still stands.
///
/// Also covers: T12.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_extended_three_times_before_it_would_end() {
    const LEASE: Duration = Duration::from_secs(3);
    let bench = Bench::new().await;
    let engine = bench.engine_with(Options { lease_ttl: LEASE, ..quick() }).await;
    engine.register(Does::new(|_, _| std::future::pending::<Result<Done, Failure>>()));
    let id = engine.enqueue(&Task::n(1)).await.unwrap();
    let _running = engine.start();
    let claimed = bench.until(id, State::Processing).await;
    // From the claim to the first beat it is any time; between two beats it is a beat, or more on a busy machine.
    let mut last = claimed.lease_expires_at;
    let mut beats = Vec::new();
    for _ in 0..5 {
        let row = bench.until_row(id, |row| row.lease_expires_at > last).await;
        assert_eq!((row.token, row.attempt), (claimed.token, 1), "it is the same lease");
        beats.push(instant::between(last.unwrap(), row.lease_expires_at.unwrap()));
        last = row.lease_expires_at;
    }
    let beat = beats[1..].iter().min().unwrap();
    assert!(*beat <= LEASE / 3, "{beats:?}");
}

/// The worker is gone with its job; another engine takes it back, charges the attempt and a crash, and runs it.
///
/// Also covers: T4, X1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_workers_job_runs_again() {
    let bench = Bench::new().await;
    let id = crash(&bench, 1).await;
    let engine = bench.engine().await;
    engine.register(Does::new(|_, _| async { Ok(Done::Complete) }));
    let _running = engine.start();
    let row = bench.until(id, State::Complete).await;
    assert_eq!((row.attempt, row.crashes), (2, 1));
    assert_eq!(bench.outcomes(id).await, ["reclaimed", "complete"]);
    let lost = &bench.store.attempts(id).await.unwrap()[0];
    assert_eq!(lost.code, Some(Code::SystemWorkerLost));
    assert!(lost.context.as_deref().unwrap().contains("lease_token"), "{lost:?}");
}

/// What the only process of a store does after the one before was killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_process_that_is_gone_held_is_taken_back_uncharged() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    engine.register(Does::new(|_, _| async { Ok(Done::Complete) }));
    let id = crash(&bench, 1).await;
    let chores = 2;
    assert!(
        (1..=1 + chores).contains(&engine.take_back().await.unwrap()),
        "its job, and what it did on the side"
    );
    let row = bench.row(id).await;
    assert_eq!((row.state, row.attempt, row.crashes), (State::Queued, 0, 0));
    assert_eq!(engine.take_back().await.unwrap(), 0, "nobody holds anything any more");
    let _running = engine.start();
    assert_eq!(bench.until(id, State::Complete).await.attempt, 1);
}

/// Claims a job with an engine whose runtime then ends like a killed process: no release, no last word.
async fn crash(bench: &Bench, n: u64) -> redrive_engine::JobId {
    let engine = bench.engine().await;
    let id = engine.enqueue(&Task::n(n)).await.unwrap();
    crash_with(bench, id).await;
    id
}

async fn crash_with(bench: &Bench, id: redrive_engine::JobId) {
    let store = bench.store.clone();
    let process = std::thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let bench = Bench { store };
            let engine = bench.engine().await;
            let before = bench.row(id).await.token;
            engine.register(Does::new(|_, _| std::future::pending::<Result<Done, Failure>>()));
            let running = engine.start();
            bench.until_row(id, |row| row.state == State::Processing && row.token > before).await;
            std::mem::forget(running);
        });
        runtime.shutdown_background();
    });
    tokio::task::spawn_blocking(move || process.join().unwrap()).await.unwrap();
}

/// A job that has ended two processes runs with nobody beside it; once it ends a third one, it is put aside.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_two_crashes_a_job_runs_alone_and_a_third_puts_it_aside() {
    for dies_again in [false, true] {
        let bench = Bench::new().await;
        let poison = crash(&bench, 1).await;
        crash_with(&bench, poison).await;
        if dies_again {
            crash_with(&bench, poison).await;
        }
        let engine = bench.engine().await;
        let (now, beside) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (n, b) = (now.clone(), beside.clone());
        engine.register(Does::new(move |_, task| {
            let (now, beside) = (n.clone(), b.clone());
            async move {
                now.fetch_add(1, Ordering::SeqCst);
                // The others are many and slow enough to be running whenever it starts or ends.
                for _ in 0..if task.n == 1 { 50 } else { 2 } {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    if task.n == 1 {
                        beside.fetch_max(now.load(Ordering::SeqCst) - 1, Ordering::SeqCst);
                    }
                }
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(Done::Complete)
            }
        }));
        let others: Vec<Task> = (100..1_300).map(Task::n).collect();
        let others = engine.enqueue_many(&others).await.unwrap();
        let running = engine.start();
        for other in others {
            bench.until(other.job(), State::Complete).await;
        }
        if dies_again {
            let row = bench.until(poison, State::Failed).await;
            assert_eq!((row.failure_code, row.crashes), (Some(Code::SystemQuarantined), 3));
            let dead = &bench.dead().await[0];
            assert_eq!((dead.job, dead.reason), (poison, DeadReason::Crashed));
        } else {
            let row = bench.until(poison, State::Complete).await;
            assert_eq!((row.attempt, row.crashes), (3, 2));
            assert_eq!(beside.load(Ordering::SeqCst), 0, "somebody ran beside it");
        }
        running.drain().await;
    }
}

/// Work that never ends, and runs as it is told.
struct GoesOn(bool);

impl Permanent for GoesOn {
    async fn run(&self, _: Context) -> Result<Done, Failure> {
        if self.0 {
            return Ok(Done::RescheduleIn(Duration::from_secs(3_600)));
        }
        std::future::pending().await
    }
}

/// What must go on does, however often its process was killed: it is never put aside, and never left where nobody claims it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permanent_job_whose_processes_were_killed_goes_on() {
    let bench = Bench::new().await;
    let mut id = None;
    for _ in 0..2 {
        let store = bench.store.clone();
        let process = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            let id = runtime.block_on(async {
                let bench = Bench { store };
                let engine = bench.engine().await;
                let id = engine.permanent("goes-on", GoesOn(false)).await.unwrap();
                let before = bench.row(id).await.token;
                let running = engine.start();
                bench.until_row(id, |row| row.state == State::Processing && row.token > before).await;
                std::mem::forget(running);
                id
            });
            runtime.shutdown_background();
            id
        });
        id = Some(tokio::task::spawn_blocking(move || process.join().unwrap()).await.unwrap());
    }
    let engine = bench.engine().await;
    assert_eq!(Some(engine.permanent("goes-on", GoesOn(true)).await.unwrap()), id, "one in the whole fleet");
    let running = engine.start();
    bench.until_row(id.unwrap(), |row| row.state == State::Queued && row.attempt == 0).await;
    running.drain().await;
}

/// The lease runs out under a handler that does not know it. Its late result is refused, and the job has one result.
///
/// Also covers: M8.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_zombies_result_is_refused() {
    let bench = Bench::new().await;
    let zombie = bench.engine_with(Options { lease_ttl: Duration::from_secs(3_600), ..quick() }).await;
    let (gate, entered) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (g, e) = (gate.clone(), entered.clone());
    zombie.register(Does::new(move |ctx, _| {
        let (gate, entered) = (g.clone(), e.clone());
        async move {
            ctx.set_result("zombie");
            entered.add_permits(1);
            gate.acquire().await.unwrap().forget();
            Ok(Done::Complete)
        }
    }));
    let id = zombie.enqueue(&Task::n(1)).await.unwrap();
    let asleep = zombie.start();
    entered.acquire().await.unwrap().forget();
    // Somebody ends its attempt in its place, as a rescuer would after the lease.
    bench.store.cancel(vec![id], None).await.unwrap();
    gate.add_permits(1);
    assert_eq!(asleep.drain().await, 0);
    let row = bench.row(id).await;
    assert_eq!((row.state, row.result), (State::Cancelled, None));
    assert_eq!(bench.outcomes(id).await, ["cancelled"]);
}

/// A job that is cancelled while it runs tells its handler within a heartbeat.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_jobs_handler_is_told() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let told = Arc::new(AtomicBool::new(false));
    let t = told.clone();
    engine.register(Does::new(move |ctx, _| {
        let told = t.clone();
        async move {
            ctx.cancelled().await;
            told.store(true, Ordering::SeqCst);
            Ok(Done::Complete)
        }
    }));
    let id = engine.enqueue(&Task::n(1)).await.unwrap();
    let _running = engine.start();
    bench.until(id, State::Processing).await;
    bench.store.cancel(vec![id], None).await.unwrap();
    crate::bench::eventually(async || told.load(Ordering::SeqCst).then_some(())).await;
    assert_eq!(bench.row(id).await.state, State::Cancelled);
}

/// A handler that blocks its thread for ever loses its lease and its slot; others run in its place, and the job is tried
/// again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_handler_that_blocks_its_thread_is_replaced() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let (free, f) = {
        let free = Arc::new(AtomicBool::new(false));
        (free.clone(), free)
    };
    let mut does = Does::new(move |ctx, task| {
        let free = f.clone();
        async move {
            if task.n == 1 && ctx.attempt() == 1 {
                while !free.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
            Ok(Done::Complete)
        }
    });
    does.concurrency = 1;
    does.policy.attempt_timeout = Duration::from_millis(200);
    engine.register(does);
    let blocks = engine.enqueue(&Task::n(1)).await.unwrap();
    let running = engine.start();
    bench.until(blocks, State::Processing).await;
    let other = engine.enqueue(&Task::n(2)).await.unwrap();
    bench.until(other, State::Complete).await;
    let row = bench.until(blocks, State::Complete).await;
    assert_eq!((row.attempt, row.crashes), (2, 0), "its worker lives: no crash");
    free.store(true, Ordering::SeqCst);
    assert!(!running.is_broken());
    assert_eq!(running.drain().await, 0);
}

/// At the cap a lost job is given up, with what is known.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_at_the_cap_is_a_dead_letter_with_evidence() {
    let bench = Bench::new().await;
    let id = crash(&bench, 1).await;
    let engine = bench.engine().await;
    let mut does = Does::new(|_, _| async { Ok(Done::Complete) });
    does.policy = at_once(1);
    engine.register(does);
    let _running = engine.start();
    let row = bench.until(id, State::Failed).await;
    assert_eq!(row.failure_code, Some(Code::SystemWorkerLost));
    assert_eq!(bench.dead().await[0].reason, DeadReason::Crashed);
}
