//! F3: a user's own statements and our enqueues are committed together, or not at all.

use redrive_model::{EventSeq, State};
use redrive_store::{Enqueue, NewEvent, NewJob, StoreError};
use redrive_store_conformance::Kit;

use crate::harness::{self, Sqlite};

async fn orders(h: &Sqlite) -> i64 {
    let count = h.store.transaction(|tx| {
        Ok(tx.connection().query_row("SELECT count(*) FROM orders", [], |row| row.get(0)).unwrap())
    });
    count.await.unwrap()
}

async fn with_orders() -> Sqlite {
    let h = harness::file().await;
    let create = h.store.transaction(|tx| {
        tx.connection()
            .execute_batch("CREATE TABLE orders (id INTEGER PRIMARY KEY, what TEXT NOT NULL)")
            .unwrap();
        Ok(())
    });
    create.await.unwrap();
    h
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f3_what_the_closure_did_is_committed_together() {
    let h = with_orders().await;
    let k = Kit::new(&h);
    let (first, second) = (k.job(), k.job());
    let ids = [first.id, second.id];
    let done = h.store.transaction(move |tx| {
        tx.connection().execute("INSERT INTO orders (what) VALUES ('tea')", []).unwrap();
        tx.enqueue(&Enqueue::jobs(vec![first]))?;
        tx.publish(&[NewEvent { topic: "ordered".into(), payload: b"tea".to_vec() }])?;
        tx.enqueue(&Enqueue::jobs(vec![second])).map(|reply| reply.jobs.len())
    });
    assert_eq!(done.await.unwrap(), 1);
    assert_eq!(orders(&h).await, 1);
    assert_eq!(k.claim_ids(9).await, ids);
    let events = k.events(EventSeq(0), 3).await;
    assert_eq!(events[1].topic.as_deref(), Some("ordered"));
    k.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f3_an_error_rolls_everything_back() {
    let h = with_orders().await;
    let k = Kit::new(&h);
    let job = k.job_on(&["new-target"]);
    let undone = h.store.transaction(move |tx| {
        tx.connection().execute("INSERT INTO orders (what) VALUES ('tea')", []).unwrap();
        tx.enqueue(&Enqueue::jobs(vec![job]))?;
        tx.publish(&[NewEvent { topic: "ordered".into(), payload: Vec::new() }])?;
        Err::<(), _>(StoreError::Invalid("no tea left".into()))
    });
    assert!(matches!(undone.await, Err(StoreError::Invalid(said)) if said == "no tea left"));
    assert_eq!(orders(&h).await, 0);
    assert_eq!(k.store.counts().await.unwrap().states, []);
    assert_eq!(k.store.last_event().await.unwrap(), EventSeq(0));
    // The same target again: what was remembered about it was rolled back too.
    let id = k.put_one(k.job_on(&["new-target"])).await;
    assert_eq!(k.claim_ids(9).await, [id]);
    k.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_enqueue_that_was_refused_leaves_nothing_behind_when_the_closure_goes_on() {
    let h = with_orders().await;
    let k = Kit::new(&h);
    let orphan = NewJob { batch: Some(k.batch_id()), ..k.job() };
    let (plain, good) = (k.job(), k.job());
    let id = good.id;
    let done = h.store.transaction(move |tx| {
        // The second job of the call is refused after the first one was written.
        assert!(tx.enqueue(&Enqueue::jobs(vec![plain, orphan])).is_err());
        tx.connection().execute("INSERT INTO orders (what) VALUES ('coffee instead')", []).unwrap();
        tx.enqueue(&Enqueue::jobs(vec![good]))
    });
    done.await.unwrap();
    assert_eq!(orders(&h).await, 1);
    assert_eq!(k.store.counts().await.unwrap().total(State::Queued), 1);
    assert_eq!(k.claim_ids(9).await, [id]);
    k.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closure_that_panics_is_undone_and_the_store_goes_on() {
    let h = with_orders().await;
    let k = Kit::new(&h);
    let job = k.job();
    let undone = h.store.transaction(move |tx| {
        tx.connection().execute("INSERT INTO orders (what) VALUES ('tea')", []).unwrap();
        tx.enqueue(&Enqueue::jobs(vec![job]))?;
        if tx.connection().is_autocommit() { Ok(()) } else { panic!("a bug in the user's closure") }
    });
    let answer = undone.await;
    assert!(matches!(answer, Err(StoreError::Internal(_))), "{answer:?}");
    assert_eq!(orders(&h).await, 0);
    k.put_n(1).await;
    assert_eq!(k.store.counts().await.unwrap().total(State::Queued), 1);
    k.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closure_that_ends_the_transaction_itself_is_told_and_the_store_goes_on() {
    let h = with_orders().await;
    let k = Kit::new(&h);
    let job = k.job();
    let undone = h.store.transaction(move |tx| {
        tx.enqueue(&Enqueue::jobs(vec![job]))?;
        tx.connection().execute_batch("ROLLBACK").unwrap();
        Ok(())
    });
    assert!(undone.await.is_err());
    assert_eq!(k.store.counts().await.unwrap().states, []);
    k.put_n(2).await;
    assert_eq!(k.claim(9).await.len(), 2);
    k.audit().await;
}
