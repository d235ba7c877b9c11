//! The way back: exactly one probe, the oldest held job, and then a ramp instead of a herd.

use std::time::Duration;

use futures::future::join_all;
use redrive_model::breaker::{Breaker, Call, Config, Phase, Probe};
use redrive_model::{Code, Failure, Outcome, Rule, Shown, State, WorkerId};
use redrive_store::{Claim, ClaimMode, Claimed, Finished, NewJob, Swapped};

use crate::Harness;
use crate::kit::{Kit, ids, secs, target, targets};

/// Many workers on two handles try for the probe at the same moment: exactly one gets it, and only that worker's
/// probe claim passes.
pub async fn b7_exactly_one_of_many_gets_the_probe(h: &dyn Harness) {
    let k = Kit::new(h);
    let held = k.put(vec![k.job_on(&["gateway"]), k.job_on(&["gateway"])]).await;
    k.open_breaker("gateway", Duration::ZERO).await;
    let handles = [h.store(), h.second().await];
    let tries = (1..=32u8).map(|n| {
        let (store, worker) = (handles[usize::from(n % 2)].clone(), k.worker(n));
        async move {
            let row = store.breaker(&target("gateway")).await.unwrap().unwrap();
            let mut breaker = row.breaker;
            let now = store.now().await.unwrap();
            let probe = breaker.start_probe(&Config::default(), now, worker)?;
            let swapped = store.swap_breaker(&row.target, Some(row.version), &breaker, None).await.unwrap();
            matches!(swapped, Swapped::Done(_)).then_some(probe)
        }
    });
    let won: Vec<Probe> = join_all(tries).await.into_iter().flatten().collect();
    assert_eq!(won.len(), 1, "{won:?}");
    let claims = (1..=32u8).map(|n| {
        let (store, claim) = (handles[usize::from(n % 2)].clone(), probing(&k, k.worker(n)));
        async move { store.claim(claim).await.unwrap() }
    });
    let got: Vec<Claimed> = join_all(claims).await.into_iter().flatten().collect();
    assert_eq!(ids(&got), [held[0]]);
    assert!(got[0].facts.probe, "the attempt is marked as a probe");
    assert_eq!(k.row(held[0]).await.leased_by, Some(won[0].worker));
    assert_eq!(k.claim(10).await, [], "nothing but the probe passes");
    assert_eq!(k.row(held[1]).await.shown, Shown::Held);
    k.audit().await;
}

/// A probe claim takes only jobs of that target, only one, and nothing when the breaker gave nobody a probe.
pub async fn a_probe_claim_takes_one_job_of_its_target(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_one(NewJob { priority: 0, ..k.job() }).await;
    let mine = k.put(vec![k.job_on(&["gateway"]), k.job_on(&["gateway"])]).await;
    assert_eq!(k.claim_with(probing(&k, k.worker(1))).await, [], "no breaker at all");
    k.open_breaker("gateway", secs(30)).await;
    assert_eq!(k.claim_with(probing(&k, k.worker(1))).await, [], "open, and nobody has the probe");
    k.advance(secs(30)).await;
    start(&k, k.worker(1)).await;
    let other = Claim { mode: ClaimMode::Probe(targets(&["disk"])), ..k.ask(5) };
    assert_eq!(k.claim_with(other).await, [], "another target");
    assert_eq!(ids(&k.claim_with(probing(&k, k.worker(1))).await), [mine[0]]);
    k.audit().await;
}

/// A job that waits for two open targets is tried by the one worker that holds the probe of both, or nobody could ever try
/// either of them. With the probe of one, it waits for the other.
pub async fn b14_a_probe_of_two_targets_takes_a_job_of_both(h: &dyn Harness) {
    let k = Kit::new(h);
    let both = k.put_one(k.job_on(&["bucket:scans", "gateway"])).await;
    k.put(vec![k.job_on(&["gateway", "host:a"]), k.job_on(&["bucket:scans"])]).await;
    let mode = |names: &[&str]| ClaimMode::Probe(targets(names));
    for name in ["gateway", "bucket:scans", "host:a"] {
        k.open_breaker(name, Duration::ZERO).await;
    }
    start(&k, k.worker(1)).await;
    let one = Claim { mode: mode(&["gateway"]), ..k.ask(5) };
    assert_eq!(k.claim_with(one).await, [], "both of its jobs wait for another target too");
    let pair = Claim { mode: mode(&["bucket:scans", "gateway"]), ..k.ask(5) };
    assert_eq!(k.claim_with(pair.clone()).await, [], "the probe of the other is not ours");
    start_of(&k, "bucket:scans", k.worker(2)).await;
    assert_eq!(k.claim_with(pair.clone()).await, [], "somebody else has it");
    let mut bucket = k.store.breaker(&target("bucket:scans")).await.unwrap().unwrap().breaker;
    let epoch = bucket.epoch;
    bucket.probe_ended(&Config::default(), k.now().await, 0, epoch, Call::Neutral);
    k.set_breaker("bucket:scans", &bucket).await;
    k.advance(secs(5)).await;
    start_of(&k, "bucket:scans", k.worker(1)).await;
    let got = k.claim_with(pair).await;
    assert_eq!((ids(&got), got[0].facts.probe), (vec![both], true));
    k.audit().await;
}

/// Among very many lanes the one job of the target is found at once.
pub async fn b7_a_probe_finds_its_job_among_many_lanes(h: &dyn Harness) {
    let k = Kit::new(h);
    let others: Vec<String> = (0..700).map(|n| format!("host:{n}.example")).collect();
    k.put(others.iter().map(|name| k.job_on(&[name])).collect()).await;
    let job = k.put_one(k.job_on(&["gateway"])).await;
    k.open_breaker("gateway", Duration::ZERO).await;
    start(&k, k.worker(1)).await;
    assert_eq!(ids(&k.claim_with(probing(&k, k.worker(1))).await), [job]);
    k.audit().await;
}

/// A probe whose outcome says nothing about the target frees the slot: after a breath the next worker may probe.
/// A failed probe gives the attempt back, without limit.
pub async fn b10_a_neutral_outcome_frees_the_probe(h: &dyn Harness) {
    let k = Kit::new(h);
    let job = k.put_one(k.job_on(&["gateway"])).await;
    k.open_breaker("gateway", Duration::ZERO).await;
    for n in 1..=8 {
        let worker = k.worker(n);
        let probe = start(&k, worker).await;
        let got = k.claim_with(probing(&k, worker)).await;
        assert_eq!((ids(&got), got[0].facts.attempt, got[0].facts.probe), (vec![job], 1, true));
        fail_probe(&k, &got[0]).await;
        let row = k.row(job).await;
        assert_eq!((row.state, row.attempt, row.shown), (State::Queued, 0, Shown::Held));
        report(&k, probe, Call::Neutral).await;
        k.advance(secs(5)).await;
    }
    let attempts = k.store.attempts(job).await.unwrap();
    assert!(attempts.iter().all(|a| a.outcome == "probe_refunded" && a.rule == Some(Rule::ProbeFailed)));
    assert_eq!(attempts.len(), 8);
    k.audit().await;
}

/// The probe is the oldest held job and stays it: a failed probe keeps its place, whatever came in meanwhile.
pub async fn b11_the_oldest_held_job_is_the_probe_and_stays_it(h: &dyn Harness) {
    let k = Kit::new(h);
    let oldest = k.put_one(k.job_on(&["gateway"])).await;
    k.advance(secs(1)).await;
    k.put(vec![k.job_on(&["gateway"]), k.job_on(&["gateway", "disk"])]).await;
    k.open_breaker("gateway", Duration::ZERO).await;
    for round in 0..4 {
        k.advance(secs(600)).await;
        let probe = start(&k, k.worker(1)).await;
        let got = k.claim_with(probing(&k, k.worker(1))).await;
        assert_eq!(ids(&got), [oldest], "round {round}");
        fail_probe(&k, &got[0]).await;
        report(&k, probe, Call::ServerError).await;
        k.put_one(k.job_on(&["gateway"])).await;
    }
    k.audit().await;
}

/// When the oldest may be the one that the target cannot stand, it goes behind the others, and the next one is the probe.
pub async fn a_probe_may_go_behind_the_others(h: &dyn Harness) {
    let k = Kit::new(h);
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(k.put_one(k.job_on(&["gateway"])).await);
        k.advance(secs(1)).await;
    }
    k.open_breaker("gateway", Duration::ZERO).await;
    for round in 0..6 {
        k.advance(secs(600)).await;
        let probe = start(&k, k.worker(1)).await;
        let mut got = k.claim_with(probing(&k, k.worker(1))).await;
        assert_eq!(ids(&got), [waiting[round % 3]], "round {round}");
        got[0].facts.others_first = true;
        fail_probe(&k, &got[0]).await;
        report(&k, probe, Call::ServerError).await;
    }
    k.audit().await;
}

/// After a good probe the target opens by a ramp: 1, 2, 4 … at once, over all claims and workers together.
pub async fn b13_a_target_that_is_back_is_ramped_up(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put((0..40).map(|_| k.job_on(&["gateway"])).collect()).await;
    let free = k.put_one(k.job_on(&["disk"])).await;
    k.open_breaker("gateway", Duration::ZERO).await;
    let probe = start(&k, k.worker(1)).await;
    let got = k.claim_with(probing(&k, k.worker(1))).await;
    k.complete(&got[0]).await;
    report(&k, probe, Call::Success).await;
    let mut running: Vec<Claimed> = Vec::new();
    for limit in [1, 2, 4, 8] {
        // Several claims of several workers: together they never exceed the ramp.
        for n in 1..=4 {
            running.extend(k.claim_with(Claim { worker: k.worker(n), ..k.ask(3) }).await);
            running.retain(|c| c.lease.job != free);
            assert!(running.len() <= limit, "{} at once, the ramp says {limit}", running.len());
        }
        assert_eq!(running.len(), limit);
        assert_eq!(k.row(free).await.state, State::Processing, "others are not slowed down");
        for claimed in running.drain(..) {
            k.complete(&claimed).await;
            let row = k.store.breaker(&target("gateway")).await.unwrap().unwrap();
            let mut breaker = row.breaker;
            let epoch = breaker.epoch;
            breaker.record(&Config::default(), k.now().await, 0, Call::Success, epoch);
            k.set_breaker("gateway", &breaker).await;
        }
    }
    k.audit().await;
}

/// A job on two ramping targets counts for both of them.
pub async fn a_ramp_counts_jobs_of_several_targets_for_each(h: &dyn Harness) {
    let k = Kit::new(h);
    for name in ["gateway", "disk"] {
        let now = k.now().await;
        let ramp = Phase::Ramp { limit: 2, successes: 0 };
        k.set_breaker(name, &Breaker { phase: ramp, ..Breaker::new(now) }).await;
    }
    k.put((0..3).map(|_| k.job_on(&["disk", "gateway"])).collect()).await;
    k.put((0..3).map(|_| k.job_on(&["gateway"])).collect()).await;
    let both = k.claim(10).await;
    assert_eq!(both.len(), 2);
    assert_eq!(k.claim(10).await, []);
    k.complete(&both[0]).await;
    k.complete(&both[1]).await;
    assert_eq!(k.claim(10).await.len(), 2);
    k.audit().await;
}

/// A probe claim of this worker for `gateway`.
fn probing(k: &Kit<'_>, worker: WorkerId) -> Claim {
    Claim { worker, mode: ClaimMode::Probe(targets(&["gateway"])), ..k.ask(5) }
}

/// Gives the probe of `gateway` to this worker.
async fn start(k: &Kit<'_>, worker: WorkerId) -> Probe {
    start_of(k, "gateway", worker).await
}

/// Gives the probe of this target to this worker.
async fn start_of(k: &Kit<'_>, name: &str, worker: WorkerId) -> Probe {
    let mut breaker = k.store.breaker(&target(name)).await.unwrap().unwrap().breaker;
    let probe = breaker.start_probe(&Config::default(), k.now().await, worker).expect("the probe is free");
    k.set_breaker(name, &breaker).await;
    probe
}

/// Reports how the probe ended.
async fn report(k: &Kit<'_>, probe: Probe, call: Call) {
    let mut breaker = k.store.breaker(&target("gateway")).await.unwrap().unwrap().breaker;
    assert!(breaker.probe_ended(&Config::default(), k.now().await, 0, probe.epoch, call));
    k.set_breaker("gateway", &breaker).await;
}

/// Ends the probe's attempt with a failure that is the target's.
async fn fail_probe(k: &Kit<'_>, claimed: &Claimed) {
    let failure = Failure::new(Code::Gw5xx, "still down").status(500);
    let outcome = Outcome::Failed { code: Code::Gw5xx, retry_after: None };
    let finish = k.decided(claimed, outcome, Some(failure)).await;
    assert_eq!(k.finish(finish).await, Finished::Recorded(State::Queued));
}
