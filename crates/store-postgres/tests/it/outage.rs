//! The server goes away: by a crash under load, and without a word.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redrive_model::{State, WorkerId};
use redrive_store::{Claim, Enqueue, Finished, Store, StoreError};
use redrive_store_postgres::{Options, PostgresStore};
use tokio::task::JoinHandle;

use crate::commits::{Wire, claim, completion, job, open};
use crate::harness::execute;

/// A server of this test's own, which it may crash.
struct Server {
    folder: tempfile::TempDir,
    url: String,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = script("start", folder.path());
        Self { folder, url }
    }

    async fn crash_and_start(&self) {
        let folder = self.folder.path().to_owned();
        let again = tokio::task::spawn_blocking(move || {
            script("crash", &folder);
            script("start", &folder)
        });
        assert_eq!(again.await.unwrap(), self.url);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        script("crash", self.folder.path());
    }
}

fn script(action: &str, folder: &std::path::Path) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/postgres.sh");
    let done = Command::new(script).arg(action).arg(folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// Enqueues until told to stop; answers what was accepted.
fn producer(store: Arc<PostgresStore>, first: u128, stop: Arc<AtomicBool>) -> JoinHandle<Vec<u128>> {
    tokio::spawn(async move {
        let mut accepted = Vec::new();
        for n in first.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            // Made again with the same id until it is answered: accepted once.
            while let Err(error) = store.enqueue(Enqueue::jobs(vec![job(n)])).await {
                away(&error);
            }
            accepted.push(n);
        }
        accepted
    })
}

/// Claims and completes until told to stop; answers how many finishes were recorded.
fn worker(store: Arc<PostgresStore>, n: u128, stop: Arc<AtomicBool>) -> JoinHandle<usize> {
    tokio::spawn(async move {
        let id = WorkerId::from_uuid(uuid::Uuid::from_u128(n));
        let mut recorded = 0;
        while !stop.load(Ordering::Relaxed) {
            let claimed = match store.claim(Claim { worker: id, ..claim() }).await {
                Ok(claimed) => claimed,
                // What an unheard claim took is found by asking.
                Err(error) => {
                    away(&error);
                    store.leases_of(id).await.unwrap_or_default()
                }
            };
            for claimed in claimed {
                let finish = completion(&claimed);
                let answer = loop {
                    match store.finish(vec![finish.clone()]).await {
                        Ok(answers) => break answers[0],
                        Err(error) => away(&error),
                    }
                };
                assert_eq!(answer, Finished::Recorded(State::Complete), "a lease of an hour was lost");
                recorded += 1;
            }
        }
        recorded
    })
}

/// While the server is away a call says that, and nothing else.
fn away(error: &StoreError) {
    assert!(matches!(error, StoreError::Unavailable { .. } | StoreError::Unknown { .. }), "{error}");
}

/// Also covers: M18, O6.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_crashes_twice_under_load_loses_nothing_that_was_answered() {
    let server = Server::start();
    let store = Arc::new(Options::default().open(&server.url).await.unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let producers = [0u128, 1_000_000].map(|first| producer(store.clone(), first, stop.clone()));
    let workers = [91u128, 92].map(|n| worker(store.clone(), n, stop.clone()));
    for crash in 1..=2u64 {
        // Let it work for a while on this life of the server.
        while store.counts().await.map_or(0, |c| c.total(State::Complete)) < 50 * crash {
            tokio::task::yield_now().await;
        }
        server.crash_and_start().await;
    }
    while store.counts().await.map_or(0, |c| c.total(State::Complete)) < 200 {
        tokio::task::yield_now().await;
    }
    stop.store(true, Ordering::Relaxed);
    let mut accepted = 0;
    for producer in producers {
        for n in producer.await.unwrap() {
            let row = store.job(job(n).id).await.unwrap().expect("what was accepted is there");
            assert!(row.attempt <= 1, "{row:?}");
            accepted += 1;
        }
    }
    let mut recorded = 0;
    for worker in workers {
        recorded += worker.await.unwrap();
    }
    let counts = store.counts().await.unwrap();
    assert_eq!(counts.total(State::Complete), recorded as u64, "each recorded success is there once");
    assert_eq!(
        counts.total(State::Complete) + counts.total(State::Queued) + counts.total(State::Processing),
        accepted
    );
    store.close().await;
}

/// Nothing comes back and nothing ends: the network dropped us. Time is then moved by hand.
///
/// Also covers: M22.
#[tokio::test]
async fn silence_is_answered_after_fifteen_seconds_and_heals() {
    let wire = Wire::to_server().await;
    let (schema, store) = open(&wire).await;
    store.enqueue(Enqueue::jobs(vec![job(1)])).await.unwrap();
    store.counts().await.unwrap();
    wire.silence(true);
    tokio::time::pause();
    let started = tokio::time::Instant::now();
    let lost = store.claim(claim()).await.unwrap_err();
    assert!(matches!(lost, StoreError::Unknown { .. }), "{lost}");
    assert_eq!(started.elapsed().as_secs(), 15);
    let refused = store.enqueue(Enqueue::jobs(vec![job(2)])).await.unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable { .. }), "{refused}");
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    tokio::time::resume();
    wire.silence(false);
    store.enqueue(Enqueue::jobs(vec![job(2)])).await.unwrap();
    assert_eq!(
        store.counts().await.unwrap().total(State::Queued)
            + store.counts().await.unwrap().total(State::Processing),
        2
    );
    execute(format!("DROP SCHEMA {schema} CASCADE")).await;
}
