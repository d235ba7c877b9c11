//! What an execution costs: what is given back, what is charged apart, and what starts again.

use redrive_model::decide::DeadReason;
use redrive_model::limits::MAX_RELEASES;
use redrive_model::{Code, Done, Failure, Outcome, Policy, Rule, Shown, State};
use redrive_store::{Claim, ClaimMode, NewJob};

use crate::Harness;
use crate::kit::{Kit, TTL, ids, secs};

/// A snooze gives the attempt back as often as it happens, is told as a snooze, and spends nothing.
pub async fn r10_a_snooze_gives_the_attempt_back(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    for n in 1..=10 {
        let claimed = k.claim_one().await;
        assert_eq!((claimed.facts.attempt, claimed.lease.token.0), (1, n));
        k.end(&claimed, Outcome::Done(Done::Snooze(secs(30)))).await;
        let row = k.row(id).await;
        assert_eq!((row.attempt, row.due_at), (0, k.later(secs(30)).await));
        assert_eq!(row.shown, Shown::WaitingRetry, "it has run before, so it is not merely scheduled");
        k.advance(secs(30)).await;
    }
    let attempts = k.store.attempts(id).await.unwrap();
    assert_eq!(attempts.len(), 10);
    assert!(attempts.iter().all(|a| a.outcome == "snoozed" && a.code.is_none() && a.number == 1));
    k.audit().await;
}

/// Being throttled is no failure of the job: it waits, keeps its attempt, and gives up only after the total deadline.
pub async fn r11_throttling_costs_no_attempt_until_its_deadline(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_one(k.job_on(&["gateway"])).await;
    let mut rounds = 0;
    let dead = loop {
        let claimed = k.claim_one().await;
        let failure = Failure::new(Code::GwThrottled, "429").status(429);
        let outcome = Outcome::Failed { code: Code::GwThrottled, retry_after: Some(secs(3_600)) };
        let finish = k.decided(&claimed, outcome, Some(failure)).await;
        k.finish(finish).await;
        let row = k.row(id).await;
        if row.state == State::Failed {
            break row;
        }
        assert_eq!((row.attempt, row.state), (0, State::Queued));
        rounds += 1;
        k.advance(secs(3_600)).await;
    };
    assert_eq!((rounds, dead.failure_code), (24, Some(Code::GwThrottled)), "as it was last answered");
    let attempts = k.store.attempts(id).await.unwrap();
    assert!(attempts[..24].iter().all(|a| a.outcome == "throttled" && a.target_status == Some(429)));
    assert_eq!(k.dead_of(id).await.reason, DeadReason::Deadline);
    k.audit().await;
}

/// A drain gives the attempt back, at most five times per generation; after that it counts.
pub async fn r12_a_release_is_not_charged_five_times(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    for n in 1..=MAX_RELEASES {
        let claimed = k.claim_one().await;
        k.end(&claimed, Outcome::Released).await;
        let row = k.row(id).await;
        assert_eq!((row.attempt, row.releases, row.shown), (0, n, Shown::Queued));
    }
    for n in 1..=2 {
        let claimed = k.claim_one().await;
        assert_eq!(claimed.facts.releases, MAX_RELEASES);
        k.end(&claimed, Outcome::Released).await;
        let row = k.row(id).await;
        assert_eq!((row.attempt, row.releases), (n, MAX_RELEASES));
    }
    let last = k.claim_one().await;
    k.end(&last, Outcome::Released).await;
    assert_eq!(k.row(id).await.state, State::Failed, "rolling restarts cannot run a job for ever");
    k.audit().await;
    // A new generation has all five again.
    k.retry(id).await;
    let claimed = k.claim_one().await;
    assert_eq!((claimed.facts.releases, claimed.facts.attempt), (0, 1));
    k.end(&claimed, Outcome::Released).await;
    assert_eq!(k.row(id).await.attempt, 0);
    k.audit().await;
}

/// A crash charges the attempt and the crash counter; the second one makes the job run alone, and a crash alone
/// quarantines it.
pub async fn r13_a_crash_charges_attempt_and_crash_counter(h: &dyn Harness) {
    let mut k = Kit::new(h);
    k.policy = Policy { max_attempts: Some(10), ..Policy::reliability() };
    let id = k.put_one(NewJob { max_attempts: Some(10), ..k.job() }).await;
    for n in 1..=2 {
        assert_eq!(k.claim_ids(1).await, [id]);
        crash(&k).await;
        let row = k.row(id).await;
        assert_eq!((row.crashes, row.attempt, row.alone), (n, n, n == 2));
    }
    assert_eq!(k.claim(1).await, []);
    let alone = k.claim_with(Claim { mode: ClaimMode::Alone, ..k.ask(1) }).await;
    assert_eq!((ids(&alone), alone[0].facts.crashes, alone[0].facts.attempt), (vec![id], 2, 3));
    crash(&k).await;
    let row = k.row(id).await;
    assert_eq!((row.state, row.crashes), (State::Failed, 3));
    assert_eq!(row.failure_code, Some(Code::SystemQuarantined));
    let dead = k.dead_of(id).await;
    assert_eq!((dead.reason, dead.attempts), (DeadReason::Crashed, 3));
    k.audit().await;
    // By hand it may try again, among others and with nothing on its account.
    k.retry(id).await;
    let row = k.row(id).await;
    assert_eq!((row.crashes, row.attempt, row.alone), (0, 0, false));
    assert_eq!(k.claim_ids(1).await, [id]);
    k.audit().await;
}

/// A crash at the cap ends the job: it cannot kill workers for ever.
pub async fn r13_a_crash_at_the_cap_ends_the_job(h: &dyn Harness) {
    let mut k = Kit::new(h);
    k.policy.max_attempts = Some(1);
    let id = k.put_one(NewJob { max_attempts: Some(1), ..k.job() }).await;
    k.claim_one().await;
    crash(&k).await;
    let row = k.row(id).await;
    assert_eq!((row.state, row.attempt, row.crashes), (State::Failed, 1, 1));
    assert_eq!(k.claim(1).await, []);
    k.audit().await;
}

/// A permanent job never gives up; a healthy run starts its count again, and its saved state goes on.
pub async fn r14_a_healthy_run_resets_a_permanent_jobs_counter(h: &dyn Harness) {
    let mut k = Kit::new(h);
    k.policy = Policy::permanent();
    let id = k.put_one(NewJob { max_attempts: None, ..k.job() }).await;
    for n in 1..=40 {
        let claimed = k.claim_one().await;
        assert_eq!(claimed.facts.attempt, n);
        k.fail(&claimed, Code::HandlerFailed).await;
        assert_eq!(k.row(id).await.state, State::Queued, "a permanent job is never given up");
        k.advance(secs(600)).await;
    }
    let claimed = k.claim_one().await;
    assert!(k.store.save_state(claimed.lease, b"place 41".to_vec()).await.unwrap());
    k.end(&claimed, Outcome::Done(Done::RescheduleIn(secs(60)))).await;
    let row = k.row(id).await;
    assert_eq!((row.attempt, row.due_at), (0, k.later(secs(60)).await));
    k.advance(secs(60)).await;
    let again = k.claim_one().await;
    assert_eq!((again.facts.attempt, again.state), (1, Some(b"place 41".to_vec())));
    assert!(again.facts.spent.is_empty());
    k.audit().await;
}

/// A kind that nobody has registered stays queued: visible, not claimed, nothing spent.
pub async fn r19_an_unregistered_kind_is_kept_and_not_burned(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_one(k.job_of("strange")).await;
    for _ in 0..5 {
        assert_eq!(k.claim(10).await, []);
        k.advance(secs(3_600)).await;
    }
    let row = k.row(id).await;
    assert_eq!((row.state, row.shown, row.attempt, row.token.0), (State::Queued, Shown::Queued, 0, 0));
    let counts = k.store.counts().await.unwrap();
    assert_eq!(counts.states[0].workload.as_str(), "strange");
    k.audit().await;
}

/// An input that cannot be read ends the job with a code and a reason of its own; the bytes are kept for people.
pub async fn r20_an_input_that_cannot_be_read_dies_with_its_own_code(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_one(NewJob { input: b"\xc3\x28 not json \0".to_vec(), ..k.job() }).await;
    let claimed = k.claim_one().await;
    assert_eq!(claimed.input, b"\xc3\x28 not json \0");
    let mut finish = k.failure(&claimed, Code::SystemUndecodable).await;
    finish.report.rule = Rule::Undecodable;
    finish.step = redrive_store::Step::Fail { reason: DeadReason::Undecodable, keep: Some(secs(60)) };
    k.finish(finish).await;
    let row = k.row(id).await;
    assert_eq!((row.state, row.failure_code), (State::Failed, Some(Code::SystemUndecodable)));
    assert_eq!(k.dead_of(id).await.reason, DeadReason::Undecodable);
    k.audit().await;
    k.retry(id).await;
    assert_eq!(k.claim_one().await.input, b"\xc3\x28 not json \0");
}

/// The lease runs out, the worker is gone, the job is taken back and due again.
async fn crash(k: &Kit<'_>) {
    k.advance(TTL).await;
    let expired = k.store.expired(None, 1).await.unwrap();
    assert!(!expired[0].worker_alive);
    k.reclaim(&expired[0]).await;
    k.advance(secs(3_600)).await;
}

/// A job that was claimed and could not be started is given back as if it had never been claimed.
pub async fn what_never_started_costs_nothing_and_keeps_its_place(h: &dyn Harness) {
    let k = Kit::new(h);
    let ids = k.put_n(3).await;
    for _ in 0..8 {
        let claimed = k.claim_one().await;
        assert_eq!(claimed.lease.job, ids[0], "it keeps its place");
        k.advance(secs(10)).await;
        k.end(&claimed, Outcome::Unstarted).await;
    }
    let row = k.row(ids[0]).await;
    assert_eq!((row.attempt, row.releases, row.crashes), (0, 0, 0));
    k.audit().await;
}
