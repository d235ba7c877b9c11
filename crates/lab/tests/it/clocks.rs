//! Row 16: workers whose clocks are wrong. Only the database's clock decides.

use std::path::PathBuf;

use redrive::store::JobRow;
use redrive_lab::worker::{BACKOFF, TTL, Write};
use redrive_model::{State, instant};

use crate::audit::audit;
use crate::kit::{Database, Folder, Process, eventually};

/// The library that lies about the time.
fn library() -> String {
    let places = std::fs::read_dir("/usr/lib").unwrap().map(|entry| entry.unwrap().path());
    let mut found =
        places.map(|place: PathBuf| place.join("faketime/libfaketime.so.1")).filter(|path| path.exists());
    let found = found.next().expect("libfaketime is missing: ./test installs the package faketime");
    found.to_str().unwrap().to_owned()
}

/// A worker whose wall clock is what the file says.
async fn worker(folder: &Folder, url: &str, clock: &str) -> Process {
    let file = folder.file(&format!("clock{}", clock.replace(' ', "_")));
    std::fs::write(&file, format!("{clock}\n")).unwrap();
    let variables = [
        ("LD_PRELOAD", library()),
        ("FAKETIME_TIMESTAMP_FILE", file.to_str().unwrap().to_owned()),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        // No kernel lets the monotonic clock jump.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("DONT_FAKE_MONOTONIC", "1".to_owned()),
    ];
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Process::start_with(folder, url, &[], &variables).await
}

/// Also covers: M16.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_clocks_of_workers_decide_nothing() {
    let (folder, database) = (Folder::new(), Database::postgres().await);
    let mut workers = Vec::new();
    for clock in ["+3600", "-3600", "+0 x1.1"] {
        workers.push(worker(&folder, &database.url, clock).await);
    }
    let began = database.now().await;
    let job = Write {
        ledger: folder.ledger(),
        gate: Some(folder.file("gate")),
        first_fails: true,
        first_gate: Some(folder.file("first")),
        ..Write::default()
    };
    // More than one worker can run: each of them has some.
    let jobs = database.enqueue_many(&vec![job; 10]).await;
    for job in &jobs {
        folder.started(*job, 1).await;
    }
    let pids: std::collections::HashSet<u32> = folder.lines().iter().map(|line| line.pid).collect();
    assert_eq!(pids.len(), 3, "each clock has work");
    let far = folder.lines().iter().any(|line| instant::between(began, line.at) > TTL * 100);
    assert!(far, "no clock is wrong: {:#?}", folder.lines());
    // One clock jumps two hours back, in the middle of its jobs.
    std::fs::write(folder.file("clock+3600"), "-3600\n").unwrap();
    database.passes(TTL * 2).await;
    folder.open("first");
    for job in &jobs {
        folder.started(*job, 2).await;
    }
    folder.open("gate");
    for job in &jobs {
        let row = database.until(*job, State::Complete).await;
        assert_eq!((row.attempt, row.crashes), (2, 0), "no lease ran out early: {row:#?}");
        let ended = database.now().await;
        for at in times(&row) {
            assert!(began <= at && at <= ended, "{at} is not between {began} and {ended}: {row:#?}");
        }
        let attempts = database.attempts(*job).await;
        let again = attempts[1].started_at.unwrap();
        assert!(instant::after(attempts[0].ended_at, BACKOFF) <= again, "tried again early: {attempts:#?}");
        assert_eq!(attempts[0].outcome, "retry");
    }
    eventually("all workers to be idle", async || {
        database.store().workers().await.unwrap().iter().all(|worker| worker.seen_at >= began).then_some(())
    })
    .await;
    for worker in workers {
        worker.drain().await;
    }
    audit(&database, &folder, &jobs).await;
}

/// Everything in a row that tells a time that has been.
fn times(row: &JobRow) -> Vec<redrive::Timestamp> {
    [Some(row.created_at), Some(row.queued_at), row.started_at, row.finished_at]
        .into_iter()
        .flatten()
        .collect()
}
