//! What is no longer kept: when it goes, what goes with it, and what stays.

use redrive_model::{Code, JobId, Outcome, Policy, Rule, State};
use redrive_store::{
    Acted, AttemptRow, DeadFilter, Enqueue, EventKind, Finished, NewBatch, NewJob, Purge, Purged, WorkerBeat,
};

use crate::kit::{KEEP, Kit, secs};
use crate::{Audit, Harness};

/// A finished job stays until its time is over, and then goes with everything that belongs to it.
pub async fn a_finished_job_is_purged_when_its_time_is_over(h: &dyn Harness) {
    let k = Kit::new(h);
    let dead = k.put_dead(vec![k.keyed("k")]).await[0];
    let offset = k.dead_of(dead).await.offset;
    let keep = k.policy.keep.failed.unwrap();
    k.advance(keep - secs(1)).await;
    assert_eq!(purge_all(&k).await, 0);
    assert_eq!(k.row(dead).await.state, State::Failed);
    k.advance(secs(1)).await;
    assert_eq!(purge_all(&k).await, 1);
    assert_eq!(k.store.job(dead).await.unwrap(), None);
    assert_eq!(k.store.attempts(dead).await.unwrap(), []);
    assert_eq!(k.store.dead_letter(offset).await.unwrap(), None);
    assert_eq!(k.store.count_dead(DeadFilter::default()).await.unwrap(), 0);
    assert_eq!(k.store.counts().await.unwrap().states, []);
    for table in ["jobs", "payloads", "attempts", "dead_letters"] {
        // A value may not be NULL: the statement fails as soon as the table has a row.
        let left = format!("SELECT 'left/{table}', NULL, 'x', 0 FROM {table}");
        let answer =
            h.raw(&format!("INSERT INTO settings (key, value, updated_by, updated_at) {left}")).await;
        assert_eq!(answer, Ok(()), "{table} is not empty");
    }
    assert_eq!(k.retry(dead).await, Acted::NotFound);
    k.audit().await;
}

/// Live jobs are never purged, nor finished ones without an end to their keeping.
pub async fn live_jobs_and_those_kept_for_ever_stay(h: &dyn Harness) {
    let mut k = Kit::new(h);
    let kept = k.put_n(1).await[0];
    let claimed = k.claim_one().await;
    k.policy = Policy::permanent();
    k.complete(&claimed).await;
    let runs = k.put_n(1).await[0];
    k.claim_one().await;
    let waits = k.put_n(1).await[0];
    let gone = k.put_n(1).await[0];
    k.cancel(gone).await;
    k.advance(secs(1_000 * 86_400)).await;
    assert_eq!(purge_all(&k).await, 1);
    k.audit().await;
    // Not even when something wrote an end to their keeping into the rows.
    h.raw("UPDATE jobs SET purge_at = 0 WHERE state IN ('queued', 'processing')").await.unwrap();
    assert_eq!(purge_all(&k).await, 0);
    for (id, state) in [(kept, State::Complete), (runs, State::Processing), (waits, State::Queued)] {
        assert_eq!(k.row(id).await.state, state);
    }
}

/// A sweep in small chunks sees every row once and ends.
pub async fn a_sweep_in_chunks_sees_every_row(h: &dyn Harness) {
    let k = Kit::new(h);
    let put = k.put_n(10).await;
    let acted = k.store.cancel(put.iter().copied().step_by(2).collect(), Some(KEEP)).await.unwrap();
    assert_eq!(acted, [Acted::Done; 5]);
    k.advance(KEEP).await;
    let (mut after, mut purged, mut chunks) = (None, 0, 0);
    loop {
        let Purged { jobs, next } = k.store.purge(Purge { after, scan: 3 }).await.unwrap();
        assert!(jobs <= 3);
        purged += jobs;
        chunks += 1;
        assert!(chunks <= 10, "the sweep does not end");
        match next {
            Some(next) => {
                assert!(after.is_none_or(|before: JobId| before < next), "the sweep goes back");
                after = Some(next);
            }
            None => break,
        }
    }
    assert_eq!((purged, chunks >= 4), (5, true));
    assert_eq!(k.store.counts().await.unwrap().total(State::Queued), 5);
    k.audit().await;
}

/// Members live as long as their batch, however short their own time; then batch and members go together.
pub async fn members_live_as_long_as_their_batch(h: &dyn Harness) {
    let mut k = Kit::new(h);
    k.policy.keep.complete = Some(secs(1));
    let new = NewBatch { keep: Some(secs(1_000)), ..k.new_batch() };
    let (batch, jobs) = k.put_batch(new, vec![k.job(), k.job()]).await;
    let claimed = k.claim(2).await;
    k.complete(&claimed[0]).await;
    k.advance(secs(5_000)).await;
    assert_eq!(purge_all(&k).await, 0, "the batch has not even ended");
    k.complete(&claimed[1]).await;
    k.advance(secs(999)).await;
    assert_eq!(purge_all(&k).await, 0);
    assert_eq!(k.row(jobs[0]).await.state, State::Complete);
    k.audit().await;
    k.advance(secs(1)).await;
    assert_eq!(purge_all(&k).await, 2);
    assert_eq!((k.store.batch(batch).await.unwrap(), k.store.job(jobs[1]).await.unwrap()), (None, None));
    // A batch without members goes too, and one that is kept for ever stays.
    let empty = k.new_batch();
    let for_ever = NewBatch { keep: None, ..k.new_batch() };
    let ids = [empty.id, for_ever.id];
    k.enqueue(Enqueue { open: vec![empty, for_ever], seal: ids.to_vec(), ..Enqueue::default() }).await;
    k.advance(KEEP).await;
    purge_all(&k).await;
    assert_eq!(k.store.batch(ids[0]).await.unwrap(), None);
    assert!(k.store.batch(ids[1]).await.unwrap().is_some());
    k.audit().await;
}

/// A batch that was opened again by a retry is kept again until it ends again.
pub async fn a_batch_opened_again_is_kept(h: &dyn Harness) {
    let k = Kit::new(h);
    let (batch, jobs) = k.put_batch(k.new_batch(), vec![k.job(), k.job()]).await;
    let claimed = k.claim(2).await;
    k.complete(&claimed[0]).await;
    k.fail(&claimed[1], Code::HandlerFailed).await;
    k.retry(jobs[1]).await;
    k.advance(k.policy.keep.failed.unwrap() + KEEP).await;
    assert_eq!(purge_all(&k).await, 0);
    assert!(k.store.batch(batch).await.unwrap().is_some());
    k.audit().await;
}

/// Purging a job with an open letter takes the letter out of its group's count; the group itself stays.
pub async fn a_purged_letter_no_longer_counts_in_its_group(h: &dyn Harness) {
    let mut k = Kit::new(h);
    k.put_dead(vec![k.job(), k.job()]).await;
    k.policy.keep.failed = None;
    k.put_dead(vec![k.job()]).await;
    k.advance(Policy::reliability().keep.failed.unwrap()).await;
    assert_eq!(purge_all(&k).await, 2);
    let groups = k.store.groups(Default::default(), Default::default()).await.unwrap().rows;
    assert_eq!((groups.len(), groups[0].open, groups[0].failures), (1, 1, 3));
    k.audit().await;
}

/// Expiry takes the result, frees the key, leaves the row and says so; it happens once and only to what is complete.
pub async fn expiry_frees_the_key_and_is_told(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_one(k.keyed("k")).await;
    assert_eq!(k.store.expire(vec![id]).await.unwrap(), [Acted::WrongState(State::Queued)]);
    let claimed = k.claim_one().await;
    k.complete(&claimed).await;
    let before = k.row(id).await;
    k.advance(secs(10)).await;
    for _ in 0..2 {
        assert_eq!(k.store.expire(vec![id, k.id()]).await.unwrap(), [Acted::Done, Acted::NotFound]);
    }
    let row = k.row(id).await;
    assert_eq!((row.state, row.result, row.expired_at), (State::Complete, None, Some(k.now().await)));
    assert_eq!((row.finished_at, row.purge_at), (before.finished_at, before.purge_at));
    let events = k.store.job_events(id).await.unwrap();
    assert_eq!(events.iter().filter(|e| e.kind == EventKind::Expired).count(), 1);
    assert_ne!(k.put_one(k.keyed("k")).await, id);
    k.audit().await;
}

/// Old attempts of a job that runs for ever are pruned; the newest ones stay.
pub async fn old_attempts_are_pruned(h: &dyn Harness) {
    let mut k = Kit::new(h);
    k.policy = Policy::permanent();
    let id = k.put_one(NewJob { max_attempts: None, ..k.job() }).await;
    for _ in 0..10 {
        let claimed = k.claim_one().await;
        k.end(&claimed, Outcome::Released).await;
    }
    let all = k.store.attempts(id).await.unwrap();
    assert_eq!(k.store.prune_attempts(id, 100).await.unwrap(), 0);
    assert_eq!(k.store.prune_attempts(id, 10).await.unwrap(), 0);
    assert_eq!(k.store.prune_attempts(id, 4).await.unwrap(), 6);
    assert_eq!(k.store.attempts(id).await.unwrap(), all[6..]);
    assert_eq!(k.store.prune_attempts(k.id(), 4).await.unwrap(), 0);
    assert_eq!(k.store.prune_attempts(id, 0).await.unwrap(), 4);
    assert_eq!(k.store.attempts(id).await.unwrap(), []);
    Audit { attempts: false, ..Audit::default() }.run(&*k.store).await;
}

/// The attempt that completed a job is listed, marked and pruned like any other, wherever the store keeps it.
pub async fn the_attempt_that_completed_is_like_any_other(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_one(k.job()).await;
    let first = k.claim_one().await;
    k.end(&first, Outcome::Released).await;
    let second = k.claim_one().await;
    k.advance(secs(3)).await;
    let late = k.failure(&second, Code::GwUnavailable).await;
    k.complete(&second).await;
    let all = k.store.attempts(id).await.unwrap();
    let last = all.last().unwrap();
    assert_eq!(all.iter().map(|a| a.outcome.as_str()).collect::<Vec<_>>(), ["released", "complete"]);
    assert_eq!((last.token, last.worker), (second.lease.token, Some(k.worker(1))));
    assert_eq!((last.started_at, last.ended_at), (Some(second.claimed_at), k.now().await));
    assert_eq!(
        (last.rule, last.policy.as_deref()),
        (Some(Rule::HandlerCompleted), Some(&*k.policy.version()))
    );
    k.advance(secs(3)).await;
    for _ in 0..2 {
        assert_eq!(k.finish(late.clone()).await, Finished::Lost);
    }
    let marked = AttemptRow { late: Some(late.step.outcome().into()), ..last.clone() };
    assert_eq!(k.store.attempts(id).await.unwrap(), [all[0].clone(), marked.clone()]);
    assert_eq!(k.store.prune_attempts(id, 1).await.unwrap(), 1);
    assert_eq!(k.store.attempts(id).await.unwrap(), [marked]);
    assert_eq!(k.store.prune_attempts(id, 0).await.unwrap(), 1);
    assert_eq!(k.store.attempts(id).await.unwrap(), []);
    let other = k.put_one(k.job()).await;
    k.complete(&k.claim_one().await).await;
    assert_eq!(k.store.prune_attempts(other, 1).await.unwrap(), 0);
    assert_eq!(k.store.attempts(other).await.unwrap().len(), 1);
    assert_eq!(k.store.prune_attempts(other, 0).await.unwrap(), 1);
    assert_eq!(k.store.attempts(other).await.unwrap(), []);
    assert_eq!(k.row(other).await.state, State::Complete);
    Audit { attempts: false, ..Audit::default() }.run(&*k.store).await;
}

/// Workers that were not seen for long are forgotten, unless they still hold something.
pub async fn workers_are_forgotten_unless_they_hold_something(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_n(1).await;
    for n in 1..=3 {
        k.beat(n).await;
    }
    k.claim_one().await;
    k.advance(secs(3_600)).await;
    k.beat(3).await;
    assert_eq!(k.store.forget(k.now().await).await.unwrap(), 1);
    let mut left: Vec<_> = k.store.workers().await.unwrap().iter().map(|w| w.id).collect();
    left.sort_unstable();
    assert_eq!(left, [k.worker(1), k.worker(3)], "worker 1 still holds a lease");
    let beat = WorkerBeat {
        id: k.worker(3),
        name: "renamed".into(),
        build: "next".into(),
        draining: true,
        ttl: secs(60),
        concurrency: 8,
    };
    k.store.beat(beat).await.unwrap();
    let workers = k.store.workers().await.unwrap();
    let three = workers.iter().find(|w| w.id == k.worker(3)).unwrap();
    assert_eq!(
        (three.name.as_str(), three.build.as_str(), three.draining, three.concurrency),
        ("renamed", "next", true, 8)
    );
    k.audit().await;
}

/// Sweeps until the end; answers how many jobs went.
async fn purge_all(k: &Kit<'_>) -> u64 {
    let (mut after, mut jobs) = (None, 0);
    loop {
        let purged = k.store.purge(Purge { after, scan: 100 }).await.unwrap();
        jobs += purged.jobs;
        after = purged.next;
        if after.is_none() {
            return jobs;
        }
    }
}
