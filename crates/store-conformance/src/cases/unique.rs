//! Dedupe keys: two live jobs with the same key are one job.

use futures::future::join_all;
use redrive_model::dedupe::DedupeKey;
use redrive_model::{Code, Done, Outcome, State};
use redrive_store::{Acted, Enqueue, Enqueued, NewJob, RetryBy};

use crate::Harness;
use crate::kit::{Kit, TTL, owner, secs, workload};

/// Ten producers on two handles hand in the same key at the same moment: one job, and all are told which.
pub async fn u1_ten_producers_make_one_job(h: &dyn Harness) {
    let k = Kit::new(h);
    let handles = [h.store(), h.second().await];
    let jobs: Vec<NewJob> = (0..10).map(|_| k.keyed("same")).collect();
    let calls = jobs.into_iter().enumerate().map(|(n, job)| {
        let store = handles[n % 2].clone();
        async move { store.enqueue(Enqueue::jobs(vec![job])).await.unwrap().jobs[0] }
    });
    let answers = join_all(calls).await;
    let created: Vec<_> = answers.iter().filter(|a| matches!(a, Enqueued::Created(_))).collect();
    assert_eq!(created.len(), 1, "{answers:?}");
    let id = created[0].job();
    assert!(answers.iter().all(|a| a.job() == id), "{answers:?}");
    assert_eq!(k.store.counts().await.unwrap().total(State::Queued), 1);
    k.audit().await;
}

/// The key belongs to workload and owner; it is taken by what is queued, runs or is complete, and free otherwise.
pub async fn u2_a_key_has_its_scope_and_its_states(h: &dyn Harness) {
    let k = Kit::new(h);
    let key = |name: &str, who: Option<&str>| {
        let who = who.map(owner);
        let dedupe = Some(DedupeKey::new(&workload(name), who.as_ref(), &[b"same"]));
        NewJob { dedupe, owner: who, ..k.job_of(name) }
    };
    let scopes = [("work", None), ("work", Some("ann")), ("work", Some("bob")), ("other", Some("ann"))];
    k.put(scopes.iter().map(|(name, who)| key(name, *who)).collect()).await;
    for (name, who) in scopes {
        assert!(matches!(put(&k, key(name, who)).await, Enqueued::Duplicate(_)), "{name} {who:?}");
    }
    // By state: queued, processing, complete keep it; failed, cancelled, expired and refused at the door do not.
    let first = k.put_one(k.keyed("k")).await;
    assert_eq!(put(&k, k.keyed("k")).await, Enqueued::Duplicate(first));
    let claimed = k.claim(9).await.pop().unwrap();
    assert_eq!(put(&k, k.keyed("k")).await, Enqueued::Duplicate(first));
    k.complete(&claimed).await;
    assert_eq!(put(&k, k.keyed("k")).await, Enqueued::Duplicate(first));
    k.store.expire(vec![first]).await.unwrap();
    let second = created(put(&k, k.keyed("k")).await);
    k.cancel(second).await;
    let third = created(put(&k, k.keyed("k")).await);
    let claimed = k.claim_one().await;
    assert_eq!(claimed.lease.job, third);
    k.fail(&claimed, Code::HandlerFailed).await;
    let refused = NewJob { dedupe: k.keyed("k").dedupe, ..k.rejected(Code::NotPdf) };
    created(put(&k, refused).await);
    created(put(&k, k.keyed("k")).await);
    k.audit().await;
}

/// A retry, a snooze, a release or a rescue keeps the key.
/// Also covers: U7.
pub async fn u3_going_back_to_the_queue_keeps_the_key(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_one(NewJob { max_attempts: Some(9), ..k.keyed("k") }).await;
    let code = Code::GwTimeout;
    let outcomes = [
        Outcome::Failed { code, retry_after: None },
        Outcome::Done(Done::Snooze(secs(1))),
        Outcome::Released,
        Outcome::Done(Done::RescheduleNow),
    ];
    for outcome in outcomes {
        let claimed = k.claim_one().await;
        k.end(&claimed, outcome).await;
        assert_eq!(put(&k, k.keyed("k")).await, Enqueued::Duplicate(id), "{outcome:?}");
        k.advance(secs(60)).await;
    }
    k.claim_one().await;
    k.advance(TTL).await;
    let expired = k.store.expired(None, 1).await.unwrap();
    k.reclaim(&expired[0]).await;
    assert_eq!(put(&k, k.keyed("k")).await, Enqueued::Duplicate(id), "a rescue");
    k.audit().await;
}

/// After the end the same work can be handed in again, as a new job beside the old one.
pub async fn u4_what_has_ended_can_be_handed_in_again(h: &dyn Harness) {
    let k = Kit::new(h);
    let old = k.put_dead(vec![k.keyed("k")]).await[0];
    let new = k.put_one(k.keyed("k")).await;
    assert_ne!(old, new);
    assert_eq!((k.row(old).await.state, k.row(new).await.state), (State::Failed, State::Queued));
    k.audit().await;
}

/// Duplicates within one call collapse, and a batch counts the job once.
pub async fn u5_duplicates_in_one_call_collapse(h: &dyn Harness) {
    let k = Kit::new(h);
    let batch = k.new_batch();
    let jobs = vec![k.keyed("a"), k.keyed("b"), k.keyed("a"), k.keyed("a")];
    let first = jobs[0].id;
    let jobs: Vec<NewJob> = jobs.into_iter().map(|job| NewJob { batch: Some(batch.id), ..job }).collect();
    let id = batch.id;
    let call = Enqueue { open: vec![batch], jobs: jobs.clone(), seal: vec![id], ..Enqueue::default() };
    let reply = k.enqueue(call).await;
    let expected = [
        Enqueued::Created(first),
        Enqueued::Created(jobs[1].id),
        Enqueued::Duplicate(first),
        Enqueued::Duplicate(first),
    ];
    assert_eq!(reply.jobs, expected);
    assert_eq!(k.batch(id).await.counters.total, 2);
    k.audit().await;
}

/// Of two failed twins one can be retried; the other is told about it, and neither is stuck when the first is through.
pub async fn u6_two_failed_twins_are_resolved_not_wedged(h: &dyn Harness) {
    let k = Kit::new(h);
    let first = k.put_dead(vec![k.keyed("k")]).await[0];
    let second = k.put_dead(vec![k.keyed("k")]).await[0];
    let acted = k.store.retry(vec![second, first], RetryBy::default()).await.unwrap();
    assert_eq!(acted, [Acted::Done, Acted::Duplicate(second)]);
    let claimed = k.claim_one().await;
    k.fail(&claimed, Code::HandlerFailed).await;
    assert_eq!(k.retry(first).await, Acted::Done);
    assert_eq!(k.claim_ids(9).await, [first]);
    k.audit().await;
}

/// Twins that are retried at the same moment from two handles: one goes, the other is told, no error.
pub async fn u6_twins_retried_at_once_are_resolved(h: &dyn Harness) {
    let k = Kit::new(h);
    let handles = [h.store(), h.second().await];
    for round in 0..10 {
        let key = format!("k{round}");
        let first = k.put_dead(vec![k.keyed(&key)]).await[0];
        let second = k.put_dead(vec![k.keyed(&key)]).await[0];
        let tries = [(0, first), (1, second)].map(|(n, id)| {
            let store = handles[n].clone();
            async move { store.retry(vec![id], RetryBy::default()).await.unwrap()[0] }
        });
        let acted = join_all(tries).await;
        let won = if acted[0] == Acted::Done { first } else { second };
        assert!(acted.contains(&Acted::Done) && acted.contains(&Acted::Duplicate(won)), "{acted:?}");
        k.cancel(won).await;
    }
    k.audit().await;
}

/// A rescue of a job with a key neither fails nor loses the key, whatever else was tried with it meanwhile.
pub async fn u7_a_rescue_never_wedges_on_a_key(h: &dyn Harness) {
    let k = Kit::new(h);
    let dead = k.put_dead(vec![k.keyed("k")]).await[0];
    let id = k.put_one(k.keyed("k")).await;
    k.claim_one().await;
    assert_eq!(k.retry(dead).await, Acted::Duplicate(id));
    k.advance(TTL).await;
    let expired = k.store.expired(None, 1).await.unwrap();
    assert_eq!(k.reclaim(&expired[0]).await, redrive_store::Finished::Recorded(State::Queued));
    assert_eq!(k.retry(dead).await, Acted::Duplicate(id));
    k.advance(secs(10)).await;
    assert_eq!(k.claim_ids(1).await, [id]);
    k.audit().await;
}

/// The same job handed in again under its own id is the call made before, whatever became of the job since.
pub async fn the_same_id_again_is_the_job_that_is_there(h: &dyn Harness) {
    let k = Kit::new(h);
    let plain = NewJob { input: b"one".to_vec(), ..k.job() };
    k.put(vec![plain.clone()]).await;
    let again = NewJob { input: b"two".to_vec(), priority: 0, ..plain.clone() };
    assert_eq!(put(&k, again.clone()).await, Enqueued::Existing(plain.id));
    let claimed = k.claim_one().await;
    assert_eq!(claimed.input, b"one", "the first call stays");
    assert_eq!(put(&k, again).await, Enqueued::Existing(plain.id));
    k.complete(&claimed).await;
    assert_eq!(put(&k, plain.clone()).await, Enqueued::Existing(plain.id));
    // With a key: its own row is no duplicate, and after its end it is still the job that was handed in.
    let keyed = k.keyed("k");
    k.put(vec![keyed.clone()]).await;
    assert_eq!(put(&k, keyed.clone()).await, Enqueued::Existing(keyed.id));
    let claimed = k.claim_one().await;
    k.fail(&claimed, Code::HandlerFailed).await;
    let twin = k.put_one(k.keyed("k")).await;
    assert_eq!(put(&k, keyed.clone()).await, Enqueued::Existing(keyed.id), "not {twin}, which came later");
    k.audit().await;
}

async fn put(k: &Kit<'_>, job: NewJob) -> Enqueued {
    k.enqueue(Enqueue::jobs(vec![job])).await.jobs[0]
}

fn created(answer: Enqueued) -> redrive_model::JobId {
    assert!(matches!(answer, Enqueued::Created(_)), "{answer:?}");
    answer.job()
}
