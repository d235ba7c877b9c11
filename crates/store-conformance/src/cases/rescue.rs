//! Leases that ran out: who finds them, who may take them back, and what a clock can do to them.

use redrive_model::{Code, Outcome, Rule, State, Timestamp, instant};
use redrive_store::{Authority, Claim, Extension, Finished, NewJob, When};

use crate::Harness;
use crate::kit::{Kit, TTL, ids, leases, secs, workload};

/// A lease whose worker is no longer known at all is found all the same, and counts as a crash.
pub async fn c16_a_job_is_found_although_its_worker_row_is_gone(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    k.beat(1).await;
    k.claim_one().await;
    h.raw("DELETE FROM workers").await.unwrap();
    assert_eq!(k.store.workers().await.unwrap(), []);
    k.advance(TTL).await;
    let expired = k.store.expired(None, 10).await.unwrap();
    assert_eq!((expired.len(), expired[0].lease.job, expired[0].worker_alive), (1, id, false));
    assert_eq!(k.reclaim(&expired[0]).await, Finished::Recorded(State::Queued));
    assert_eq!(k.row(id).await.crashes, 1);
    k.audit().await;
}

/// With the clock frozen, everything that happens has exactly the frozen time, and no lease ever runs out.
pub async fn c17_a_frozen_clock_freezes_every_instant(h: &dyn Harness) {
    let k = Kit::new(h);
    let now = k.now().await;
    let done = k.put_n(1).await[0];
    k.beat(1).await;
    let claimed = k.claim_one().await;
    assert_eq!((claimed.claimed_at, claimed.expires_at), (now, instant::after(now, TTL)));
    k.complete(&claimed).await;
    let dead = k.put_dead(vec![k.job()]).await[0];
    let open = k.put_n(1).await[0];
    k.claim_one().await;
    assert_eq!(k.store.expired(None, 10).await.unwrap(), []);
    for id in [done, dead, open] {
        let row = k.row(id).await;
        assert_eq!([row.created_at, row.queued_at, row.due_at], [now; 3], "{row:#?}");
        assert_eq!(row.started_at, Some(now));
        assert!(row.finished_at.is_none_or(|at| at == now), "{row:#?}");
        assert!(k.store.job_events(id).await.unwrap().iter().all(|e| e.at == now));
        let attempts = k.store.attempts(id).await.unwrap();
        assert!(attempts.iter().all(|a| a.started_at == Some(now) && a.ended_at == now), "{attempts:#?}");
    }
    assert_eq!(k.dead_of(dead).await.at, now);
    let workers = k.store.workers().await.unwrap();
    assert_eq!((workers[0].seen_at, workers[0].alive_until), (now, instant::after(now, TTL)));
    assert_eq!(k.now().await, now, "the clock moved by itself");
    k.audit().await;
}

/// Two hosts share one clock, the database's: a due time and a lease mean the same on both.
pub async fn c18_the_databases_clock_rules_on_every_host(h: &dyn Harness) {
    let k = Kit::new(h);
    let second = h.second().await;
    k.put_one(NewJob { when: When::In(secs(5)), ..k.job() }).await;
    assert_eq!(second.now().await.unwrap(), k.now().await);
    assert_eq!(second.claim(k.ask(1)).await.unwrap(), []);
    k.advance(secs(5)).await;
    assert_eq!(second.now().await.unwrap(), k.now().await);
    let claimed = second.claim(k.ask(1)).await.unwrap();
    assert_eq!(claimed[0].claimed_at, k.now().await);
    k.advance(TTL - secs(1)).await;
    assert_eq!(
        (k.store.expired(None, 1).await.unwrap(), second.expired(None, 1).await.unwrap()),
        (Vec::new(), Vec::new())
    );
    k.advance(secs(1)).await;
    assert_eq!(
        (k.store.expired(None, 1).await.unwrap().len(), second.expired(None, 1).await.unwrap().len()),
        (1, 1)
    );
    k.audit().await;
}

/// A rescuer that must leave the oldest ones alone finds those behind them by asking for more.
pub async fn c19_a_full_page_of_exempt_jobs_does_not_hide_later_ones(h: &dyn Harness) {
    let k = Kit::new(h);
    let exempt = k.put((0..10).map(|_| k.job_of("other")).collect()).await;
    k.claim(10).await;
    k.advance(secs(1)).await;
    let later = k.put_n(2).await;
    k.claim(2).await;
    k.advance(TTL).await;
    let first = k.store.expired(None, 10).await.unwrap();
    assert!(first.iter().all(|e| e.workload == workload("other")), "oldest first: {first:#?}");
    let mut found: Vec<_> = first.iter().map(|e| e.lease.job).collect();
    found.sort_unstable();
    assert_eq!(found, exempt);
    // Who does not know them asks for those it knows.
    let known = [workload("work"), workload("nobody.has.it")];
    let mine = k.store.expired(Some(&known), 10).await.unwrap();
    assert_eq!(mine.iter().map(|e| e.lease.job).collect::<Vec<_>>(), later);
    assert_eq!(k.store.expired(Some(&known), 1).await.unwrap(), mine[..1]);
    assert_eq!(k.store.expired(Some(&[]), 10).await.unwrap(), []);
    for expired in &mine {
        k.reclaim(expired).await;
    }
    assert_eq!(k.store.expired(None, 20).await.unwrap().len(), 10);
    k.audit().await;
}

/// A job that is kept alive is never taken back, however long it runs.
pub async fn c20_a_job_that_is_kept_alive_is_never_rescued_by_age(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_one(NewJob { max_attempts: None, ..k.job() }).await;
    let claimed = k.claim_one().await;
    for _ in 0..50 {
        k.advance(secs(59)).await;
        let answer = k.store.extend(k.worker(1), vec![claimed.lease], TTL).await.unwrap();
        assert_eq!(answer, [Extension::Held(k.later(TTL).await)]);
        assert_eq!(k.store.expired(None, 10).await.unwrap(), []);
    }
    // One very long lease is as good as many short ones.
    k.store.extend(k.worker(1), vec![claimed.lease], secs(365 * 24 * 3600)).await.unwrap();
    k.advance(secs(364 * 24 * 3600)).await;
    assert_eq!(k.store.expired(None, 10).await.unwrap(), []);
    assert_eq!(k.row(id).await.attempt, 1);
    k.audit().await;
}

/// Looking at an expired lease of a kind that the rescuer does not know changes nothing; who knows it can take it.
pub async fn c21_looking_at_an_expired_lease_leaves_its_fate_alone(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_one(k.job_of("strange")).await;
    let wants = vec![redrive_store::Want::new(workload("strange"), 1)];
    k.claim_with(Claim { wants, ..k.ask(1) }).await;
    k.advance(TTL).await;
    let before = k.row(id).await;
    for _ in 0..3 {
        assert_eq!(k.store.expired(None, 10).await.unwrap().len(), 1);
    }
    assert_eq!(k.row(id).await, before);
    let expired = k.store.expired(None, 10).await.unwrap();
    assert_eq!((expired[0].workload.clone(), expired[0].max_attempts), (workload("strange"), Some(3)));
    assert_eq!(k.reclaim(&expired[0]).await, Finished::Recorded(State::Queued));
    k.audit().await;
}

/// What has run out is listed oldest first, no more than asked for, with whether its worker still lives.
pub async fn expired_leases_say_whether_their_worker_lives(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_n(4).await;
    k.beat(1).await;
    let dead = k.claim(2).await;
    k.advance(secs(1)).await;
    let alive = k.claim_with(Claim { worker: k.worker(2), ..k.ask(2) }).await;
    k.advance(TTL - secs(1)).await;
    k.beat(2).await;
    let expired = k.store.expired(None, 10).await.unwrap();
    assert_eq!(expired.iter().map(|e| e.lease).collect::<Vec<_>>(), leases(&dead), "a second too early");
    k.advance(secs(1)).await;
    let expired = k.store.expired(None, 10).await.unwrap();
    let order: Vec<_> = expired.iter().map(|e| e.lease.job).collect();
    assert_eq!(order, [ids(&dead), ids(&alive)].concat());
    assert_eq!(expired.iter().map(|e| e.worker_alive).collect::<Vec<_>>(), [false, false, true, true]);
    assert_eq!((expired[3].worker, expired[3].expired_at), (k.worker(2), alive[1].expires_at));
    assert_eq!(expired[0].facts, dead[0].facts);
    assert_eq!(k.store.expired(None, 3).await.unwrap(), expired[..3]);
    assert_eq!(k.store.expired(None, 0).await.unwrap(), []);
    // The living one lost its lease without a crash; the dead one crashed.
    assert_eq!(k.reclaim(&expired[3]).await, Finished::Recorded(State::Queued));
    assert_eq!(k.reclaim(&expired[0]).await, Finished::Recorded(State::Queued));
    assert_eq!(k.row(alive[1].lease.job).await.crashes, 0);
    assert_eq!(k.row(dead[0].lease.job).await.crashes, 1);
    let rule = k.store.attempts(alive[1].lease.job).await.unwrap()[0].rule;
    assert_eq!(rule, Some(Rule::LeaseLostRetried));
    k.audit().await;
}

/// Nobody takes back a lease that has not run out, and a lease that was kept meanwhile has not.
pub async fn a_lease_that_stands_cannot_be_taken_back(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let claimed = k.claim_one().await;
    let take = k.decided(&claimed, Outcome::Crashed, None).await.expired();
    assert_eq!(take.authority, Authority::Expired);
    assert_eq!(k.finish(take.clone()).await, Finished::Lost);
    k.advance(TTL).await;
    assert_eq!(k.store.expired(None, 1).await.unwrap().len(), 1);
    k.store.extend(k.worker(1), vec![claimed.lease], TTL).await.unwrap();
    assert_eq!(k.finish(take.clone()).await, Finished::Lost);
    let row = k.row(id).await;
    assert_eq!((row.state, row.crashes, row.leased_by), (State::Processing, 0, Some(k.worker(1))));
    assert_eq!(k.store.attempts(id).await.unwrap(), []);
    k.advance(TTL).await;
    assert_eq!(k.finish(take.clone()).await, Finished::Recorded(State::Queued));
    // Two rescuers: the second one changes nothing more.
    let before = k.row(id).await;
    k.finish(take).await;
    assert_eq!(k.row(id).await, before);
    k.audit().await;
}

/// The clock jumps far ahead and back: jobs run again at most once each, and nothing waits longer than the jump.
pub async fn a_jumping_clock_loses_nothing(h: &dyn Harness) {
    let k = Kit::new(h);
    let put = k.put_n(20).await;
    let start = k.now().await;
    let old = k.claim(20).await;
    h.set_clock(instant::after(start, TTL * 10)).await;
    let expired = k.store.expired(None, 8).await.unwrap();
    assert_eq!(expired.len(), 8, "a mass of them is taken back in parts");
    for expired in k.store.expired(None, 100).await.unwrap() {
        k.reclaim(&expired).await;
    }
    // Back to where it was: what is due in the future then is due after the jump again.
    h.set_clock(start).await;
    assert_eq!(k.claim(20).await, []);
    let late = k.completion(&old[0]).await;
    assert_eq!(k.finish(late).await, Finished::Lost);
    h.set_clock(instant::after(start, TTL * 11)).await;
    let again = k.claim(20).await;
    assert_eq!(ids(&again), put);
    h.set_clock(start).await;
    for claimed in &again {
        k.complete(claimed).await;
    }
    for id in put {
        let events = k.store.job_events(id).await.unwrap();
        assert!(events.iter().all(|e| e.duration_ms.is_none_or(|ms| ms >= 0)), "{events:#?}");
    }
    k.audit().await;
}

/// Workers are listed with what they hold; a beat renews one and makes no second row.
pub async fn workers_are_listed_with_their_leases(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_n(3).await;
    let start = k.now().await;
    k.beat(1).await;
    k.advance(secs(5)).await;
    k.beat(2).await;
    k.beat(1).await;
    let claimed = k.claim(2).await;
    let mut workers = k.store.workers().await.unwrap();
    workers.sort_by_key(|w| w.id);
    let seen: Vec<(_, Timestamp, u64)> = workers.iter().map(|w| (w.id, w.started_at, w.leases)).collect();
    assert_eq!(seen, [(k.worker(1), start, 2), (k.worker(2), k.now().await, 0)]);
    assert_eq!(
        (workers[0].name.as_str(), workers[0].build.as_str(), workers[0].concurrency),
        ("worker-1", "test", 4)
    );
    assert_eq!((workers[0].seen_at, workers[0].alive_until), (k.now().await, k.later(TTL).await));
    k.fail(&claimed[0], Code::HandlerFailed).await;
    let workers = k.store.workers().await.unwrap();
    assert_eq!(workers.iter().map(|w| w.leases).sum::<u64>(), 1);
    k.audit().await;
}
