//! What becomes of a job: it completes, fails, is tried again, is given up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redrive_engine::model::decide::DeadReason;
use redrive_engine::model::{Code, Rule, Shown, State};
use redrive_engine::store::{Enqueued, EventKind};
use redrive_engine::{Done, Enqueue, Failure};
use tokio::sync::Semaphore;

use crate::bench::{Bench, eventually};
use crate::kit::{Does, Task, at_once};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_runs_and_completes() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    engine.register(Does::new(|ctx, task| async move {
        ctx.set_result(format!("made from {}", task.n));
        Ok(Done::Complete)
    }));
    let id = engine.enqueue(&Task::n(7)).await.unwrap();
    let running = engine.start();
    let row = bench.until(id, State::Complete).await;
    assert_eq!((row.label.as_deref(), row.result.as_deref()), (Some("task 7"), Some("made from 7")));
    assert_eq!(row.attempt, 1);
    assert_eq!(running.drain().await, 0);
    let kinds: Vec<_> = bench.store.job_events(id).await.unwrap().iter().map(|e| e.kind).collect();
    assert_eq!(kinds, [EventKind::Queued, EventKind::Processing, EventKind::Complete]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_is_enqueued_later_is_picked_up_at_once() {
    let bench = Bench::new().await;
    let engine = bench
        .engine_with(redrive_engine::Options { poll: Duration::from_secs(3_600), ..crate::bench::quick() })
        .await;
    engine.register(Does::new(|_, _| async { Ok(Done::Complete) }));
    let _running = engine.start();
    for n in 0..20 {
        let id = engine.enqueue(&Task::n(n)).await.unwrap();
        bench.until(id, State::Complete).await;
    }
    let later =
        engine.enqueue_with(&Task::n(9), Enqueue::default().after(Duration::from_millis(300))).await.unwrap();
    assert_eq!(bench.row(later.job()).await.shown, Shown::Scheduled);
    bench.until(later.job(), State::Complete).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_is_retried_and_a_dead_letter_tells_why() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    engine.register(Does::new(|ctx, task| async move {
        match task.n {
            1 if ctx.attempt() < 3 => Err(Failure::new(Code::GwUnavailable, "not yet")),
            2 => Err(Failure::new(Code::HandlerRefused, "never")),
            3 => Err(Failure::new(Code::GwUnavailable, "still not")),
            _ => Ok(Done::Complete),
        }
    }));
    let _running = engine.start();
    let [third, refused, exhausted] = [1, 2, 3].map(Task::n);
    let third = engine.enqueue(&third).await.unwrap();
    let refused = engine.enqueue(&refused).await.unwrap();
    let exhausted = engine.enqueue(&exhausted).await.unwrap();
    assert_eq!(bench.until(third, State::Complete).await.attempt, 3);
    assert_eq!(bench.outcomes(third).await, ["retry", "retry", "complete"]);
    assert_eq!(bench.until(refused, State::Failed).await.failure_code, Some(Code::HandlerRefused));
    assert_eq!(bench.outcomes(refused).await, ["failed"]);
    assert_eq!(bench.until(exhausted, State::Failed).await.attempt, 3);
    assert_eq!(bench.outcomes(exhausted).await, ["retry", "retry", "failed"]);
    let mut dead: Vec<_> = bench.dead().await.into_iter().map(|d| (d.job, d.reason)).collect();
    dead.sort_unstable();
    assert_eq!(dead, [(refused, DeadReason::NonRetryable), (exhausted, DeadReason::Exhausted)]);
}

/// A number that can be changed while the program runs is the handler's to say, both ways.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_may_say_how_often_its_job_is_executed() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    engine.register(Does::new(|ctx, task| async move {
        ctx.set_max_attempts(u32::try_from(task.n).unwrap());
        Err(Failure::new(Code::GwUnavailable, "never"))
    }));
    let _running = engine.start();
    for n in [1, 2, 5] {
        let id = engine.enqueue(&Task::n(n)).await.unwrap();
        assert_eq!(u64::from(bench.until(id, State::Failed).await.attempt), n);
    }
}

/// Also covers: M13, K7.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_is_a_failure_and_others_are_not_harmed() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    engine.register(Does::new(|_, task| async move {
        assert!(task.n != 1, "one is too few");
        Ok(Done::Complete)
    }));
    let bad = engine.enqueue(&Task::n(1)).await.unwrap();
    let good = engine.enqueue(&Task::n(2)).await.unwrap();
    let _running = engine.start();
    bench.until(good, State::Complete).await;
    let row = bench.until(bad, State::Failed).await;
    assert_eq!(row.failure_code, Some(Code::SystemPanic));
    let attempts = bench.store.attempts(bad).await.unwrap();
    assert!(attempts.iter().all(|a| a.message.as_deref() == Some("one is too few")), "{attempts:#?}");
    assert_eq!(attempts.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_is_kept_for_people_and_not_tried_again() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    engine.register(Does::new(|_, _| async { Ok(Done::Complete) }));
    let mut job = engine.new_job(&Task::n(1), Enqueue::default()).unwrap();
    job.input = b"{ not json".to_vec();
    let id = job.id;
    engine.store().enqueue(redrive_engine::store::Enqueue::jobs(vec![job])).await.unwrap();
    let _running = engine.start();
    let row = bench.until(id, State::Failed).await;
    assert_eq!((row.failure_code, row.attempt), (Some(Code::SystemUndecodable), 1));
    assert_eq!(bench.dead().await[0].reason, DeadReason::Undecodable);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn state_goes_on_where_it_was_and_snoozing_costs_nothing() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    engine.register(Does::new(|ctx, _| async move {
        let done = ctx.state::<u32>()?.unwrap_or(0) + 1;
        ctx.save_state(&done).await?;
        match done {
            1 | 2 => Ok(Done::Snooze(Duration::from_millis(1))),
            3 => Err(Failure::new(Code::Unknown, "once")),
            4 => Ok(Done::RescheduleNow),
            _ => Ok(Done::Complete),
        }
    }));
    let id = engine.enqueue(&Task::n(1)).await.unwrap();
    let _running = engine.start();
    let row = bench.until(id, State::Complete).await;
    assert_eq!(bench.outcomes(id).await, ["snoozed", "snoozed", "retry", "rescheduled", "complete"]);
    assert_eq!(row.attempt, 1, "a new run counts from the start");
}

/// Also covers: K5.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_that_takes_too_long_is_ended_and_tried_again() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let mut slow = Does::new(|ctx, _| async move {
        if ctx.attempt() == 1 {
            std::future::pending::<()>().await;
        }
        Ok(Done::Complete)
    });
    slow.policy.attempt_timeout = Duration::from_millis(200);
    engine.register(slow);
    let id = engine.enqueue(&Task::n(1)).await.unwrap();
    let _running = engine.start();
    assert_eq!(bench.until(id, State::Complete).await.attempt, 2);
    assert_eq!(bench.store.attempts(id).await.unwrap()[0].code, Some(Code::SystemTimeout));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_may_have_a_cap_of_its_own() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    engine.register(Does::new(|_, _| async { Err(Failure::new(Code::Unknown, "no")) }));
    let once = engine.enqueue_with(&Task::n(1), Enqueue::default().max_attempts(1)).await.unwrap().job();
    let five = engine.enqueue_with(&Task::n(2), Enqueue::default().max_attempts(5)).await.unwrap().job();
    let _running = engine.start();
    assert_eq!(bench.until(once, State::Failed).await.attempt, 1);
    assert_eq!(bench.until(five, State::Failed).await.attempt, 5);
    assert_eq!(bench.store.attempts(five).await.unwrap()[4].rule, Some(Rule::AttemptsUsedUp));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twins_are_one_job() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let task = Task { key: Some("k".into()), ..Task::n(1) };
    let first = engine.enqueue(&task).await.unwrap();
    let again = engine.enqueue_with(&Task { n: 2, ..task }, Enqueue::default()).await.unwrap();
    assert_eq!(again, Enqueued::Duplicate(first));
}

/// No more handlers run at once than the workload and its keys allow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrency_is_kept_per_workload_and_per_target() {
    for (limit, at_once_limit) in [(5, None), (8, Some(2))] {
        let bench = Bench::new().await;
        let engine = bench.engine().await;
        let (gate, now, most) =
            (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (g, n, m) = (gate.clone(), now.clone(), most.clone());
        let mut does = Does::new(move |_, _| {
            let (gate, now, most) = (g.clone(), n.clone(), m.clone());
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                gate.acquire().await.unwrap().forget();
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(Done::Complete)
            }
        });
        does.concurrency = limit;
        does.at_once = at_once_limit;
        engine.register(does);
        let target = at_once_limit.map(|_| "host:a".to_owned());
        let tasks: Vec<Task> = (0..30).map(|n| Task { target: target.clone(), ..Task::n(n) }).collect();
        engine.enqueue_many(&tasks).await.unwrap();
        let running = engine.start();
        let expected = at_once_limit.unwrap_or(limit);
        eventually(async || (now.load(Ordering::SeqCst) == expected).then_some(())).await;
        gate.add_permits(1_000);
        eventually(async || {
            let counts = bench.store.counts().await.unwrap();
            (counts.total(State::Complete) == 30).then_some(())
        })
        .await;
        assert_eq!(most.load(Ordering::SeqCst), expected);
        running.drain().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_cannot_wait_for_the_batch_it_belongs_to() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let mut does = Does::new(|ctx, _| async move { Ok(Done::AwaitBatch(ctx.batch().unwrap())) });
    does.policy = at_once(1);
    engine.register(does);
    let job = engine.new_job(&Task::n(1), Enqueue::default()).unwrap();
    let batch = redrive_engine::model::BatchId::from_uuid(job.id.as_uuid());
    let open = redrive_engine::store::NewBatch {
        id: batch,
        workload: job.workload.clone(),
        owner: None,
        label: None,
        about: None,
        end_rule: redrive_engine::model::batch::EndRule::Strict,
        keep: None,
    };
    let job = redrive_engine::store::NewJob { batch: Some(batch), ..job };
    let id = job.id;
    let mut call = redrive_engine::store::Enqueue::jobs(vec![job]);
    call.open = vec![open];
    call.seal = vec![batch];
    engine.store().enqueue(call).await.unwrap();
    let _running = engine.start();
    let row = bench.until(id, State::Failed).await;
    assert_eq!(row.failure_code, Some(Code::HandlerFailed));
    assert!(bench.store.batch(batch).await.unwrap().unwrap().state.is_ended());
}

/// Whoever enqueues serves a worker that waits, also from a runtime that ends at once: the handler runs where the worker does.
#[test]
fn a_job_that_is_enqueued_from_a_runtime_that_ends_runs_all_the_same() {
    let ours = tokio::runtime::Runtime::new().unwrap();
    // No handler ends before every runtime that enqueued has.
    let gate = Arc::new(Semaphore::new(0));
    let g = gate.clone();
    let (bench, engine, running) = ours.block_on(async {
        let bench = Bench::new().await;
        let engine = bench.engine().await;
        let mut does = Does::new(move |_, _| {
            let gate = g.clone();
            async move {
                gate.acquire().await.unwrap().forget();
                Ok(Done::Complete)
            }
        });
        does.concurrency = 64;
        engine.register(does);
        let running = engine.start();
        (bench, engine, running)
    });
    let mut jobs = Vec::new();
    for n in 0..20 {
        let theirs = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let job = theirs.block_on(engine.enqueue(&Task::n(n))).unwrap();
        drop(theirs);
        // By the time this one runs the worker waits again, with room for more.
        ours.block_on(bench.until(job, State::Processing));
        jobs.push(job);
    }
    gate.add_permits(100);
    ours.block_on(async {
        for job in jobs {
            assert_eq!(bench.until(job, State::Complete).await.attempt, 1);
        }
        running.drain().await;
    });
}

/// A caller that goes away in the middle of an enqueue costs nobody the length of a lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_enqueue_that_nobody_waits_for_loses_no_job() {
    let bench = Bench::new().await;
    let engine = bench
        .engine_with(redrive_engine::Options { lease_ttl: Duration::from_secs(600), ..crate::bench::quick() })
        .await;
    engine.register(Does::new(|_, _| async { Ok(Done::Complete) }));
    let running = engine.start();
    let quiet = async || {
        let counts = bench.store.counts().await.unwrap();
        let live = |state| counts.states.iter().any(|c| c.workload.as_str() == "task" && c.state == state);
        (!live(State::Queued) && !live(State::Processing)).then_some(())
    };
    for n in 0..50 {
        // It is on its way, and nobody hears its answer.
        let task = Task::n(n);
        let mut enqueue = Box::pin(engine.enqueue(&task));
        let _ = futures::poll!(&mut enqueue);
        drop(enqueue);
        eventually(&quiet).await;
    }
    running.drain().await;
}

/// Quick jobs are taken ahead. Behind one that is slow all of a sudden they must not stand: another worker may be free, and people
/// would read that they are being worked on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_taken_ahead_of_a_slow_job_is_given_back_uncharged() {
    const SLOW: u64 = 100;
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let gate = Arc::new(Semaphore::new(0));
    let closed = gate.clone();
    let mut does = Does::new(move |_, task| {
        let gate = closed.clone();
        async move {
            if task.n == SLOW {
                let _ = gate.acquire().await;
            }
            Ok(Done::Complete)
        }
    });
    does.concurrency = 1;
    engine.register(does);
    let tasks: Vec<Task> = (0..SLOW + 50).map(Task::n).collect();
    let jobs: Vec<_> = engine.enqueue_many(&tasks).await.unwrap().iter().map(|made| made.job()).collect();
    let running = engine.start();
    let (before, behind) = jobs.split_at(SLOW as usize);
    let (slow, behind) = behind.split_first().unwrap();
    for job in before {
        bench.until(*job, State::Complete).await;
    }
    eventually(async || {
        for job in behind {
            if bench.row(*job).await.shown != Shown::Queued {
                return None;
            }
        }
        Some(())
    })
    .await;
    assert_eq!(bench.row(*slow).await.shown, Shown::Processing);
    gate.add_permits(1);
    let mut given_back = 0;
    for job in behind {
        assert_eq!(bench.until(*job, State::Complete).await.attempt, 1);
        let events = bench.store.job_events(*job).await.unwrap();
        given_back += events.iter().filter(|event| event.kind == EventKind::Released).count();
    }
    assert!(given_back > 0, "nothing was taken ahead: this shows nothing");
    running.drain().await;
}
