//! Taking work: how much, from where, in which order, and what a claim stamps.

use std::collections::HashSet;

use redrive_model::limits::MAX_CLAIM;
use redrive_model::{Code, Done, JobId, LeaseToken, Outcome, Shown, State};
use redrive_store::{Claim, ClaimMode, Enqueue, Enqueued, NewJob, PerTarget, Want, When};

use crate::Harness;
use crate::kit::{Kit, TTL, ids, secs, target, workload};

/// A claim answers with no more than it was asked for, zero included, and the rest stays for the next one.
pub async fn c1_a_claim_never_exceeds_its_limit(h: &dyn Harness) {
    let k = Kit::new(h);
    let put =
        k.put(vec![k.job(), k.job_on(&["gateway"]), k.job(), k.job_of("other"), k.job_on(&["disk"])]).await;
    assert_eq!(k.claim(0).await, []);
    let first = k.claim_ids(3).await;
    let second = k.claim_ids(3).await;
    assert_eq!((first.len(), second.len()), (3, 2));
    assert_eq!(k.claim(3).await, []);
    assert_eq!([first, second].concat(), put);
    k.audit().await;
}

/// However much a claim asks for, one answer has a bounded size.
pub async fn one_claim_takes_at_most_a_thousand_jobs(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_n(MAX_CLAIM + 1).await;
    assert_eq!(k.claim(1_000_000_000).await.len(), MAX_CLAIM);
    assert_eq!(k.claim(usize::MAX).await.len(), 1);
}

/// Only the workloads a worker asks for are claimed, each up to its own limit.
pub async fn c2_a_claim_takes_only_the_workloads_it_wants(h: &dyn Harness) {
    let k = Kit::new(h);
    let work = k.put(vec![k.job(), k.job(), k.job()]).await;
    let other = k.put(vec![k.job_of("other"), k.job_of("other")]).await;
    let strange = k.put_one(k.job_of("strange")).await;
    let wants = vec![want("work", 2), want("other", 0)];
    let got = k.claim_with(Claim { wants, ..k.ask(10) }).await;
    assert_eq!(ids(&got), work[..2]);
    assert_eq!(k.claim_with(Claim { wants: Vec::new(), ..k.ask(10) }).await, []);
    let got = k.claim_with(Claim { wants: vec![want("other", 10)], ..k.ask(10) }).await;
    assert_eq!(ids(&got), other);
    assert_eq!(k.row(strange).await.state, State::Queued);
    k.audit().await;
}

/// A job that is due later is left alone until the store's clock, which the test moves, says that it is time.
pub async fn c3_a_job_is_not_claimed_before_it_is_due(h: &dyn Harness) {
    let k = Kit::new(h);
    let soon = k.put_one(NewJob { when: When::In(secs(10)), ..k.job() }).await;
    let at = k.later(secs(20)).await;
    let later = k.put_one(NewJob { when: When::At(at), ..k.job() }).await;
    assert_eq!(k.claim(10).await, []);
    assert_eq!(k.row(soon).await.shown, Shown::Scheduled);
    k.advance(secs(10) - std::time::Duration::from_millis(1)).await;
    assert_eq!(k.claim(10).await, []);
    k.advance(std::time::Duration::from_millis(1)).await;
    assert_eq!(k.claim_ids(10).await, [soon]);
    k.advance(secs(10)).await;
    assert_eq!(k.claim_ids(10).await, [later]);
    k.audit().await;
}

/// The order is priority, then due time, then id, over all target sets together, and total.
pub async fn c4_the_order_is_priority_then_due_time_then_id(h: &dyn Harness) {
    let k = Kit::new(h);
    let mut jobs = Vec::new();
    for priority in [9, 0, 5] {
        for wait in [3, 1, 2] {
            for names in [&["b"][..], &[], &["a", "b"]] {
                let when = When::In(secs(wait));
                jobs.push((priority, wait, NewJob { priority, when, ..k.job_on(names) }));
            }
        }
    }
    let mut expected: Vec<_> = jobs.iter().map(|(priority, wait, job)| (*priority, *wait, job.id)).collect();
    expected.sort_unstable();
    let expected: Vec<_> = expected.into_iter().map(|(_, _, id)| id).collect();
    // Handed in backwards, so that the order of arrival is no help.
    k.put(jobs.into_iter().rev().map(|(_, _, job)| job).collect()).await;
    k.advance(secs(5)).await;
    let mut got = Vec::new();
    while got.len() < expected.len() {
        got.extend(k.claim_ids(4).await);
    }
    assert_eq!(got, expected);
    k.audit().await;
}

/// A workload whose cap is used up cannot keep another one from its slots, even with all the older jobs.
pub async fn c7_a_capped_workload_cannot_starve_another(h: &dyn Harness) {
    let k = Kit::new(h);
    let capped = k.put((0..50).map(|_| NewJob { priority: 0, ..k.job() }).collect()).await;
    let free = k.put((0..10).map(|_| NewJob { priority: 9, ..k.job_of("other") }).collect()).await;
    let wants = vec![want("work", 2), want("other", 10)];
    let got = k.claim_with(Claim { wants: wants.clone(), ..k.ask(12) }).await;
    assert_eq!(ids(&got), [&capped[..2], &free[..]].concat());
    assert_eq!(ids(&k.claim_with(Claim { wants, ..k.ask(12) }).await), capped[2..4]);
    k.audit().await;
}

/// A claim stamps the fence, the worker, the end of the lease and the charged attempt, and hands over all of the job.
pub async fn c8_a_claim_stamps_token_worker_deadline_and_attempt(h: &dyn Harness) {
    let k = Kit::new(h);
    let batch = k.new_batch();
    let job = NewJob {
        owner: Some(crate::kit::owner("ann")),
        label: Some("scan.pdf".into()),
        input: b"\0\xff bytes".to_vec(),
        batch: Some(batch.id),
        ..k.job_on(&["gateway", "disk"])
    };
    let (_, put) = k.put_batch(batch.clone(), vec![job.clone()]).await;
    let now = k.now().await;
    let got = k.claim_one().await;
    assert_eq!((got.lease.job, got.lease.token), (put[0], LeaseToken(1)));
    assert_eq!((got.workload.clone(), got.owner.clone()), (job.workload, job.owner));
    assert_eq!((got.label.clone(), got.input.clone(), got.state.clone()), (job.label, job.input, None));
    assert_eq!((got.targets.clone(), got.batch), (job.targets, Some(batch.id)));
    assert_eq!((got.generation, got.max_attempts, got.facts.attempt), (1, Some(3), 1));
    assert_eq!(
        (got.facts.crashes, got.facts.releases, got.facts.alone, got.facts.probe),
        (0, 0, false, false)
    );
    assert_eq!(got.facts.queued_at, now);
    assert_eq!((got.claimed_at, got.expires_at), (now, k.later(TTL).await));
    let row = k.row(put[0]).await;
    assert_eq!((row.state, row.attempt, row.token), (State::Processing, 1, LeaseToken(1)));
    assert_eq!((row.leased_by, row.lease_expires_at), (Some(k.worker(1)), Some(got.expires_at)));
    assert_eq!(row.started_at, Some(now));
    // The next claim of the same job has the next token, and the start of the generation stays.
    k.fail(&got, redrive_model::Code::GwTimeout).await;
    k.advance(secs(60)).await;
    let again = k.claim_one().await;
    assert_eq!((again.lease.token, again.facts.attempt), (LeaseToken(2), 2));
    assert_eq!(k.row(put[0]).await.started_at, Some(now));
    k.audit().await;
}

/// What a worker holds can be read back after a lost answer, equal to what the claim said.
pub async fn leases_of_a_worker_are_what_its_claim_answered(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_n(5).await;
    let mine = k.claim(3).await;
    let theirs = k.claim_with(Claim { worker: k.worker(2), ..k.ask(3) }).await;
    let mut held = k.store.leases_of(k.worker(1)).await.unwrap();
    held.sort_by_key(|c| c.lease);
    assert_eq!(held, mine);
    assert_eq!(k.store.leases_of(k.worker(2)).await.unwrap().len(), theirs.len());
    assert_eq!(k.store.leases_of(k.worker(3)).await.unwrap(), []);
    k.complete(&mine[0]).await;
    assert_eq!(k.store.leases_of(k.worker(1)).await.unwrap().len(), 2);
    k.audit().await;
}

/// Targets that the worker calls full are left alone; jobs that do not need them are claimed in their place.
pub async fn jobs_of_a_full_target_are_left_alone(h: &dyn Harness) {
    let k = Kit::new(h);
    let full = k.put_one(k.job_on(&["gateway"])).await;
    let both = k.put_one(k.job_on(&["gateway", "disk"])).await;
    let free = k.put_one(k.job_on(&["disk"])).await;
    let got = k.claim_with(Claim { rooms: vec![(target("gateway"), 0)], ..k.ask(10) }).await;
    assert_eq!(ids(&got), [free]);
    assert_eq!(k.claim_ids(10).await, [full, both]);
    k.audit().await;
}

/// A claim takes no more jobs of one target than its worker has room for, and goes on with the others.
pub async fn a_claim_takes_no_more_of_a_target_than_there_is_room_for(h: &dyn Harness) {
    let k = Kit::new(h);
    let mut put = Vec::new();
    for name in ["a", "a", "a", "a", "b", "b", "b", "c"] {
        put.push(k.put_one(k.job_on(&[name])).await);
    }
    let plain = k.put_one(k.job()).await;
    let wants = vec![Want { per_target: Some(PerTarget { limit: 2, kind: None }), ..want("work", 10) }];
    let rooms = vec![(target("b"), 1), (target("c"), 0)];
    let got = k.claim_with(Claim { wants, rooms, ..k.ask(10) }).await;
    assert_eq!(ids(&got), [put[0], put[1], put[4], plain]);
    let rooms = vec![(target("a"), 1)];
    assert_eq!(ids(&k.claim_with(Claim { rooms, ..k.ask(3) }).await), [put[2], put[5], put[6]]);
    k.audit().await;
}

/// A limit for each host is none for the bucket that all of them depend on.
pub async fn a_limit_per_target_is_only_for_targets_of_its_kind(h: &dyn Harness) {
    let k = Kit::new(h);
    let mut put = Vec::new();
    for host in
        ["host:a", "host:a", "host:a", "host:b:80", "host:c", "host:d", "hosts:e", "hosts:e", "hosts:e"]
    {
        put.push(k.put_one(k.job_on(&["bucket:scans", host])).await);
    }
    let per_target = Some(PerTarget { limit: 2, kind: Some("host") });
    let wants = || vec![Want { per_target, ..want("work", 10) }];
    let got = k.claim_with(Claim { wants: wants(), ..k.ask(10) }).await;
    assert_eq!(ids(&got), [put[0], put[1], put[3], put[4], put[5], put[6], put[7], put[8]]);
    // The same for jobs that are born claimed.
    let born: Vec<NewJob> =
        ["host:f", "host:f", "host:f"].map(|host| k.job_on(&["bucket:scans", host])).into();
    let first: Vec<JobId> = born.iter().take(2).map(|job| job.id).collect();
    let ask = Claim { wants: wants(), rooms: vec![(target("host:a"), 0)], ..k.ask(10) };
    let (_, claimed) = k.store.enqueue_for(Enqueue::jobs(born), ask).await.unwrap();
    assert_eq!(ids(&claimed), first);
    k.audit().await;
}

/// A job that must run alone is claimed only by a claim for such jobs, and such a claim takes one.
pub async fn a_job_that_runs_alone_is_claimed_only_alone(h: &dyn Harness) {
    let k = Kit::new(h);
    let put = k.put_n(3).await;
    // Two crashes make the first two run alone.
    for _ in 0..2 {
        let claimed = k.claim(2).await;
        assert_eq!(HashSet::from_iter(ids(&claimed)), HashSet::from([put[0], put[1]]));
        k.advance(TTL).await;
        for expired in k.store.expired(None, 10).await.unwrap() {
            k.reclaim(&expired).await;
        }
        k.advance(secs(30)).await;
        k.store.reschedule(vec![put[0], put[1]], k.now().await).await.unwrap();
        k.store.reschedule(vec![put[2]], k.later(secs(1)).await).await.unwrap();
    }
    k.advance(secs(2)).await;
    assert!(k.row(put[0]).await.alone && k.row(put[1]).await.alone && !k.row(put[2]).await.alone);
    assert_eq!(k.claim_ids(10).await, [put[2]]);
    let alone = Claim { mode: ClaimMode::Alone, ..k.ask(10) };
    let got = k.claim_with(alone.clone()).await;
    assert_eq!(ids(&got), [put[0]]);
    assert!(got[0].facts.alone);
    assert_eq!(ids(&k.claim_with(alone.clone()).await), [put[1]]);
    assert_eq!(k.claim_with(alone).await, []);
    // A healthy new run ends it.
    k.end(&got[0], Outcome::Done(Done::RescheduleNow)).await;
    assert_eq!(k.claim_ids(10).await, [put[0]]);
    k.audit().await;
}

/// A worker that waits gets what is handed in, in the same commit; what it cannot run stays for others, and a call that is
/// made again makes nothing new.
pub async fn work_is_handed_in_and_claimed_at_once(h: &dyn Harness) {
    let k = Kit::new(h);
    let call = Enqueue::jobs(vec![k.job(), k.job()]);
    let ids_of = |call: &Enqueue| call.jobs.iter().map(|job| job.id).collect::<Vec<_>>();
    let (reply, claimed) = k.store.enqueue_for(call.clone(), k.ask(1)).await.unwrap();
    assert!(reply.jobs.iter().all(|answer| matches!(answer, Enqueued::Created(_))), "{reply:?}");
    assert_eq!(ids(&claimed), ids_of(&call)[..1]);
    assert_eq!((claimed[0].facts.attempt, k.row(claimed[0].lease.job).await.state), (1, State::Processing));
    let (reply, claimed) = k.store.enqueue_for(call.clone(), k.ask(0)).await.unwrap();
    assert!(reply.jobs.iter().all(|answer| matches!(answer, Enqueued::Existing(_))), "{reply:?}");
    assert!(claimed.is_empty());
    assert_eq!(k.claim_ids(10).await, ids_of(&call)[1..]);
    k.open_breaker("gateway", secs(60)).await;
    let held = Enqueue::jobs(vec![k.job_on(&["gateway"])]);
    let (_, claimed) = k.store.enqueue_for(held, k.ask(5)).await.unwrap();
    assert!(claimed.is_empty(), "a held target lets nobody pass");
    k.audit().await;
}

/// Whoever is served at once passes nobody: not an older job, not a gate, not a pause, not a target's room, and not its own
/// due time.
pub async fn work_that_is_claimed_at_once_passes_nobody(h: &dyn Harness) {
    let k = Kit::new(h);
    let older = k.put(vec![k.job()]).await[0];
    let (_, claimed) = k.store.enqueue_for(Enqueue::jobs(vec![k.job()]), k.ask(1)).await.unwrap();
    assert!(claimed.is_empty() || ids(&claimed) == [older], "{:?}", ids(&claimed));
    k.claim_ids(10).await;

    // The more urgent first, the later not yet.
    let later = NewJob { when: When::In(secs(60)), ..k.job() };
    let usual = k.job();
    let urgent = NewJob { priority: 0, ..k.job() };
    let call = Enqueue::jobs(vec![later.clone(), usual, urgent.clone()]);
    let (_, claimed) = k.store.enqueue_for(call, k.ask(1)).await.unwrap();
    assert_eq!(ids(&claimed), [urgent.id]);
    k.claim_ids(10).await;
    assert_eq!(k.row(later.id).await.state, State::Queued);

    let refused = k.rejected(Code::NotPdf);
    let (_, claimed) = k.store.enqueue_for(Enqueue::jobs(vec![refused.clone()]), k.ask(1)).await.unwrap();
    assert_eq!((claimed, k.row(refused.id).await.state), (Vec::new(), State::Failed));

    // A target has room for one here.
    let both = Enqueue::jobs(vec![k.job_on(&["host:a"]), k.job_on(&["host:a"])]);
    let ask = Claim { rooms: vec![(target("host:a"), 1)], ..k.ask(5) };
    let (_, claimed) = k.store.enqueue_for(both.clone(), ask).await.unwrap();
    assert_eq!(ids(&claimed), [both.jobs[0].id]);
    k.claim_ids(10).await;

    k.store.pause(None, "ann").await.unwrap();
    let (_, claimed) = k.store.enqueue_for(Enqueue::jobs(vec![k.job()]), k.ask(5)).await.unwrap();
    assert_eq!(claimed, []);
    k.store.resume(None).await.unwrap();
    assert_eq!(k.claim_ids(10).await.len(), 1);
    k.audit().await;
}

fn want(name: &str, limit: usize) -> Want {
    Want::new(workload(name), limit)
}
