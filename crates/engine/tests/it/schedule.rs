//! Jobs that come again and again: once for each time, whoever keeps the schedule.

use std::time::Duration;

use redrive_engine::model::{State, Timestamp};
use redrive_engine::store::clock::ManualClock;
use redrive_engine::store::{JobFilter, JobRow, PageRequest};
use redrive_engine::{Done, Missed, Schedule, WorkloadName};

use crate::bench::{Bench, eventually};
use crate::kit::{Does, Task};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

async fn tasks(bench: &Bench) -> Vec<JobRow> {
    let filter = JobFilter { workload: Some(WorkloadName::new("task").unwrap()), ..JobFilter::default() };
    bench.store.jobs(filter, PageRequest { limit: 200, cursor: None }).await.unwrap().rows
}

async fn until_done(bench: &Bench, n: usize) -> Vec<JobRow> {
    eventually(async || {
        let rows = tasks(bench).await;
        (rows.len() >= n && rows.iter().all(|row| row.state == State::Complete)).then_some(rows)
    })
    .await
}

/// Two servers, the day on which Berlin's clocks go back: half past two comes twice and the job once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_a_day_with_two_servers_on_the_day_the_clocks_change() {
    let clock = ManualClock::new(at("2026-10-24T12:00:00Z"));
    let bench = Bench::with_clock(clock.clone());
    let mut running = Vec::new();
    for _ in 0..2 {
        let engine = bench.engine().await;
        engine.register(Does::new(|_, _| async { Ok(Done::Complete) }));
        let nightly = Schedule::daily("02:30").unwrap().in_zone("Europe/Berlin").unwrap();
        engine.schedule("nightly", nightly, Missed::Once, &Task::n(1)).await.unwrap();
        running.push(engine.start());
    }
    let kept = WorkloadName::new("redrive.schedule.nightly").unwrap();
    let asleep = async |until: &str| {
        let until = at(until);
        eventually(async || {
            let filter = JobFilter { workload: Some(kept.clone()), ..JobFilter::default() };
            let rows = bench.store.jobs(filter, PageRequest::default()).await.unwrap().rows;
            (rows.len() == 1 && rows[0].state == State::Queued && rows[0].due_at == until).then_some(())
        })
        .await;
    };
    asleep("2026-10-25T00:30:00Z").await;
    assert!(tasks(&bench).await.is_empty(), "nothing is made up for at the first start");
    clock.set(at("2026-10-25T00:30:00Z"));
    until_done(&bench, 1).await;
    asleep("2026-10-26T01:30:00Z").await;
    clock.set(at("2026-10-25T01:30:00Z"));
    clock.set(at("2026-10-26T01:30:05Z"));
    until_done(&bench, 2).await;
    asleep("2026-10-27T01:30:00Z").await;
    assert_eq!(tasks(&bench).await.len(), 2);
    for running in running {
        running.drain().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_missed_while_nobody_was_there_is_made_up_for_as_said() {
    for (missed, expected) in [(Missed::Skip, 0), (Missed::Once, 1), (Missed::All, 6)] {
        let clock = ManualClock::new(at("2026-01-01T00:00:30Z"));
        let bench = Bench::with_clock(clock.clone());
        let engine = bench.engine().await;
        engine.register(Does::new(|_, _| async { Ok(Done::Complete) }));
        let hourly = || Schedule::cron("0 * * * *").unwrap();
        let id = engine.schedule("hourly", hourly(), missed, &Task::n(1)).await.unwrap();
        let running = engine.start();
        bench
            .until_row(id, |row| row.due_at == at("2026-01-01T01:00:00Z") && row.state == State::Queued)
            .await;
        running.drain().await;
        clock.set(at("2026-01-01T06:30:00Z"));
        let engine = bench.engine().await;
        engine.register(Does::new(|_, _| async { Ok(Done::Complete) }));
        assert_eq!(engine.schedule("hourly", hourly(), missed, &Task::n(1)).await.unwrap(), id);
        let running = engine.start();
        bench
            .until_row(id, |row| row.due_at == at("2026-01-01T07:00:00Z") && row.state == State::Queued)
            .await;
        assert_eq!(until_done(&bench, expected).await.len(), expected, "{missed:?}");
        running.drain().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_schedule_under_the_same_name_takes_its_place() {
    let clock = ManualClock::new(at("2026-01-01T00:00:30Z"));
    let bench = Bench::with_clock(clock.clone());
    let engine = bench.engine().await;
    engine.register(Does::new(|_, _| async { Ok(Done::Complete) }));
    let yearly = Schedule::cron("@yearly").unwrap();
    let id = engine.schedule("report", yearly, Missed::All, &Task::n(1)).await.unwrap();
    let running = engine.start();
    bench.until_row(id, |row| row.due_at == at("2027-01-01T00:00:00Z") && row.state == State::Queued).await;
    running.drain().await;
    let often = Schedule::every(Duration::from_secs(60));
    assert_eq!(engine.schedule("report", often, Missed::All, &Task::n(2)).await.unwrap(), id);
    let running = engine.start();
    bench.until_row(id, |row| row.due_at == at("2026-01-01T00:01:00Z") && row.state == State::Queued).await;
    assert!(tasks(&bench).await.is_empty());
    clock.set(at("2026-01-01T00:02:10Z"));
    assert_eq!(until_done(&bench, 2).await.len(), 2);
    running.drain().await;
}
