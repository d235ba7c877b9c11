//! Row 15: a handler blocks its thread and ignores that its time is over.

use redrive_lab::worker::{Block, Write};
use redrive_model::{Code, State};

use crate::audit::audit;
use crate::kit::{Database, Folder, Process, eventually};

/// As many processes as jobs: each has one that blocks, whichever of its threads that hits.
const PROCESSES: usize = 4;

/// Their workers live on, report it, and do other work meanwhile; the jobs are tried again.
///
/// Also covers: M15, K6.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_loses_its_job_and_is_reported() {
    let (folder, database) = (Folder::new(), Database::postgres().await);
    let mut workers = Vec::new();
    let mut jobs = Vec::new();
    for _ in 0..PROCESSES {
        workers.push(Process::start(&folder, &database.url).await);
        let job = database.enqueue(&Block { ledger: folder.ledger() }).await;
        folder.started(job, 1).await;
        jobs.push(job);
    }
    for job in &jobs {
        let row = database.until(*job, State::Complete).await;
        assert_eq!((row.attempt, row.crashes), (2, 0), "its worker lives: no crash");
        let lost = &database.attempts(*job).await[0];
        assert_eq!((lost.outcome.as_str(), lost.code), ("reclaimed", Some(Code::SystemLeaseLost)));
    }
    for worker in &workers {
        assert!(worker.said().contains("handler.stuck"), "{}", worker.said());
    }
    // One after the other is the only one left, and works.
    while let Some(blocked) = workers.pop() {
        for worker in &workers {
            worker.signal("-STOP");
        }
        let next = database.enqueue(&Write { ledger: folder.ledger(), ..Write::default() }).await;
        // One that was stopped in the middle of a claim may have had it before.
        let token = database.until(next, State::Complete).await.token.0;
        assert_eq!(folder.started(next, token).await.pid, blocked.pid(), "it goes on with other work");
        blocked.kill();
        jobs.push(next);
        for worker in &workers {
            worker.signal("-CONT");
        }
    }
    audit(&database, &folder, &jobs).await;
}

/// More of them than may be replaced: the process says so and ends, and a new one does the work.
///
/// Also covers: M15, K6.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_a_process_with_too_many_stuck_handlers_asks_to_be_started_again() {
    let folder = Folder::new();
    let database = Database::sqlite(&folder).await;
    let job = database.enqueue(&Block { ledger: folder.ledger() }).await;
    let url = database.close();
    let mut broken = Process::start_with(&folder, &url, &["--stuck-limit", "0"], &[]).await;
    assert_eq!(broken.ends().await.0, Some(3));
    assert!(broken.said().contains("worker.broken"), "{}", broken.said());
    let other = Process::start(&folder, &url).await;
    eventually("the second attempt", async || folder.said(job, "wrote").first().map(drop)).await;
    other.drain().await;
    let database = Database::open(&url).await;
    assert_eq!(database.outcomes(job).await, ["reclaimed", "complete"]);
    audit(&database, &folder, &[job]).await;
}
