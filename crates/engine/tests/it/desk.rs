//! What people do and see: acts with their trail, explanations, simulation, the auditor.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redrive_engine::model::backoff::Backoff;
use redrive_engine::model::group::GroupState;
use redrive_engine::model::{Code, Shown, State, Target, instant};
use redrive_engine::store::{ActRow, Acted, AttemptRow, EventKind, GroupFilter, JobFilter, PageRequest};
use redrive_engine::{By, Context, Done, Failure, Place, Policy, Simulated, WorkloadName, simulate};

use crate::bench::{Bench, eventually};
use crate::kit::{Does, Task, at_once};

fn ann() -> By {
    By::new("ann").because("they move house")
}

async fn trail(bench: &Bench) -> Vec<ActRow> {
    bench.store.acts(redrive_store::ActFilter::default(), PageRequest::default()).await.unwrap().rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_is_held_by_hand_until_its_time_or_until_it_is_released() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    engine.register(Does::new(|_, _| async { Ok(Done::Complete) }));
    let running = engine.start();
    let gateway = Target::new("gateway").unwrap();
    engine.hold(&gateway, None, &ann()).await.unwrap();
    let task = || Task { target: Some("gateway".into()), ..Task::n(1) };
    let held = engine.enqueue(&task()).await.unwrap();
    let free = engine.enqueue(&Task::n(2)).await.unwrap();
    bench.until(free, State::Complete).await;
    let row = bench.row(held).await;
    assert_eq!((row.shown, row.attempt), (Shown::Held, 0));
    let told = engine.explain(held).await.unwrap().unwrap().now;
    assert!(told.contains("gateway is held by ann") && told.contains("they move house"), "{told}");
    engine.release(&gateway, &By::new("bob")).await.unwrap();
    bench.until(held, State::Complete).await;
    let until = instant::after(bench.store.now().await.unwrap(), Duration::from_millis(300));
    engine.hold(&gateway, Some(until), &ann()).await.unwrap();
    let waits = engine.enqueue(&task()).await.unwrap();
    let row = bench.until(waits, State::Complete).await;
    assert!(row.started_at.unwrap() >= until, "it ran before the hold ended");
    let acts: Vec<_> = trail(&bench).await.into_iter().map(|row| (row.act.action, row.act.actor)).collect();
    let expected = [("target.hold", "ann"), ("target.release", "bob"), ("target.hold", "ann")];
    assert_eq!(acts, expected.map(|(action, actor)| (action.to_owned(), actor.to_owned())));
    running.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_act_leaves_a_line_with_its_outcome() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let work = WorkloadName::new("task").unwrap();
    engine.register(Does::new(|_, _| async { Err(Failure::new(Code::HandlerRefused, "no")) }));
    engine.pause(Some(&work), &ann()).await.unwrap();
    let id = engine.enqueue(&Task::n(1)).await.unwrap();
    let running = engine.start();
    assert_eq!(engine.cancel(vec![id], &ann()).await.unwrap(), [Acted::Done]);
    let second = engine.enqueue(&Task::n(2)).await.unwrap();
    engine.resume(Some(&work), &ann()).await.unwrap();
    bench.until(second, State::Failed).await;
    let group =
        bench.store.groups(GroupFilter::default(), PageRequest::default()).await.unwrap().rows[0].clone();
    engine.move_group(&group.fingerprint, GroupState::Acknowledged, &ann()).await.unwrap();
    engine.move_group(&group.fingerprint, GroupState::Resolved, &ann()).await.unwrap();
    engine.move_group(&group.fingerprint, GroupState::New, &ann()).await.unwrap_err();
    engine.retry(vec![second, id], &ann()).await.unwrap();
    bench.until_row(second, |row| row.state == State::Failed && row.generation == 2).await;
    let group =
        bench.store.groups(GroupFilter::default(), PageRequest::default()).await.unwrap().rows[0].clone();
    assert_eq!(group.state, GroupState::Regressed, "it was resolved and is seen again");
    let offset = bench.dead().await[0].offset;
    assert_eq!(engine.discard(vec![offset], &ann()).await.unwrap(), 1);
    let mut lines: Vec<String> = trail(&bench)
        .await
        .into_iter()
        .map(|row| format!("{} {}", row.act.action, row.outcome.unwrap_or_default()))
        .collect();
    lines.reverse();
    assert_eq!(lines[..2], ["workload.pause paused", "jobs.cancel 1 of 1"]);
    assert_eq!(lines[2..5], ["workload.resume resumed", "group.acknowledged moved", "group.resolved moved"]);
    assert!(lines[5].starts_with("group.new CONFLICT_STATE"), "{}", lines[5]);
    assert_eq!(lines[6..], ["jobs.retry 1 of 2", "dead.discard 1 discarded"]);
    running.drain().await;
    assert!(engine.audit().await.unwrap().is_clean());
}

/// D14: a job whose source is gone is not started again for nothing.
///
/// Also covers: D14.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_is_refused_when_the_source_is_gone() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let mut does = Does::new(|_, _| async { Err(Failure::new(Code::HandlerRefused, "no")) });
    does.gone = Some(7);
    engine.register(does);
    let running = engine.start();
    let id = engine.enqueue(&Task::n(7)).await.unwrap();
    bench.until(id, State::Failed).await;
    let refused = engine.retry(vec![id], &ann()).await.unwrap_err();
    assert_eq!(refused.code(), Code::SourceMissing);
    assert_eq!(bench.row(id).await.generation, 1);
    running.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_explanation_tells_what_happened_and_what_comes_next() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let mut does = Does::new(|ctx: Context, task: Task| async move {
        match (task.n, ctx.attempt()) {
            (1, 1) => Err(Failure::new(Code::GwTimeout, "no answer in 180 s")),
            (1, _) => Err(Failure::new(Code::HandlerRefused, "not like this")),
            _ => Err(Failure::new(Code::GwTimeout, "later")),
        }
    });
    does.policy = Policy { backoff: Backoff::none(), ..at_once(3) };
    engine.register(does);
    let running = engine.start();
    let id = engine.enqueue(&Task::n(1)).await.unwrap();
    bench.until(id, State::Failed).await;
    let story = engine.explain(id).await.unwrap().unwrap();
    let text = story.lines().join("\n");
    for part in [
        "attempt 1 retry GW_TIMEOUT: no answer in 180 s",
        "This failure may pass and there are attempts left",
        "attempt 2 failed HANDLER_REFUSED: not like this",
        "does not change by itself",
        "Failed with HANDLER_REFUSED.",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    let nobody = redrive_engine::JobId::from_parts(bench.store.now().await.unwrap(), [1; 10]);
    assert_eq!(engine.explain(nobody).await.unwrap(), None);
    running.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_policy_is_tried_on_what_has_happened() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let mut does = Does::new(|ctx: Context, task: Task| async move {
        match task.n {
            // Completes at the third try.
            1 if ctx.attempt() < 3 => Err(Failure::new(Code::TargetError, "500")),
            // Never.
            2 => Err(Failure::new(Code::TargetError, "500")),
            3 => Err(Failure::new(Code::HandlerRefused, "no")),
            _ => Ok(Done::Complete),
        }
    });
    does.policy = at_once(4);
    engine.register(does);
    let running = engine.start();
    let since = bench.store.now().await.unwrap();
    for n in 0..4 {
        let id = engine.enqueue(&Task::n(n)).await.unwrap();
        bench.until_row(id, |row| row.state.is_terminal()).await;
    }
    let work = WorkloadName::new("task").unwrap();
    let same = engine.simulate(&work, &at_once(4), since).await.unwrap();
    assert_eq!((same.jobs, same.same, same.attempts, same.saved), (4, 4, 9, 0));
    let fewer = engine.simulate(&work, &at_once(2), since).await.unwrap();
    assert_eq!((fewer.lost, fewer.given_up_earlier, fewer.saved), (1, 1, 3));
    assert_eq!(fewer.by_code.get("TARGET_ERROR"), Some(&2));
    let more = engine.simulate(&work, &at_once(9), since).await.unwrap();
    assert_eq!((more.tried_longer, more.same), (1, 3));
    running.drain().await;
}

/// What was no try in truth is none for another policy: two charged executions are two, however often the job was given back between them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_given_back_is_given_back_when_another_policy_is_tried() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let count = runs.clone();
    let mut does = Does::new(move |ctx: Context, _| {
        let run = count.fetch_add(1, Ordering::SeqCst);
        async move {
            match run {
                0 | 2 => Ok(Done::Snooze(Duration::ZERO)),
                3 => Ok(Done::RescheduleNow),
                _ if ctx.attempt() == 1 => Err(Failure::new(Code::TargetError, "500")),
                _ => Ok(Done::Complete),
            }
        }
    });
    does.policy = at_once(2);
    engine.register(does);
    let running = engine.start();
    let since = bench.store.now().await.unwrap();
    let id = engine.enqueue(&Task::n(1)).await.unwrap();
    bench.until(id, State::Complete).await;
    let outcomes = ["snoozed", "retry", "snoozed", "rescheduled", "retry", "complete"];
    assert_eq!(bench.outcomes(id).await, outcomes);
    let work = WorkloadName::new("task").unwrap();
    let same = engine.simulate(&work, &at_once(2), since).await.unwrap();
    assert_eq!((same.jobs, same.same, same.lost), (1, 1, 0), "{same:?}");
    let once = engine.simulate(&work, &at_once(1), since).await.unwrap();
    assert_eq!((once.lost, once.saved), (1, 4), "{once:?}");
    running.drain().await;

    // Every word with which an attempt goes back to the queue, between two tries that failed.
    let job = bench.row(id).await;
    let past = bench.store.attempts(id).await.unwrap();
    let (failed, complete) = (&past[1], past.last().unwrap());
    for (word, code, charged) in [
        ("probe_refunded", Some(Code::TargetError), false),
        ("throttled", Some(Code::TargetThrottled), false),
        ("environment", Some(Code::DiskFull), false),
        ("returned", None, false),
        ("released", None, false),
        ("awaits_batch", None, false),
        ("reclaimed", Some(Code::SystemLeaseLost), true),
        ("reclaimed", Some(Code::SystemWorkerLost), true),
    ] {
        let back = AttemptRow { outcome: word.to_owned(), code, rule: None, ..failed.clone() };
        let history = [failed.clone(), back, complete.clone()];
        let mut tried = Simulated::default();
        simulate(&job, &history, &at_once(2), &mut tried);
        assert_eq!((tried.lost == 1, tried.same == 1), (charged, !charged), "{word} {code:?}: {tried:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_auditor_knows_where_every_job_is() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let g = gate.clone();
    let mut does = Does::new(move |_, task: Task| {
        let gate = g.clone();
        async move {
            match task.n {
                0 => Ok(Done::Complete),
                1 => Err(Failure::new(Code::HandlerRefused, "no")),
                2 => Ok(Done::Snooze(Duration::from_secs(3_600))),
                _ => {
                    gate.acquire().await.unwrap().forget();
                    Ok(Done::Complete)
                }
            }
        }
    });
    does.concurrency = 1;
    engine.register(does);
    engine.hold(&Target::new("held").unwrap(), None, &ann()).await.unwrap();
    for n in 0..5 {
        engine.enqueue(&Task::n(n)).await.unwrap();
    }
    engine.enqueue(&Task { target: Some("held".into()), ..Task::n(9) }).await.unwrap();
    let running = engine.start();
    let report = eventually(async || {
        let report = engine.audit().await.unwrap();
        let wanted = [Place::Runnable, Place::Waiting, Place::Leased, Place::Held, Place::Dead, Place::Done];
        (!report.moved && wanted.iter().all(|place| report.places.contains_key(place))).then_some(report)
    })
    .await;
    assert!(report.is_clean(), "{:?}", report.violations);
    assert_eq!(report.places.values().sum::<u64>(), report.jobs);
    gate.add_permits(100);
    running.drain().await;
}

/// What happened is counted behind it by one job of the fleet, which is a reader of events like others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happened_is_counted_by_minute_and_the_engines_own_jobs_are_not_told() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    engine.register(Does::new(|_, _| async { Ok(Done::Complete) }));
    let since = instant::before(bench.store.now().await.unwrap(), Duration::from_secs(60));
    engine.count_minutes().await.unwrap();
    let running = engine.start();
    for n in 0..5 {
        engine.enqueue(&Task::n(n)).await.unwrap();
    }
    let counted = eventually(async || {
        let rows = engine.minutes(since, 60).await.unwrap();
        let jobs =
            |kind: EventKind| rows.iter().filter(|row| row.kind == kind).map(|row| row.jobs).sum::<u64>();
        (jobs(EventKind::Complete) == 5).then(|| jobs(EventKind::Queued))
    })
    .await;
    assert_eq!(counted, 5);
    assert!(engine.readers().await.unwrap().iter().any(|reader| reader.name == "redrive.minutes"));
    assert!(engine.permanents().await.unwrap().iter().any(|job| job.name.as_str() == "redrive.minutes"));
    running.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_jobs_are_counted_and_cancelled_by_the_many_and_others_are_left_alone() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let mut jobs = Vec::new();
    for n in 0..450 {
        jobs.push(engine.enqueue(&Task::n(n)).await.unwrap());
    }
    let work = || JobFilter {
        workload: Some(WorkloadName::new(<Task as redrive_engine::Input>::WORKLOAD).unwrap()),
        ..JobFilter::default()
    };
    let other = JobFilter { workload: Some(WorkloadName::new("other").unwrap()), ..JobFilter::default() };
    let counted = engine.count_waiting(work()).await.unwrap();
    assert_eq!((counted.count, counted.newest), (450, jobs.last().copied()));
    assert_eq!(engine.cancel_waiting(other, 1_000, &ann()).await.unwrap().cancelled, 0);
    let some = engine.cancel_waiting(work(), 250, &ann()).await.unwrap();
    assert_eq!((some.cancelled, some.more), (250, true));
    assert_eq!(bench.row(jobs[449]).await.state, State::Cancelled, "the newest first");
    assert_eq!(bench.row(jobs[0]).await.state, State::Queued);
    // What comes after the count is not meant, although it is the newest.
    let later = engine.enqueue(&Task::n(450)).await.unwrap();
    let upto = JobFilter { upto: counted.newest, ..work() };
    let rest = engine.cancel_waiting(upto, 1_000, &ann()).await.unwrap();
    assert_eq!((rest.cancelled, rest.more), (200, false));
    assert_eq!(bench.row(later).await.state, State::Queued);
    let line = &trail(&bench).await[0];
    assert_eq!(line.outcome.as_deref(), Some("200 cancelled"));
    assert!(line.act.subject.starts_with("waiting jobs workload "), "{}", line.act.subject);
    for (refused, code) in [
        (JobFilter::default(), Code::ValidationFilterRequired),
        (JobFilter { shown: vec![Shown::Processing], ..work() }, Code::ValidationInvalidField),
        (
            JobFilter {
                workload: Some(WorkloadName::new("redrive.reclaim").unwrap()),
                ..JobFilter::default()
            },
            Code::ConflictState,
        ),
    ] {
        assert_eq!(engine.count_waiting(refused.clone()).await.unwrap_err().code(), code);
        assert_eq!(engine.cancel_waiting(refused, 10, &ann()).await.unwrap_err().code(), code);
    }
}
