//! Rows 1 and 4: a worker is killed, after it has claimed and after it has completed.

use redrive_lab::proxy::Then;
use redrive_lab::worker::{SWEEP, TTL, Write};
use redrive_model::{Code, State, instant};

use crate::audit::audit;
use crate::kit::{Database, Folder, Process, completion_of, eventually};

/// What a busy machine may add to a bound.
const SLACK: std::time::Duration = std::time::Duration::from_secs(3);

/// Row 1: its claim is committed and it has not heard so.
///
/// Also covers: M1, K1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_whose_worker_is_killed_after_the_claim_runs_again_in_time() {
    let (folder, database) = (Folder::new(), Database::postgres().await);
    let (proxy, wire) = database.through_proxy().await;
    let victim = Process::start(&folder, &wire).await;
    proxy.lose_answer_with(b"the-victims-job", Then::Hold);
    let mark = folder.file("the-victims-job");
    let job =
        database.enqueue(&Write { ledger: folder.ledger(), gate: Some(mark), ..Write::default() }).await;
    proxy.has_lost(1).await;
    assert_eq!(database.row(job).await.state, State::Processing, "the claim is committed");
    victim.kill();
    let killed = database.now().await;
    folder.open("the-victims-job");
    let other = Process::start(&folder, &database.url).await;
    let neighbour = database.enqueue(&Write { ledger: folder.ledger(), ..Write::default() }).await;
    database.until(neighbour, State::Complete).await;
    assert_eq!(database.row(job).await.token.0, 1, "nobody waits for the lost one");
    let row = database.until(job, State::Complete).await;
    assert_eq!((row.attempt, row.crashes), (2, 1));
    let lost = &database.attempts(job).await[0];
    assert_eq!((lost.outcome.as_str(), lost.code), ("reclaimed", Some(Code::SystemWorkerLost)));
    let waited = instant::between(killed, lost.ended_at);
    assert!(waited <= TTL + SWEEP + SLACK, "taken back after {waited:?}");
    other.drain().await;
    audit(&database, &folder, &[job, neighbour]).await;
}

/// Row 1 on a store that one process at a time may have: the same worker comes back.
///
/// Also covers: M1, K1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_a_killed_workers_job_runs_again_when_a_worker_is_back() {
    let folder = Folder::new();
    let database = Database::sqlite(&folder).await;
    let job = Write { ledger: folder.ledger(), first_gate: Some(folder.file("never")), ..Write::default() };
    let job = database.enqueue(&job).await;
    let url = database.close();
    let victim = Process::start(&folder, &url).await;
    folder.started(job, 1).await;
    victim.kill();
    let other = Process::start(&folder, &url).await;
    eventually("the second attempt", async || folder.said(job, "wrote").first().map(drop)).await;
    other.drain().await;
    let database = Database::open(&url).await;
    let row = database.row(job).await;
    assert_eq!((row.state, row.attempt, row.crashes), (State::Complete, 2, 1));
    audit(&database, &folder, &[job]).await;
}

/// Row 4: its completion is committed and it has not heard so.
///
/// Also covers: M4.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_whose_worker_is_killed_after_its_completion_is_not_run_again() {
    let (folder, database) = (Folder::new(), Database::postgres().await);
    let (proxy, wire) = database.through_proxy().await;
    let victim = Process::start(&folder, &wire).await;
    let job = Write { ledger: folder.ledger(), first_gate: Some(folder.file("gate")), ..Write::default() };
    let job = database.enqueue(&job).await;
    folder.started(job, 1).await;
    proxy.lose_answer_with(&completion_of(job), Then::Hold);
    folder.open("gate");
    proxy.has_lost(1).await;
    victim.kill();
    let before = database.row(job).await;
    assert_eq!(before.state, State::Complete, "the completion is committed");
    let other = Process::start(&folder, &database.url).await;
    // Whatever could bring it back has had its chance.
    database.passes(TTL + SWEEP * 3).await;
    let after = database.enqueue(&Write { ledger: folder.ledger(), ..Write::default() }).await;
    database.until(after, State::Complete).await;
    other.drain().await;
    assert_eq!(database.row(job).await, before);
    assert_eq!(folder.said(job, "started").len(), 1);
    audit(&database, &folder, &[job, after]).await;
}

/// Row 4 on SQLite: whatever was complete when the worker died is left alone, whatever was not is run again.
///
/// Also covers: M4.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_what_a_killed_worker_had_completed_is_not_run_again() {
    let folder = Folder::new();
    let database = Database::sqlite(&folder).await;
    let input = Write { ledger: folder.ledger(), ms: 5, ..Write::default() };
    let jobs = database.enqueue_many(&vec![input; 60]).await;
    let url = database.close();
    let victim = Process::start(&folder, &url).await;
    eventually("some work", async || (folder.lines().len() > 40).then_some(())).await;
    victim.kill();
    let database = Database::open(&url).await;
    let mut done = Vec::new();
    for job in &jobs {
        done.extend(Some(database.row(*job).await).filter(|row| row.state == State::Complete));
    }
    assert!(!done.is_empty() && done.len() < jobs.len(), "{} of {} were complete", done.len(), jobs.len());
    let url = database.close();
    let other = Process::start(&folder, &url).await;
    for job in jobs.iter().filter(|job| done.iter().all(|row| row.id != **job)) {
        let by_other =
            async || folder.said(*job, "wrote").iter().any(|line| line.pid == other.pid()).then_some(());
        eventually(format_args!("the end of {job}"), by_other).await;
    }
    other.drain().await;
    let database = Database::open(&url).await;
    for row in done {
        assert_eq!(database.row(row.id).await, row, "it was touched again");
    }
    audit(&database, &folder, &jobs).await;
}
