//! Calls that are safe to repeat: idempotency keys, and all or nothing; and keys of requests that hand nothing in.

use redrive_model::{Code, State};
use redrive_store::{Enqueue, Enqueued, Idempotency, Keyed, NewJob, StoreError};

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
    for (name, key, answered) in [("ann", "key", true), ("ann", "other", false), ("bob", "key", false)] {
        assert_eq!(k.store.is_answered(&owner(name), key).await.unwrap(), answered, "{name} {key}");
    }
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

/// Whoever takes a key has it until it is settled, hears so again, and only they settle it. Then everybody hears the answer.
pub async fn a_key_is_taken_by_one_request_and_answers_like_it(h: &dyn Harness) {
    let k = Kit::new(h);
    let request = asked("key", 1);
    let since = k.now().await;
    for _ in 0..2 {
        assert_eq!(k.store.take_key(&request, "first").await.unwrap(), Keyed::Yours);
    }
    let taken = Keyed::Taken { by: "first".into(), since };
    k.store.settle_key(&request, "second", Some("not theirs")).await.unwrap();
    k.store.settle_key(&request, "second", None).await.unwrap();
    k.advance(secs(10)).await;
    assert_eq!(k.store.take_key(&request, "second").await.unwrap(), taken);
    let answer = "{\"matching\": 3, \"said\": \"\u{e9}\"}";
    for _ in 0..2 {
        k.store.settle_key(&request, "first", Some(answer)).await.unwrap();
    }
    k.store.settle_key(&request, "first", Some("another")).await.unwrap();
    k.store.settle_key(&request, "first", None).await.unwrap();
    for by in ["first", "second"] {
        assert_eq!(k.store.take_key(&request, by).await.unwrap(), Keyed::Answered(answer.into()));
    }
    k.audit().await;
}

/// A key that is given back was not used; one that is old is forgotten, and a bad one is refused.
pub async fn a_key_that_is_given_back_is_a_new_key(h: &dyn Harness) {
    let k = Kit::new(h);
    assert_eq!(k.store.take_key(&asked("key", 1), "first").await.unwrap(), Keyed::Yours);
    k.store.settle_key(&asked("key", 1), "first", None).await.unwrap();
    assert_eq!(k.store.take_key(&asked("key", 2), "second").await.unwrap(), Keyed::Yours);
    k.advance(secs(10)).await;
    assert_eq!(k.store.forget(k.now().await).await.unwrap(), 1);
    assert_eq!(k.store.take_key(&asked("key", 3), "third").await.unwrap(), Keyed::Yours);
    let answer = k.store.take_key(&asked("", 1), "fourth").await;
    assert!(matches!(answer, Err(StoreError::Invalid(_))), "{answer:?}");
    k.audit().await;
}

/// The same key is refused for another request, whether it hands work in or not, and is free for another owner.
pub async fn a_key_is_one_key_whatever_it_is_for(h: &dyn Harness) {
    let k = Kit::new(h);
    k.enqueue(call(&[k.job()], "of jobs", 1)).await;
    let other = k.store.take_key(&asked("of jobs", 2), "first").await;
    assert!(matches!(other, Err(StoreError::IdempotencyMismatch)), "{other:?}");
    k.store.take_key(&asked("key", 1), "first").await.unwrap();
    let other = k.store.take_key(&asked("key", 2), "second").await;
    assert!(matches!(other, Err(StoreError::IdempotencyMismatch)), "{other:?}");
    let other = k.store.enqueue(call(&[k.job()], "key", 3)).await;
    assert!(matches!(other, Err(StoreError::IdempotencyMismatch)), "{other:?}");
    let of_bob = Idempotency { owner: owner("bob"), ..asked("key", 2) };
    assert_eq!(k.store.take_key(&of_bob, "first").await.unwrap(), Keyed::Yours);
    k.audit().await;
}

/// Of many requests with one key at the same moment one hears that it is theirs.
pub async fn a_key_is_taken_once_by_many_at_once(h: &dyn Harness) {
    let k = Kit::new(h);
    let handles = [h.store(), h.second().await];
    let tries = (0..10).map(|n: usize| {
        let store = handles[n % 2].clone();
        async move { store.take_key(&asked("key", 1), &format!("request {n}")).await.unwrap() }
    });
    let heard = futures::future::join_all(tries).await;
    assert_eq!(heard.iter().filter(|keyed| **keyed == Keyed::Yours).count(), 1, "{heard:?}");
    k.audit().await;
}

fn asked(key: &str, hash: u8) -> Idempotency {
    Idempotency { owner: owner("ann"), key: key.into(), request_hash: [hash; 32] }
}

fn call(jobs: &[NewJob], key: &str, hash: u8) -> Enqueue {
    Enqueue { jobs: jobs.to_vec(), idempotency: Some(asked(key, hash)), ..Enqueue::default() }
}
