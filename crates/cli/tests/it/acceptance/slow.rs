//! A gateway that is silent, drips or floods, and the time between two tries.

use std::time::Duration;

use redrive_lab::gateway::{Answer, Which};
use serde_json::Value;

use super::kit::{World, eventually, pdf, sha256, when};

on_both!(
    a_timeout_is_retried_with_growing_waits_and_ends_as_gw_timeout,
    a_502_is_retried_with_growing_waits_and_then_completes,
    a_gateway_that_never_answers_is_given_up_at_its_time,
    an_answer_that_drips_or_never_ends_is_cut_off_and_memory_stays_flat,
    a_retry_is_not_claimed_before_its_time,
);

/// From the end of each attempt to the start of the next.
fn waits(attempts: &[Value]) -> Vec<i64> {
    attempts.windows(2).map(|two| when(&two[1]["started_at"]) - when(&two[0]["ended_at"])).collect()
}

/// Each wait is that of the formula, and no more than a look at the queue longer.
fn follow_the_formula(waits: &[i64], base: i64, jitter: i64) {
    for (n, wait) in waits.iter().enumerate() {
        let least = base << n;
        assert!((least..=least + jitter + 2_500).contains(wait), "wait {n} of {waits:?}");
    }
}

/// Also covers: A5, T6.
async fn a_timeout_is_retried_with_growing_waits_and_ends_as_gw_timeout(mut world: World) {
    world.without_breaker();
    world.set("GATEWAY_TIMEOUT_MS", 300);
    world.set("RETRY_MAX_ATTEMPTS", 4);
    world.set("RETRY_BASE_DELAY_MS", 200);
    let server = world.serve().await;
    let browser = server.browser();
    world.gateway_says([Answer::Silence]);
    let paper = pdf(1);
    let id = browser.hand_in(&paper).await;
    let waiting = browser.until(&id, "waiting_retry").await;
    assert_eq!(waiting["last_failure"]["code"], "GW_TIMEOUT", "{waiting:#}");
    assert_eq!((&waiting["error"], &waiting["max_attempts"]), (&Value::Null, &4.into()));
    let job = browser.until(&id, "failed").await;
    assert_eq!((&job["error"]["code"], &job["attempt"]), (&"GW_TIMEOUT".into(), &4.into()), "{job:#}");
    let attempts = browser.attempts(&id).await;
    assert_eq!((attempts.len(), world.calls(&paper)), (4, 4));
    let waits = waits(&attempts);
    follow_the_formula(&waits, 200, 50);
    assert!(waits[2] > waits[0], "{waits:?}");
    // The gateway saw the same.
    let calls = world.gateway.calls();
    for (n, two) in calls.windows(2).enumerate() {
        let apart = two[1].began - two[0].began;
        assert!(apart >= Duration::from_millis(290 + (200 << n)), "{apart:?} before call {}", n + 2);
    }
    let keys: Vec<&Option<String>> = calls.iter().map(|call| &call.key).collect();
    assert!(keys[0].is_some() && keys.iter().all(|key| *key == keys[0]), "one thing, one key: {keys:?}");
}

/// Also covers: T6, X2.
async fn a_502_is_retried_with_growing_waits_and_then_completes(world: World) {
    let server = world.serve().await;
    let browser = server.browser();
    world.gateway_says([Answer::status(502), Answer::status(502), Answer::Right]);
    let paper = pdf(1);
    let id = browser.hand_in(&paper).await;
    let job = browser.until(&id, "complete").await;
    assert_eq!((&job["attempt"], &job["last_failure"]["code"]), (&3.into(), &"GW_5XX".into()), "{job:#}");
    let attempts = browser.attempts(&id).await;
    assert_eq!(attempts.len(), 3);
    follow_the_formula(&waits(&attempts), 100, 50);
    let outcomes: Vec<&str> = attempts.iter().map(|attempt| attempt["outcome"].as_str().unwrap()).collect();
    let events = browser.events(&id).await;
    assert_eq!(
        events,
        ["queued", "processing", "retry", "processing", "retry", "processing", "complete"],
        "{outcomes:?}"
    );
    assert_eq!(world.files("results").len(), 1);
}

/// Also covers: M31.
async fn a_gateway_that_never_answers_is_given_up_at_its_time(mut world: World) {
    world.without_breaker();
    // Longer than a lease: it must be kept meanwhile.
    world.set("WORKER_LEASE_TTL_SEC", 1);
    world.set("GATEWAY_TIMEOUT_MS", 2_000);
    let server = world.serve().await;
    let browser = server.browser();
    let mut ids = Vec::new();
    for (n, answer) in [(1, Answer::Silence), (2, Answer::Stall(0))] {
        world.gateway.say(Which::File(sha256(&pdf(n))), [answer]);
        ids.push(browser.hand_in(&pdf(n)).await);
    }
    for id in ids {
        let job = browser.until(&id, "failed").await;
        assert_eq!((&job["error"]["code"], &job["attempt"]), (&"GW_TIMEOUT".into(), &3.into()), "{job:#}");
        for attempt in browser.attempts(&id).await {
            let took = attempt["duration_ms"].as_i64().unwrap();
            assert!((1_950..=3_000).contains(&took), "{took} ms: {attempt}");
            assert_eq!(attempt["code"], "GW_TIMEOUT", "the lease was kept: {attempt}");
        }
    }
    assert_eq!(world.gateway.calls().len(), 6);
}

/// Also covers: M32.
async fn an_answer_that_drips_or_never_ends_is_cut_off_and_memory_stays_flat(mut world: World) {
    world.without_breaker();
    world.set("RETRY_MAX_ATTEMPTS", 1);
    world.set("GATEWAY_TIMEOUT_MS", 30_000);
    // The largest result is twenty times as large.
    world.set("MAX_UPLOAD_BYTES", 128 << 10);
    let server = world.serve().await;
    let browser = server.browser();
    world.gateway_says([Answer::Right]);
    let id = browser.hand_in(&pdf(1)).await;
    browser.until(&id, "complete").await;
    let before = server.memory("VmHWM");
    world.gateway_says([Answer::Flood(10 << 30)]);
    let floods = [browser.hand_in(&pdf(2)).await, browser.hand_in(&pdf(3)).await];
    for id in floods {
        let job = browser.until(&id, "failed").await;
        assert_eq!(job["error"]["code"], "GW_5XX", "{job:#}");
    }
    let grown = server.memory("VmHWM") - before;
    assert!(grown < 16 << 10, "{grown} KiB for answers of 10 GB");
    world.set("GATEWAY_TIMEOUT_MS", 700);
    server.stop().await;
    let server = world.serve().await;
    let browser = browser.at(&server.address);
    world.gateway_says([Answer::Drip(Duration::from_millis(100))]);
    let id = browser.hand_in(&pdf(4)).await;
    let job = browser.until(&id, "failed").await;
    assert_eq!(job["error"]["code"], "GW_TIMEOUT", "it drips for as long as anybody listens: {job:#}");
    assert_eq!(world.files("results").len(), 1, "nothing of it stays");
}

/// Also covers: T8, X2.
async fn a_retry_is_not_claimed_before_its_time(mut world: World) {
    world.set("RETRY_BASE_DELAY_MS", 1_500);
    world.set("RETRY_JITTER_MAX_MS", 0);
    let server = world.serve().await;
    let browser = server.browser();
    let (late, soon) = (pdf(1), pdf(2));
    world.gateway_says([Answer::status(502), Answer::Right]);
    let first = browser.hand_in(&late).await;
    let waiting = browser.until(&first, "waiting_retry").await;
    let due = when(&waiting["retry_after"]);
    // Workers are free and claim others meanwhile.
    let second = browser.hand_in(&soon).await;
    browser.until(&second, "complete").await;
    assert_eq!(browser.job(&first).await["status"], "waiting_retry");
    assert_eq!(world.calls(&late), 1);
    browser.until(&first, "complete").await;
    let attempts = browser.attempts(&first).await;
    let started = when(&attempts[1]["started_at"]);
    assert!(started >= due && due - when(&attempts[0]["ended_at"]) >= 1_500, "{due} {attempts:?}");
    eventually("one more call", async || (world.calls(&late) == 2).then_some(())).await;
}
