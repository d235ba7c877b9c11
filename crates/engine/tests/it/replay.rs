//! Replays: what was given up is started again, supervised.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redrive_engine::model::decide::{DeadReason, Rule};
use redrive_engine::model::fingerprint::Fingerprint;
use redrive_engine::model::limits::{MAX_PAGE, MAX_REACH};
use redrive_engine::model::{Code, JobId, ReplayId, State, Target, Timestamp, WorkloadName, instant};
use redrive_engine::store::{DeadFilter, GiveUp, JobFilter, PageRequest};
use redrive_engine::{
    By, Context, Done, Engine, Failure, Input, NewReplay, Permanent, Replay, ReplayFilter, ReplayPhase,
};

use crate::bench::{Bench, eventually};
use crate::kit::{Does, Task};

fn work() -> WorkloadName {
    WorkloadName::new("task").unwrap()
}

fn all() -> NewReplay {
    NewReplay { canary: 0, rate: 500, stop_share: 1.0, ..NewReplay::of(work()) }
}

fn ann() -> By {
    By::new("ann").because("the gateway is back")
}

/// Jobs that fail for good while `broken`, and complete else; odd ones always fail when `half`.
struct Switch {
    broken: Arc<AtomicBool>,
    half: Arc<AtomicBool>,
}

impl Switch {
    fn on(engine: &Engine) -> Self {
        let switch = Self { broken: Arc::new(AtomicBool::new(true)), half: Arc::default() };
        let (broken, half) = (switch.broken.clone(), switch.half.clone());
        let mut does = Does::new(move |_, task: Task| {
            let fails = broken.load(Ordering::SeqCst) || half.load(Ordering::SeqCst) && task.n % 2 == 1;
            async move {
                if fails { Err(Failure::new(Code::HandlerRefused, "broken")) } else { Ok(Done::Complete) }
            }
        });
        does.gone = Some(13);
        engine.register(does);
        switch
    }

    fn heal(&self) {
        self.broken.store(false, Ordering::SeqCst);
    }
}

async fn die(bench: &Bench, engine: &Engine, n: u64) -> Vec<JobId> {
    let tasks: Vec<Task> = (0..n).map(Task::n).collect();
    let jobs: Vec<JobId> = engine.enqueue_many(&tasks).await.unwrap().iter().map(|e| e.job()).collect();
    for id in &jobs {
        bench.until(*id, State::Failed).await;
    }
    jobs
}

async fn until(engine: &Engine, id: ReplayId, phase: ReplayPhase) -> Replay {
    eventually(async || {
        let replay = engine.replay(id).await.unwrap().unwrap();
        (replay.phase == phase && replay.finished_at.is_some()).then_some(replay)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dry_run_counts_is_what_is_started_again() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let switch = Switch::on(&engine);
    let running = engine.start();
    let jobs = die(&bench, &engine, 40).await;
    let counted = engine.count_replay(&work(), &ReplayFilter::default()).await.unwrap();
    assert_eq!(counted.count, 40);
    switch.heal();
    let id = engine.start_replay(all(), &ann()).await.unwrap();
    let replay = until(&engine, id, ReplayPhase::Done).await;
    assert_eq!((replay.total, replay.counts.complete, replay.skipped.total()), (40, 39, 1));
    assert_eq!(replay.skipped.gone, 1, "the one whose source is gone stays");
    assert_eq!((replay.by.as_str(), replay.reason.as_deref()), ("ann", Some("the gateway is back")));
    let row = bench.row(jobs[0]).await;
    assert_eq!((row.state, row.generation, row.replay), (State::Complete, 2, Some(id)));
    assert_eq!(bench.row(jobs[13]).await.state, State::Failed);
    let acts =
        bench.store.acts(redrive_store::ActFilter::default(), PageRequest::default()).await.unwrap().rows;
    assert_eq!(
        (acts[0].act.action.as_str(), acts[0].outcome.clone()),
        ("replay.start", Some(format!("replay {id}")))
    );
    assert_eq!(engine.replays(None, PageRequest::default()).await.unwrap().rows.len(), 1);
    running.drain().await;
    assert!(engine.audit().await.unwrap().is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_that_fails_stops_it_and_the_rest_stays_dead() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let _switch = Switch::on(&engine);
    let running = engine.start();
    die(&bench, &engine, 20).await;
    let id = engine.start_replay(NewReplay { canary: 3, stop_share: 0.5, ..all() }, &ann()).await.unwrap();
    let replay = until(&engine, id, ReplayPhase::Stopped).await;
    assert_eq!((replay.counts.failed, replay.taken()), (3, 3));
    assert_eq!(bench.store.count_dead(DeadFilter::default()).await.unwrap(), 20, "the three came back");
    let second = engine.start_replay(all(), &ann()).await.unwrap();
    assert_ne!(second, id, "the next one may start");
    running.drain().await;
}

/// Also covers: D7.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_stops_when_too_many_fail_again_and_none_is_taken_twice() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let switch = Switch::on(&engine);
    let running = engine.start();
    let jobs = die(&bench, &engine, 60).await;
    switch.half.store(true, Ordering::SeqCst);
    switch.heal();
    let new = NewReplay { rate: 15, stop_share: 0.3, ..all() };
    let id = engine.start_replay(new, &ann()).await.unwrap();
    let replay = until(&engine, id, ReplayPhase::Stopped).await;
    assert!(replay.taken() < 60, "{replay:?}");
    for job in jobs {
        assert!(bench.row(job).await.generation <= 2);
    }
    let again = engine.start_replay(all(), &ann()).await.unwrap();
    let replay = until(&engine, again, ReplayPhase::Done).await;
    assert_eq!(replay.taken() + replay.skipped.total(), replay.total);
    running.drain().await;
    assert!(engine.audit().await.unwrap().is_clean());
}

/// Also covers: D8.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_at_a_time_paused_resumed_and_cancelled() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let switch = Switch::on(&engine);
    let running = engine.start();
    die(&bench, &engine, 30).await;
    switch.heal();
    let id = engine.start_replay(NewReplay { rate: 2, ..all() }, &ann()).await.unwrap();
    let second = engine.start_replay(all(), &ann()).await.unwrap_err();
    assert_eq!(second.code(), Code::ConflictState, "{second}");
    eventually(async || (engine.replay(id).await.unwrap().unwrap().taken() >= 2).then_some(())).await;
    engine.pause_replay(id, &ann()).await.unwrap();
    let job = JobId::from_uuid(id.as_uuid());
    bench.until(job, State::Queued).await;
    let before = engine.replay(id).await.unwrap().unwrap();
    assert!(before.paused);
    // Due again and not claimed: the pause holds.
    eventually(async || {
        let now = bench.store.now().await.unwrap();
        let row = bench.row(job).await;
        (instant::between(row.due_at, now) > Duration::from_millis(300)).then_some(())
    })
    .await;
    assert_eq!(engine.replay(id).await.unwrap().unwrap().taken(), before.taken());
    engine.resume_replay(id, &ann()).await.unwrap();
    eventually(async || (engine.replay(id).await.unwrap().unwrap().taken() > before.taken()).then_some(()))
        .await;
    engine.cancel_replay(id, &ann()).await.unwrap();
    let replay = until(&engine, id, ReplayPhase::Cancelled).await;
    assert!(replay.taken() < 30);
    let left = bench.store.count_dead(DeadFilter::default()).await.unwrap();
    assert_eq!(left + replay.taken(), 30);
    assert_eq!(engine.cancel_replay(id, &ann()).await.unwrap_err().code(), Code::ConflictState);
    running.drain().await;
}

/// A pause is of a workload's replays: said of one that has ended it would stop the one after it, and a resume would let a paused one go.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_of_a_replay_that_has_ended_changes_nothing_of_the_next() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let switch = Switch::on(&engine);
    let running = engine.start();
    die(&bench, &engine, 6).await;
    switch.heal();
    let first = engine.start_replay(NewReplay { rate: 1, ..all() }, &ann()).await.unwrap();
    engine.cancel_replay(first, &ann()).await.unwrap();
    until(&engine, first, ReplayPhase::Cancelled).await;
    let next = engine.start_replay(NewReplay { rate: 1, ..all() }, &ann()).await.unwrap();
    assert_eq!(engine.pause_replay(first, &ann()).await.unwrap_err().code(), Code::ConflictState);
    assert!(!engine.replay(next).await.unwrap().unwrap().paused);
    engine.pause_replay(next, &ann()).await.unwrap();
    assert_eq!(engine.resume_replay(first, &ann()).await.unwrap_err().code(), Code::ConflictState);
    assert_eq!(engine.cancel_replay(first, &ann()).await.unwrap_err().code(), Code::ConflictState);
    assert!(engine.replay(next).await.unwrap().unwrap().paused);
    running.drain().await;
}

/// The process that replays ends in the middle: another goes on, and every letter is taken once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_process_goes_on_after_a_crash() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let switch = Switch::on(&engine);
    let running = engine.start();
    let jobs = die(&bench, &engine, 12).await;
    switch.heal();
    let id = engine.start_replay(NewReplay { rate: 4, ..all() }, &ann()).await.unwrap();
    eventually(async || (engine.replay(id).await.unwrap().unwrap().taken() >= 4).then_some(())).await;
    // Not drained: its leases run out.
    drop(running);
    let running = engine.start();
    let replay = until(&engine, id, ReplayPhase::Done).await;
    assert_eq!((replay.counts.complete, replay.skipped.total()), (12, 0));
    for job in jobs {
        assert_eq!(bench.row(job).await.generation, 2);
    }
    running.drain().await;
}

/// More letters of others died since than a list looks at for one page: what was counted is started all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_letter_is_started_again_however_many_others_died_since() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let switch = Switch::on(&engine);
    let running = engine.start();
    die(&bench, &engine, 3).await;
    for _ in 0..=MAX_REACH / 1_000 {
        others_die(&bench, &engine, 1_000).await;
    }
    switch.heal();
    let counted = engine.count_replay(&work(), &ReplayFilter::default()).await.unwrap();
    assert_eq!(counted.count, 3);
    let id = engine.start_replay(all(), &ann()).await.unwrap();
    let replay = until(&engine, id, ReplayPhase::Done).await;
    assert_eq!((replay.total, replay.counts.complete), (3, 3));
    running.drain().await;
}

/// What died between the count and the start is not meant.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_that_is_told_what_was_counted_takes_no_more() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let switch = Switch::on(&engine);
    let running = engine.start();
    die(&bench, &engine, 4).await;
    let counted = engine.count_replay(&work(), &ReplayFilter::default()).await.unwrap();
    let later = die(&bench, &engine, 3).await;
    switch.heal();
    let new = NewReplay { upto: counted.newest, ..all() };
    let id = engine.start_replay(new, &ann()).await.unwrap();
    let replay = until(&engine, id, ReplayPhase::Done).await;
    assert_eq!((replay.total, replay.taken()), (counted.count, counted.count));
    for job in later {
        assert_eq!(bench.row(job).await.state, State::Failed);
    }
    let again = NewReplay { upto: counted.newest, ..all() };
    assert_eq!(engine.start_replay(again, &ann()).await.unwrap_err().code(), Code::NotFound);
    running.drain().await;
}

/// Tasks behind a target that a person holds.
fn gate() -> Target {
    Target::new("gate").unwrap()
}

async fn die_behind_the_gate(bench: &Bench, engine: &Engine, n: u64) -> Vec<JobId> {
    let task = |n| Task { target: Some(gate().to_string()), ..Task::n(n) };
    let tasks: Vec<Task> = (0..n).map(task).collect();
    let jobs: Vec<JobId> = engine.enqueue_many(&tasks).await.unwrap().iter().map(|e| e.job()).collect();
    for id in &jobs {
        bench.until(*id, State::Failed).await;
    }
    jobs
}

/// So many steps later, as its attempts tell.
async fn steps_later(bench: &Bench, engine: &Engine, id: ReplayId, steps: usize) -> Replay {
    let job = JobId::from_uuid(id.as_uuid());
    let before = bench.store.attempts(job).await.unwrap().len();
    eventually(async || {
        let now = bench.store.attempts(job).await.unwrap().len();
        (now >= before + steps).then_some(())
    })
    .await;
    engine.replay(id).await.unwrap().unwrap()
}

/// What it counts adds up to what matched, whenever somebody looks.
fn adds_up(replay: &Replay) {
    assert_eq!(replay.taken() + replay.skipped.total() + replay.left, replay.total, "{replay:?}");
}

/// One of the canary is held: it is no success, and nothing else is started before it has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_waits_for_all_of_its_jobs() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let switch = Switch::on(&engine);
    let running = engine.start();
    die_behind_the_gate(&bench, &engine, 1).await;
    die(&bench, &engine, 5).await;
    switch.heal();
    engine.hold(&gate(), None, &ann()).await.unwrap();
    let id = engine.start_replay(NewReplay { canary: 2, ..all() }, &ann()).await.unwrap();
    eventually(async || (engine.replay(id).await.unwrap().unwrap().counts.complete == 1).then_some(())).await;
    let waits = steps_later(&bench, &engine, id, 2).await;
    assert_eq!((waits.phase, waits.counts.live, waits.taken()), (ReplayPhase::Canary, 1, 2));
    adds_up(&waits);
    engine.release(&gate(), &ann()).await.unwrap();
    let done = until(&engine, id, ReplayPhase::Done).await;
    assert_eq!(done.counts.complete, 6);
    running.drain().await;
}

/// A canary that was cancelled says nothing: another one is tried in its place, and what that one says counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_canary_makes_way_for_another() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let _broken = Switch::on(&engine);
    let running = engine.start();
    let jobs = die_behind_the_gate(&bench, &engine, 4).await;
    engine.hold(&gate(), None, &ann()).await.unwrap();
    let new = NewReplay { canary: 1, stop_share: 0.5, ..all() };
    let id = engine.start_replay(new, &ann()).await.unwrap();
    let taken = async |n: u64| {
        eventually(async || (engine.replay(id).await.unwrap().unwrap().taken() == n).then_some(())).await;
    };
    taken(1).await;
    let mut tried = Vec::new();
    for job in jobs {
        if bench.row(job).await.state == State::Queued {
            tried.push(job);
        }
    }
    engine.cancel(tried, &ann()).await.unwrap();
    taken(2).await;
    assert_eq!(engine.replay(id).await.unwrap().unwrap().phase, ReplayPhase::Canary);
    engine.release(&gate(), &ann()).await.unwrap();
    let stopped = until(&engine, id, ReplayPhase::Stopped).await;
    assert_eq!((stopped.counts.cancelled, stopped.counts.failed, stopped.left), (1, 1, 2));
    running.drain().await;
}

/// What a person starts again by hand after it failed again stays a failure of the replay.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_stays_one_when_a_person_starts_the_job_again() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let switch = Switch::on(&engine);
    let running = engine.start();
    let held = die_behind_the_gate(&bench, &engine, 1).await;
    let jobs = die(&bench, &engine, 3).await;
    engine.hold(&gate(), None, &ann()).await.unwrap();
    let id = engine.start_replay(all(), &ann()).await.unwrap();
    for job in &jobs {
        bench.until_row(*job, |row| row.state == State::Failed && row.generation == 2).await;
    }
    switch.heal();
    engine.retry(jobs.clone(), &ann()).await.unwrap();
    for job in &jobs {
        bench.until(*job, State::Complete).await;
    }
    let goes_on = steps_later(&bench, &engine, id, 2).await;
    assert_eq!((goes_on.phase, goes_on.counts.failed), (ReplayPhase::Finishing, 3));
    engine.release(&gate(), &ann()).await.unwrap();
    let done = until(&engine, id, ReplayPhase::Done).await;
    assert_eq!((done.counts.complete, done.counts.failed), (1, 3));
    assert_eq!(bench.row(held[0]).await.generation, 2);
    adds_up(&done);
    running.drain().await;
}

/// Letters that somebody started again or discarded before their turn are told: nothing is missing in the sum.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letters_that_others_took_before_their_turn_are_told() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let switch = Switch::on(&engine);
    let running = engine.start();
    let jobs = die(&bench, &engine, 8).await;
    switch.heal();
    let id = engine.start_replay(NewReplay { rate: 1, ..all() }, &ann()).await.unwrap();
    engine.pause_replay(id, &ann()).await.unwrap();
    bench.until(JobId::from_uuid(id.as_uuid()), State::Queued).await;
    let open = bench.dead().await;
    let newest: Vec<_> = open.iter().take(3).collect();
    engine.retry(newest[..2].iter().map(|letter| letter.job).collect(), &ann()).await.unwrap();
    engine.discard(vec![newest[2].offset], &ann()).await.unwrap();
    adds_up(&engine.replay(id).await.unwrap().unwrap());
    engine.resume_replay(id, &ann()).await.unwrap();
    let done = until(&engine, id, ReplayPhase::Done).await;
    assert_eq!((done.counts.complete, done.skipped.changed, done.left), (5, 3, 0));
    adds_up(&done);
    assert_eq!(jobs.len() as u64, done.total);
    running.drain().await;
}

/// What whoever counts on for ended replays has counted: (complete, failed, cancelled).
async fn counted_on(bench: &Bench) -> Vec<(u64, u64, u64)> {
    let workload = Some(WorkloadName::new("redrive.replayed").unwrap());
    let filter = JobFilter { workload, chore: true, ..JobFilter::default() };
    let rows = bench.store.jobs(filter, PageRequest::default()).await.unwrap().rows;
    let payloads = bench.store.payloads(rows.iter().map(|row| row.id).collect()).await.unwrap();
    let counted = payloads.into_iter().map(|payload| {
        let state: serde_json::Value = match payload.and_then(|payload| payload.state) {
            Some(state) => serde_json::from_slice(&state).unwrap(),
            None => return (0, 0, 0),
        };
        let of = |name: &str| state["counted"][name].as_u64().unwrap();
        (of("complete"), of("failed"), of("cancelled"))
    });
    counted.collect()
}

/// What had been started goes on after the end, and is counted to its end: also when the process dies that counts, and while the next
/// replay takes what failed again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_on_after_a_replay_has_stopped_is_counted_to_its_end() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let switch = Switch::on(&engine);
    let running = engine.start();
    die_behind_the_gate(&bench, &engine, 1).await;
    die(&bench, &engine, 12).await;
    engine.hold(&gate(), None, &ann()).await.unwrap();
    let id = engine.start_replay(NewReplay { canary: 12, stop_share: 0.5, ..all() }, &ann()).await.unwrap();
    let stopped = until(&engine, id, ReplayPhase::Stopped).await;
    assert_eq!((stopped.counts.live, stopped.counts.complete, stopped.left), (1, 0, 1));
    adds_up(&stopped);
    drop(running);
    switch.heal();
    engine.release(&gate(), &ann()).await.unwrap();
    let running = engine.start();
    let next = engine.start_replay(all(), &ann()).await.unwrap();
    until(&engine, next, ReplayPhase::Done).await;
    let counted = eventually(async || {
        let counted = counted_on(&bench).await;
        (counted.iter().any(|(complete, _, _)| *complete == 1)).then_some(counted)
    })
    .await;
    assert_eq!(counted, [(1, 11, 0)], "one counts on, and knows all");
    let ended = engine.replay(id).await.unwrap().unwrap();
    assert_eq!((ended.phase, ended.counts.live), (ReplayPhase::Stopped, 0));
    assert_eq!((ended.counts.complete, ended.counts.failed, ended.left), (1, 11, 1));
    running.drain().await;
    assert!(engine.audit().await.unwrap().is_clean());
}

/// However a replay is cancelled, by its name or as the job that it is, what it started is counted on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_on_after_a_replay_was_cancelled_is_counted_to_its_end() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let switch = Switch::on(&engine);
    let running = engine.start();
    for as_a_job in [false, true] {
        switch.broken.store(true, Ordering::SeqCst);
        die_behind_the_gate(&bench, &engine, 3).await;
        switch.heal();
        engine.hold(&gate(), None, &ann()).await.unwrap();
        let id = engine.start_replay(all(), &ann()).await.unwrap();
        eventually(async || (engine.replay(id).await.unwrap().unwrap().taken() == 3).then_some(())).await;
        match as_a_job {
            true => drop(engine.cancel(vec![JobId::from_uuid(id.as_uuid())], &ann()).await.unwrap()),
            false => engine.cancel_replay(id, &ann()).await.unwrap(),
        }
        engine.release(&gate(), &ann()).await.unwrap();
        eventually(async || (counted_on(&bench).await.first() == Some(&(3, 0, 0))).then_some(())).await;
        let ended = engine.replay(id).await.unwrap().unwrap();
        assert_eq!((ended.phase, ended.counts.complete), (ReplayPhase::Cancelled, 3));
        adds_up(&ended);
    }
    assert_eq!(counted_on(&bench).await.len(), 2);
    running.drain().await;
}

/// A start that is refused changes nothing: a person's pause holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_replay_that_is_refused_leaves_the_pause_of_the_first() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let _switch = Switch::on(&engine);
    let running = engine.start();
    die(&bench, &engine, 4).await;
    let first = engine.start_replay(NewReplay { rate: 1, ..all() }, &ann()).await.unwrap();
    engine.pause_replay(first, &ann()).await.unwrap();
    assert_eq!(engine.start_replay(all(), &ann()).await.unwrap_err().code(), Code::ConflictState);
    assert!(engine.replay(first).await.unwrap().unwrap().paused);
    // The one after it is not held by a pause that was meant for it.
    engine.cancel_replay(first, &ann()).await.unwrap();
    bench.store.pause(Some(&WorkloadName::new("redrive.replay.task").unwrap()), "bob").await.unwrap();
    let next = engine.start_replay(all(), &ann()).await.unwrap();
    assert!(!engine.replay(next).await.unwrap().unwrap().paused);
    running.drain().await;
}

/// A step takes several pages of letters, so that the highest rate is one that happens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_takes_as_many_as_its_rate_says() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let switch = Switch::on(&engine);
    let running = engine.start();
    let jobs = die(&bench, &engine, 450).await;
    switch.heal();
    let id = engine.start_replay(all(), &ann()).await.unwrap();
    let replay = until(&engine, id, ReplayPhase::Done).await;
    assert_eq!((replay.taken(), replay.skipped.total()), (449, 1));
    // A step is an attempt, and what it took was queued while it ran.
    let mut queued = Vec::new();
    for job in jobs {
        let row = bench.row(job).await;
        queued.extend((row.generation == 2).then_some(row.queued_at));
    }
    let steps = bench.store.attempts(JobId::from_uuid(id.as_uuid())).await.unwrap();
    let taken = steps.iter().map(|step| {
        let within =
            |at: &&Timestamp| step.started_at.is_some_and(|from| (from..=step.ended_at).contains(*at));
        queued.iter().filter(within).count()
    });
    let taken: Vec<usize> = taken.collect();
    assert!(taken.iter().max() > Some(&MAX_PAGE), "{taken:?}");
    running.drain().await;
}

/// Replays are found page by page, however many jobs were handed in since.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replays_are_listed_in_pages_however_many_jobs_came_since() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let _switch = Switch::on(&engine);
    engine.permanent("ledger", Nothing).await.unwrap();
    let running = engine.start();
    die(&bench, &engine, 2).await;
    let mut started = Vec::new();
    for _ in 0..3 {
        let id = engine.start_replay(NewReplay { rate: 1, ..all() }, &ann()).await.unwrap();
        engine.cancel_replay(id, &ann()).await.unwrap();
        started.insert(0, id);
    }
    running.drain().await;
    for _ in 0..=MAX_REACH / 1_000 {
        let papers: Vec<Paper> = (0..1_000).map(|_| Paper).collect();
        engine.enqueue_many(&papers).await.unwrap();
    }
    for workload in [None, Some(work())] {
        let (mut seen, mut cursor) = (Vec::new(), None);
        for full in [2, 1] {
            let page = engine.replays(workload.as_ref(), PageRequest { limit: 2, cursor }).await.unwrap();
            assert_eq!(page.rows.len(), full);
            seen.extend(page.rows.into_iter().map(|replay| replay.id));
            cursor = page.next;
        }
        assert_eq!((seen, cursor), (started.clone(), None));
    }
    let other = WorkloadName::new("other").unwrap();
    assert!(engine.replays(Some(&other), PageRequest::default()).await.unwrap().rows.is_empty());
    let names: Vec<String> =
        engine.permanents().await.unwrap().into_iter().map(|one| one.name.to_string()).collect();
    for name in ["ledger", "redrive.reclaim", "redrive.retention"] {
        assert!(names.iter().any(|known| known == name), "{name} is not among {names:?}");
    }
}

struct Nothing;

impl Permanent for Nothing {
    async fn run(&self, _: Context) -> Result<Done, Failure> {
        Ok(Done::RescheduleIn(Duration::from_secs(3_600)))
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Paper;

impl Input for Paper {
    const WORKLOAD: &'static str = "paper";
}

/// So many jobs of a workload that nobody runs here are given up while they wait.
async fn others_die(bench: &Bench, engine: &Engine, n: usize) {
    let papers: Vec<Paper> = (0..n).map(|_| Paper).collect();
    let jobs = engine.enqueue_many(&papers).await.unwrap().iter().map(|one| one.job()).collect();
    let failure = Failure::new(Code::SystemGivenUp, "given up while it waited");
    let call = GiveUp {
        jobs,
        reason: DeadReason::GivenUp,
        rule: Rule::ByHand,
        fingerprint: Fingerprint::new(
            failure.code,
            &WorkloadName::new(Paper::WORKLOAD).unwrap(),
            None,
            &failure.message,
        ),
        failure,
        target: None,
        keep: None,
    };
    bench.store.give_up(call).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_to_replay_is_said() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let error = engine.start_replay(all(), &ann()).await.unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    let missing = ReplayId::from_uuid(JobId::from_parts(bench.store.now().await.unwrap(), [7; 10]).as_uuid());
    assert_eq!(engine.replay(missing).await.unwrap(), None);
    assert_eq!(engine.pause_replay(missing, &ann()).await.unwrap_err().code(), Code::NotFound);
}
