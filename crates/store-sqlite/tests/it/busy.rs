//! Another process keeps the file's write lock: short is waited for, long is said, and nobody reads "locked".

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use redrive_model::State;
use redrive_store::{Enqueue, StoreError};
use redrive_store_conformance::Kit;
use rusqlite::Connection;

use crate::harness;

/// Holds the write lock of a file until it is told to stop, or for so long.
struct Holder {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Holder {
    fn start(path: std::path::PathBuf, at_most: Duration) -> Self {
        let (stop, stopped) = mpsc::channel();
        let (locked, is_locked) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let conn = Connection::open(path).unwrap();
            conn.busy_timeout(Duration::from_secs(5)).unwrap();
            conn.execute_batch("BEGIN IMMEDIATE").unwrap();
            locked.send(()).unwrap();
            let _ = stopped.recv_timeout(at_most);
            conn.execute_batch("COMMIT").unwrap();
        });
        is_locked.recv().unwrap();
        Self { stop, thread }
    }

    fn end(self) {
        let _ = self.stop.send(());
        self.thread.join().unwrap();
    }
}

/// Also covers: M26.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_of_three_seconds_is_waited_for() {
    let h = harness::file().await;
    let k = Kit::new(&h);
    k.put_n(1).await;
    let holder = Holder::start(h.path(), Duration::from_secs(3));
    let started = Instant::now();
    let answer = k.store.enqueue(Enqueue::jobs(vec![k.job()])).await;
    assert!(answer.is_ok(), "{answer:?}");
    assert!(started.elapsed() > Duration::from_secs(2), "the lock was not held");
    holder.end();
    let claimed = k.claim(2).await;
    assert_eq!(claimed.len(), 2);
    k.complete(&claimed[0]).await;
    k.audit().await;
}

/// Also covers: M26.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_stays_is_said_to_everybody_and_loses_nothing() {
    let h = harness::file().await;
    let k = Kit::new(&h);
    k.put_n(2).await;
    let claimed = k.claim_one().await;
    let completion = k.completion(&claimed).await;
    let holder = Holder::start(h.path(), Duration::from_secs(120));
    let started = Instant::now();
    let (enqueued, again, taken, finished) = tokio::join!(
        k.store.enqueue(Enqueue::jobs(vec![k.job()])),
        k.store.enqueue(Enqueue::jobs(vec![k.job()])),
        k.store.claim(k.ask(1)),
        k.store.finish(vec![completion.clone()]),
    );
    let waited = started.elapsed();
    for error in [enqueued.unwrap_err(), again.unwrap_err(), taken.unwrap_err(), finished.unwrap_err()] {
        assert!(matches!(error, StoreError::Unavailable { .. }) && error.is_temporary(), "{error:?}");
        assert!(!error.to_string().to_lowercase().contains("lock"), "{error}");
    }
    assert!(waited < Duration::from_secs(12), "they waited one after the other: {waited:?}");
    // Looking goes on meanwhile.
    assert_eq!(k.row(claimed.lease.job).await.state, State::Processing);
    assert_eq!(k.store.counts().await.unwrap().total(State::Queued), 1);
    holder.end();
    assert_eq!(k.finish(completion).await, redrive_store::Finished::Recorded(State::Complete));
    assert_eq!(
        k.store.counts().await.unwrap().total(State::Queued),
        1,
        "nothing of the refused calls was written"
    );
    k.audit().await;
}
