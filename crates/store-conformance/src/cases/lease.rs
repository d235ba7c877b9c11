//! Keeping a lease, losing it, and what a late writer may still do: nothing but leave a note.

use redrive_model::{Code, Done, LeaseToken, Outcome, State};
use redrive_store::{Claim, Extension, Finished, Lease};

use crate::Harness;
use crate::kit::{Kit, TTL, leases, secs};

/// Many leases are kept by one call; one that is lost does not stop the others, and the answers keep their order.
pub async fn c9_renewing_keeps_many_leases_and_one_lost_does_not_stop_the_others(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_n(50).await;
    let claimed = k.claim(50).await;
    k.advance(secs(40)).await;
    k.complete(&claimed[7]).await;
    let answers = k.store.extend(k.worker(1), leases(&claimed), TTL).await.unwrap();
    let until = k.later(TTL).await;
    for (n, answer) in answers.iter().enumerate() {
        let expected = if n == 7 { Extension::Lost } else { Extension::Held(until) };
        assert_eq!(*answer, expected, "lease {n}");
    }
    // Past the first deadline nobody is overdue; past the second one everybody is.
    k.advance(secs(40)).await;
    assert_eq!(k.store.expired(None, 100).await.unwrap(), []);
    k.advance(secs(20)).await;
    assert_eq!(k.store.expired(None, 100).await.unwrap().len(), 49);
    assert_eq!(k.row(claimed[0].lease.job).await.lease_expires_at, Some(until));
    k.audit().await;
}

/// A worker that lost its lease is told so, and its result is refused.
pub async fn c10_a_lost_lease_is_told_and_its_result_refused(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let old = k.claim_one().await;
    let new = rescued_and_claimed(&k).await;
    let answer = k.store.extend(k.worker(1), vec![old.lease], TTL).await.unwrap();
    assert_eq!(answer, [Extension::Lost]);
    assert!(!k.store.save_state(old.lease, b"late".to_vec()).await.unwrap());
    let late = k.completion(&old).await;
    assert_eq!(k.finish(late).await, Finished::Lost);
    let row = k.row(id).await;
    assert_eq!((row.state, row.token, row.leased_by), (State::Processing, LeaseToken(2), Some(k.worker(2))));
    assert_eq!(row.lease_expires_at, Some(new.expires_at), "the old worker moved the new lease");
    k.audit().await;
}

/// A success that comes after the job was claimed again changes nothing and is noted with its attempt.
pub async fn c11_a_late_success_is_refused_and_noted(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let old = k.claim_one().await;
    let new = rescued_and_claimed(&k).await;
    let late = k.completion(&old).await.with_result("results/zombie".into());
    assert_eq!(k.finish(late).await, Finished::Lost);
    let attempts = k.store.attempts(id).await.unwrap();
    assert_eq!((attempts[0].outcome.as_str(), attempts[0].late.as_deref()), ("reclaimed", Some("complete")));
    k.complete(&new).await;
    // Also after the end: the result of record stays.
    let later = k.completion(&old).await.with_result("results/zombie".into());
    assert_eq!(k.finish(later).await, Finished::Lost);
    assert_eq!(k.row(id).await.result, Some(format!("results/{id}")));
    k.audit().await;
}

/// A failure that comes too late costs nothing: no attempt, no wait, no dead letter, no lease.
pub async fn c12_a_late_failure_is_refused_and_noted(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let old = k.claim_one().await;
    rescued_and_claimed(&k).await;
    let before = k.row(id).await;
    let late = k.failure(&old, Code::HandlerFailed).await;
    assert_eq!(k.finish(late).await, Finished::Lost);
    assert_eq!(k.row(id).await, before);
    let attempts = k.store.attempts(id).await.unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!((attempts[0].late.as_deref(), attempts[0].code), (Some("failed"), None));
    k.audit().await;
}

/// A job that was given up because its worker was lost does not take that worker's own, late failure for the same.
pub async fn c12_a_late_failure_after_the_job_was_given_up_is_noted(h: &dyn Harness) {
    let mut k = Kit::new(h);
    k.policy.max_attempts = Some(1);
    let id = k.put_one(redrive_store::NewJob { max_attempts: Some(1), ..k.job() }).await;
    let old = k.claim_one().await;
    k.advance(TTL).await;
    let expired = k.store.expired(None, 1).await.unwrap();
    assert_eq!(k.reclaim(&expired[0]).await, Finished::Recorded(State::Failed));
    let late = k.failure(&old, Code::HandlerFailed).await;
    assert_eq!(k.finish(late).await, Finished::Lost);
    let attempts = k.store.attempts(id).await.unwrap();
    assert_eq!(attempts[0].late.as_deref(), Some("failed"));
    assert_eq!(k.row(id).await.failure_code, Some(Code::SystemWorkerLost));
    k.audit().await;
}

/// Finishing a job that never was, or is no longer there, is answered with `Lost` and harms nobody in the same call.
pub async fn c13_completing_an_unknown_job_is_harmless(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_n(1).await;
    let claimed = k.claim_one().await;
    let mut unknown = k.completion(&claimed).await;
    unknown.lease = Lease { job: k.id(), token: LeaseToken(1) };
    let mut future = k.completion(&claimed).await;
    future.lease.token = LeaseToken(7);
    let good = k.completion(&claimed).await;
    let answers = k.store.finish(vec![unknown.clone(), future, good]).await.unwrap();
    assert_eq!(answers, [Finished::Lost, Finished::Lost, Finished::Recorded(State::Complete)]);
    assert!(!k.store.save_state(unknown.lease, b"x".to_vec()).await.unwrap());
    let answer = k.store.extend(k.worker(1), vec![unknown.lease], TTL).await.unwrap();
    assert_eq!(answer, [Extension::Lost]);
    // A purged job is an unknown job.
    k.advance(k.policy.keep.complete.unwrap()).await;
    k.store.purge(redrive_store::Purge { after: None, scan: 100 }).await.unwrap();
    assert_eq!(k.store.job(claimed.lease.job).await.unwrap(), None);
    let again = k.completion(&claimed).await;
    assert_eq!(k.finish(again).await, Finished::Lost);
    k.audit().await;
}

/// Only the worker that holds a lease keeps it, even when another one knows the token.
pub async fn c14_only_the_owner_renews(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let claimed = k.claim_one().await;
    k.advance(secs(30)).await;
    let answer = k.store.extend(k.worker(2), vec![claimed.lease], TTL).await.unwrap();
    assert_eq!(answer, [Extension::Lost]);
    assert_eq!(k.row(id).await.lease_expires_at, Some(claimed.expires_at));
    let answer = k.store.extend(k.worker(1), vec![claimed.lease], TTL).await.unwrap();
    assert_eq!(answer, [Extension::Held(k.later(TTL).await)]);
    k.audit().await;
}

/// A worker that came back under its old name is somebody else: neither its beats nor its claims keep old leases.
pub async fn c15_a_reused_name_does_not_keep_old_leases_alive(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_n(1).await;
    k.beat(1).await;
    let old = k.claim_one().await;
    k.advance(TTL).await;
    let reborn = redrive_store::WorkerBeat {
        id: k.worker(2),
        name: "worker-1".into(),
        build: "test".into(),
        draining: false,
        ttl: TTL,
        concurrency: 4,
    };
    k.store.beat(reborn).await.unwrap();
    let expired = k.store.expired(None, 10).await.unwrap();
    assert_eq!((expired.len(), expired[0].lease, expired[0].worker), (1, old.lease, k.worker(1)));
    assert!(!expired[0].worker_alive, "the new incarnation vouches for the old one");
    let answer = k.store.extend(k.worker(2), vec![old.lease], TTL).await.unwrap();
    assert_eq!(answer, [Extension::Lost]);
    let workers = k.store.workers().await.unwrap();
    assert_eq!(workers.iter().filter(|w| w.name == "worker-1").count(), 2);
    k.audit().await;
}

/// Somebody wants a worker to take no new work: it hears so with its beats, and so does nobody else, until that is taken back. Another
/// incarnation begins without it.
pub async fn a_wish_to_drain_is_heard_with_the_next_beat_and_can_be_taken_back(h: &dyn Harness) {
    let k = Kit::new(h);
    assert!(!k.store.want_drained(k.worker(1), true).await.unwrap(), "nobody knows it");
    assert!(!k.beat(1).await && !k.beat(2).await);
    let wanted = async || {
        let mut rows = k.store.workers().await.unwrap();
        rows.sort_by_key(|row| row.id);
        rows.iter().map(|row| (row.drain_wanted, row.draining)).collect::<Vec<_>>()
    };
    for _ in 0..2 {
        assert!(k.store.want_drained(k.worker(1), true).await.unwrap());
        assert_eq!(wanted().await, [(true, false), (false, false)]);
        assert!(k.beat(1).await && !k.beat(2).await);
        assert!(k.beat(1).await, "it stands until it is taken back");
    }
    assert!(k.store.want_drained(k.worker(1), false).await.unwrap());
    assert!(!k.beat(1).await);
    k.store.want_drained(k.worker(1), true).await.unwrap();
    k.advance(secs(3_600)).await;
    assert_eq!(k.store.forget(k.now().await).await.unwrap(), 2);
    assert!(!k.beat(1).await, "the wish went with the row");
    k.audit().await;
}

/// Old and new attempt in the same worker: the old task's heartbeat, release and result do not touch the new lease.
pub async fn the_same_worker_with_an_old_token_is_a_stranger(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let old = k.claim_one().await;
    rescue(&k).await;
    let new = k.claim_one().await;
    assert_eq!((new.lease.job, new.lease.token), (id, LeaseToken(2)));
    k.advance(secs(10)).await;
    assert_eq!(k.store.extend(k.worker(1), vec![old.lease], TTL).await.unwrap(), [Extension::Lost]);
    let release = k.decided(&old, Outcome::Released, None).await;
    assert_eq!(k.finish(release).await, Finished::Lost);
    let snooze = k.decided(&old, Outcome::Done(Done::Snooze(secs(1))), None).await;
    assert_eq!(k.finish(snooze).await, Finished::Lost);
    let row = k.row(id).await;
    assert_eq!((row.state, row.lease_expires_at), (State::Processing, Some(new.expires_at)));
    k.audit().await;
}

/// The lease of the only job runs out and is taken back; the job is due again.
async fn rescue(k: &Kit<'_>) {
    k.advance(TTL).await;
    let expired = k.store.expired(None, 1).await.unwrap();
    assert_eq!(k.reclaim(&expired[0]).await, Finished::Recorded(State::Queued));
    k.advance(secs(10)).await;
}

/// The same, and worker 2 has it now.
async fn rescued_and_claimed(k: &Kit<'_>) -> redrive_store::Claimed {
    rescue(k).await;
    let mut claimed = k.claim_with(Claim { worker: k.worker(2), ..k.ask(1) }).await;
    claimed.pop().expect("the rescued job")
}
