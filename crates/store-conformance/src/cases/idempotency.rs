//! Calls that are safe to repeat: idempotency keys, and all or nothing.

use redrive_model::{Code, State};
use redrive_store::{Enqueue, Enqueued, Idempotency, NewJob, StoreError};

use crate::Harness;
use crate::kit::{Kit, owner, secs};

/// The same key with the same request gives the first answer and writes nothing, also after the job has ended.
pub async fn a_repeated_request_gets_its_first_answer(h: &dyn Harness) {
    let k = Kit::new(h);
    let twin = k.put_one(k.keyed("taken")).await;
    let jobs = vec![k.job(), k.keyed("taken"), k.job()];
    let first = k.enqueue(call(&jobs, "key", 1)).await;
    assert_eq!((first.replayed, first.jobs[1]), (false, Enqueued::Duplicate(twin)));
    // The client makes new ids when it asks again: it is the key that counts.
    let again = vec![k.job(), k.job(), k.job()];
    for _ in 0..2 {
        let reply = k.enqueue(call(&again, "key", 1)).await;
        assert!(reply.replayed);
        assert_eq!(reply.jobs, first.jobs);
    }
    assert_eq!(k.store.counts().await.unwrap().total(State::Queued), 3);
    for claimed in k.claim(3).await {
        k.fail(&claimed, Code::HandlerFailed).await;
    }
    let reply = k.enqueue(call(&again, "key", 1)).await;
    assert_eq!((reply.replayed, reply.jobs), (true, first.jobs));
    k.audit().await;
}

/// The same key with another request is refused and writes nothing.
pub async fn the_same_key_for_another_request_is_refused(h: &dyn Harness) {
    let k = Kit::new(h);
    k.enqueue(call(&[k.job()], "key", 1)).await;
    let answer = k.store.enqueue(call(&[k.job()], "key", 2)).await;
    assert!(matches!(answer, Err(StoreError::IdempotencyMismatch)), "{answer:?}");
    assert_eq!(k.store.counts().await.unwrap().total(State::Queued), 1);
    k.audit().await;
}

/// Keys belong to their owner.
pub async fn keys_of_two_owners_do_not_meet(h: &dyn Harness) {
    let k = Kit::new(h);
    let first = k.enqueue(call(&[k.job()], "key", 1)).await;
    let mut other = call(&[k.job()], "key", 2);
    other.idempotency = other.idempotency.map(|i| Idempotency { owner: owner("bob"), ..i });
    let second = k.enqueue(other).await;
    assert!(!second.replayed);
    assert_ne!(first.jobs[0].job(), second.jobs[0].job());
    k.audit().await;
}

/// The same request many times at the same moment is done once, and everybody gets the same ids.
pub async fn a_request_repeated_at_once_is_done_once(h: &dyn Harness) {
    let k = Kit::new(h);
    let handles = [h.store(), h.second().await];
    let calls: Vec<Enqueue> = (0..10).map(|_| call(&[k.job(), k.job()], "key", 1)).collect();
    let tries = calls.into_iter().enumerate().map(|(n, call)| {
        let store = handles[n % 2].clone();
        async move { store.enqueue(call).await.unwrap() }
    });
    let replies = futures::future::join_all(tries).await;
    assert_eq!(replies.iter().filter(|r| !r.replayed).count(), 1, "{replies:?}");
    assert!(replies.iter().all(|r| r.jobs == replies[0].jobs), "{replies:?}");
    assert_eq!(k.store.counts().await.unwrap().total(State::Queued), 2);
    k.audit().await;
}

/// A key that is no longer kept is a new key; a call that was refused did not use its key.
pub async fn a_forgotten_key_is_a_new_key(h: &dyn Harness) {
    let k = Kit::new(h);
    let bad = NewJob { priority: 10, ..k.job() };
    assert!(k.store.enqueue(call(&[bad], "key", 1)).await.is_err());
    assert!(!k.enqueue(call(&[k.job()], "key", 2)).await.replayed, "the refused call did not use the key");
    k.advance(secs(10)).await;
    assert_eq!(k.store.forget(k.now().await).await.unwrap(), 1);
    assert!(!k.enqueue(call(&[k.job()], "key", 1)).await.replayed);
    assert_eq!(k.store.forget(k.now().await).await.unwrap(), 0, "it was used just now");
    k.audit().await;
}

/// A key with nothing in it, too long or with control characters is refused.
pub async fn a_bad_idempotency_key_is_refused(h: &dyn Harness) {
    let k = Kit::new(h);
    for key in ["", "a\0b", "line\nbreak", &"x".repeat(256)] {
        let answer = k.store.enqueue(call(&[k.job()], key, 1)).await;
        assert!(matches!(answer, Err(StoreError::Invalid(_))), "{key:?}: {answer:?}");
    }
    assert!(!k.enqueue(call(&[k.job()], &"é".repeat(127), 1)).await.replayed);
    k.audit().await;
}

fn call(jobs: &[NewJob], key: &str, hash: u8) -> Enqueue {
    let idempotency = Some(Idempotency { owner: owner("ann"), key: key.into(), request_hash: [hash; 32] });
    Enqueue { jobs: jobs.to_vec(), idempotency, ..Enqueue::default() }
}
