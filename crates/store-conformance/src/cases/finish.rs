//! Recording the end of attempts: repeatable, fenced, and all of a call or nothing.

use std::time::Duration;

use redrive_model::decide::{Charge, DeadReason, Due, Requeue, Spent};
use redrive_model::limits::MAX_STATE_BYTES;
use redrive_model::{Code, Done, Outcome, State, Timestamp};
use redrive_store::{Claim, Extension, Finished, NewJob, Step, StoreError};

use crate::Harness;
use crate::kit::{Kit, TTL, secs};

/// A finish whose answer was lost is made again: the answer is the same, and nothing is written twice.
pub async fn a_repeated_finish_gives_the_same_answer(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_n(4).await;
    let claimed = k.claim(4).await;
    let finishes = vec![
        k.completion(&claimed[0]).await,
        k.failure(&claimed[1], Code::HandlerFailed).await,
        k.failure(&claimed[2], Code::GwTimeout).await,
        k.decided(&claimed[3], Outcome::Done(Done::Snooze(secs(5))), None).await,
    ];
    let first = k.store.finish(finishes.clone()).await.unwrap();
    let expected = [State::Complete, State::Failed, State::Queued, State::Queued].map(Finished::Recorded);
    assert_eq!(first, expected);
    let mut before = Vec::new();
    for c in &claimed {
        before.push(k.row(c.lease.job).await);
    }
    for _ in 0..2 {
        assert_eq!(k.store.finish(finishes.clone()).await.unwrap(), expected);
    }
    for (c, before) in claimed.iter().zip(&before) {
        assert_eq!(&k.row(c.lease.job).await, before);
        let attempts = k.store.attempts(c.lease.job).await.unwrap();
        assert_eq!((attempts.len(), attempts[0].late.as_deref()), (1, None));
    }
    k.audit().await;
}

/// The same, when somebody else has the job by now: the worker's own finish is answered as it was, and is not "late".
pub async fn a_finish_repeated_after_the_next_claim_gives_the_same_answer(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let claimed = k.claim_one().await;
    let finish = k.failure(&claimed, Code::GwTimeout).await;
    assert_eq!(k.finish(finish.clone()).await, Finished::Recorded(State::Queued));
    k.advance(secs(60)).await;
    k.claim_with(Claim { worker: k.worker(2), ..k.ask(1) }).await;
    let before = k.row(id).await;
    assert_eq!(k.finish(finish).await, Finished::Recorded(State::Queued));
    assert_eq!(k.row(id).await, before);
    assert_eq!(k.store.attempts(id).await.unwrap()[0].late, None);
    // And the end of a generation, after the next one has begun.
    let other = k.put_n(1).await[0];
    let claimed = k.claim_one().await;
    let finish = k.failure(&claimed, Code::HandlerFailed).await;
    k.finish(finish.clone()).await;
    k.retry(other).await;
    assert_eq!(k.finish(finish).await, Finished::Recorded(State::Failed));
    assert_eq!(k.row(other).await.state, State::Queued);
    k.audit().await;
}

/// Another word than the one that was recorded is not a repetition: it is refused and noted.
pub async fn a_different_finish_after_the_first_is_refused(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let claimed = k.claim_one().await;
    k.complete(&claimed).await;
    let change = k.failure(&claimed, Code::HandlerFailed).await;
    assert_eq!(k.finish(change).await, Finished::Lost);
    let row = k.row(id).await;
    assert_eq!((row.state, row.result), (State::Complete, Some(format!("results/{id}"))));
    assert_eq!(k.store.attempts(id).await.unwrap()[0].late.as_deref(), Some("failed"));
    k.audit().await;
}

/// A job at its cap cannot go back to the queue. The call is refused as a whole and nobody in it is lost: the job
/// still runs and can be finished properly.
pub async fn a_requeue_at_the_cap_is_refused_and_loses_nothing(h: &dyn Harness) {
    let mut k = Kit::new(h);
    let capped = k.put_one(NewJob { max_attempts: Some(1), ..k.job() }).await;
    let plain = k.put_n(1).await[0];
    let claimed = k.claim(2).await;
    let good = k.completion(&claimed[1]).await;
    let bad = k.failure(&claimed[0], Code::GwTimeout).await;
    assert!(matches!(bad.step, Step::Requeue { charge: Charge::Keep, .. }), "the kit's policy allows three");
    for call in [vec![good.clone(), bad.clone()], vec![bad.clone(), good.clone()]] {
        let answer = k.store.finish(call).await;
        assert!(matches!(answer, Err(StoreError::Invalid(_))), "{answer:?}");
        for id in [capped, plain] {
            assert_eq!(k.row(id).await.state, State::Processing, "nothing of the call was written");
            assert_eq!(k.store.attempts(id).await.unwrap(), []);
        }
    }
    k.audit().await;
    assert_eq!(k.finish(good).await, Finished::Recorded(State::Complete));
    let held = k.store.extend(k.worker(1), vec![claimed[0].lease], TTL).await.unwrap();
    assert!(matches!(held[0], Extension::Held(_)));
    k.policy.max_attempts = Some(1);
    k.fail(&claimed[0], Code::GwTimeout).await;
    assert_eq!(k.row(capped).await.state, State::Failed);
    k.audit().await;
}

/// A job cannot fail without a failure that says why, nor without the group it belongs to.
pub async fn a_failure_without_a_reason_is_refused(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let claimed = k.claim_one().await;
    let good = k.failure(&claimed, Code::HandlerFailed).await;
    for (failure, fingerprint) in [(true, false), (false, true), (false, false)] {
        let mut bad = good.clone();
        bad.report.failure = bad.report.failure.filter(|_| failure);
        bad.report.fingerprint = bad.report.fingerprint.filter(|_| fingerprint);
        let answer = k.store.finish(vec![bad]).await;
        assert!(matches!(answer, Err(StoreError::Invalid(_))), "{failure} {fingerprint}: {answer:?}");
        assert_eq!(k.row(id).await.state, State::Processing);
    }
    assert_eq!(k.finish(good).await, Finished::Recorded(State::Failed));
    k.audit().await;
}

/// Execution state is saved under the lease only, bounded, handed to the next run, and can come with the finish.
pub async fn execution_state_is_fenced_and_bounded(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let first = k.claim_one().await;
    assert!(k.store.save_state(first.lease, b"one".to_vec()).await.unwrap());
    let largest = vec![7; MAX_STATE_BYTES];
    assert!(k.store.save_state(first.lease, largest.clone()).await.unwrap());
    let answer = k.store.save_state(first.lease, vec![8; MAX_STATE_BYTES + 1]).await;
    assert!(matches!(answer, Err(StoreError::Invalid(_))), "{answer:?}");
    assert_eq!(k.store.leases_of(k.worker(1)).await.unwrap()[0].state, Some(largest));
    let mut finish = k.decided(&first, Outcome::Done(Done::RescheduleNow), None).await;
    finish.state = Some(vec![9; MAX_STATE_BYTES + 1]);
    assert!(matches!(k.store.finish(vec![finish.clone()]).await, Err(StoreError::Invalid(_))));
    assert_eq!(k.row(id).await.state, State::Processing, "the refused finish wrote nothing");
    finish.state = Some(b"two".to_vec());
    k.finish(finish).await;
    assert!(!k.store.save_state(first.lease, b"late".to_vec()).await.unwrap(), "the lease is over");
    let second = k.claim_one().await;
    assert_eq!(second.state, Some(b"two".to_vec()));
    assert!(!k.store.save_state(first.lease, b"late".to_vec()).await.unwrap(), "it is another's now");
    assert!(k.store.save_state(second.lease, Vec::new()).await.unwrap());
    assert_eq!(k.store.leases_of(k.worker(1)).await.unwrap()[0].state, Some(Vec::new()));
    k.audit().await;
}

/// A completion keeps its result, or says that there is none, and how long the row stays.
pub async fn a_completion_keeps_its_result(h: &dyn Harness) {
    let k = Kit::new(h);
    let put = k.put_n(2).await;
    let claimed = k.claim(2).await;
    k.advance(secs(3)).await;
    k.complete(&claimed[0]).await;
    let row = k.row(put[0]).await;
    assert_eq!((row.result, row.finished_at), (Some(format!("results/{}", put[0])), Some(k.now().await)));
    assert_eq!(row.purge_at, Some(k.later(k.policy.keep.complete.unwrap()).await));
    let mut none = k.decided(&claimed[1], Outcome::Done(Done::Complete), None).await;
    none.step = Step::Complete { result: None, keep: None };
    k.finish(none).await;
    let row = k.row(put[1]).await;
    assert_eq!((row.state, row.result.as_deref(), row.purge_at), (State::Complete, Some(""), None));
    k.audit().await;
}

/// Due times far beyond every calendar are kept at its end; one in the past is now.
pub async fn due_times_beyond_the_calendar_are_clamped(h: &dyn Harness) {
    let k = Kit::new(h);
    let put = k.put_n(4).await;
    let claimed = k.claim(4).await;
    let dues = [
        Due::In(Duration::MAX),
        Due::At(Timestamp::MAX),
        Due::At(Timestamp::MIN),
        Due::At(Timestamp::UNIX_EPOCH),
    ];
    for (one, due) in claimed.iter().zip(dues) {
        let mut finish = k.decided(one, Outcome::Done(Done::RescheduleNow), None).await;
        let (why, charge) = (Requeue::Reschedule, Charge::Reset);
        finish.step = Step::Requeue { why, due, charge, spent: Spent::default(), alone: false };
        assert_eq!(k.finish(finish).await, Finished::Recorded(State::Queued), "{due:?}");
    }
    for id in &put[..2] {
        assert!(k.row(*id).await.due_at > k.later(secs(1_000 * 365 * 86_400)).await);
    }
    assert_eq!([k.row(put[2]).await.due_at, k.row(put[3]).await.due_at], [k.now().await; 2]);
    assert_eq!(k.claim_ids(9).await, put[2..]);
    k.audit().await;
}

/// Ends of many jobs in one call are answered one by one, in order, the same job twice included.
pub async fn one_call_ends_many_jobs(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_n(30).await;
    let claimed = k.claim(30).await;
    let mut finishes = Vec::new();
    for (n, one) in claimed.iter().enumerate() {
        finishes.push(match n % 3 {
            0 => k.completion(one).await,
            1 => k.failure(one, Code::GwTimeout).await,
            _ => k.failure(one, Code::HandlerFailed).await,
        });
    }
    finishes.push(k.failure(&claimed[0], Code::HandlerFailed).await);
    let answers = k.store.finish(finishes).await.unwrap();
    let states = [State::Complete, State::Queued, State::Failed];
    for (n, answer) in answers[..30].iter().enumerate() {
        assert_eq!(*answer, Finished::Recorded(states[n % 3]), "{n}");
    }
    assert_eq!(answers[30], Finished::Lost);
    assert_eq!(k.store.finish(Vec::new()).await.unwrap(), []);
    let reasons = k.dead(redrive_store::DeadFilter::default()).await;
    assert!(reasons.len() == 10 && reasons.iter().all(|d| d.reason == DeadReason::NonRetryable));
    k.audit().await;
}
