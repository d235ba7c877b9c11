//! Events in order, none skipped, with transactions of other people open in the middle.

use redrive_model::{EventSeq, JobId, WorkloadName};
use redrive_store::{Enqueue, NewEvent, NewJob, Store};
use sqlx::{Connection, PgConnection};

use crate::harness::{Postgres, url};

fn event(topic: &str) -> NewEvent {
    NewEvent { topic: topic.into(), payload: Vec::new() }
}

/// All topics a reader has seen so far, asking until nothing new comes three times in a row.
async fn topics(h: &Postgres, from: EventSeq) -> Vec<String> {
    let (mut at, mut seen, mut quiet) = (from, Vec::new(), 0);
    while quiet < 3 {
        let events = h.store.events_after(at, 100).await.unwrap();
        quiet = if events.is_empty() { quiet + 1 } else { 0 };
        for e in events {
            at = e.seq;
            seen.extend(e.topic);
        }
    }
    seen
}

/// Waits until the reader has seen this many.
async fn eventually(h: &Postgres, n: usize) -> Vec<String> {
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        let seen = topics(h, EventSeq(0)).await;
        if seen.len() >= n || std::time::Instant::now() > patience {
            return seen;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_does_not_pass_a_number_whose_transaction_is_open() {
    let h = Postgres::fresh().await;
    let mut conn = PgConnection::connect(&url()).await.unwrap();
    let mut open = conn.begin().await.unwrap();
    h.store.publish_in(&mut open, &[event("first")]).await.unwrap();
    h.store.publish(vec![event("second")]).await.unwrap();
    assert_eq!(
        topics(&h, EventSeq(0)).await,
        Vec::<String>::new(),
        "the second is committed, the first may still come"
    );
    open.commit().await.unwrap();
    assert_eq!(eventually(&h, 2).await, ["first", "second"]);
}

/// The trap of a horizon by transaction id alone: the older transaction takes the *later* number and commits first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_transaction_with_a_later_number_hides_nothing() {
    let h = Postgres::fresh().await;
    let (mut a, mut b) =
        (PgConnection::connect(&url()).await.unwrap(), PgConnection::connect(&url()).await.unwrap());
    let mut older = a.begin().await.unwrap();
    sqlx::query("SELECT pg_current_xact_id()").execute(&mut *older).await.unwrap();
    let mut younger = b.begin().await.unwrap();
    h.store.publish_in(&mut younger, &[event("first")]).await.unwrap();
    h.store.publish_in(&mut older, &[event("second")]).await.unwrap();
    older.commit().await.unwrap();
    assert_eq!(topics(&h, EventSeq(0)).await, Vec::<String>::new());
    younger.commit().await.unwrap();
    assert_eq!(eventually(&h, 2).await, ["first", "second"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolled_back_number_is_a_gap_and_not_the_end() {
    let h = Postgres::fresh().await;
    let mut conn = PgConnection::connect(&url()).await.unwrap();
    let mut open = conn.begin().await.unwrap();
    h.store.publish_in(&mut open, &[event("never")]).await.unwrap();
    h.store.publish(vec![event("second")]).await.unwrap();
    open.rollback().await.unwrap();
    assert_eq!(eventually(&h, 1).await, ["second"]);
}

fn job(n: u128) -> NewJob {
    let id = JobId::from_uuid(uuid::Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + n));
    NewJob::new(id, WorkloadName::new("work").unwrap(), vec![1])
}

/// F3: a job enqueued in the user's own transaction exists when and only when that commits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f3_enqueue_in_a_users_transaction_commits_and_rolls_back_with_it() {
    let h = Postgres::fresh().await;
    let mut conn = PgConnection::connect(&url()).await.unwrap();
    let mut tx = conn.begin().await.unwrap();
    h.store.enqueue_in(&mut tx, &Enqueue::jobs(vec![job(1)])).await.unwrap();
    assert!(h.store.job(job(1).id).await.unwrap().is_none(), "not yet committed");
    tx.rollback().await.unwrap();
    assert!(h.store.job(job(1).id).await.unwrap().is_none());
    let mut tx = conn.begin().await.unwrap();
    h.store.enqueue_in(&mut tx, &Enqueue::jobs(vec![job(2)])).await.unwrap();
    tx.commit().await.unwrap();
    assert!(h.store.job(job(2).id).await.unwrap().is_some());
}

/// A hint reaches a worker of another process long before its poll.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_enqueue_wakes_a_worker_of_another_process() {
    use redrive_store_conformance::Harness;
    let h = Postgres::fresh().await;
    let other = h.second().await;
    // The listener says hello when it has subscribed.
    other.wait_for_work(std::time::Duration::from_secs(30)).await;
    let started = std::time::Instant::now();
    let waiting = tokio::spawn(async move { other.wait_for_work(std::time::Duration::from_secs(60)).await });
    h.store.enqueue(Enqueue::jobs(vec![job(3)])).await.unwrap();
    waiting.await.unwrap();
    assert!(started.elapsed() < std::time::Duration::from_secs(30), "the hint was lost");
}
