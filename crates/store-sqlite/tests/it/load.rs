//! Many writers and readers on one file: nobody is turned away, and what was answered is on disk.

use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::join_all;
use redrive_model::{EventSeq, State};
use redrive_store::{Claim, Enqueue, JobFilter, NewJob, PageRequest, Store};
use redrive_store_conformance::Kit;
use redrive_store_sqlite::SqliteStore;

use crate::harness::{self, file_in, snapshot};

/// O1: sixteen writers and the pages that people look at, all at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn o1_sixteen_writers_and_readers_see_no_error() {
    let h = harness::file().await;
    let k = Kit::new(&h);
    let done = AtomicBool::new(false);
    let writers = (0..16u8).map(|n| {
        let k = &k;
        async move {
            for _ in 0..20 {
                k.put(vec![k.job(), k.job_on(&["gateway"])]).await;
                let ask = Claim { worker: k.worker(n), ..k.ask(2) };
                for claimed in k.store.claim(ask).await.unwrap() {
                    let kept = k.store.extend(k.worker(n), vec![claimed.lease], ask_ttl()).await.unwrap();
                    assert_eq!(kept.len(), 1);
                    if claimed.lease.job.as_uuid().as_bytes()[15] % 5 == 0 {
                        k.fail(&claimed, redrive_model::Code::HandlerFailed).await;
                    } else {
                        k.complete(&claimed).await;
                    }
                }
            }
        }
    });
    let readers = (0..4).map(|_| async {
        let mut at = EventSeq(0);
        while !done.load(Ordering::SeqCst) {
            k.store.jobs(JobFilter::default(), PageRequest::default()).await.unwrap();
            k.store.dead_letters(Default::default(), PageRequest::default()).await.unwrap();
            k.store.counts().await.unwrap();
            k.store.queue().await.unwrap();
            let events = k.store.events_after(at, 100).await.unwrap();
            at = events.last().map_or(at, |e| e.seq);
        }
    });
    let work = async {
        join_all(writers).await;
        done.store(true, Ordering::SeqCst);
    };
    tokio::join!(work, join_all(readers));
    let counts = k.store.counts().await.unwrap();
    let total: u64 = counts.states.iter().map(|c| c.jobs).sum();
    assert_eq!(total, 16 * 20 * 2);
    k.audit().await;
}

/// Sixty-four calls at once share their commits; every one that was answered survives a kill at that moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_at_once_are_all_on_disk_when_they_are_answered() {
    let h = harness::file().await;
    let k = Kit::new(&h);
    let jobs: Vec<NewJob> = (0..64).map(|_| k.job()).collect();
    let ids: Vec<_> = jobs.iter().map(|job| job.id).collect();
    let calls = jobs.into_iter().map(|job| k.store.enqueue(Enqueue::jobs(vec![job])));
    for answer in join_all(calls).await {
        answer.unwrap();
    }
    let killed = snapshot(&h.path(), &["", "-wal", ".lock"]);
    let store = SqliteStore::open(file_in(&killed)).await.unwrap();
    assert_eq!(store.counts().await.unwrap().total(State::Queued), 64);
    for id in &ids {
        assert!(store.job(*id).await.unwrap().is_some());
    }
    drop(k);
    let folder = h.close();
    let store = SqliteStore::open(file_in(&folder)).await.unwrap();
    assert_eq!(store.counts().await.unwrap().total(State::Queued), 64);
}

/// One bad call in a group takes nobody with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_bad_call_among_many_fails_alone() {
    let h = harness::file().await;
    let k = Kit::new(&h);
    let calls = (0..100).map(|n| {
        let batch = (n % 3 == 0).then(|| k.batch_id());
        // A job of a batch that nobody opened is refused after other jobs of its call were written.
        let jobs = vec![k.job_on(&[&format!("host:{n}")]), NewJob { batch, ..k.job() }];
        k.store.enqueue(Enqueue::jobs(jobs))
    });
    let answers = join_all(calls).await;
    let good = answers.iter().filter(|a| a.is_ok()).count();
    assert_eq!(good, 66);
    assert_eq!(k.store.counts().await.unwrap().total(State::Queued), 132);
    assert_eq!(k.claim(1_000).await.len() + k.claim(1_000).await.len() + k.claim(1_000).await.len(), 132);
    k.audit().await;
}

const fn ask_ttl() -> std::time::Duration {
    redrive_store_conformance::kit::TTL
}
