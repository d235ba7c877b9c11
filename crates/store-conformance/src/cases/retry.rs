//! What policy decides after a failure, as it arrives in the rows.

use std::time::Duration;

use redrive_model::failure::{Budget, Class, REGISTRY, Retries};
use redrive_model::{Code, Failure, Outcome, Policy, Rule, Shown, State, instant};
use redrive_store::{Claimed, Finished, NewJob};

use crate::Harness;
use crate::kit::{Kit, secs};

/// Every code of the registry leads where its class says, and is stored and read back under its own name. A name that
/// only a newer version knows reads as `UNKNOWN`.
pub async fn r1_each_code_follows_its_class(h: &dyn Harness) {
    let k = Kit::new(h);
    let codes: Vec<Code> = REGISTRY.iter().map(|entry| entry.code).collect();
    k.put_n(codes.len()).await;
    let claimed = k.claim(codes.len()).await;
    for (one, &code) in claimed.iter().zip(&codes) {
        k.fail(one, code).await;
        let row = k.row(one.lease.job).await;
        let dies = match code.class() {
            Class::Permanent | Class::Request => true,
            Class::Transient | Class::Throttled | Class::Environment | Class::Crash => {
                code.entry().retries == Retries::AtMost(0)
            }
        };
        assert_eq!(row.state, if dies { State::Failed } else { State::Queued }, "{code}");
        assert_eq!(row.failure_code, dies.then_some(code), "{code}");
        let given_back = matches!(code.class(), Class::Throttled | Class::Environment);
        assert_eq!(row.attempt, u32::from(!given_back), "{code}");
        assert_eq!(k.store.attempts(row.id).await.unwrap()[0].code, Some(code));
    }
    k.audit().await;
    let id = claimed[0].lease.job;
    h.raw("UPDATE attempts SET code = 'A_CODE_OF_TOMORROW'").await.unwrap();
    assert_eq!(k.store.attempts(id).await.unwrap()[0].code, Some(Code::Unknown));
}

/// The cap on executions holds: three runs, then the job is given up, and no fourth claim gets it.
pub async fn r4_attempts_end_at_the_cap(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    for n in 1..=3 {
        let claimed = k.claim_one().await;
        assert_eq!((claimed.facts.attempt, claimed.lease.job), (n, id));
        k.fail(&claimed, Code::GwTimeout).await;
        k.advance(secs(3_600)).await;
    }
    let row = k.row(id).await;
    assert_eq!((row.state, row.attempt, row.failure_code), (State::Failed, 3, Some(Code::GwTimeout)));
    let attempts = k.store.attempts(id).await.unwrap();
    assert_eq!(attempts.iter().map(|a| a.number).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(attempts[2].rule, Some(Rule::AttemptsUsedUp));
    assert_eq!(k.claim(1).await, []);
    k.audit().await;
}

/// The cap on the whole time holds: a retry that would come after the deadline is not made.
pub async fn r5_attempts_end_at_the_deadline(h: &dyn Harness) {
    let mut k = Kit::new(h);
    k.policy = Policy { deadline: Some(secs(60)), ..Policy::on_demand() };
    let id = k.put_one(NewJob { max_attempts: Some(30), ..k.job() }).await;
    let first = k.claim_one().await;
    k.fail(&first, Code::GwTimeout).await;
    assert_eq!(k.row(id).await.state, State::Queued);
    k.advance(secs(59)).await;
    let second = k.claim_one().await;
    assert_eq!(second.facts.queued_at, first.facts.queued_at, "the deadline counts from the enqueue");
    k.fail(&second, Code::GwTimeout).await;
    assert_eq!(k.row(id).await.state, State::Failed);
    assert_eq!(k.dead_of(id).await.reason, redrive_model::decide::DeadReason::Deadline);
    k.audit().await;
}

/// The server's Retry-After decides the due time, up to the cap and never below the curve.
pub async fn r6_retry_after_wins_and_is_bounded(h: &dyn Harness) {
    let k = Kit::new(h);
    let wishes = [(0, 1), (2, 2), (120, 120), (3_600, 3_600), (10 * 365 * 86_400, 3_600)];
    k.put_n(wishes.len()).await;
    let claimed = k.claim(wishes.len()).await;
    for (one, (wish, expected)) in claimed.iter().zip(wishes) {
        fail_asking(&k, one, Code::GwBusy, secs(wish)).await;
        let due = k.row(one.lease.job).await.due_at;
        assert_eq!(due, k.later(secs(expected)).await, "Retry-After: {wish}");
    }
    k.advance(secs(119)).await;
    assert_eq!(k.claim(9).await.len(), 2);
    k.advance(secs(1)).await;
    assert_eq!(k.claim(9).await.len(), 1);
    k.audit().await;
}

/// A failure that cannot change by itself ends the job at its first attempt.
pub async fn r7_a_failure_that_cannot_pass_ends_at_once(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_dead(vec![k.job()]).await[0];
    let row = k.row(id).await;
    assert_eq!((row.state, row.attempt, row.failure_code), (State::Failed, 1, Some(Code::HandlerFailed)));
    k.advance(secs(86_400)).await;
    assert_eq!(k.claim(1).await, []);
    assert_eq!(k.store.attempts(id).await.unwrap()[0].rule, Some(Rule::NotRetryable));
    k.audit().await;
}

/// `IO_ERROR` is retried exactly once, although the cap would allow more: the spent retry survives in the row.
pub async fn r8_a_code_that_is_retried_once_is_retried_once(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let first = k.claim_one().await;
    k.fail(&first, Code::IoError).await;
    assert_eq!(k.row(id).await.shown, Shown::WaitingRetry);
    k.advance(secs(60)).await;
    let second = k.claim_one().await;
    assert_eq!((first.facts.spent.code(Code::IoError), second.facts.spent.code(Code::IoError)), (0, 1));
    k.fail(&second, Code::IoError).await;
    let row = k.row(id).await;
    assert_eq!((row.state, row.attempt), (State::Failed, 2));
    assert_eq!(k.store.attempts(id).await.unwrap()[1].rule, Some(Rule::CodeCapReached));
    k.audit().await;
}

/// Each attempt records which policy's numbers decided; a changed policy applies from the next end on.
pub async fn r9_the_policy_version_is_recorded_per_attempt(h: &dyn Harness) {
    let mut k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let old = k.policy.version();
    let first = k.claim_one().await;
    k.fail(&first, Code::GwTimeout).await;
    k.policy = Policy::stepped();
    k.advance(secs(60)).await;
    let second = k.claim_one().await;
    k.fail(&second, Code::GwTimeout).await;
    let attempts = k.store.attempts(id).await.unwrap();
    let versions: Vec<_> = attempts.iter().map(|a| a.policy.clone().unwrap()).collect();
    assert_eq!(versions, [old, Policy::stepped().version()]);
    assert_ne!(versions[0], versions[1]);
    assert_eq!(k.row(id).await.due_at, k.later(secs(12)).await, "15 s less a fifth, not the old curve");
    k.audit().await;
}

/// Different codes spend different budgets, and what was spent is kept from attempt to attempt.
pub async fn r15_each_budget_is_its_own(h: &dyn Harness) {
    let mut k = Kit::new(h);
    k.policy =
        Policy::reliability().with_budgets([(Budget::Download, 2), (Budget::Storage, 1), (Budget::Proxy, 1)]);
    let id = k.put_one(NewJob { max_attempts: k.policy.max_attempts, ..k.job() }).await;
    let codes =
        [Code::DownloadTimeout, Code::UploadS3Error, Code::DownloadProxyFailed, Code::DownloadConnect];
    for code in codes {
        let claimed = k.claim_one().await;
        k.fail(&claimed, code).await;
        assert_eq!(k.row(id).await.state, State::Queued, "{code}");
        k.advance(secs(3_600)).await;
    }
    let last = k.claim_one().await;
    let spent = &last.facts.spent;
    let budgets = [Budget::Download, Budget::Storage, Budget::Proxy];
    assert_eq!(budgets.map(|b| spent.budget(b)), [2, 1, 1]);
    k.fail(&last, Code::UploadTimeout).await;
    assert_eq!(k.row(id).await.state, State::Failed);
    assert_eq!(k.store.attempts(id).await.unwrap().last().unwrap().rule, Some(Rule::BudgetUsedUp));
    k.audit().await;
    // A new generation has spent nothing.
    k.retry(id).await;
    assert!(k.claim_one().await.facts.spent.is_empty());
}

/// A retry waits in the queue with a due time: nobody holds it, and it does not look as if it ran or were ready.
pub async fn r17_a_retry_waits_in_the_queue(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let claimed = k.claim_one().await;
    k.fail(&claimed, Code::GwTimeout).await;
    let row = k.row(id).await;
    assert_eq!((row.state, row.shown, row.leased_by), (State::Queued, Shown::WaitingRetry, None));
    assert_eq!(row.due_at, k.later(secs(5)).await);
    assert_eq!((row.failure_code, row.finished_at), (None, None), "only a failed job has a failure");
    assert_eq!(k.store.leases_of(k.worker(1)).await.unwrap(), []);
    assert_eq!(k.store.next_due().await.unwrap(), Some(row.due_at));
    k.advance(secs(5)).await;
    assert_eq!(k.row(id).await.shown, Shown::Queued);
    assert_eq!(k.claim_ids(1).await, [id]);
    k.audit().await;
}

/// A retried job keeps its priority and stands among the others by its new due time.
pub async fn r18_a_retried_job_keeps_priority_and_order(h: &dyn Harness) {
    let k = Kit::new(h);
    let urgent = k.put_one(NewJob { priority: 1, ..k.job() }).await;
    let plain = k.put_one(k.job()).await;
    for claimed in k.claim(2).await {
        k.fail(&claimed, Code::GwTimeout).await;
    }
    k.advance(secs(1)).await;
    let urgent_later = k.put_one(NewJob { priority: 1, ..k.job() }).await;
    let plain_later = k.put_one(k.job()).await;
    k.advance(secs(60)).await;
    // The fresh ones were due after one second, the retries after five.
    assert_eq!(k.claim_ids(9).await, [urgent_later, urgent, plain_later, plain]);
    k.audit().await;
}

async fn fail_asking(k: &Kit<'_>, claimed: &Claimed, code: Code, wish: Duration) {
    let failure = Failure::new(code, "busy").status(503).retry_after(wish);
    let outcome = Outcome::Failed { code, retry_after: Some(wish) };
    let finish = k.decided(claimed, outcome, Some(failure)).await;
    assert_eq!(k.finish(finish).await, Finished::Recorded(State::Queued));
    assert!(k.row(claimed.lease.job).await.due_at <= instant::after(k.now().await, secs(3_600)));
}
