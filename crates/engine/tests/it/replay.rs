//! Replays: what was given up is started again, supervised.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redrive_engine::model::decide::{DeadReason, Rule};
use redrive_engine::model::fingerprint::Fingerprint;
use redrive_engine::model::limits::{MAX_PAGE, MAX_REACH};
use redrive_engine::model::{Code, JobId, ReplayId, State, Timestamp, WorkloadName, instant};
use redrive_engine::store::{DeadFilter, GiveUp, PageRequest};
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
