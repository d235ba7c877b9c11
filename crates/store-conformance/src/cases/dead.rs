//! Dead letters: how jobs get there, what is kept, and the way back.

use redrive_model::decide::DeadReason;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::{Code, Failure, Outcome, Policy, Rule, Shown, State};
use redrive_store::{Acted, DeadFilter, DeadState, GiveUp, NewJob, Purge, RetryBy, Step};

use crate::Harness;
use crate::kit::{KEEP, Kit, TTL, owner, secs, workload};

/// A dead letter has code, reason, attempts and time, and the full history is still there.
pub async fn d1_a_dead_letter_tells_what_happened(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_one(NewJob { owner: Some(owner("ann")), ..k.job_on(&["gateway"]) }).await;
    for _ in 0..3 {
        k.advance(secs(60)).await;
        let claimed = k.claim_one().await;
        let finish = k.failure_saying(&claimed, Code::GwTimeout, "no answer after 180 s").await;
        k.finish(finish).await;
    }
    let dead = k.dead_of(id).await;
    assert_eq!((dead.job, dead.generation, dead.attempts), (id, 1, 3));
    assert_eq!(
        (dead.reason, dead.code, dead.message.as_str()),
        (DeadReason::Exhausted, Code::GwTimeout, "no answer after 180 s")
    );
    assert_eq!((dead.workload.clone(), dead.owner.clone()), (workload("work"), Some(owner("ann"))));
    assert_eq!((dead.state, dead.at, dead.closed_at), (DeadState::Open, k.now().await, None));
    assert_eq!((dead.replay, dead.previous), (None, None));
    let gateway = crate::kit::target("gateway");
    assert_eq!(dead.fingerprint, Fingerprint::new(dead.code, &dead.workload, Some(&gateway), &dead.message));
    assert_eq!(k.store.dead_letter(dead.offset).await.unwrap(), Some(dead));
    assert_eq!(k.store.attempts(id).await.unwrap().len(), 3);
    k.audit().await;
}

/// Every reason there is arrives as it was given, from a run or from the queue.
/// Also covers: B5, R20.
pub async fn d2_every_reason_is_kept(h: &dyn Harness) {
    let k = Kit::new(h);
    for &reason in DeadReason::ALL {
        let ran = k.put_n(1).await[0];
        let claimed = k.claim_one().await;
        let mut finish = k.failure(&claimed, Code::HandlerFailed).await;
        finish.step = Step::Fail { reason, keep: Some(KEEP) };
        k.finish(finish).await;
        assert_eq!(k.dead_of(ran).await.reason, reason);
        let waited = k.put_n(1).await[0];
        assert_eq!(k.store.give_up(giving_up(&k, waited, reason)).await.unwrap(), [Acted::Done]);
        let dead = k.dead_of(waited).await;
        assert_eq!((dead.reason, dead.attempts, dead.code), (reason, 0, Code::SystemGivenUp));
    }
    k.audit().await;
}

/// One job is replayed by its exact id: a new generation, nothing on its account, its letter closed, its history kept.
pub async fn d3_one_job_is_replayed_by_its_id(h: &dyn Harness) {
    let k = Kit::new(h);
    let put = k.put_dead(vec![k.job(), k.job()]).await;
    let replay = k.replay_id();
    let letter = k.dead_of(put[0]).await;
    k.advance(secs(5)).await;
    let acted =
        k.store.retry(vec![put[0]], RetryBy { replay: Some(replay), ..RetryBy::default() }).await.unwrap();
    assert_eq!(acted, [Acted::Done]);
    let row = k.row(put[0]).await;
    assert_eq!(
        (row.state, row.shown, row.generation, row.replay),
        (State::Queued, Shown::Queued, 2, Some(replay))
    );
    assert_eq!((row.attempt, row.crashes, row.releases, row.started_at), (0, 0, 0, None));
    assert_eq!(
        (row.failure_code, row.failure_message, row.finished_at, row.purge_at),
        (None, None, None, None)
    );
    assert_eq!((row.queued_at, row.due_at), (k.now().await, k.now().await));
    assert!(row.created_at < row.queued_at, "the job stays as old as it is");
    let closed = k.store.dead_letter(letter.offset).await.unwrap().unwrap();
    assert_eq!(
        (closed.state, closed.closed_at, closed.replay),
        (DeadState::Replayed, Some(k.now().await), Some(replay))
    );
    assert_eq!(k.row(put[1]).await.state, State::Failed, "the other one was not asked for");
    k.audit().await;
    let claimed = k.claim_one().await;
    assert_eq!((claimed.generation, claimed.lease.token.0, claimed.facts.attempt), (2, 2, 1));
    k.complete(&claimed).await;
    assert_eq!(k.store.attempts(put[0]).await.unwrap().len(), 2);
    k.audit().await;
}

/// A replayed job that dies again comes back as a new letter that points at the one before.
pub async fn d9_a_job_that_dies_again_keeps_its_lineage(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_dead(vec![k.job()]).await[0];
    let first = k.dead_of(id).await;
    for generation in 2..=3 {
        let before = k.dead_of(id).await.offset;
        assert_eq!(k.retry(id).await, Acted::Done);
        let claimed = k.claim_one().await;
        k.fail(&claimed, Code::HandlerFailed).await;
        let dead = k.dead_of(id).await;
        assert_eq!((dead.generation, dead.previous), (generation, Some(before)));
        assert!(dead.offset > before, "offsets grow");
    }
    let replayed = k.dead(DeadFilter { state: Some(DeadState::Replayed), ..DeadFilter::default() }).await;
    assert_eq!(replayed.len(), 2);
    assert_eq!(replayed.last().unwrap().offset, first.offset);
    let other = k.put_dead(vec![k.job()]).await[0];
    let all = k.store.dead_letters_of(id).await.unwrap();
    let all: Vec<_> = all.iter().map(|dead| (dead.job, dead.generation, dead.state)).collect();
    let closed = DeadState::Replayed;
    assert_eq!(
        all,
        [(id, 1, closed), (id, 2, closed), (id, 3, DeadState::Open)],
        "oldest first, in every state"
    );
    assert_eq!(k.store.dead_letters_of(other).await.unwrap(), [k.dead_of(other).await]);
    assert_eq!(k.store.dead_letters_of(k.put_n(1).await[0]).await.unwrap(), []);
    k.audit().await;
}

/// A replay that would collide with a live twin says so, with the twin's id, and the others of the call go on.
pub async fn d10_a_conflict_on_replay_is_told_and_the_rest_goes_on(h: &dyn Harness) {
    let k = Kit::new(h);
    let dead = k.put_dead(vec![k.keyed("a"), k.keyed("b"), k.keyed("c")]).await;
    let twin = k.put_one(k.keyed("b")).await;
    let acted = k.store.retry(dead.clone(), RetryBy::default()).await.unwrap();
    assert_eq!(acted, [Acted::Done, Acted::Duplicate(twin), Acted::Done]);
    let row = k.row(dead[1]).await;
    assert_eq!((row.state, row.generation), (State::Failed, 1));
    assert_eq!(k.dead_of(dead[1]).await.state, DeadState::Open);
    k.audit().await;
}

/// A replay made twice, or ten times at once, is made once.
pub async fn d11_a_replay_made_twice_is_made_once(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_dead(vec![k.job()]).await[0];
    let handles = [h.store(), h.second().await];
    let tries = (0..10).map(|n| handles[n % 2].clone());
    let tries = tries.map(|store| async move { store.retry(vec![id], RetryBy::default()).await.unwrap()[0] });
    let acted = futures::future::join_all(tries).await;
    assert_eq!(acted.iter().filter(|a| **a == Acted::Done).count(), 1, "{acted:?}");
    assert_eq!(acted.iter().filter(|a| **a == Acted::WrongState(State::Queued)).count(), 9, "{acted:?}");
    assert_eq!(k.row(id).await.generation, 2);
    let twice = k.store.retry(vec![id, id, k.id()], RetryBy::default()).await.unwrap();
    assert_eq!(twice, [Acted::WrongState(State::Queued), Acted::WrongState(State::Queued), Acted::NotFound]);
    k.audit().await;
}

/// Only what failed is retried by hand: every other state says which one it is.
pub async fn only_failed_jobs_are_retried_by_hand(h: &dyn Harness) {
    let k = Kit::new(h);
    let done = k.put_n(1).await[0];
    let claimed = k.claim_one().await;
    k.complete(&claimed).await;
    let runs = k.put_n(1).await[0];
    k.claim_one().await;
    let gone = k.put_n(1).await[0];
    k.cancel(gone).await;
    for (id, state) in [(done, State::Complete), (runs, State::Processing), (gone, State::Cancelled)] {
        let before = k.row(id).await;
        assert_eq!(k.retry(id).await, Acted::WrongState(state));
        assert_eq!(k.row(id).await, before);
    }
    k.audit().await;
}

/// A job that was refused at the door never ran and has no source: it is shown, has no letter, and cannot be retried.
pub async fn a_job_refused_at_the_door_cannot_be_retried(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_one(k.rejected(Code::NotPdf)).await;
    let row = k.row(id).await;
    assert_eq!((row.state, row.failure_code, row.attempt), (State::Failed, Some(Code::NotPdf), 0));
    assert_eq!(row.failure_message.as_deref(), Some(Code::NotPdf.entry().what_happened));
    assert_eq!((row.finished_at, row.purge_at), (Some(k.now().await), Some(k.later(KEEP).await)));
    assert_eq!((k.claim(1).await, k.dead(DeadFilter::default()).await), (Vec::new(), Vec::new()));
    assert_eq!(k.retry(id).await, Acted::WrongState(State::Failed));
    assert_eq!(k.row(id).await, row);
    k.audit().await;
    k.advance(KEEP).await;
    assert_eq!(k.store.purge(Purge { after: None, scan: 10 }).await.unwrap().jobs, 1);
    k.audit().await;
}

/// Failures are kept by a time of their own, longer than successes, and a letter leaves only with its job.
pub async fn d17_failures_are_kept_apart_from_successes(h: &dyn Harness) {
    let k = Kit::new(h);
    let Policy { keep, .. } = k.policy.clone();
    let (done_for, dead_for) = (keep.complete.unwrap(), keep.failed.unwrap());
    assert!(done_for < dead_for);
    let dead = k.put_dead((0..30).map(|_| k.job()).collect()).await;
    let done = k.put_n(1).await[0];
    let claimed = k.claim_one().await;
    k.complete(&claimed).await;
    k.advance(done_for).await;
    assert_eq!(k.store.purge(Purge { after: None, scan: 100 }).await.unwrap().jobs, 1);
    assert_eq!(k.store.job(done).await.unwrap(), None);
    assert_eq!(k.store.count_dead(DeadFilter::default()).await.unwrap(), 30, "none was dropped to make room");
    k.audit().await;
    k.advance(dead_for - done_for).await;
    assert_eq!(k.store.purge(Purge { after: None, scan: 100 }).await.unwrap().jobs, 30);
    assert_eq!(k.store.count_dead(DeadFilter::default()).await.unwrap(), 0);
    assert_eq!(k.store.job(dead[0]).await.unwrap(), None);
    k.audit().await;
}

/// An offset is never given out twice, also when the newest letter was purged.
pub async fn an_offset_is_never_used_again(h: &dyn Harness) {
    let k = Kit::new(h);
    let mut newest = None;
    for _ in 0..3 {
        let id = k.put_dead(vec![k.job()]).await[0];
        let offset = k.dead_of(id).await.offset;
        assert!(Some(offset) > newest, "{offset} after {newest:?}");
        newest = Some(offset);
        k.advance(k.policy.keep.failed.unwrap()).await;
        assert_eq!(k.store.purge(Purge { after: None, scan: 10 }).await.unwrap().jobs, 1);
        assert_eq!(k.store.dead_letter(offset).await.unwrap(), None);
    }
    k.audit().await;
}

/// A replay into an open breaker waits like everybody else.
pub async fn d18_a_replay_respects_an_open_breaker(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_dead(vec![k.job_on(&["gateway"])]).await[0];
    k.open_breaker("gateway", secs(30)).await;
    assert_eq!(k.retry(id).await, Acted::Done);
    assert_eq!((k.claim(1).await, k.row(id).await.shown), (Vec::new(), Shown::Held));
    k.close_breaker("gateway").await;
    assert_eq!(k.claim_ids(1).await, [id]);
    k.audit().await;
}

/// A discarded letter leaves its job failed; it counts no more as open, and the job may still be retried.
pub async fn a_discarded_letter_is_closed_and_its_job_stays(h: &dyn Harness) {
    let k = Kit::new(h);
    let put = k.put_dead(vec![k.job(), k.job()]).await;
    let offset = k.dead_of(put[0]).await.offset;
    let unknown = redrive_model::Offset(offset.0 + 1_000_000);
    assert_eq!(k.store.discard(vec![offset, unknown, offset]).await.unwrap(), 1);
    assert_eq!(k.store.discard(vec![offset]).await.unwrap(), 0);
    let dead = k.store.dead_letter(offset).await.unwrap().unwrap();
    assert_eq!((dead.state, dead.closed_at), (DeadState::Discarded, Some(k.now().await)));
    assert_eq!(k.row(put[0]).await.state, State::Failed);
    assert_eq!(k.store.count_dead(DeadFilter::default()).await.unwrap(), 1);
    k.audit().await;
    assert_eq!(k.retry(put[0]).await, Acted::Done);
    let claimed = k.claim_one().await;
    k.fail(&claimed, Code::HandlerFailed).await;
    assert_eq!(k.dead_of(put[0]).await.previous, Some(offset));
    k.audit().await;
}

/// A worker's crash at the cap is a dead letter too, with the crash as its reason.
pub async fn a_crash_at_the_cap_is_a_dead_letter(h: &dyn Harness) {
    let mut k = Kit::new(h);
    k.policy.max_attempts = Some(1);
    let id = k.put_one(NewJob { max_attempts: Some(1), ..k.job() }).await;
    let claimed = k.claim_one().await;
    k.advance(TTL).await;
    let finish = k.decided(&claimed, Outcome::Crashed, None).await.expired();
    k.finish(finish).await;
    let dead = k.dead_of(id).await;
    assert_eq!((dead.reason, dead.code), (DeadReason::Crashed, Code::SystemWorkerLost));
    k.audit().await;
}

fn giving_up(k: &Kit<'_>, id: redrive_model::JobId, reason: DeadReason) -> GiveUp {
    let failure = Failure::new(Code::SystemGivenUp, "given up while it waited");
    let fingerprint = Fingerprint::new(failure.code, &k.job().workload, None, &failure.message);
    GiveUp {
        jobs: vec![id],
        reason,
        rule: Rule::ByHand,
        failure,
        fingerprint,
        target: None,
        keep: Some(KEEP),
    }
}
