//! Breakers as the claim sees them: what is held costs nothing, and nothing else is held.

use redrive_model::breaker::{Breaker, Call, Config, Deed, Hold, Phase, Turn};
use redrive_model::decide::DeadReason;
use redrive_model::fingerprint::Fingerprint;
use redrive_model::{Code, Failure, Rule, Shown, State, instant};
use redrive_store::{Acted, GiveUp, JobFilter, KEEP_TURNS, NewJob, PageRequest, Swapped};

use crate::Harness;
use crate::audit::all_jobs;
use crate::kit::{KEEP, Kit, ids, secs, target, targets, workload};

/// While a breaker is open nothing of its target is claimed, jobs stay queued with their attempts, and people see why.
pub async fn b4_an_open_breaker_holds_its_jobs_and_costs_them_nothing(h: &dyn Harness) {
    let k = Kit::new(h);
    let tried = k.put_one(k.job_on(&["gateway"])).await;
    let claimed = k.claim_one().await;
    k.fail(&claimed, Code::GwTimeout).await;
    k.advance(secs(60)).await;
    let fresh = k.put_one(k.job_on(&["gateway"])).await;
    k.open_breaker("gateway", secs(30)).await;
    let before = [k.row(tried).await, k.row(fresh).await];
    for _ in 0..5 {
        assert_eq!(k.claim(10).await, []);
        k.advance(secs(20)).await;
    }
    for (id, before) in [tried, fresh].into_iter().zip(before) {
        let row = k.row(id).await;
        assert_eq!((row.state, row.shown), (State::Queued, Shown::Held));
        assert_eq!((row.attempt, row.due_at, row.token), (before.attempt, before.due_at, before.token));
    }
    let held = all_jobs(&*k.store, JobFilter { shown: vec![Shown::Held], ..JobFilter::default() }).await;
    assert_eq!(held.iter().map(|row| row.id).collect::<Vec<_>>(), [fresh, tried]);
    assert_eq!(k.store.queue().await.unwrap().held, 2);
    k.audit().await;
    k.close_breaker("gateway").await;
    assert_eq!(k.claim_ids(10).await, [tried, fresh]);
    k.audit().await;
}

/// In fail-fast mode held jobs are given up while they wait: each gets its code, its reason and a dead letter.
pub async fn b5_jobs_held_by_a_fail_fast_breaker_are_given_up(h: &dyn Harness) {
    let k = Kit::new(h);
    let held = k.put(vec![k.job_on(&["gateway"]), k.job_on(&["gateway"])]).await;
    let runs = k.claim(1).await;
    k.open_breaker("gateway", secs(30)).await;
    let failure = Failure::new(Code::GwBreakerOpen, "the breaker of gateway is open");
    let fingerprint =
        Fingerprint::new(failure.code, &workload("work"), Some(&target("gateway")), &failure.message);
    let call = GiveUp {
        jobs: [held.clone(), vec![k.id()]].concat(),
        reason: DeadReason::FailFast,
        rule: Rule::BreakerFailFast,
        failure,
        fingerprint: fingerprint.clone(),
        target: Some(target("gateway")),
        keep: Some(KEEP),
    };
    let acted = k.store.give_up(call).await.unwrap();
    assert_eq!(acted, [Acted::WrongState(State::Processing), Acted::Done, Acted::NotFound]);
    let row = k.row(held[1]).await;
    assert_eq!((row.state, row.failure_code, row.attempt), (State::Failed, Some(Code::GwBreakerOpen), 0));
    assert_eq!(row.failure_message.as_deref(), Some(Code::Gw5xx.entry().what_happened));
    assert_eq!(row.purge_at, Some(k.later(KEEP).await));
    let dead = k.dead_of(held[1]).await;
    assert_eq!((dead.reason, dead.attempts, dead.fingerprint), (DeadReason::FailFast, 0, fingerprint));
    assert_eq!(k.store.attempts(held[1]).await.unwrap(), []);
    k.complete(&runs[0]).await;
    k.audit().await;
}

/// A breaker is read back as it was written, by every handle, and changed only by who saw its newest version.
pub async fn b6_a_breaker_is_shared_and_changed_by_compare_and_swap(h: &dyn Harness) {
    let k = Kit::new(h);
    let second = h.second().await;
    let now = k.now().await;
    let gateway = target("gateway");
    assert_eq!(second.breaker(&gateway).await.unwrap(), None);
    let config = Config::default();
    let mut breaker = Breaker::new(now);
    for _ in 0..3 {
        breaker.record(&config, now, 7, Call::Unreachable, breaker.epoch);
    }
    breaker.throttle(instant::after(now, secs(5)));
    assert_eq!(breaker.phase_name(), "open");
    assert_eq!(k.store.swap_breaker(&gateway, Some(1), &breaker, None).await.unwrap(), Swapped::Stale);
    assert_eq!(k.store.swap_breaker(&gateway, None, &breaker, None).await.unwrap(), Swapped::Done(1));
    assert_eq!(k.store.swap_breaker(&gateway, None, &breaker, None).await.unwrap(), Swapped::Stale);
    let row = second.breaker(&gateway).await.unwrap().unwrap();
    assert_eq!((row.version, row.target.clone(), row.updated_at), (1, gateway.clone(), now));
    assert_eq!(row.breaker, breaker);
    k.advance(secs(1)).await;
    assert_eq!(
        second.swap_breaker(&gateway, Some(1), &Breaker::new(now), None).await.unwrap(),
        Swapped::Done(2)
    );
    assert_eq!(k.store.swap_breaker(&gateway, Some(1), &breaker, None).await.unwrap(), Swapped::Stale);
    let row = k.store.breaker(&gateway).await.unwrap().unwrap();
    assert_eq!((row.version, row.breaker.phase, row.updated_at), (2, Phase::Closed, k.now().await));
    k.open_breaker("disk", secs(1)).await;
    let all = second.breakers().await.unwrap();
    let mut names: Vec<_> = all.iter().map(|row| (row.target.as_str(), row.version)).collect();
    names.sort_unstable();
    assert_eq!(names, [("disk", 1), ("gateway", 2)]);
}

/// A job on two targets waits for both, whichever comes back first.
pub async fn b14_a_job_on_two_targets_waits_for_both(h: &dyn Harness) {
    let k = Kit::new(h);
    for (first, second) in [("gateway", "disk"), ("disk", "gateway")] {
        let both = k.put_one(k.job_on(&["gateway", "disk"])).await;
        k.open_breaker("gateway", secs(30)).await;
        k.open_breaker("disk", secs(30)).await;
        assert_eq!(k.claim(1).await, []);
        k.close_breaker(first).await;
        assert_eq!(k.claim(1).await, [], "{second} is still open");
        assert_eq!(k.row(both).await.shown, Shown::Held);
        k.close_breaker(second).await;
        assert_eq!(k.claim_ids(1).await, [both]);
    }
    k.audit().await;
}

/// A person's hold keeps a target shut until it ends or is released, over whatever the breaker itself says; who, why
/// and since when is kept.
pub async fn b15_a_hold_by_hand_ends_when_it_says_or_when_released(h: &dyn Harness) {
    let k = Kit::new(h);
    let job = k.put_one(k.job_on(&["gateway"])).await;
    let until = k.later(secs(100)).await;
    k.hold("gateway", Some(until)).await;
    assert_eq!((k.claim(1).await, k.row(job).await.shown), (Vec::new(), Shown::Held));
    let hold = k.store.breaker(&target("gateway")).await.unwrap().unwrap().breaker.hold.unwrap();
    assert_eq!((hold.by.as_str(), hold.reason.as_str(), hold.until), ("ann", "maintenance", Some(until)));
    k.advance(secs(99)).await;
    assert_eq!(k.claim(1).await, []);
    k.audit().await;
    k.advance(secs(1)).await;
    assert_eq!(k.row(job).await.shown, Shown::Queued);
    let claimed = k.claim_one().await;
    k.end(&claimed, redrive_model::Outcome::Released).await;
    // Without an end it stays until a person releases it.
    k.hold("gateway", None).await;
    k.advance(secs(365 * 86_400)).await;
    assert_eq!(k.claim(1).await, []);
    let mut row = k.store.breaker(&target("gateway")).await.unwrap().unwrap();
    row.breaker.release(k.now().await);
    k.set_breaker("gateway", &row.breaker).await;
    assert_eq!(k.claim_ids(1).await, [job]);
    k.audit().await;
}

/// A hold that has ended by its own time leaves an open breaker to its probe.
pub async fn b15_a_hold_that_ended_does_not_keep_the_probe_away(h: &dyn Harness) {
    let k = Kit::new(h);
    let job = k.put_one(k.job_on(&["gateway"])).await;
    let now = k.now().await;
    let mut breaker = Breaker { phase: Phase::Open { until: now }, epoch: 1, ..Breaker::new(now) };
    let until = Some(instant::after(now, secs(10)));
    breaker.hold(Hold { by: "ann".into(), reason: "maintenance".into(), since: now, until });
    k.set_breaker("gateway", &breaker).await;
    assert_eq!(
        breaker.start_probe(&Config::default(), now, k.worker(1)),
        None,
        "nobody probes what a person holds"
    );
    k.advance(secs(10)).await;
    breaker.start_probe(&Config::default(), k.now().await, k.worker(1)).expect("the hold is over");
    k.set_breaker("gateway", &breaker).await;
    let mode = redrive_store::ClaimMode::Probe(targets(&["gateway"]));
    let got = k.claim_with(redrive_store::Claim { mode, ..k.ask(1) }).await;
    assert_eq!(ids(&got), [job]);
    k.audit().await;
}

/// A breaker never blocks jobs of other targets, jobs without any, or targets whose names merely resemble it.
pub async fn b16_an_open_breaker_blocks_only_its_own_target(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_one(NewJob { priority: 0, ..k.job_on(&["host:a.example"]) }).await;
    let free = k
        .put(vec![
            k.job_on(&["host:b.example"]),
            k.job_on(&["host:a.example:8080"]),
            k.job_on(&["host:A.example"]),
            k.job_on(&["host:a_example"]),
            k.job_on(&["host"]),
            k.job(),
            k.job_of("other"),
        ])
        .await;
    k.open_breaker("host:a.example", secs(30)).await;
    assert_eq!(k.claim_ids(10).await, free);
    k.audit().await;
}

/// A throttled target (429) is held until the time it asked for, and then by itself free again.
pub async fn a_throttled_target_is_held_until_it_said(h: &dyn Harness) {
    let k = Kit::new(h);
    let job = k.put_one(k.job_on(&["gateway"])).await;
    let mut breaker = Breaker::new(k.now().await);
    breaker.throttle(k.later(secs(30)).await);
    breaker.throttle(k.later(secs(10)).await);
    k.set_breaker("gateway", &breaker).await;
    k.advance(secs(29)).await;
    assert_eq!((k.claim(1).await, k.row(job).await.shown), (Vec::new(), Shown::Held));
    k.advance(secs(1)).await;
    assert_eq!(k.row(job).await.shown, Shown::Queued);
    assert_eq!(k.claim_ids(1).await, [job]);
    k.audit().await;
}

fn turn(deed: Deed, why: Option<&str>) -> Turn {
    Turn { deed, why: why.map(str::to_owned), by: (deed == Deed::Held).then(|| "ann".to_owned()) }
}

/// What a breaker did is written with the breaker itself: by whoever was faster, and by nobody else.
pub async fn what_a_breaker_did_is_kept_with_what_it_became(h: &dyn Harness) {
    let k = Kit::new(h);
    let (gateway, other) = (target("gateway"), target("host:a"));
    let breaker = Breaker::new(k.now().await);
    let (opened, held) = (turn(Deed::Opened, Some("GW_TIMEOUT")), turn(Deed::Held, Some("they move")));
    assert_eq!(
        k.store.swap_breaker(&gateway, None, &breaker, Some(&opened)).await.unwrap(),
        Swapped::Done(1)
    );
    let began = k.now().await;
    k.advance(secs(5)).await;
    for expected in [None, Some(7)] {
        let late = k.store.swap_breaker(&gateway, expected, &breaker, Some(&held)).await.unwrap();
        assert_eq!(late, Swapped::Stale);
    }
    k.store.swap_breaker(&gateway, Some(1), &breaker, None).await.unwrap();
    k.store.swap_breaker(&other, None, &breaker, Some(&held)).await.unwrap();
    let all = k.store.breaker_turns(None, PageRequest::default()).await.unwrap();
    let told: Vec<_> = all.rows.iter().map(|row| (&row.target, &row.turn, row.at)).collect();
    assert_eq!(told, [(&other, &held, k.now().await), (&gateway, &opened, began)]);
    assert_eq!(all.next, None);
    let of_one = k.store.breaker_turns(Some(&gateway), PageRequest::default()).await.unwrap().rows;
    assert_eq!(of_one, all.rows[1..]);
}

/// A breaker that comes and goes does not push out what others did, and nothing is kept for ever.
pub async fn the_last_turns_of_each_breaker_are_kept_for_a_while(h: &dyn Harness) {
    let k = Kit::new(h);
    let breaker = Breaker::new(k.now().await);
    let (gateway, other) = (target("gateway"), target("host:a"));
    k.store.swap_breaker(&other, None, &breaker, Some(&turn(Deed::Closed, None))).await.unwrap();
    let mut version = None;
    for n in 0..KEEP_TURNS + 5 {
        let turn = turn(Deed::Probed, Some(&n.to_string()));
        let swapped = k.store.swap_breaker(&gateway, version, &breaker, Some(&turn)).await.unwrap();
        let Swapped::Done(next) = swapped else { panic!("{swapped:?}") };
        version = Some(next);
    }
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let page = k.store.breaker_turns(None, PageRequest { limit: 20, cursor }).await.unwrap();
        seen.extend(page.rows);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let why: Vec<_> = seen.iter().filter_map(|row| row.turn.why.clone()).collect();
    let expected: Vec<_> = (5..KEEP_TURNS + 5).rev().map(|n| n.to_string()).collect();
    assert_eq!(why, expected);
    assert_eq!(seen.last().map(|row| (&row.target, row.turn.deed)), Some((&other, Deed::Closed)));
    k.advance(secs(60)).await;
    k.store.forget(k.now().await).await.unwrap();
    assert_eq!(k.store.breaker_turns(None, PageRequest::default()).await.unwrap().rows, []);
}
