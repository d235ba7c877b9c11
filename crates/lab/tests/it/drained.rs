//! Rows 11 and 12: a worker is asked to stop.

use std::time::Duration;

use redrive_lab::worker::{DRAIN, GRACE, Write};
use redrive_model::State;

use crate::audit::audit;
use crate::kit::{Database, Folder, Process, eventually};

/// What a busy machine may add to a bound.
const SLACK: Duration = Duration::from_secs(2);

/// A job that ends when the file `gate` is there.
fn waits(folder: &Folder) -> Write {
    Write { ledger: folder.ledger(), gate: Some(folder.file("gate")), ..Write::default() }
}

/// Row 11.
///
/// Also covers: M11, K8, K11.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_lets_a_short_job_end_and_claims_nothing_more() {
    let (folder, database) = (Folder::new(), Database::postgres().await);
    let mut worker = Process::start(&folder, &database.url).await;
    let job = database.enqueue(&waits(&folder)).await;
    folder.started(job, 1).await;
    worker.signal("-TERM");
    let draining = async || {
        let workers = database.store().workers().await.unwrap();
        workers.iter().any(|worker| worker.draining).then_some(())
    };
    eventually("the drain", draining).await;
    let late = database.enqueue(&Write { ledger: folder.ledger(), ..Write::default() }).await;
    folder.open("gate");
    let (code, took) = worker.ends().await;
    assert_eq!(code, Some(0));
    assert!(took <= DRAIN, "it waited for {took:?}");
    let row = database.row(job).await;
    assert_eq!((row.state, row.attempt, row.releases), (State::Complete, 1, 0));
    let row = database.row(late).await;
    assert_eq!((row.state, row.token.0), (State::Queued, 0), "it was claimed after the signal");
    let next = Process::start(&folder, &database.url).await;
    database.until(late, State::Complete).await;
    next.drain().await;
    audit(&database, &folder, &[job, late]).await;
}

/// Row 12, on both stores.
///
/// Also covers: M12, K8.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_gives_a_long_job_back_uncharged() {
    let folder = Folder::new();
    gives_back(&folder, Database::postgres().await).await;
}

/// Also covers: M12, K8.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_a_drain_gives_a_long_job_back_uncharged() {
    let folder = Folder::new();
    let database = Database::sqlite(&folder).await;
    gives_back(&folder, database).await;
}

async fn gives_back(folder: &Folder, database: Database) {
    let job = database.enqueue(&waits(folder)).await;
    let url = database.close();
    let mut worker = Process::start(folder, &url).await;
    folder.started(job, 1).await;
    worker.signal("-TERM");
    let (code, took) = worker.ends().await;
    assert_eq!(code, Some(0));
    assert!(took >= DRAIN, "it did not wait: {took:?}");
    assert!(took <= DRAIN + GRACE * 2 + SLACK, "it waited for {took:?}");
    let database = Database::open(&url).await;
    let row = database.row(job).await;
    assert_eq!((row.state, row.attempt, row.releases, row.crashes), (State::Queued, 0, 1, 0));
    assert_eq!((row.leased_by, row.lease_expires_at), (None, None));
    let url = database.close();
    folder.open("gate");
    let next = Process::start(folder, &url).await;
    eventually("its end", async || folder.said(job, "wrote").first().map(drop)).await;
    next.drain().await;
    let database = Database::open(&url).await;
    assert_eq!(database.outcomes(job).await, ["released", "complete"]);
    audit(&database, folder, &[job]).await;
}

/// Row 12: a second signal means now; the lease does the rest.
///
/// Also covers: M12, K9.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_a_drain_at_once() {
    let (folder, database) = (Folder::new(), Database::postgres().await);
    let mut worker = Process::start(&folder, &database.url).await;
    let job = database.enqueue(&waits(&folder)).await;
    folder.started(job, 1).await;
    worker.signal("-TERM");
    let draining = async || {
        let workers = database.store().workers().await.unwrap();
        workers.iter().any(|worker| worker.draining).then_some(())
    };
    eventually("the drain", draining).await;
    worker.signal("-TERM");
    let (code, took) = worker.ends().await;
    assert_eq!(code, Some(1));
    assert!(took <= DRAIN / 2, "it waited for {took:?}");
    assert_eq!(database.row(job).await.state, State::Processing, "nobody gave it back");
    folder.open("gate");
    let next = Process::start(&folder, &database.url).await;
    let row = database.until(job, State::Complete).await;
    assert_eq!((row.attempt, row.crashes), (2, 1));
    next.drain().await;
    audit(&database, &folder, &[job]).await;
}
