//! Two servers on one database, and conversions that are longer than a lease.

use std::time::Duration;

use redrive_lab::gateway::{Answer, right_answer};

use super::kit::{World, eventually, pdf, sha256};

on_both!(a_conversion_longer_than_three_leases_keeps_its_lease_and_runs_once);

/// Also covers: T12, C20.
async fn a_conversion_longer_than_three_leases_keeps_its_lease_and_runs_once(mut world: World) {
    world.set("WORKER_LEASE_TTL_SEC", 1);
    let server = world.serve().await;
    let browser = server.browser();
    world.gateway_says([Answer::Slow(Duration::from_millis(3_500))]);
    let id = browser.hand_in(&pdf(1)).await;
    let job = browser.until(&id, "complete").await;
    assert_eq!((&job["attempt"], world.calls(&pdf(1))), (&1.into(), 1), "{job:#}");
    let events = browser.events(&id).await;
    assert_eq!(events, ["queued", "processing", "complete"]);
    let took = browser.attempts(&id).await[0]["duration_ms"].as_u64().unwrap();
    assert!(took >= 3_400, "{took} ms");
}

/// Also covers: A9, X1, M1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_servers_one_is_killed_and_the_other_finishes_its_work() {
    let Some(mut world) = World::postgres().await else { return };
    world.set("WORKER_CONCURRENCY", 2);
    for (name, folder) in [("UPLOADS_DIR", "uploads"), ("RESULTS_DIR", "results")] {
        let path = world.path("data").join(folder);
        world.set(name, path.display());
    }
    let first = world.serve().await;
    let elsewhere = world.path("elsewhere").display().to_string();
    let second = world.serve_with(&[("DATA_DIR", elsewhere)]).await;
    world.gateway_says([Answer::Silence]);
    let browser = first.browser();
    let mut ids = Vec::new();
    for n in 0..8 {
        ids.push(browser.hand_in(&pdf(n)).await);
    }
    eventually("both to be at work", async || (world.gateway.calls().len() == 4).then_some(())).await;
    first.kill();
    let browser = browser.at(&second.address);
    // What the dead one had is taken over: its calls come again.
    world.gateway.behave();
    world.gateway.let_go();
    let mut twice = 0;
    for (n, id) in (0..).zip(&ids) {
        let job = browser.until(id, "complete").await;
        assert_eq!(browser.download(id).await.text(), right_answer(&sha256(&pdf(n)), "text"));
        let calls = world.calls(&pdf(n));
        assert_eq!(job["attempt"], calls, "{job:#}");
        twice += usize::from(calls == 2);
    }
    assert_eq!(twice, 2, "the two that the dead one had");
    assert_eq!(world.files("results").len(), 8, "one result each");
    second.stop().await;
}

/// A server that sleeps for longer than its leases and does not know it when it wakes.
///
/// Also covers: M8.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_slept_through_its_lease_changes_nothing_when_it_wakes() {
    let Some(mut world) = World::postgres().await else { return };
    for (name, folder) in [("UPLOADS_DIR", "uploads"), ("RESULTS_DIR", "results")] {
        let path = world.path("data").join(folder);
        world.set(name, path.display());
    }
    let first = world.serve().await;
    let browser = first.browser();
    world.gateway_says([Answer::Silence]);
    let id = browser.hand_in(&pdf(1)).await;
    eventually("a call", async || (world.calls(&pdf(1)) == 1).then_some(())).await;
    first.signal("-STOP");
    world.gateway_says([Answer::text("<second/>")]);
    let second = world.serve_with(&[("DATA_DIR", world.path("elsewhere").display().to_string())]).await;
    let there = browser.at(&second.address);
    let job = there.until(&id, "complete").await;
    assert_eq!(job["attempt"], 2, "{job:#}");
    world.gateway.let_go();
    first.signal("-CONT");
    // The sleeper has heard: it converts again.
    world.gateway.behave();
    let other = browser.hand_in(&pdf(2)).await;
    browser.until(&other, "complete").await;
    assert_eq!(there.download(&id).await.text(), "<second/>", "the zombie's result is none");
    assert_eq!(there.job(&id).await["attempt"], 2);
    first.stop().await;
}
