//! A gateway that is down and comes back: the breaker, in both modes.

use redrive_lab::gateway::{Answer, Call, right_answer};
use serde_json::Value;
use tokio::time::Instant;

use super::kit::{Browser, World, eventually, pdf, sha256, when};

on_both!(
    while_the_gateway_is_down_jobs_stay_queued_and_go_on_when_it_is_back,
    while_the_gateway_is_down_fail_fast_fails_at_once_and_a_retry_succeeds_later,
    the_breaker_opens_under_forced_faults_and_resumes_on_recovery,
    half_of_the_answers_wrong_opens_the_breaker_and_it_closes_with_a_ramp,
    a_gateway_that_was_never_there_costs_nothing_when_it_comes,
);

/// Conversions at once.
const SLOTS: u64 = 4;

async fn until_breaker(browser: &Browser, wanted: &[&str]) -> Value {
    eventually(format_args!("the breaker to be {wanted:?}"), async || {
        let breaker = browser.breaker("gateway").await;
        breaker["state"].as_str().is_some_and(|state| wanted.contains(&state)).then_some(breaker)
    })
    .await
}

/// Also covers: A4, X3.
async fn while_the_gateway_is_down_jobs_stay_queued_and_go_on_when_it_is_back(mut world: World) {
    const OPENS_AT: u64 = 3;
    world.set("WORKER_CONCURRENCY", SLOTS);
    world.set("CIRCUIT_CONSECUTIVE", OPENS_AT);
    world.set("RETRY_MAX_ATTEMPTS", 9);
    world.set("RETRY_BASE_DELAY_MS", 500);
    let server = world.serve().await;
    let browser = server.browser();
    world.gateway.down();
    let mut ids = Vec::new();
    for n in 0..12 {
        ids.push(browser.hand_in(&pdf(n)).await);
    }
    let breaker = until_breaker(&browser, &["open"]).await;
    assert_eq!(breaker["mode"], "hold");
    // Everybody is held, and nobody pays for it: the failures that opened it are few.
    for id in &ids {
        eventually("the job to be held", async || {
            let job = browser.job(id).await;
            assert_ne!(job["status"], "failed", "{job:#}");
            matches!(job["status"].as_str(), Some("held" | "waiting_retry")).then_some(())
        })
        .await;
    }
    eventually("most of them to be counted as held", async || {
        (browser.breaker("gateway").await["held_jobs"].as_u64()? >= 9).then_some(())
    })
    .await;
    // Several probes fail meanwhile.
    let probes = async || {
        let mut probes = 0;
        for id in &ids {
            probes += browser
                .attempts(id)
                .await
                .iter()
                .filter(|attempt| attempt["outcome"] == "probe_refunded")
                .count();
        }
        (probes >= 2).then_some(())
    };
    eventually("two failed probes", probes).await;
    world.gateway.up().await.unwrap();
    let mut charged = 0;
    for (n, id) in (0..).zip(&ids) {
        let job = browser.until(id, "complete").await;
        charged += job["attempt"].as_u64().unwrap();
        assert_eq!(browser.download(id).await.text(), right_answer(&sha256(&pdf(n)), "text"));
    }
    // One execution each, and the calls that found out: the third opens it, and when it does each other slot may have one on
    // its way. A slot is free again only when the breaker knows, so there is no fourth; what is held and what probes pay nothing.
    let found_out = charged - 12;
    assert!((OPENS_AT..OPENS_AT + SLOTS).contains(&found_out), "{found_out} have paid");
    until_breaker(&browser, &["closed", "ramp"]).await;
}

/// Also covers: A4, B5.
async fn while_the_gateway_is_down_fail_fast_fails_at_once_and_a_retry_succeeds_later(mut world: World) {
    world.set("CIRCUIT_MODE", "fail_fast");
    world.set("CIRCUIT_COOLDOWN_MS", 3_000);
    let server = world.serve().await;
    let browser = server.browser();
    world.gateway.down();
    let mut ids = Vec::new();
    for n in 0..6 {
        ids.push(browser.hand_in(&pdf(n)).await);
    }
    let breaker = until_breaker(&browser, &["open"]).await;
    assert_eq!(breaker["mode"], "fail_fast");
    let late = browser.hand_in(&pdf(100)).await;
    ids.push(late.clone());
    for id in &ids {
        let job = browser.until(id, "failed").await;
        assert_eq!(job["error"]["code"], "GW_5XX", "{job:#}");
        assert_eq!(job["can_retry"], true);
    }
    assert_eq!(browser.attempts(&late).await.len(), 0, "nobody was called for it");
    world.gateway.up().await.unwrap();
    for id in &ids {
        // Whoever asks while it is still open fails fast again, and asks again.
        eventually("a retry that completes", async || {
            match browser.job(id).await["status"].as_str() {
                Some("complete") => return Some(()),
                Some("failed") => assert_eq!(browser.retry(id).await.status, 202),
                _ => {}
            }
            None
        })
        .await;
    }
    assert_eq!(world.files("results").len(), ids.len());
}

/// Also covers: T9, T10, X3.
async fn the_breaker_opens_under_forced_faults_and_resumes_on_recovery(mut world: World) {
    world.set("GATEWAY_TIMEOUT_MS", 300);
    world.set("CIRCUIT_COOLDOWN_MS", 50);
    let server = world.serve().await;
    let browser = server.browser();
    world.gateway_says([Answer::Silence]);
    let mut ids = Vec::new();
    for n in 0..8 {
        ids.push(browser.hand_in(&pdf(n)).await);
    }
    until_breaker(&browser, &["open"]).await;
    let stays_open = world.gateway.calls().len();
    // At most one probe at a time: three of them fail before it recovers.
    eventually("three probes", async || (world.gateway.calls().len() >= stays_open + 3).then_some(())).await;
    world.gateway.count_anew();
    eventually("one more probe", async || (world.gateway.calls().len() >= stays_open + 5).then_some(()))
        .await;
    assert_eq!(world.gateway.most_at_once(), 1, "one probe at a time");
    world.gateway.behave();
    for id in &ids {
        browser.until(id, "complete").await;
    }
    until_breaker(&browser, &["closed", "ramp"]).await;
    assert_eq!(world.files("results").len(), ids.len());
}

/// Also covers: M36.
async fn half_of_the_answers_wrong_opens_the_breaker_and_it_closes_with_a_ramp(mut world: World) {
    const JOBS: u32 = 200;
    const WINDOW: u64 = 20;
    world.set("WORKER_CONCURRENCY", SLOTS);
    world.set("CIRCUIT_WINDOW", WINDOW);
    world.set("CIRCUIT_CONSECUTIVE", 0);
    world.set("CIRCUIT_COOLDOWN_MS", 400);
    world.set("RETRY_MAX_ATTEMPTS", 20);
    let server = world.serve().await;
    let browser = server.browser();
    // Nothing is answered before all are there.
    world.gateway_says([Answer::Silence]);
    let mut ids = Vec::new();
    for n in 0..JOBS {
        ids.push(browser.hand_in(&pdf(n)).await);
    }
    let wrong_and_right = [Answer::status(500), Answer::Right];
    world.gateway_says(wrong_and_right.into_iter().cycle().take(400));
    world.gateway.let_go();
    let breaker = until_breaker(&browser, &["open"]).await;
    // Those that were let go were right. Then a window of halves, and what was on its way.
    let calls = world.gateway.calls().len() as u64;
    assert!(calls < SLOTS + WINDOW + SLOTS, "open after {calls} calls");
    assert!(breaker["next_probe_at"].is_string(), "{breaker}");
    world.gateway_says([Answer::status(500)]);
    let all = async || browser.get("/api/jobs?limit=200").await.json();
    let from = when(&all().await["timestamp"]);
    // It may have been closed again for a moment. Once it has opened with nothing but failures to come, it stays open.
    eventually("the breaker to open for good", async || {
        let breaker = browser.breaker("gateway").await;
        (breaker["state"] == "open" && when(&breaker["since"]) > from).then_some(())
    })
    .await;
    let charged = async || {
        let all = all().await;
        let jobs = all["jobs"].as_array().unwrap();
        assert_eq!(jobs.len(), ids.len());
        jobs.iter().map(|job| job["attempt"].as_u64().unwrap()).sum::<u64>()
    };
    let (before, calls) = (charged().await, world.gateway.calls().len());
    eventually("two more probes", async || (world.gateway.calls().len() >= calls + 2).then_some(())).await;
    let after = charged().await;
    // A probe is charged while it is out.
    assert!(after <= before + 1, "held jobs pay nothing: {before}, then {after}");
    world.gateway.behave();
    let healed = Instant::now();
    for id in &ids {
        browser.until(id, "complete").await;
    }
    until_breaker(&browser, &["closed", "ramp"]).await;
    assert_eq!(world.files("results").len(), ids.len());
    let calls: Vec<_> = world.gateway.calls().into_iter().filter(|call| call.began > healed).collect();
    for call in &calls {
        let ended = |other: &&Call| other.ended.is_some_and(|ended| ended <= call.began);
        let began = calls.iter().filter(|other| other.began <= call.began);
        let good = began.clone().filter(ended).count();
        let at_once = began.filter(|other| !ended(other)).count();
        assert!(at_once <= ramp_after(good), "{at_once} at once after {good} good calls");
    }
}

/// How many calls at once a ramp allows after so many good ones: the probe, then 1, 2, 4 at once, each as often as that.
fn ramp_after(good: usize) -> usize {
    match good {
        0..2 => 1,
        2..4 => 2,
        _ => usize::try_from(SLOTS).unwrap(),
    }
}

/// Also covers: A4.
async fn a_gateway_that_was_never_there_costs_nothing_when_it_comes(world: World) {
    world.gateway.down();
    let server = world.serve().await;
    let browser = server.browser();
    let id = browser.hand_in(&pdf(1)).await;
    let other = browser.hand_in(&pdf(2)).await;
    until_breaker(&browser, &["open"]).await;
    world.gateway.up().await.unwrap();
    for id in [id, other] {
        browser.until(&id, "complete").await;
    }
}
