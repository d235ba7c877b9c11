//! Targets are named by users: what is left of those that nobody uses any more goes, and nothing else does.

use std::time::Duration;

use redrive_model::breaker::{Breaker, Hold, Phase};
use redrive_model::{Code, Outcome, State, Timestamp, instant};
use redrive_store::{Acted, Claim, ClaimMode, Enqueue, NewJob, Purge, When};

use crate::Harness;
use crate::kit::{Kit, secs, target};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Breakers that have said nothing for long are forgotten. What is open, held by a person or asked for time stays.
pub async fn idle_breakers_are_forgotten_and_shut_ones_stay(h: &dyn Harness) {
    let k = Kit::new(h);
    let now = k.now().await;
    let closed = || Breaker::new(now);
    for name in ["host:a", "host:b", "host:c"] {
        k.set_breaker(name, &closed()).await;
    }
    k.set_breaker("host:ramp", &Breaker { phase: Phase::Ramp { limit: 2, successes: 0 }, ..closed() }).await;
    k.open_breaker("host:open", secs(30)).await;
    let hold = |until: Option<Timestamp>| Hold { by: "ann".into(), reason: "x".into(), since: now, until };
    k.set_breaker("host:held", &Breaker { hold: Some(hold(None)), ..closed() }).await;
    let late = Some(instant::after(now, 3 * DAY));
    k.set_breaker("host:asked", &Breaker { throttled_until: late, ..closed() }).await;
    k.advance(2 * DAY).await;
    k.set_breaker("host:young", &closed()).await;
    assert_eq!(forget(&k, 2).await, 2, "no more than it was asked for");
    assert_eq!(forget(&k, 100).await, 2);
    assert_eq!(names(&k).await, ["host:asked", "host:held", "host:open", "host:young"]);
    k.advance(2 * DAY).await;
    assert_eq!(forget(&k, 100).await, 2, "the time it asked for is over");
    assert_eq!(names(&k).await, ["host:held", "host:open"]);
    // The next call begins anew, and nothing was lost.
    k.set_breaker("host:a", &closed()).await;
    assert_eq!(k.store.breaker(&target("host:a")).await.unwrap().unwrap().version, 1);
    k.audit().await;
}

/// A breaker that stays shut for a week after its time goes when no job depends on its target, and not before.
pub async fn a_shut_breaker_is_forgotten_when_no_job_has_wanted_it_for_a_week(h: &dyn Harness) {
    let k = Kit::new(h);
    k.open_breaker("host:wanted", secs(30)).await;
    k.open_breaker("host:left", secs(30)).await;
    let waits = k.put_one(k.job_on(&["host:wanted"])).await;
    k.advance(8 * DAY).await;
    assert_eq!(forget(&k, 100).await, 1);
    assert_eq!(names(&k).await, ["host:wanted"]);
    assert_eq!(k.row(waits).await.state, State::Queued);
    k.audit().await;
}

/// Lanes without a job go. Another process that remembers them makes them again, and its jobs run.
pub async fn lanes_without_jobs_are_forgotten_and_made_again(h: &dyn Harness) {
    let k = Kit::new(h);
    let other = h.second().await;
    let job = |n: u64| k.job_on(&[&format!("host:{n}")]);
    let put = k.put((0..5).map(job).collect()).await;
    // It remembers the lanes, too.
    let theirs = k.job_on(&["host:0"]);
    other.enqueue(Enqueue::jobs(vec![theirs.clone()])).await.unwrap();
    for id in put.iter().take(4).chain([&theirs.id]) {
        k.cancel(*id).await;
    }
    assert_eq!(forget(&k, 100).await, 0, "cancelled jobs are jobs");
    k.advance(1_000 * DAY).await;
    k.store.purge(Purge { after: None, scan: 100 }).await.unwrap();
    assert_eq!(forget(&k, 3).await, 3);
    assert_eq!(forget(&k, 100).await, 1, "one lane still has a job");
    assert_eq!(forget(&k, 100).await, 0);
    let again = [k.job_on(&["host:0"]), k.job_on(&["host:1"])];
    for (store, new) in [(&other, again[0].clone()), (&k.store, again[1].clone())] {
        store.enqueue(Enqueue::jobs(vec![new])).await.unwrap();
    }
    let later = NewJob { when: When::In(secs(60)), ..k.job_on(&["host:0"]) };
    other.enqueue(Enqueue::jobs(vec![later])).await.unwrap();
    let mut got: Vec<_> = k.claim(10).await.iter().map(|claimed| claimed.lease.job).collect();
    got.sort_unstable();
    let mut wanted = vec![put[4], again[0].id, again[1].id];
    wanted.sort_unstable();
    assert_eq!(got, wanted);
    k.audit().await;
}

/// A job that ran alone and failed keeps the lane that a retry brings it back to.
pub async fn the_lane_beside_a_job_that_runs_alone_stays(h: &dyn Harness) {
    let k = Kit::new(h);
    let job = k.put_one(k.job_on(&["host:a"])).await;
    for _ in 0..2 {
        let claimed = k.claim_one().await;
        k.end(&claimed, Outcome::Crashed).await;
        k.advance(secs(3_600)).await;
    }
    let alone = k.claim_with(Claim { mode: ClaimMode::Alone, ..k.ask(1) }).await;
    k.fail(&alone[0], Code::Gw4xx).await;
    assert_eq!(forget(&k, 100).await, 0);
    assert_eq!(k.retry(job).await, Acted::Done);
    assert_eq!(k.claim_ids(5).await, [job]);
    k.audit().await;
}

/// Lanes that go while others enqueue into them: no job is lost, and every one can run.
pub async fn no_job_is_lost_when_its_lane_goes_while_it_comes(h: &dyn Harness) {
    let k = Kit::new(h);
    let stores = [h.store(), h.second().await];
    for round in 0..20u64 {
        let enqueues = stores.iter().flat_map(|store| {
            (0..4).map(|n| (store.clone(), k.job_on(&[&format!("host:{}", (round + n) % 3)])))
        });
        let enqueues = enqueues.map(|(store, job)| async move {
            let id = job.id;
            store.enqueue(Enqueue::jobs(vec![job])).await.unwrap();
            id
        });
        let forgets = stores.iter().map(|store| {
            let k = &k;
            async move { store.forget_targets(k.now().await, 100).await.unwrap() }
        });
        let (mut put, _) =
            futures::join!(futures::future::join_all(enqueues), futures::future::join_all(forgets));
        let mut got: Vec<_> = k.claim(100).await.iter().map(|claimed| claimed.lease.job).collect();
        put.sort_unstable();
        got.sort_unstable();
        assert_eq!(got, put, "round {round}");
        for id in put {
            k.cancel(id).await;
        }
        k.advance(1_000 * DAY).await;
        k.store.purge(Purge { after: None, scan: 1_000 }).await.unwrap();
    }
    k.audit().await;
}

async fn forget(k: &Kit<'_>, limit: usize) -> u64 {
    let before = instant::before(k.now().await, DAY);
    k.store.forget_targets(before, limit).await.unwrap()
}

async fn names(k: &Kit<'_>) -> Vec<String> {
    k.store.breakers().await.unwrap().iter().map(|row| row.target.to_string()).collect()
}
